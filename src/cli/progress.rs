//! Interruption and progress of a long run.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dagsplit::report::progress::ProgressLine;
use dagsplit::solve::SearchContext;

use super::{Exit, Failure, OrFail};

/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A flag that the first Ctrl-C sets; the second ends the program at once.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let handler = move || {
        if shared.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    };
    ctrlc::set_handler(handler).or_fail(Exit::Bug)?;
    Ok(flag)
}

/// Adds a progress line to `context` where somebody can see it.
pub fn with_progress_line(context: SearchContext, quiet: bool) -> SearchContext {
    if quiet || !std::io::stderr().is_terminal() {
        return context;
    }
    let line = ProgressLine::new();
    context.with_report(move |progress| line.update(progress))
}
