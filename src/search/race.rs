//! What a search knows from both sides, until they meet.

use super::table::Known;
use super::{Progress, SEARCH_TOLERANCE, SearchContext};

/// The best solution and the best bound so far, with where the bound comes from. Whatever searches offers solutions and
/// raises the bound; the race says what is worth looking for, and when it is over. Where several searches look for the same
/// answer by turns, each has a race of its own, whose objective and bound are the best of all.
pub struct Race<'a, S, O> {
    /// The limits.
    pub cx: &'a SearchContext,
    best: Option<(f64, S)>,
    bound: f64,
    origin: O,
}

impl<'a, S, O> Race<'a, S, O> {
    /// Nothing is known but a bound.
    pub fn new(bound: f64, origin: O, cx: &'a SearchContext) -> Self {
        cx.tell(Known { bound, ..Known::NOTHING });
        Self { cx, best: None, bound, origin }
    }

    /// Keeps a solution of this objective if it is the best of this search; whether it is.
    pub fn offer(&mut self, objective: f64, solution: S) -> bool {
        let is_better = self.best.as_ref().is_none_or(|&(best, _)| objective < best);
        if is_better {
            self.best = Some((objective, solution));
            self.cx.tell(Known { objective, ..Known::NOTHING });
        }
        is_better
    }

    /// Raises the bound, to the best solution's objective at most; whether that raises it.
    pub fn raise(&mut self, bound: f64, origin: O) -> bool {
        let bound = self.objective().map_or(bound, |objective| bound.min(objective));
        let is_higher = bound > self.bound;
        if is_higher {
            (self.bound, self.origin) = (bound, origin);
            self.cx.tell(Known { bound, ..Known::NOTHING });
        }
        is_higher
    }

    /// The best objective known, of this search's solution or of others'.
    pub fn objective(&self) -> Option<f64> {
        let own = self.best.as_ref().map(|&(objective, _)| objective);
        let known = Some(self.cx.known().objective).filter(|objective| objective.is_finite());
        own.into_iter().chain(known).min_by(f64::total_cmp)
    }

    /// The best solution of this search.
    pub fn solution(&self) -> Option<&S> {
        self.best.as_ref().map(|(_, solution)| solution)
    }

    /// What no solution is below.
    pub fn bound(&self) -> f64 {
        self.bound.max(self.cx.known().bound)
    }

    /// The largest target below a solution of this objective whose refutation ends the race.
    pub fn last_target(&self, objective: f64) -> f64 {
        let gap = if self.objective().is_some() { self.cx.gap } else { 0.0 };
        objective * (1.0 - gap.max(SEARCH_TOLERANCE))
    }

    /// Whether bound and solution are no farther apart than this part of the objective.
    pub fn is_within(&self, gap: f64) -> bool {
        self.objective().is_some_and(|objective| objective - self.bound() <= gap * objective)
    }

    /// Whether bound and solution are as near as is asked for.
    pub fn is_settled(&self) -> bool {
        self.objective().is_some_and(|objective| self.bound() >= self.last_target(objective))
    }

    /// Whether it is settled, or a limit says to stop.
    pub fn is_done(&self) -> bool {
        self.is_settled() || self.cx.should_stop()
    }

    /// Tells how far it is.
    pub fn report(&self, phase: &'static str) {
        let bound = Some(self.bound()).filter(|&bound| bound > 0.0);
        self.cx.report(&Progress { phase, incumbent: self.objective(), bound });
    }

    /// The best solution of this search with its objective, the bound that it has proven, and where that comes from.
    pub fn finish(self) -> (Option<(f64, S)>, f64, O) {
        (self.best, self.bound, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_keeps_the_best_of_both_sides_and_ends_where_they_meet() {
        let cx = SearchContext::new();
        let mut race = Race::new(1.0, "work", &cx);
        assert!(race.offer(10.0, 'a') && !race.offer(10.0, 'b') && !race.is_done());
        assert!(race.raise(4.0, "forced") && !race.raise(3.0, "work"));
        assert!(race.is_within(0.6) && !race.is_within(0.59));
        assert!(race.offer(5.0, 'c') && !race.is_settled());
        // No bound is above a solution.
        assert!(race.raise(7.0, "refuted") && race.is_done());
        assert_eq!(race.finish(), (Some((5.0, 'c')), 5.0, "refuted"));
    }

    #[test]
    fn what_is_left_open_is_asked_for() {
        let mut cx = SearchContext::new();
        cx.gap = 0.1;
        let mut race: Race<(), ()> = Race::new(0.0, (), &cx);
        assert_eq!(race.last_target(10.0), 10.0 * (1.0 - SEARCH_TOLERANCE));
        race.offer(10.0, ());
        assert_eq!(race.last_target(10.0), 9.0);
        race.raise(9.0, ());
        assert!(race.is_settled());
    }
}
