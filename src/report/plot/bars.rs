//! The lower panel: a bar per run, by workload.

use plotters::prelude::*;

use super::marks::COLOURS;
use super::{AROUND_BARS, BAR, BETWEEN, Drawn, Panel, Shown, WIDTH};

/// Where bars begin, and where the longest ends: workloads are named to the left, gaps to the right.
const LEFT: i32 = 250;
const RIGHT: i32 = WIDTH as i32 - 90;
const TOP: i32 = AROUND_BARS as i32 / 2;

impl Shown<'_> {
    pub(super) fn draw_bars(&self, panel: &Panel<'_>) -> Drawn {
        let style = ("sans-serif", 13);
        panel.draw(&Text::new("Gap by workload", (WIDTH as i32 / 2 - 70, 12), ("sans-serif", 19)))?;
        let (bar, group) = (BAR as i32, (self.methods.len() as u32 * BAR + BETWEEN) as i32);
        let scale = f64::from(RIGHT - LEFT) / self.largest_gap();
        for (i, workload) in self.workloads.iter().enumerate() {
            let middle = TOP + i as i32 * group + (group - BETWEEN as i32) / 2;
            let style = style.into_text_style(panel).pos(RIGHT_OF_TEXT);
            panel.draw(&Text::new(workload.as_str(), (LEFT - 10, middle), style))?;
        }
        for run in &self.runs {
            let top = TOP + run.workload as i32 * group + run.method as i32 * bar;
            let length = (run.gap.unwrap_or(0.0) * scale).round() as i32;
            let (from, to) = ((LEFT, top + 1), (LEFT + length.max(1), top + bar - 1));
            panel.draw(&Rectangle::new([from, to], COLOURS[run.method % COLOURS.len()].filled()))?;
            let label = run.gap.map_or_else(|| run.status.to_string(), |gap| format!("{gap:.2} %"));
            panel.draw(&Text::new(label, (to.0 + 5, top), style))?;
        }
        let bottom = TOP + self.workloads.len() as i32 * group;
        panel.draw(&PathElement::new(vec![(LEFT, TOP - 4), (LEFT, bottom)], BLACK))?;
        Ok(())
    }
}

/// Text that ends at its place, at half its height.
const RIGHT_OF_TEXT: plotters::style::text_anchor::Pos = plotters::style::text_anchor::Pos {
    h_pos: plotters::style::text_anchor::HPos::Right,
    v_pos: plotters::style::text_anchor::VPos::Center,
};
