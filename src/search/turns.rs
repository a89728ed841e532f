//! Searches for one answer that take turns and share what they know.
//!
//! Each entrant runs in a thread of its own, of which only as many are awake as the run has threads. A turn ends after a
//! number of looks at the limits, so that it is a piece of work and not of time; what the turns of a round have brought is
//! known to all from the next round on. So answers do not depend on how fast the machine is, or which thread comes first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Progress, SEARCH_TOLERANCE, SearchContext, Technique};

/// A search that takes part.
pub struct Entrant<'a, T> {
    /// Its name in statistics.
    pub name: &'static str,
    /// Whether what no solution of its own is below, no solution that is asked for is: it looks at all of these.
    pub looks_at_all: bool,
    /// Looks at the limits in one of its turns.
    pub looks: u64,
    /// The same of its first turn.
    pub first_looks: u64,
    /// The search.
    pub run: Box<dyn FnOnce(&mut SearchContext) -> T + Send + 'a>,
}

/// What is known from both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The best objective; infinite where there is none.
    pub objective: f64,
    /// What no solution is below.
    pub bound: f64,
}

impl Known {
    /// Nothing is known.
    pub const NOTHING: Self = Self { objective: f64::INFINITY, bound: 0.0 };
}

/// What came of it.
pub struct Ending<T> {
    /// What the entrants returned, in their order; none of one that never began.
    pub results: Vec<Option<T>>,
    /// What was known.
    pub known: Known,
    /// Who has found the best solution, and who has raised the bound last.
    pub best: Option<usize>,
    pub bound_by: Option<usize>,
    /// What each of them did.
    pub techniques: Vec<Technique>,
}

/// Runs the entrants by turns, as many at a time as `cx` has threads, until one of them or all of them together have an
/// answer within the gap that is asked for, all have ended, or a limit comes.
pub fn by_turns<T: Send>(cx: &SearchContext, entrants: Vec<Entrant<'_, T>>) -> Ending<T> {
    let seats = entrants.iter().map(|entrant| Seat::new(entrant.name)).collect();
    let table = Table {
        seats,
        known: Known::NOTHING,
        best: None,
        bound_by: None,
        running: 0,
        gap: cx.gap,
        is_over: false,
        rounds: 0,
    };
    let turns = Arc::new(Turns { table: Mutex::new(table), moved: Condvar::new(), threads: cx.threads.max(1) });
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (entrants.into_iter().enumerate())
            .map(|(index, entrant)| {
                let player = Arc::new(Player::new(Arc::clone(&turns), index, &entrant));
                let mut part = cx.part(None).with_player(Arc::clone(&player));
                scope.spawn(move || player.play(|| (entrant.run)(&mut part)))
            })
            .collect();
        turns.attend(cx);
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let table = turns.lock();
    Ending {
        results,
        known: table.known,
        best: table.best,
        bound_by: table.bound_by,
        techniques: table.seats.iter().map(|seat| seat.did).collect(),
    }
}

/// What one entrant's place at the table looks like.
struct Seat {
    state: State,
    /// When its turn began, and what it has found since.
    since: Instant,
    found: Known,
    did: Technique,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has yet to take its turn in this round.
    Waiting,
    Running,
    /// It has taken its turn.
    Done,
    Ended,
}

impl Seat {
    fn new(name: &'static str) -> Self {
        Self { state: State::Waiting, since: Instant::now(), found: Known::NOTHING, did: Technique::new(name) }
    }
}

struct Table {
    seats: Vec<Seat>,
    known: Known,
    /// Who has found the best solution known, and who has raised the bound last.
    best: Option<usize>,
    bound_by: Option<usize>,
    running: usize,
    gap: f64,
    is_over: bool,
    rounds: u64,
}

impl Table {
    /// Whether it is this entrant's turn: those before it have begun theirs.
    fn may_begin(&self, index: usize, threads: usize) -> bool {
        self.is_over
            || self.running < threads
                && self.seats[index].state == State::Waiting
                && self.seats[..index].iter().all(|seat| seat.state != State::Waiting)
    }

    fn end_turn(&mut self, index: usize, state: State) {
        let seat = &mut self.seats[index];
        seat.state = state;
        seat.did.seconds += seat.since.elapsed().as_secs_f64();
        self.running -= 1;
        let objective = self.known.objective.min(self.seats[index].found.objective);
        if state == State::Ended && self.is_settled(objective, self.known.bound.max(self.seats[index].found.bound)) {
            // Nobody has to take a turn for what is settled.
            self.enter(index);
            self.is_over = true;
        } else if self.seats.iter().all(|seat| matches!(seat.state, State::Done | State::Ended)) {
            self.begin_round();
        }
    }

    /// Makes known to all what the last round brought, in the order of the seats.
    fn begin_round(&mut self) {
        for index in 0..self.seats.len() {
            self.enter(index);
            let state = &mut self.seats[index].state;
            *state = if *state == State::Done { State::Waiting } else { *state };
        }
        self.known.bound = self.known.bound.min(self.known.objective);
        self.rounds += 1;
        self.is_over |= self.is_settled(self.known.objective, self.known.bound);
    }

    /// Makes known what an entrant has found.
    fn enter(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        let found = std::mem::replace(&mut seat.found, Known::NOTHING);
        if found.objective < self.known.objective {
            let before = if self.known.objective.is_finite() { self.known.objective } else { found.objective };
            seat.did.objective_lowered += before - found.objective;
            (self.known.objective, self.best) = (found.objective, Some(index));
        }
        if found.bound > self.known.bound {
            seat.did.bound_raised += found.bound - self.known.bound;
            (self.known.bound, self.bound_by) = (found.bound, Some(index));
        }
    }

    fn is_settled(&self, objective: f64, bound: f64) -> bool {
        objective.is_finite() && bound >= objective * (1.0 - self.gap.max(SEARCH_TOLERANCE))
    }
}

/// The table, and who waits at it.
pub struct Turns {
    table: Mutex<Table>,
    moved: Condvar,
    threads: usize,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere leaves figures that are of use to nobody: it goes on in the thread that waits for all.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, table: MutexGuard<'a, Table>) -> MutexGuard<'a, Table> {
        self.moved.wait(table).unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells after each round how far the run is, until all have ended.
    fn attend(&self, cx: &SearchContext) {
        let (mut table, mut told) = (self.lock(), 0);
        while table.seats.iter().any(|seat| seat.state != State::Ended) {
            if table.rounds > told {
                told = table.rounds;
                let incumbent = Some(table.known.objective).filter(|objective| objective.is_finite());
                let bound = Some(table.known.bound).filter(|&bound| bound > 0.0);
                cx.report(&Progress { phase: "portfolio", incumbent, bound });
            }
            table = self.wait(table);
        }
    }
}

/// An entrant as its search sees it.
pub struct Player {
    turns: Arc<Turns>,
    index: usize,
    looks_at_all: bool,
    looks: u64,
    first_looks: u64,
    looks_left: AtomicU64,
    /// What was known when its turn began, as the bits of the numbers.
    objective: AtomicU64,
    bound: AtomicU64,
    is_over: AtomicBool,
}

impl Player {
    fn new<T>(turns: Arc<Turns>, index: usize, entrant: &Entrant<T>) -> Self {
        Self {
            turns,
            index,
            looks_at_all: entrant.looks_at_all,
            looks: entrant.looks,
            first_looks: entrant.first_looks,
            looks_left: AtomicU64::new(0),
            objective: AtomicU64::new(Known::NOTHING.objective.to_bits()),
            bound: AtomicU64::new(Known::NOTHING.bound.to_bits()),
            is_over: AtomicBool::new(false),
        }
    }

    /// Runs the search from its first turn on; not at all where the run is over before.
    fn play<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        self.begin(self.turns.lock());
        let _leaves = Leaves(self);
        (!self.is_over.load(Ordering::Relaxed)).then(run)
    }

    fn begin(&self, mut table: MutexGuard<Table>) {
        while !table.may_begin(self.index, self.turns.threads) {
            table = self.turns.wait(table);
        }
        let known = table.known;
        table.running += 1;
        let seat = &mut table.seats[self.index];
        seat.state = State::Running;
        seat.since = Instant::now();
        let looks = if seat.did.calls == 0 { self.first_looks } else { self.looks };
        seat.did.calls += 1;
        self.is_over.store(table.is_over, Ordering::Relaxed);
        self.objective.store(known.objective.to_bits(), Ordering::Relaxed);
        self.bound.store(known.bound.to_bits(), Ordering::Relaxed);
        self.looks_left.store(looks, Ordering::Relaxed);
        self.turns.moved.notify_all();
    }

    /// One look at the limits, which may end its turn and begin the next one; whether the run is over.
    pub fn look(&self) -> bool {
        let is_over = self.is_over.load(Ordering::Relaxed);
        if !is_over && self.looks_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            let mut table = self.turns.lock();
            table.end_turn(self.index, State::Done);
            self.turns.moved.notify_all();
            self.begin(table);
        }
        self.is_over.load(Ordering::Relaxed)
    }

    /// What was known when its turn began.
    pub fn known(&self) -> Known {
        let of = |bits: &AtomicU64| f64::from_bits(bits.load(Ordering::Relaxed));
        Known { objective: of(&self.objective), bound: of(&self.bound) }
    }

    /// Tells what it has found, for others from the next round on.
    pub fn tell(&self, found: Known) {
        let seen = &mut self.turns.lock().seats[self.index].found;
        seen.objective = seen.objective.min(found.objective);
        if self.looks_at_all {
            seen.bound = seen.bound.max(found.bound);
        }
    }
}

/// Leaves the table at the end of a search, however it ends.
struct Leaves<'a>(&'a Player);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.turns.lock().end_turn(self.0.index, State::Ended);
        self.0.turns.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::search::Race;

    /// An entrant that goes down from `objective` and up from `bound` in steps of `step`, a look for each, and says what it
    /// saw at each look.
    fn walker(name: &'static str, (objective, bound): (f64, f64), step: f64) -> Entrant<'static, Vec<[f64; 2]>> {
        let run = move |cx: &mut SearchContext| {
            let (mut race, mut seen) = (Race::new(0.0, (), cx), Vec::new());
            for i in 0..100 {
                race.offer(objective - step * f64::from(i), ());
                race.raise(bound + step * f64::from(i), ());
                seen.push([race.objective().unwrap(), race.bound()]);
                if race.is_done() {
                    break;
                }
            }
            seen
        };
        Entrant { name, looks_at_all: true, looks: 3, first_looks: 3, run: Box::new(run) }
    }

    #[test]
    fn each_knows_after_a_round_what_the_others_found() {
        for threads in [1, 2, 8] {
            let mut cx = SearchContext::new();
            cx.threads = threads;
            let above = walker("above", (20.0, 0.0), 1.0);
            let below = walker("below", (90.0, 5.0), 0.5);
            let ending = by_turns(&cx, vec![above, below]);
            let [above, below] = &ending.results[..] else { panic!("two entrants") };
            let (above, below) = (above.as_ref().unwrap(), below.as_ref().unwrap());
            // The third look ends a turn.
            assert_eq!(above[..4], [[20.0, 0.0], [19.0, 1.0], [18.0, 2.0], [17.0, 6.0]], "{threads}");
            assert_eq!(below[..4], [[90.0, 5.0], [89.5, 5.5], [89.0, 6.0], [18.0, 6.5]], "{threads}");
            assert!(ending.known.bound == ending.known.objective && ending.best == Some(0), "{threads}");
            assert!(ending.techniques[1].calls > 1 && ending.techniques[0].objective_lowered > 0.0);
        }
    }

    #[test]
    fn what_ends_settled_ends_all_at_once() {
        let quick = walker("quick", (1.0, 1.0), 0.0);
        let idle = walker("idle", (9.0, 0.0), 0.0);
        let ending = by_turns(&SearchContext::new(), vec![quick, idle]);
        assert_eq!((ending.known, ending.best), (Known { objective: 1.0, bound: 1.0 }, Some(0)));
        assert_eq!(ending.results, [Some(vec![[1.0, 1.0]]), None]);
    }

    #[test]
    fn bounds_of_those_who_do_not_look_at_all_are_theirs_alone() {
        let narrow = Entrant { looks_at_all: false, ..walker("narrow", (8.0, 7.0), 0.0) };
        let ending = by_turns(&SearchContext::new(), vec![narrow, walker("wide", (9.0, 1.0), 0.0)]);
        assert_eq!(ending.known, Known { objective: 8.0, bound: 1.0 });
    }

    #[test]
    fn limits_and_panics_end_all() {
        let patient = || {
            let run = |cx: &mut SearchContext| while !cx.should_stop() {};
            Entrant { name: "patient", looks_at_all: true, looks: 5, first_looks: 5, run: Box::new(run) }
        };
        let cx = SearchContext::new().with_time_limit(Duration::from_millis(5));
        assert_eq!(by_turns(&cx, vec![patient(), patient()]).results, [Some(()), Some(())]);
        let panics = Entrant { run: Box::new(|_: &mut SearchContext| panic!("on purpose")), ..patient() };
        let cx = SearchContext::new().with_time_limit(Duration::from_millis(5));
        let caught = catch_unwind(AssertUnwindSafe(|| by_turns(&cx, vec![patient(), panics])));
        assert!(caught.is_err());
    }
}
