//! The lower panel: a bar per run, by workload.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::marks::COLOURS;
use super::{AROUND_BARS, BAR, BETWEEN, Drawn, Panel, Shown, WIDTH};
use crate::text::escaped;
use crate::units::percent;

/// Where bars begin, and where the longest ends: workloads are named to the left, gaps to the right.
const LEFT: i32 = 250;
const RIGHT: i32 = WIDTH as i32 - 90;
const TOP: i32 = AROUND_BARS as i32 / 2;

impl Shown<'_> {
    pub(super) fn draw_bars(&self, panel: &Panel<'_>) -> Drawn {
        panel.draw(&Text::new("Gap by workload", (WIDTH as i32 / 2 - 70, 12), ("sans-serif", 19)))?;
        let font = ("sans-serif", 13);
        let scale = f64::from(RIGHT - LEFT) / self.largest_gap();
        let mut top = TOP;
        for (i, workload) in self.workloads.iter().enumerate() {
            let first = top;
            for run in self.runs.iter().filter(|run| run.workload == i) {
                let end = LEFT + (run.gap.unwrap_or(0.0) * scale).round() as i32 + 1;
                let corners = [(LEFT, top + 1), (end, top + BAR as i32 - 1)];
                panel.draw(&Rectangle::new(corners, COLOURS[run.method % COLOURS.len()].filled()))?;
                let at_most = if run.is_to_optimum { "" } else { "≤ " };
                let gap = run.gap.map(|gap| format!("{at_most}{}", percent(gap / 100.0)));
                let label = gap.unwrap_or_else(|| run.status.to_string());
                panel.draw(&Text::new(label, (end + 5, top), font))?;
                top += BAR as i32;
            }
            let style = font.into_text_style(panel).pos(BEFORE);
            panel.draw(&Text::new(escaped(workload), (LEFT - 10, (first + top) / 2), style))?;
            top += BETWEEN as i32;
        }
        panel.draw(&PathElement::new(vec![(LEFT, TOP - 4), (LEFT, top)], BLACK))?;
        Ok(())
    }
}

/// Text that ends at its place, at half its height.
const BEFORE: Pos = Pos { h_pos: HPos::Right, v_pos: VPos::Center };
