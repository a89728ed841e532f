//! Work that looks at its limits too seldom: it runs beside whoever waits for it, and is left behind in the end.
//!
//! HiGHS asks neither for its time limit nor for an interruption while it presolves or solves a linear program, which takes
//! minutes where there are a million nonzeros; and to write down so large a program takes seconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::highs::Sighting;

/// How often whoever waits looks at what the work has.
const PERIOD: Duration = Duration::from_millis(20);

/// How long work that was told to stop is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// Frames of HiGHS are larger than those of a thread's usual stack.
const STACK: usize = 64 << 20;

/// What the work and whoever waits for it tell each other.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    last: Mutex<Sighting>,
    must_stop: AtomicBool,
}

impl Exchange {
    /// What the work saw last.
    fn last(&self) -> Sighting {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what the work has, and answers whether it is to go on.
    pub fn tell(&self, sighting: Sighting) -> bool {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = sighting;
        !self.must_stop.load(Ordering::Relaxed)
    }
}

/// How attended work ended.
#[derive(Debug)]
pub(super) enum Attended<T> {
    /// With this answer.
    Ended(T),
    /// It was told to stop and did not. It goes on until it looks at that, and ends with the process at the latest.
    Left,
    /// There is no thread for it, or it panicked.
    Failed,
}

/// Runs `work` in a thread of its own. As soon as `goes_on` answers no, the work is told to stop, and soon left behind.
pub(super) fn attend<T: Send + 'static>(
    work: impl FnOnce(&Exchange) -> T + Send + 'static,
    goes_on: impl Fn(&Sighting) -> bool,
) -> Attended<T> {
    let exchange = Arc::new(Exchange::default());
    let (sender, ended) = mpsc::channel();
    let told = Arc::clone(&exchange);
    // Nobody receives what comes too late.
    let run = move || drop(sender.send(work(&told)));
    if thread::Builder::new().stack_size(STACK).spawn(run).is_err() {
        return Attended::Failed;
    }
    let mut told_to_stop: Option<Instant> = None;
    loop {
        if !goes_on(&exchange.last()) {
            exchange.must_stop.store(true, Ordering::Relaxed);
            told_to_stop.get_or_insert_with(Instant::now);
        }
        match ended.recv_timeout(PERIOD) {
            Ok(answer) => return Attended::Ended(answer),
            Err(RecvTimeoutError::Disconnected) => return Attended::Failed,
            Err(RecvTimeoutError::Timeout) if told_to_stop.is_some_and(|since| since.elapsed() >= PATIENCE) => {
                return Attended::Left;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(bound: f64) -> Sighting {
        Sighting { incumbent: None, bound: Some(bound) }
    }

    #[test]
    fn an_answer_in_time_is_passed_on() {
        assert!(matches!(attend(|_| 7, |_| true), Attended::Ended(7)));
        // Told to stop, it does.
        let until_told = |exchange: &Exchange| (0..u32::MAX).take_while(|_| exchange.tell(sighting(1.0))).count();
        assert!(matches!(attend(until_told, |last| last.bound.is_none()), Attended::Ended(1..)));
    }

    #[test]
    fn work_that_does_not_listen_is_left() {
        let deaf = |exchange: &Exchange| {
            exchange.tell(sighting(3.0));
            loop {
                thread::park();
            }
        };
        let ended: Attended<()> = attend(deaf, |last| *last != sighting(3.0));
        assert!(matches!(ended, Attended::Left), "{ended:?}");
    }

    #[test]
    fn work_that_panics_fails() {
        assert!(matches!(attend(|_| -> u32 { panic!("as it is meant to") }, |_| true), Attended::Failed));
    }
}
