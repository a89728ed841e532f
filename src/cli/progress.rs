//! Interruption and progress of a long run.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::report::progress::ProgressLine;
use crate::solve::SearchContext;

use super::{Exit, Failure, OrFail};

/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Two signals within this time may be one: `timeout` sends its signal to the program and to its group.
const ECHO: Duration = Duration::from_secs(1);

/// A flag that the first Ctrl-C sets. A second one ends the program at once, where it comes a second after the first;
/// else it counts as its echo, and the third one does.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let mut signals = Signals::default();
    let handler = move || {
        shared.store(true, Ordering::Relaxed);
        if signals.end_at(Instant::now()) {
            std::process::exit(INTERRUPTED);
        }
    };
    ctrlc::set_handler(handler).or_fail(Exit::Bug)?;
    Ok(flag)
}

/// The signals that have come so far.
#[derive(Default)]
struct Signals {
    first: Option<Instant>,
    echoed: bool,
}

impl Signals {
    /// Whether a signal that comes `now` ends the program at once.
    fn end_at(&mut self, now: Instant) -> bool {
        match self.first {
            None => {
                self.first = Some(now);
                false
            }
            Some(first) if now.duration_since(first) < ECHO => std::mem::replace(&mut self.echoed, true),
            Some(_) => true,
        }
    }
}

/// Adds a progress line to `context` where somebody can see it.
pub fn with_progress_line(context: SearchContext, quiet: bool) -> SearchContext {
    if quiet || !std::io::stderr().is_terminal() {
        return context;
    }
    let line = ProgressLine::new();
    context.with_report(move |progress| line.update(progress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_within_a_second_is_no_second_signal() {
        let start = Instant::now();
        let ends = |times: &[u64]| -> Vec<bool> {
            let mut signals = Signals::default();
            times.iter().map(|&after| signals.end_at(start + Duration::from_millis(after))).collect()
        };
        assert_eq!(ends(&[0, 5]), [false, false]);
        assert_eq!(ends(&[0, 5, 10]), [false, false, true]);
        assert_eq!(ends(&[0, 1000]), [false, true]);
        assert_eq!(ends(&[0, 999, 5000]), [false, false, true]);
    }
}
