//! Limits, cancellation, progress and seed of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a running solver tells of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub phase: &'static str,
    /// Best objective so far.
    pub incumbent: Option<f64>,
    /// Best lower bound so far.
    pub bound: Option<f64>,
}

/// More threads than any machine has cores for, which would only take memory.
const MOST_THREADS: usize = 1024;

/// Runs `work` on as many threads as the context allows.
pub(crate) fn in_pool<T: Send>(cx: &SearchContext, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(cx.threads.clamp(1, MOST_THREADS)).build() {
        Ok(pool) => pool.install(work),
        // Without threads of its own the work runs on the global pool, with the same answer.
        Err(_) => work(),
    }
}

/// Whoever is told how far a run is.
type Report = Box<dyn Fn(&Progress) + Send + Sync>;

/// Limits, cancellation, progress and seed of a run.
pub struct SearchContext {
    started: Instant,
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
    /// The relative gap at which a run may stop; 0 asks for a proof.
    pub gap: f64,
    /// How many threads a solver may use; at least 1.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
    report: Option<Report>,
}

impl Default for SearchContext {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            deadline: None,
            cancelled: Arc::default(),
            gap: 0.0,
            threads: 1,
            seed: 0,
            report: None,
        }
    }
}

impl SearchContext {
    /// No limit, one thread, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops after `limit`, counted from now.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.started = Instant::now();
        self.deadline = self.started.checked_add(limit);
        self
    }

    /// Stops once `flag` is set, as a Ctrl-C handler does.
    #[must_use]
    pub fn with_cancellation(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// Calls `report` now and then.
    #[must_use]
    pub fn with_report(mut self, report: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// A context for a part of this run: on one thread, with the same seed, gap, cancellation and end, and no more than
    /// `limit` from now. It reports to nobody.
    #[must_use]
    pub fn part(&self, limit: Option<Duration>) -> Self {
        let started = Instant::now();
        let own = limit.and_then(|limit| started.checked_add(limit));
        let deadline = own.into_iter().chain(self.deadline).min();
        let cancelled = Arc::clone(&self.cancelled);
        Self { started, deadline, cancelled, gap: self.gap, threads: 1, seed: self.seed, report: None }
    }

    /// A context for a part of this run on all its threads, which reports to nobody: what it looks for is another figure.
    #[must_use]
    pub fn silent(&self) -> Self {
        Self { threads: self.threads, ..self.part(None) }
    }

    /// Whether the run has to stop with what it has.
    pub fn should_stop(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left, where there is a limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Tells whoever listens how far the run is.
    pub fn report(&self, progress: &Progress) {
        if let Some(report) = &self.report {
            report(progress);
        }
    }
}
