//! Limits, cancellation, progress and seed of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::MemoryBudget;
use super::table::{Known, Player, STEPS_PER_LOOK};

/// A limit, or a wish to end, came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

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

/// What programs of one's own have beyond their time limit.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `work` on as many threads as the context allows.
pub(crate) fn in_pool<T: Send>(cx: &SearchContext, work: impl FnOnce() -> T + Send) -> T {
    in_pool_of(cx.threads, work)
}

/// Runs `work`, which asks for itself how many of so many threads it may use at a time.
pub(crate) fn in_pool_of<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads.clamp(1, MOST_THREADS)).build() {
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
    memory: Option<MemoryBudget>,
    /// Set once memory ends this run: what it frees on its way out is no reason to go on.
    is_full: Arc<AtomicBool>,
    /// Set once memory ended or narrowed this run or any part of it.
    was_short: Arc<AtomicBool>,
    /// The relative gap at which a run may stop; 0 asks for a proof.
    pub gap: f64,
    /// How many threads a solver may use; at least 1.
    pub threads: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// How long after its time limit a program of one's own is killed; what takes long to start needs more.
    pub grace: Duration,
    report: Option<Report>,
    /// Where the run is one of several that take turns: its place among them, and whether it looks for what they look for.
    player: Option<(Arc<Player>, bool)>,
}

impl Default for SearchContext {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            deadline: None,
            cancelled: Arc::default(),
            memory: None,
            is_full: Arc::default(),
            was_short: Arc::default(),
            gap: 0.0,
            threads: 1,
            seed: 0,
            grace: GRACE,
            report: None,
            player: None,
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

    /// Ends searches, or keeps their tables small, before they take more memory than `budget` has.
    #[must_use]
    pub fn with_memory_budget(mut self, budget: MemoryBudget) -> Self {
        self.memory = Some(budget);
        self
    }

    /// Stops once `flag` is set, as a Ctrl-C handler does.
    #[must_use]
    pub fn with_cancellation(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// Calls `report` now and then, after those that were given before.
    #[must_use]
    pub fn with_report(mut self, report: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.report = Some(match self.report {
            None => Box::new(report),
            Some(before) => Box::new(move |progress| {
                before(progress);
                report(progress);
            }),
        });
        self
    }

    /// Lets the run take turns with others, and share what it knows with them.
    #[must_use]
    pub(super) fn with_player(mut self, player: Arc<Player>) -> Self {
        self.player = Some((player, true));
        self
    }

    /// A context for a part of this run: on one thread, with the same seed, gap, cancellation, memory and end, and no
    /// more than `limit` from now. It reports to nobody. Where memory ends it, other parts may still have enough. Where the run
    /// takes turns with others, so does the part, but what it finds is not told to them.
    #[must_use]
    pub fn part(&self, limit: Option<Duration>) -> Self {
        let started = Instant::now();
        let own = limit.and_then(|limit| started.checked_add(limit));
        Self {
            started,
            deadline: own.into_iter().chain(self.deadline).min(),
            cancelled: Arc::clone(&self.cancelled),
            memory: self.memory.clone(),
            is_full: Arc::default(),
            was_short: Arc::clone(&self.was_short),
            gap: self.gap,
            threads: 1,
            seed: self.seed,
            grace: self.grace,
            report: None,
            player: self.player.as_ref().map(|(player, _)| (Arc::clone(player), false)),
        }
    }

    /// A context for a part of this run on all its threads, which reports to nobody: what it looks for is another figure.
    #[must_use]
    pub fn silent(&self) -> Self {
        Self { threads: self.threads, is_full: Arc::clone(&self.is_full), ..self.part(None) }
    }

    /// Whether the run has to stop with what it has.
    pub fn should_stop(&self) -> bool {
        self.is_over() || self.is_out_of_memory()
    }

    /// The same after work of so many steps, sums of labels or the like: for pieces of work that differ so much that a turn
    /// is better counted by their steps than by looks.
    pub(crate) fn should_stop_after(&self, steps: usize) -> bool {
        self.is_over_after(steps) || self.is_out_of_memory()
    }

    /// Whether time is up or the run was cancelled; for work that asks by itself whether its tables fit, and ends where
    /// they do not.
    pub fn is_over(&self) -> bool {
        self.is_over_after(STEPS_PER_LOOK as usize)
    }

    /// Whether time is up or the run was cancelled, after work of so many steps.
    pub(crate) fn is_over_after(&self, steps: usize) -> bool {
        // A turn may end here, and time pass until the next one.
        let is_settled = self.player.as_ref().is_some_and(|(player, _)| player.look(steps as u64));
        is_settled || self.has_ended()
    }

    /// Whether the run was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether time is up or the run was cancelled, without a look that counts for a turn.
    fn has_ended(&self) -> bool {
        self.is_cancelled() || self.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Whether time is up or the run was cancelled, and another search for the same answer has a solution: one that has yet
    /// to begin its work is not missed.
    pub(crate) fn is_late(&self) -> bool {
        self.has_ended() && self.player.as_ref().is_some_and(|(player, _)| player.is_answered())
    }

    /// How many threads it may use now: where it takes turns, an equal part of all in the present turn.
    pub(crate) fn lanes(&self) -> usize {
        self.player.as_ref().map_or(self.threads, |(player, _)| player.threads())
    }

    /// Does both, side by side where a thread is free.
    pub(crate) fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        if self.free_lanes() > 1 { rayon::join(first, second) } else { (first(), second()) }
    }

    /// Does some work on each of the items, side by side where threads are free.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        if self.free_lanes() > 1 {
            items.into_par_iter().map(work).collect()
        } else {
            items.into_iter().map(work).collect()
        }
    }

    /// How many threads are free for it at this moment: where it takes turns, an equal part of all among the searches that are in the
    /// middle of theirs. Nothing but the time it takes may depend on that.
    pub(crate) fn free_lanes(&self) -> usize {
        self.player.as_ref().map_or(self.threads.max(1), |(player, _)| player.free_threads())
    }

    /// How many threads it may use at any time.
    pub(crate) fn most_lanes(&self) -> usize {
        self.player.as_ref().map_or(self.threads, |(player, _)| player.most_threads())
    }

    /// What other searches for the same answer know.
    pub(super) fn known(&self) -> Known {
        match &self.player {
            Some((player, true)) => player.known(),
            _ => Known::NOTHING,
        }
    }

    /// Tells other searches for the same answer what this one has found.
    pub(super) fn tell(&self, found: Known) {
        if let Some((player, true)) = &self.player {
            player.tell(found);
        }
    }

    fn is_out_of_memory(&self) -> bool {
        let Some(budget) = &self.memory else { return false };
        if budget.left() == 0 {
            self.is_full.store(true, Ordering::Relaxed);
            self.was_short.store(true, Ordering::Relaxed);
        }
        self.is_full.load(Ordering::Relaxed)
    }

    /// Whether a table of `bytes` fits in the memory left. A search that is told no does with less, or ends.
    pub fn admits(&self, bytes: usize) -> bool {
        let fits = bytes <= self.memory_left();
        if !fits {
            self.was_short.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// How many bytes may still be taken; [`usize::MAX`] without a budget.
    pub fn memory_left(&self) -> usize {
        self.memory.as_ref().map_or(usize::MAX, MemoryBudget::left)
    }

    /// Whether memory ended or narrowed the search: with more of it there might be a better answer.
    pub fn was_short_of_memory(&self) -> bool {
        self.was_short.load(Ordering::Relaxed)
    }

    /// Time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The time limit of the run, or of this part of it.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.deadline.map(|end| end.saturating_duration_since(self.started))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A run that may use 100 bytes, and how many are in use.
    fn limited() -> (SearchContext, Arc<AtomicUsize>) {
        let in_use = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&in_use);
        let budget = MemoryBudget::new(100, move || told.load(Ordering::Relaxed));
        (SearchContext::new().with_memory_budget(budget), in_use)
    }

    #[test]
    fn memory_ends_a_run_for_good_and_no_other_part() {
        let (cx, in_use) = limited();
        let (one, silent) = (cx.part(None), cx.silent());
        assert!(!cx.should_stop() && !one.should_stop() && !cx.was_short_of_memory());
        in_use.store(80, Ordering::Relaxed);
        assert!(one.should_stop());
        in_use.store(10, Ordering::Relaxed);
        assert!(one.should_stop() && cx.was_short_of_memory());
        assert!(!cx.should_stop() && !cx.part(None).should_stop());
        in_use.store(80, Ordering::Relaxed);
        assert!(silent.should_stop());
        in_use.store(10, Ordering::Relaxed);
        assert!(cx.should_stop());
    }

    #[test]
    fn a_table_that_does_not_fit_is_refused_and_told() {
        let (cx, in_use) = limited();
        in_use.store(50, Ordering::Relaxed);
        assert!(cx.admits(25) && !cx.was_short_of_memory());
        assert!(!cx.admits(26) && cx.was_short_of_memory() && !cx.should_stop());
        assert_eq!((cx.memory_left(), SearchContext::new().memory_left()), (25, usize::MAX));
    }
}
