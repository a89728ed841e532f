//! What a run knew when.

use serde::{Deserialize, Serialize};

/// What was known from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Seconds since the run began.
    pub seconds: f64,
    /// The best objective value so far.
    pub incumbent: Option<f64>,
    /// The best lower bound so far.
    pub bound: Option<f64>,
}

/// The incumbent and the bound of a run over time, as it told them, and at its end: one entry for each time that it knew
/// more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trace(pub Vec<Known>);

impl Trace {
    /// Whether nothing was told.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Hears what the run knows after so many seconds.
    pub fn tell(&mut self, seconds: f64, incumbent: Option<f64>, bound: Option<f64>) {
        let before = self.0.last().map_or((None, None), |last| (last.incumbent, last.bound));
        let least = [before.0, incumbent].into_iter().flatten().min_by(f64::total_cmp);
        let greatest = [before.1, bound].into_iter().flatten().max_by(f64::total_cmp);
        if (least, greatest) != before {
            self.0.push(Known { seconds, incumbent: least, bound: greatest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_grows() {
        let mut trace = Trace::default();
        let told =
            [(None, None), (Some(9.0), None), (Some(9.0), Some(2.0)), (Some(10.0), Some(1.0)), (Some(8.0), None)];
        for (second, (incumbent, bound)) in (1..).zip(told) {
            trace.tell(f64::from(second), incumbent, bound);
        }
        let known = |seconds, incumbent, bound| Known { seconds, incumbent, bound };
        let expected =
            [known(2.0, Some(9.0), None), known(3.0, Some(9.0), Some(2.0)), known(5.0, Some(8.0), Some(2.0))];
        assert_eq!(trace.0, expected);
    }
}
