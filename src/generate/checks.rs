//! Checks of a recipe's options that gather every problem.

use super::{GenerateError, MAX_EDGES, MAX_NODES};
use crate::instance::Problems;

/// Gathers the problems of a recipe; options are named as on the command line, without the dashes.
#[derive(Default)]
pub(super) struct Checks(Problems);

impl Checks {
    pub fn problem(&mut self, option: &str, cause: impl Into<String>, cure: impl Into<String>) {
        self.0.add(format!("--{option}"), cause, cure);
    }

    pub fn within(&mut self, option: &str, value: impl Into<u64>, least: u64, most: u64) {
        let value = value.into();
        if value < least || value > most {
            self.problem(option, format!("{value} is out of range"), format!("give {least} to {most}"));
        }
    }

    /// A count of at least one; graphs that are too large in all are found by [`Checks::size`].
    pub fn count(&mut self, option: &str, value: impl Into<u64>) {
        self.within(option, value, 1, u64::from(u32::MAX));
    }

    pub fn probability(&mut self, option: &str, value: f64) {
        if !(0.0..=1.0).contains(&value) {
            self.problem(option, format!("{value} is no probability"), "give 0 to 1");
        }
    }

    pub fn positive(&mut self, option: &str, value: f64) {
        self.at_least(option, value, f64::MIN_POSITIVE);
    }

    /// A finite number of at least `least`, small enough for sums of it to stay exact in integers.
    pub fn at_least(&mut self, option: &str, value: f64, least: f64) {
        const MOST: f64 = 1e15;
        if !(least..=MOST).contains(&value) {
            let cure = if least < 1e-300 { "above 0".to_owned() } else { format!("from {least}") };
            self.problem(option, format!("{value} is out of range"), format!("give a number {cure} up to {MOST:e}"));
        }
    }

    /// The size of the forward graph, estimated from above; a training graph has twice as much.
    pub fn size(&mut self, training: bool, nodes: f64, edges: f64) {
        let passes = if training { 2.0 } else { 1.0 };
        for (what, wanted, most) in [("nodes", nodes, MAX_NODES), ("edges", edges, MAX_EDGES)] {
            if wanted * passes > most as f64 {
                let cause = format!("{:.0} {what} are too many", wanted * passes);
                self.0.add("size", cause, format!("ask for at most {most}"));
            }
        }
    }

    pub fn into_result(self) -> Result<(), GenerateError> {
        self.0.into_result().map_err(GenerateError)
    }
}
