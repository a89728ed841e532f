//! The upper panel: gap against time.

use plotters::prelude::*;

use super::marks::{log_axis, marker, tick};
use super::{Drawn, Panel, Shown, WIDTH};
use crate::text::escaped;

const LEGEND_WIDTH: u32 = 260;

/// Shorter runs are drawn at this many seconds.
const SHORTEST: f64 = 1e-4;

impl Shown<'_> {
    pub(super) fn draw_points(&self, panel: &Panel<'_>) -> Drawn {
        let (plot, legend) = panel.split_horizontally(WIDTH - LEGEND_WIDTH);
        let measured = || self.runs.iter().filter_map(|run| Some((run, run.seconds.max(SHORTEST), run.gap?)));
        // An empty plot has its axes too.
        let any = measured().next().is_none().then_some(1.0);
        let times = measured().map(|(_, seconds, _)| seconds).chain(any);
        let highest = self.largest_gap();
        let mut chart = ChartBuilder::on(&plot)
            .caption("Gap against time", ("sans-serif", 19))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(60)
            .build_cartesian_2d(log_axis(times), -0.04 * highest..highest)?;
        chart
            .configure_mesh()
            .x_desc("seconds")
            .y_desc("gap, %")
            .label_style(("sans-serif", 14))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(220, 220, 220))
            .x_label_formatter(&|x| tick(*x))
            .draw()?;
        chart
            .draw_series(measured().map(|(run, seconds, gap)| marker((seconds, gap), run.method, run.is_to_optimum)))?;
        let font = ("sans-serif", 14);
        for (i, method) in self.methods.iter().enumerate() {
            let at = 60 + 24 * i as i32;
            legend.draw(&marker((10, at), i, true))?;
            legend.draw(&Text::new(escaped(method), (24, at - 7), font))?;
        }
        if self.runs.iter().any(|run| run.gap.is_some() && !run.is_to_optimum) {
            let at = 60 + 24 * self.methods.len() as i32;
            legend.draw(&Text::new("hollow: to a bound, at most", (4, at - 7), font))?;
        }
        Ok(())
    }
}
