//! A progress line on the terminal for runs that take a while.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::search::gap;
use crate::solve::Progress;
use crate::units::{number, percent};

/// How long a run may take before the line appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line on standard error with the phase, incumbent, bound and gap of a run. It appears after a second and
/// clears itself when dropped; indicatif hides it where standard error is no terminal.
pub struct ProgressLine {
    bar: ProgressBar,
    started: Instant,
    shown: Mutex<bool>,
}

impl ProgressLine {
    /// A line that is not shown yet.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar, started: Instant::now(), shown: Mutex::new(false) }
    }

    /// Shows how far the run is.
    pub fn update(&self, progress: &Progress) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        self.bar.set_message(describe(progress));
        let Ok(mut shown) = self.shown.lock() else { return };
        if !*shown {
            *shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn describe(progress: &Progress) -> String {
    let shown = |value: Option<f64>| value.map_or_else(|| "none yet".into(), number);
    let mut line = format!("{}: best {}, bound {}", progress.phase, shown(progress.incumbent), shown(progress.bound));
    if let Some(gap) = progress.incumbent.zip(progress.bound).and_then(|(best, bound)| gap(best, bound)) {
        line += &format!(", gap {}", percent(gap));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_phase_incumbent_bound_and_gap() {
        let progress = |incumbent, bound| describe(&Progress { phase: "search", incumbent, bound });
        assert_eq!(progress(Some(20.0), Some(15.0)), "search: best 20, bound 15, gap 25.00 %");
        assert_eq!(progress(None, Some(15.0)), "search: best none yet, bound 15");
    }
}
