//! What a run knew when, as a curve.

use svg::node::element::{Group, Path, path::Data};

use crate::report::picture::svg::{document, text};
use crate::report::trace::{Known, Trace};
use crate::units::{number, seconds};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
/// Room for the values at the left, and for what the curves are called at the right.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 36.0;
/// Earlier moments are drawn at so many seconds, for the axis is logarithmic.
const EARLIEST: f64 = 1e-4;
/// What the curves are called, their colours, and where their names stand: apart also where they end at the same value.
const SPLIT: (&str, &str, f64) = ("best split", "#2b6cb0", -3.0);
const BOUND: (&str, &str, f64) = ("bound", "#c2570c", 11.0);

/// Where moments and values stand.
struct Axes {
    seconds: (f64, f64),
    values: (f64, f64),
}

/// The best split and the bound over time, on a logarithmic axis; `None` where nothing is known at two moments at least.
pub fn curve(trace: &Trace, end: f64) -> Option<String> {
    let known = || trace.0.iter().flat_map(|known| [known.incumbent, known.bound]).flatten();
    let first = trace.0.first().filter(|_| trace.0.len() > 1)?.seconds.max(EARLIEST);
    let values = known().fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    let axes = Axes { seconds: (first, end.max(2.0 * first)), values };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut values = vec![(values.1, TOP)];
    values.extend((values[0].0 > axes.values.0).then_some((axes.values.0, bottom)));
    let value = |(value, y): (f64, f64)| text(number(value), LEFT - 8.0, y + 4.0, 11.0).set("text-anchor", "end");
    let moment = |moment: f64, x: f64| text(seconds(moment), x, HEIGHT - 8.0, 11.0).set("text-anchor", "middle");
    let lines = Group::new()
        .add(axes.steps(trace, |known| known.bound, BOUND))
        .add(axes.steps(trace, |known| known.incumbent, SPLIT))
        .add(moment(axes.seconds.0, LEFT))
        .add(moment(axes.seconds.1, right));
    let picture = values.into_iter().map(value).fold(document(WIDTH, HEIGHT).add(lines), svg::Document::add);
    Some(picture.to_string())
}

impl Axes {
    fn place(&self, seconds: f64, value: f64) -> (f64, f64) {
        let share =
            |at: f64, (from, to): (f64, f64)| if to > from { ((at - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        let (from, to) = self.seconds;
        let across = share(seconds.max(EARLIEST).ln(), (from.ln(), to.ln()));
        let down = 1.0 - share(value, self.values);
        (LEFT + across * (WIDTH - LEFT - RIGHT), TOP + down * (HEIGHT - TOP - BOTTOM))
    }

    /// A figure as a line that stays where it is until more is known, with its name at the end.
    fn steps(
        &self,
        trace: &Trace,
        figure: fn(&Known) -> Option<f64>,
        (name, colour, below): (&str, &str, f64),
    ) -> Group {
        let mut known = trace.0.iter().filter_map(|known| Some((known.seconds, figure(known)?)));
        let Some((first, mut value)) = known.next() else { return Group::new() };
        let mut line = Data::new().move_to(self.place(first, value));
        for (seconds, next) in known {
            line = line.line_to(self.place(seconds, value)).line_to(self.place(seconds, next));
            value = next;
        }
        let end = self.place(self.seconds.1, value);
        let line =
            Path::new().set("d", line.line_to(end)).set("fill", "none").set("stroke", colour).set("stroke-width", 2);
        Group::new().add(line).add(text(name, end.0 + 8.0, end.1 + below, 11.5))
    }
}
