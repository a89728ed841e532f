//! Figures of comparisons as SVG, for pages and papers.

mod axis;
mod boxes;
pub mod chart;
mod curves;
mod gaps;
pub mod marks;

use std::ops::RangeInclusive;

pub use axis::Axis;
use chart::Figure;
pub use curves::known_over_time;

use super::comparison::{Measured, Performance, gaps_over_time, profiles};

/// How wide figures may be, in millimetres.
pub const WIDTHS: RangeInclusive<f64> = 40.0..=1000.0;

/// The width of a page's text, in millimetres.
pub const WIDTH: f64 = 174.0;

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Plot {
    /// Gap against time with a mark for each run, and the gaps as bars by workload.
    #[default]
    Gaps,
    /// Performance profiles of the objective.
    Profile,
    /// Performance profiles of the time until the proof.
    ProofTime,
    /// The mean gap over time.
    Progress,
    /// Box plots of the gaps.
    Boxes,
}

/// A figure of so many millimetres' width. Methods have a colour, a mark and a dash in the order of their first runs;
/// marks are hollow where a gap is to a bound and may be less. Where there are several scopes, each has a chart.
pub fn plot(runs: &[Measured<'_>], plot: Plot, width: f64) -> String {
    figure(runs, plot).svg(width)
}

fn figure(runs: &[Measured<'_>], plot: Plot) -> Figure {
    match plot {
        Plot::Gaps => gaps::figure(runs),
        Plot::Boxes => boxes::figure(runs),
        Plot::Profile => curves::profile(runs, &profiles(runs, Performance::Objective), "objective / best"),
        Plot::ProofTime => {
            curves::profile(runs, &profiles(runs, Performance::ProofTime), "seconds to a proof / fewest")
        }
        Plot::Progress => curves::progress(runs, &gaps_over_time(runs)),
    }
}

/// What stands above the chart of a scope.
fn scope_title(scope: &str, scopes: &[&str]) -> String {
    if scopes.len() > 1 { format!("{scope} splits") } else { String::new() }
}

/// The position of an item that is there.
fn position(items: &[&str], item: &str) -> usize {
    items.iter().position(|known| *known == item).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::{Record, Status, measured, tests::record};
    use crate::report::plot::marks::style;
    use clap::ValueEnum;
    use svg::node::element::tag::Type;
    use svg::parser::Event;

    /// Twelve methods on two workloads; the first is proven.
    fn records() -> Vec<Record> {
        let of = |workload: &str, place: usize| {
            let mut record = record("dp", Some(8.0 + place as f64));
            record.trial.method = format!("method {place} & <{place}>");
            record.trial.instance.name = workload.into();
            record.trial.instance.hash = workload.into();
            record.ending.seconds = Some(0.01 * (place + 1) as f64);
            if place == 0 {
                record.ending.status = Status::Optimal;
                record.ending.lower_bound = Some(8.0);
            }
            record
        };
        ["one", "two"].iter().flat_map(|workload| (0..12).map(move |place| of(workload, place))).collect()
    }

    /// The marks, dashes of lines and texts of a picture, which has to be well-formed.
    fn parts(text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let (mut marks, mut dashes, mut texts, mut open) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for event in svg::read(text).unwrap() {
            match event {
                Event::Error(error) => panic!("{error}\n{text}"),
                Event::Text(words) => texts.push(words.into()),
                Event::Tag(name, Type::End, _) => assert_eq!(open.pop(), Some(name)),
                Event::Tag(name, kind, attributes) => {
                    let fill = attributes.get("fill").map(ToString::to_string);
                    if attributes.get("class").is_some_and(|class| **class == *"mark") {
                        marks.push(fill.unwrap());
                    }
                    dashes.extend(attributes.get("stroke-dasharray").map(ToString::to_string));
                    open.extend((kind == Type::Start).then_some(name));
                }
                _ => (),
            }
        }
        assert!(open.is_empty());
        (marks, dashes, texts)
    }

    #[test]
    fn every_method_is_in_every_figure() {
        let records = records();
        let runs = measured(&records);
        for &kind in Plot::value_variants() {
            let (_, _, texts) = parts(&plot(&runs, kind, 84.0));
            for place in 0..12 {
                let name = format!("method {place} &amp; &lt;{place}&gt;");
                assert!(texts.contains(&name), "{kind:?}: no {name} in {texts:?}");
            }
        }
    }

    #[test]
    fn a_mark_is_drawn_for_each_run_and_each_method() {
        let mut records = records();
        records[3].ending.objective = None;
        let (marks, dashes, texts) = parts(&plot(&measured(&records), Plot::Gaps, 84.0));
        // A mark of each run with a gap, one at its bar, and one of each method in the legend.
        assert_eq!(marks.len(), 23 + 23 + 12);
        assert!(marks.iter().all(|fill| fill != "white"), "{marks:?}");
        assert_eq!(dashes.len(), 12);
        assert!(texts.iter().any(|text| text == "feasible") && texts.iter().any(|text| text == "11.11 %"), "{texts:?}");
        records.iter_mut().for_each(|record| record.ending.status = Status::Feasible);
        let (marks, ..) = parts(&plot(&measured(&records), Plot::Gaps, 84.0));
        assert_eq!(marks.iter().filter(|fill| *fill == "white").count(), 23 + 23);
    }

    #[test]
    fn curves_and_boxes_have_the_style_of_their_method() {
        let records = records();
        let runs = measured(&records);
        for kind in [Plot::Profile, Plot::ProofTime, Plot::Progress] {
            let (_, dashes, _) = parts(&plot(&runs, kind, 84.0));
            let dash = |series| style(series).line(&[]).get_attributes()["stroke-dasharray"].to_string();
            let expected: Vec<String> = (0..12).chain(0..12).map(dash).collect();
            assert_eq!(dashes, expected, "{kind:?}");
        }
        let svg = plot(&runs, Plot::Boxes, 84.0);
        (0..7).for_each(|series| assert!(svg.contains(style(series).colour), "{series}"));
    }

    #[test]
    fn nothing_to_show_is_no_failure_and_sizes_are_those_asked_for() {
        for (kind, width) in Plot::value_variants().iter().zip([84.0, 50.0, 174.0, 84.5, 300.0]) {
            let svg = plot(&[], *kind, width);
            parts(&svg);
            assert!(svg.contains(&format!("width=\"{width:.2}mm\"")), "{svg}");
        }
    }
}
