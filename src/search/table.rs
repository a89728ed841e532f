//! The table at which searches take turns: whose turn it is, and what is known to all.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{SEARCH_TOLERANCE, Technique};

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

/// What is known in the end, and by whom.
#[derive(Debug, Clone)]
pub struct Standing {
    pub known: Known,
    /// Who has found the best solution, and who has raised the bound last.
    pub best: Option<usize>,
    pub bound_by: Option<usize>,
    /// The last of those whose turns settled the answer; those after it were sent away in the middle of theirs.
    pub settled_by: Option<usize>,
    /// What each of them did.
    pub techniques: Vec<Technique>,
}

/// An entrant's place.
struct Seat {
    state: State,
    /// When its turn began, and what it has found since.
    since: Instant,
    found: Known,
    /// Whether it takes its turn in every round.
    is_steady: bool,
    /// How many turns in a row have brought nothing, and how many rounds it rests for that.
    idle: u32,
    rest: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has yet to take its turn in this round.
    Waiting,
    Running,
    /// It has taken its turn.
    Done,
    /// It takes none in this round.
    Resting,
    Ended,
}

/// So many turns that bring nothing double the rounds until the next turn, at most so many times.
const IDLE_TURNS: u32 = 6;
const MOST_DOUBLINGS: u32 = 3;

impl Seat {
    /// Goes on to the next round.
    fn go_on(&mut self) {
        match self.state {
            State::Done if self.is_steady => self.rest = 0,
            State::Done => self.rest = (1 << (self.idle / IDLE_TURNS).min(MOST_DOUBLINGS)) - 1,
            State::Resting => self.rest -= 1,
            _ => return,
        }
        self.state = if self.rest == 0 { State::Waiting } else { State::Resting };
    }

    /// Whether it takes a turn in this round.
    fn plays(&self) -> bool {
        !matches!(self.state, State::Resting | State::Ended)
    }
}

struct Round {
    seats: Vec<Seat>,
    standing: Standing,
    running: usize,
    is_over: bool,
    rounds: u64,
}

/// The table, and who waits at it.
pub struct Table {
    state: Mutex<Round>,
    moved: Condvar,
    /// Whether the answer is settled, for those in the middle of a turn.
    is_settled: AtomicBool,
    threads: usize,
    gap: f64,
}

impl Round {
    /// Whether it is this entrant's turn: those before it have begun theirs.
    fn may_begin(&self, index: usize, threads: usize) -> bool {
        let is_first = self.seats[..index].iter().all(|seat| seat.state != State::Waiting);
        self.is_over || self.running < threads && self.seats[index].state == State::Waiting && is_first
    }

    /// Makes known to all what an entrant has found.
    fn enter(&mut self, index: usize) {
        let found = std::mem::replace(&mut self.seats[index].found, Known::NOTHING);
        let Standing { known, best, bound_by, techniques, .. } = &mut self.standing;
        let brings = found.objective < known.objective || found.bound > known.bound;
        let seat = &mut self.seats[index];
        seat.idle = if brings { 0 } else { seat.idle + u32::from(seat.state == State::Done) };
        if found.objective < known.objective {
            let before = if known.objective.is_finite() { known.objective } else { found.objective };
            techniques[index].objective_lowered += before - found.objective;
            (known.objective, *best) = (found.objective, Some(index));
        }
        if found.bound > known.bound {
            techniques[index].bound_raised += found.bound - known.bound;
            (known.bound, *bound_by) = (found.bound, Some(index));
        }
        known.bound = known.bound.min(known.objective);
    }

    /// Ends the round where the first seats have taken their turns and settle the answer, whatever the others do; or else
    /// where all have. What is known then does not depend on who was quicker.
    fn end_round(&mut self, gap: f64) {
        let is_through = |seat: &Seat| matches!(seat.state, State::Done | State::Resting | State::Ended);
        let through = self.seats.iter().take_while(|seat| is_through(seat)).count();
        let mut known = self.standing.known;
        let settles = |seat: &Seat| {
            known.objective = known.objective.min(seat.found.objective);
            known.bound = known.bound.max(seat.found.bound);
            let last = known.objective * (1.0 - gap.max(SEARCH_TOLERANCE));
            known.objective.is_finite() && known.bound >= last
        };
        let settled = self.seats[..through].iter().position(settles);
        if settled.is_none() && through < self.seats.len() {
            return;
        }
        (0..settled.map_or(through, |last| last + 1)).for_each(|index| self.enter(index));
        self.seats.iter_mut().for_each(Seat::go_on);
        if !self.seats.iter().any(Seat::plays) {
            let resting = self.seats.iter_mut().filter(|seat| seat.state == State::Resting);
            resting.for_each(|seat| seat.state = State::Waiting);
        }
        self.rounds += 1;
        self.is_over |= settled.is_some();
        self.standing.settled_by = settled;
    }
}

impl Table {
    /// A table for entrants of these names, each with whether it takes its turn in every round. So many are awake at a time;
    /// a gap as small as this one ends the run.
    pub fn new(entrants: &[(&'static str, bool)], threads: usize, gap: f64) -> Self {
        let (since, found) = (Instant::now(), Known::NOTHING);
        let seat = |&(_, is_steady): &_| Seat { state: State::Waiting, since, found, is_steady, idle: 0, rest: 0 };
        let techniques = entrants.iter().map(|&(name, _)| Technique::new(name)).collect();
        let standing = Standing { known: Known::NOTHING, best: None, bound_by: None, settled_by: None, techniques };
        let seats = entrants.iter().map(seat).collect();
        let state = Round { seats, standing, running: 0, is_over: false, rounds: 0 };
        let is_settled = AtomicBool::new(false);
        Self { state: Mutex::new(state), moved: Condvar::new(), is_settled, threads: threads.max(1), gap }
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        // A panic elsewhere leaves figures that are of use to nobody: it goes on in the thread that waits for all.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Round>) -> MutexGuard<'a, Round> {
        self.moved.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A host for this table, who tells after each round what is known.
    pub fn host<F: Fn(Known)>(&self, tell: F) -> Host<'_, F> {
        Host { table: self, tell, told: 0 }
    }

    /// What is known.
    pub fn standing(&self) -> Standing {
        self.lock().standing.clone()
    }
}

/// Who seats the entrants, each when its first turn comes, and sees them out.
pub struct Host<'a, F> {
    table: &'a Table,
    tell: F,
    /// The rounds after which it has told.
    told: u64,
}

impl<'a, F: Fn(Known)> Host<'a, F> {
    /// Waits for this entrant's first turn; whether it gets one, as it does not where the run is over before.
    pub fn seats(&mut self, index: usize) -> bool {
        let threads = self.table.threads;
        let mut state = self.attend(|round| round.may_begin(index, threads));
        if state.is_over {
            state.seats[index].state = State::Ended;
        }
        !state.is_over
    }

    /// Waits until all have ended.
    pub fn sees_all_out(&mut self) {
        drop(self.attend(|round| round.seats.iter().all(|seat| seat.state == State::Ended)));
    }

    fn attend(&mut self, is_reached: impl Fn(&Round) -> bool) -> MutexGuard<'a, Round> {
        let mut state = self.table.lock();
        while !is_reached(&state) {
            if state.rounds > self.told {
                self.told = state.rounds;
                (self.tell)(state.standing.known);
            }
            state = self.table.wait(state);
        }
        state
    }
}

/// Steps of work that a look counts as where it does not say how many it comes after.
pub const STEPS_PER_LOOK: u64 = 1 << 12;

/// An entrant as its search sees it.
pub struct Player {
    table: Arc<Table>,
    index: usize,
    looks_at_all: bool,
    /// Steps of its next turn, and of those after it.
    steps: (AtomicU64, u64),
    steps_left: AtomicU64,
    /// What was known when its turn began, as the bits of the numbers.
    objective: AtomicU64,
    bound: AtomicU64,
    is_over: AtomicBool,
    /// How many threads it may use in its turn.
    threads: AtomicUsize,
}

impl Player {
    /// The entrant at a seat, with the looks of its first turn and of later ones; its bounds count where it looks at all
    /// solutions that are asked for.
    pub fn new(table: &Arc<Table>, index: usize, looks_at_all: bool, (first, later): (u64, u64)) -> Self {
        Self {
            table: Arc::clone(table),
            index,
            looks_at_all,
            steps: (AtomicU64::new(first.saturating_mul(STEPS_PER_LOOK)), later.saturating_mul(STEPS_PER_LOOK)),
            steps_left: AtomicU64::new(0),
            objective: AtomicU64::new(Known::NOTHING.objective.to_bits()),
            bound: AtomicU64::new(Known::NOTHING.bound.to_bits()),
            is_over: AtomicBool::new(false),
            threads: AtomicUsize::new(1),
        }
    }

    /// Runs the search from its first turn on; not at all where the run is over before. A result that `closes` the question
    /// ends the run.
    pub fn play<T>(&self, run: impl FnOnce() -> Option<T>, closes: impl Fn(&T) -> bool) -> Option<T> {
        self.begin(self.table.lock());
        let _leaves = Leaves(self);
        let result = if self.is_over.load(Ordering::Relaxed) { None } else { run() };
        if self.looks_at_all && result.as_ref().is_some_and(closes) {
            self.table.lock().is_over = true;
        }
        result
    }

    fn begin(&self, mut state: MutexGuard<Round>) {
        while !state.may_begin(self.index, self.table.threads) {
            state = self.table.wait(state);
        }
        state.running += 1;
        state.standing.techniques[self.index].calls += 1;
        let seat = &mut state.seats[self.index];
        (seat.state, seat.since) = (State::Running, Instant::now());
        let known = state.standing.known;
        self.is_over.store(state.is_over, Ordering::Relaxed);
        let players = state.seats.iter().filter(|seat| seat.plays()).count();
        self.threads.store((self.table.threads / players).max(1), Ordering::Relaxed);
        self.objective.store(known.objective.to_bits(), Ordering::Relaxed);
        self.bound.store(known.bound.to_bits(), Ordering::Relaxed);
        self.steps_left.store(self.steps.0.swap(self.steps.1, Ordering::Relaxed), Ordering::Relaxed);
        self.table.moved.notify_all();
    }

    fn end_turn(&self, how: State) -> MutexGuard<'_, Round> {
        let mut state = self.table.lock();
        let seat = &mut state.seats[self.index];
        seat.state = how;
        let seconds = seat.since.elapsed().as_secs_f64();
        state.standing.techniques[self.index].seconds += seconds;
        state.running -= 1;
        if !state.is_over {
            state.end_round(self.table.gap);
            self.table.is_settled.store(state.standing.settled_by.is_some(), Ordering::Relaxed);
        }
        self.table.moved.notify_all();
        state
    }

    /// A look at the limits after so many steps, which may end its turn and begin the next one; whether the run is over, as it
    /// is in the middle of a turn where others have settled the answer without it.
    pub fn look(&self, steps: u64) -> bool {
        let is_over = || self.is_over.load(Ordering::Relaxed) || self.table.is_settled.load(Ordering::Relaxed);
        if !is_over() {
            let less = |left: u64| (left > 0).then(|| left.saturating_sub(steps));
            match self.steps_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
                Ok(left) if left <= steps => self.begin(self.end_turn(State::Done)),
                Ok(_) => {}
                Err(_) => self.wait_for_turn(steps),
            }
        }
        is_over()
    }

    /// How many threads it may use in its turn: an equal part of all.
    pub fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// How many it may use at this moment: an equal part of all among those in the middle of a turn.
    pub fn free_threads(&self) -> usize {
        let running = self.table.lock().running.max(1);
        (self.table.threads / running).max(1)
    }

    /// How many it may use in a turn of its own.
    pub fn most_threads(&self) -> usize {
        self.table.threads
    }

    /// Waits for the next turn, where another thread of this entrant has ended the last one, and looks again.
    fn wait_for_turn(&self, steps: u64) {
        let mut state = self.table.lock();
        while self.steps_left.load(Ordering::Relaxed) == 0 {
            state = self.table.wait(state);
        }
        drop(state);
        self.look(steps);
    }

    /// What was known when its turn began.
    pub fn known(&self) -> Known {
        let of = |bits: &AtomicU64| f64::from_bits(bits.load(Ordering::Relaxed));
        Known { objective: of(&self.objective), bound: of(&self.bound) }
    }

    /// Whether any search has told of a solution, known to all or not yet.
    pub fn is_answered(&self) -> bool {
        let state = self.table.lock();
        let objectives = state.seats.iter().map(|seat| seat.found.objective);
        objectives.chain([state.standing.known.objective]).any(f64::is_finite)
    }

    /// Tells what it has found, for others from the next round on.
    pub fn tell(&self, found: Known) {
        let told = &mut self.table.lock().seats[self.index].found;
        told.objective = told.objective.min(found.objective);
        if self.looks_at_all {
            told.bound = told.bound.max(found.bound);
        }
    }
}

/// Leaves the table at the end of a search, however it ends.
struct Leaves<'a>(&'a Player);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        drop(self.0.end_turn(State::Ended));
    }
}
