//! Work without the interpreter's lock, on a thread of its own: progress, Ctrl-C, panics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dagsplit::solve::{Progress, SearchContext};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::InternalError;

/// How often signals are looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// How often progress is told.
const TELLING: Duration = Duration::from_millis(100);

/// As much stack as the main thread of a program has.
const STACK: usize = 8 << 20;

/// What a callable is told.
pub type News = (String, Option<f64>, Option<f64>);

enum Message<T> {
    News(News),
    Done(T),
}

/// What working code needs of whoever waits for it.
pub struct Line<T> {
    /// Ends the work once set.
    pub cancelled: Arc<AtomicBool>,
    listens: bool,
    sender: Sender<Message<T>>,
}

impl<T: Send + 'static> Line<T> {
    /// Tells the callable, where there is one.
    pub fn tell(&self, news: News) {
        if self.listens {
            // Where nobody waits any more there is nobody to tell.
            let _ = self.sender.send(Message::News(news));
        }
    }

    /// The context whose progress is told now and then.
    pub fn watched(&self, context: SearchContext) -> SearchContext {
        if !self.listens {
            return context;
        }
        let (sender, last) = (self.sender.clone(), Mutex::new(None::<Instant>));
        context.with_report(move |progress: &Progress| {
            let Ok(mut last) = last.lock() else { return };
            if last.is_none_or(|last| last.elapsed() >= TELLING) {
                *last = Some(Instant::now());
                let news = (progress.phase.to_owned(), progress.incumbent, progress.bound);
                let _ = sender.send(Message::News(news));
            }
        })
    }
}

/// Does `work` on a thread, without the interpreter's lock, and calls `progress` with its news on this one. Returns
/// what came of it, and whether Ctrl-C ended it early.
///
/// # Errors
/// What `progress` raised, which ends the work; `KeyboardInterrupt` where Ctrl-C came twice; a panic.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Line<T>) -> T + Send + 'static,
) -> PyResult<(T, bool)> {
    let (sender, mut receiver) = channel();
    let line = Line { cancelled: Arc::default(), listens: progress.is_some(), sender };
    let mut ending = Ending { cancelled: Arc::clone(&line.cancelled), interrupted: false, raised: None };
    let body = move || {
        let done = work(&line);
        let _ = line.sender.send(Message::Done(done));
    };
    thread::Builder::new().name("dagsplit".into()).stack_size(STACK).spawn(body)?;
    loop {
        let (back, message) = py.detach(move || wait(receiver));
        receiver = back;
        match message {
            Ok(Message::Done(value)) => return ending.raised.map_or(Ok((value, ending.interrupted)), Err),
            Ok(Message::News(news)) => ending.call(py, progress.as_ref(), news),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(InternalError::new_err("a search panicked")),
        }
        ending.look_at_signals(py)?;
    }
}

fn wait<T>(receiver: Receiver<T>) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    let message = receiver.recv_timeout(PERIOD);
    (receiver, message)
}

/// Why work is to end early.
struct Ending {
    cancelled: Arc<AtomicBool>,
    interrupted: bool,
    raised: Option<PyErr>,
}

impl Ending {
    fn call(&mut self, py: Python<'_>, progress: Option<&Py<PyAny>>, news: News) {
        if let (Some(progress), None) = (progress, &self.raised)
            && let Err(error) = progress.call1(py, news)
        {
            self.raise(py, error);
        }
    }

    /// Ends the work at the first Ctrl-C, and stops waiting for it at the second.
    fn look_at_signals(&mut self, py: Python<'_>) -> PyResult<()> {
        match py.check_signals() {
            Err(error) if self.interrupted => Err(error),
            Err(error) => {
                self.raise(py, error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn raise(&mut self, py: Python<'_>, error: PyErr) {
        self.cancelled.store(true, Ordering::Relaxed);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.interrupted = true;
        } else {
            self.raised = Some(error);
        }
    }
}
