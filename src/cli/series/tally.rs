//! How far a series of runs is: a bar on a terminal, elsewhere a line now and then.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::note;
use crate::text::escaped;
use crate::units::seconds;

/// The time between two lines where there is no terminal.
const PERIOD: Duration = Duration::from_secs(10);

/// Counts runs, and tells how many are done.
pub struct Tally {
    /// What runs are called.
    noun: &'static str,
    bar: ProgressBar,
    /// When something was said, where lines are.
    said: Option<Mutex<Instant>>,
    started: Instant,
}

impl Tally {
    /// A tally of `count` runs, which are called `noun`, on standard error, or of nothing where all is to be quiet.
    pub fn new(count: usize, noun: &'static str, quiet: bool) -> Self {
        let started = Instant::now();
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(count as u64) };
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed_precise} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_length(count as u64);
        bar.enable_steady_tick(Duration::from_millis(200));
        let has_lines = !quiet && !std::io::stderr().is_terminal();
        Self { noun, bar, said: has_lines.then(|| Mutex::new(started)), started }
    }

    /// Tells that a run begins.
    pub fn begin(&self, run: &str) {
        self.bar.set_message(escaped(run).into_owned());
    }

    /// Counts a run that is done.
    pub fn done(&self, run: &str) {
        self.bar.inc(1);
        if let Some(line) = self.line(run, Instant::now()) {
            note(&line);
        }
    }

    /// What is to be said at a moment at which a run is done.
    fn line(&self, run: &str, now: Instant) -> Option<String> {
        let mut said = self.said.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*said) < PERIOD {
            return None;
        }
        *said = now;
        let (done, count) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let elapsed = seconds(now.duration_since(self.started).as_secs_f64());
        Some(format!("{done} of {count} {} after {elapsed}, the last: {run}", self.noun))
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_now_and_then() {
        let mut tally = Tally::new(3, "runs", true);
        tally.said = Some(Mutex::new(tally.started));
        let after = |tenths: u32| tally.line("w: dp", tally.started + PERIOD * tenths / 10);
        tally.done("w: dp");
        assert_eq!(after(5), None);
        assert_eq!(after(12).unwrap(), "1 of 3 runs after 12.000 s, the last: w: dp");
        assert_eq!((after(20), after(25).is_some()), (None, true));
        assert_eq!(Tally::new(3, "runs", true).line("w: dp", Instant::now() + PERIOD), None);
    }
}
