//! Searches for one answer that take turns and share what they know.
//!
//! Each entrant runs in a thread of its own from its first turn on, and only as many are awake as the run has threads. A turn ends after a
//! number of looks at the limits, so that it is a piece of work and not of time; what the turns of a round have brought is
//! known to all from the next round on. So answers do not depend on how fast the machine is, or which thread comes first. One
//! whose turns bring nothing for long takes them in every second round alone, and later in ever fewer: the threads are for the
//! others then.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::table::{Known, Player, Standing, Table};
use super::{Progress, SearchContext};

/// A search that takes part.
pub struct Entrant<'a, T> {
    /// Its name in statistics.
    pub name: &'static str,
    /// Whether what no solution of its own is below, no solution that is asked for is: it looks at all of these.
    pub looks_at_all: bool,
    /// Whether it takes its turn in every round, whatever its turns bring: as one does whose pieces of work are long, but
    /// end with much.
    pub is_steady: bool,
    /// Looks at the limits in one of its turns.
    pub looks: u64,
    /// The same of its first turn.
    pub first_looks: u64,
    /// The search.
    pub run: Box<dyn FnOnce(&mut SearchContext) -> T + Send + 'a>,
}

/// Runs the entrants by turns, as many at a time as `cx` has threads, until they have an answer within the gap that is asked
/// for, or a result of one that looks at all solutions `closes` the question, or all have ended, or a limit comes.
///
/// Returns what was known at the end, and what the entrants returned, in their order; nothing of one that never began, as
/// none does after the end where another has a solution.
pub fn by_turns<T: Send>(
    cx: &SearchContext,
    entrants: Vec<Entrant<'_, T>>,
    closes: impl Fn(&T) -> bool + Sync,
) -> (Standing, Vec<Option<T>>) {
    let seats: Vec<_> = entrants.iter().map(|entrant| (entrant.name, entrant.is_steady)).collect();
    let table = Arc::new(Table::new(&seats, cx.threads, cx.gap));
    let closes = &closes;
    let results = std::thread::scope(|scope| {
        let mut host = table.host(|known| tell(cx, known));
        let threads: Vec<_> = (entrants.into_iter().enumerate())
            .map(|(index, entrant)| {
                // Most questions are answered in the first turn of the first one: the others need no threads then.
                host.seats(index).then(|| {
                    let looks = (entrant.first_looks, entrant.looks);
                    let player = Arc::new(Player::new(&table, index, entrant.looks_at_all, looks));
                    let mut part = cx.part(None).with_player(Arc::clone(&player));
                    scope.spawn(move || player.play(|| (!part.is_late()).then(|| (entrant.run)(&mut part)), closes))
                })
            })
            .collect();
        host.sees_all_out();
        let ended = threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    });
    (table.standing(), results)
}

fn tell(cx: &SearchContext, known: Known) {
    let incumbent = Some(known.objective).filter(|objective| objective.is_finite());
    let bound = Some(known.bound).filter(|&bound| bound > 0.0);
    cx.report(&Progress { phase: "portfolio", incumbent, bound });
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::search::Race;

    /// An entrant that goes down from `objective` and up from `bound` in steps of `step`, a look for each, and says what it
    /// saw at each look.
    fn walker((objective, bound): (f64, f64), step: f64) -> Entrant<'static, Vec<[f64; 2]>> {
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
        of_looks(3, Box::new(run))
    }

    /// An entrant whose turns are so many looks.
    fn of_looks<'a, T>(looks: u64, run: Box<dyn FnOnce(&mut SearchContext) -> T + Send + 'a>) -> Entrant<'a, T> {
        Entrant { name: "someone", looks_at_all: true, is_steady: true, looks, first_looks: looks, run }
    }

    /// How many turns each of them had.
    fn calls(standing: &Standing) -> Vec<u64> {
        standing.techniques.iter().map(|technique| technique.calls).collect()
    }

    #[test]
    fn whose_turns_bring_nothing_takes_ever_fewer() {
        let busy = walker((1000.0, 0.0), 1.0);
        let idle = || Entrant { is_steady: false, ..walker((2000.0, 0.0), 0.0) };
        // Three of 100 looks in each turn. Six turns of the idle one are in every round, then six in every second one, and so on; it
        // goes on alone once the other has ended.
        let (standing, _) = by_turns(&SearchContext::new(), vec![busy, idle()], |_| false);
        assert_eq!(calls(&standing), [34, 34]);
        let (standing, _) = by_turns(&SearchContext::new(), vec![idle(), idle()], |_| false);
        assert_eq!(calls(&standing), [34, 34], "where all rest none does");
    }

    #[test]
    fn threads_are_for_those_whose_turn_it_is() {
        let lanes = |looks: u64, count: usize| {
            let run = move |cx: &mut SearchContext| (0..count).map(|_| (cx.should_stop(), cx.lanes()).1).collect();
            of_looks::<Vec<usize>>(looks, Box::new(run))
        };
        let mut cx = SearchContext::new();
        cx.threads = 4;
        let (_, lanes) = by_turns(&cx, vec![lanes(5, 20), lanes(5, 9)], |_| false);
        let lanes = lanes[0].as_ref().unwrap();
        assert_eq!((&lanes[..9], &lanes[14..]), (&[2; 9][..], &[4; 6][..]));
    }

    #[test]
    fn threads_of_one_entrant_wait_together_for_its_turn() {
        let run = |cx: &mut SearchContext| {
            let looks = || (0..40).for_each(|_| _ = cx.should_stop());
            std::thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(looks)));
        };
        let mut cx = SearchContext::new();
        cx.threads = 2;
        let (standing, _) = by_turns(&cx, vec![of_looks(4, Box::new(run)), of_looks(4, Box::new(run))], |()| false);
        // Each fourth look ends a turn.
        assert_eq!(calls(&standing), [120 / 4 + 1; 2]);
    }

    #[test]
    fn each_knows_after_a_round_what_the_others_found() {
        for threads in [1, 2, 8] {
            let mut cx = SearchContext::new();
            cx.threads = threads;
            let above = walker((20.0, 0.0), 1.0);
            let below = walker((90.0, 5.0), 0.5);
            let (standing, results) = by_turns(&cx, vec![above, below], |_| false);
            let [above, below] = &results[..] else { panic!("two entrants") };
            let (above, below) = (above.as_ref().unwrap(), below.as_ref().unwrap());
            // The third look ends a turn.
            assert_eq!(above[..4], [[20.0, 0.0], [19.0, 1.0], [18.0, 2.0], [17.0, 6.0]], "{threads}");
            assert_eq!(below[..4], [[90.0, 5.0], [89.5, 5.5], [89.0, 6.0], [18.0, 6.5]], "{threads}");
            assert_eq!(standing.known, Known { objective: 10.0, bound: 10.0 }, "{threads}");
            assert_eq!((standing.best, standing.bound_by), (Some(0), Some(0)));
            assert!(standing.techniques[1].calls > 1 && standing.techniques[0].objective_lowered > 0.0);
        }
    }

    #[test]
    fn what_ends_settled_ends_all_at_once() {
        let quick = walker((1.0, 1.0), 0.0);
        let idle = walker((9.0, 0.0), 0.0);
        let (standing, results) = by_turns(&SearchContext::new(), vec![quick, idle], |_| false);
        assert_eq!((standing.known, standing.best), (Known { objective: 1.0, bound: 1.0 }, Some(0)));
        assert_eq!(results, [Some(vec![[1.0, 1.0]]), None]);
        // So does what closes the question, if it is about all solutions.
        let all = walker((9.0, 0.0), 0.0);
        let one = Entrant { first_looks: 1000, ..walker((8.0, 0.0), 0.0) };
        let (_, results) = by_turns(&SearchContext::new(), vec![one, all], |_| true);
        assert_eq!(results[1], None);
    }

    #[test]
    fn those_after_one_who_settles_are_sent_away_in_the_middle_of_a_turn() {
        let mut cx = SearchContext::new();
        cx.threads = 2;
        let quick = walker((1.0, 1.0), 0.0);
        let run = |cx: &mut SearchContext| {
            let mut race = Race::new(0.0, (), cx);
            race.offer(0.5, ());
            while !race.is_done() {}
            Vec::new()
        };
        // Its turn would take for ever.
        let endless = Entrant { first_looks: u64::MAX, run: Box::new(run), ..walker((9.0, 0.0), 0.0) };
        let (standing, _) = by_turns(&cx, vec![quick, endless], |_| false);
        assert_eq!((standing.known.objective, standing.best, standing.settled_by), (1.0, Some(0), Some(0)));
    }

    #[test]
    fn bounds_of_those_who_do_not_look_at_all_are_theirs_alone() {
        let narrow = Entrant { looks_at_all: false, ..walker((8.0, 7.0), 0.0) };
        let wide = walker((9.0, 1.0), 0.0);
        let (standing, _) = by_turns(&SearchContext::new(), vec![narrow, wide], |_| false);
        assert_eq!(standing.known, Known { objective: 8.0, bound: 1.0 });
    }

    #[test]
    fn none_begins_after_the_end_where_another_has_a_solution() {
        let results = |objective: Option<f64>| {
            let long = move |cx: &mut SearchContext| {
                let mut race = Race::new(0.0, (), cx);
                objective.into_iter().for_each(|objective| _ = race.offer(objective, ()));
                while !race.is_done() {}
            };
            let short = Box::new(|_: &mut SearchContext| ());
            let cx = SearchContext::new().with_time_limit(Duration::from_millis(5));
            by_turns(&cx, vec![of_looks(u64::MAX, Box::new(long)), of_looks(u64::MAX, short)], |()| false).1
        };
        assert_eq!(results(Some(1.0)), [Some(()), None]);
        assert_eq!(results(None), [Some(()), Some(())]);
    }

    #[test]
    fn limits_and_panics_end_all() {
        let patient = || {
            let run = |cx: &mut SearchContext| while !cx.should_stop() {};
            of_looks(5, Box::new(run))
        };
        let cx = SearchContext::new().with_time_limit(Duration::from_millis(5));
        assert_eq!(by_turns(&cx, vec![patient(), patient()], |()| false).1, [Some(()), Some(())]);
        let panics = Entrant { run: Box::new(|_: &mut SearchContext| panic!("on purpose")), ..patient() };
        let cx = SearchContext::new().with_time_limit(Duration::from_millis(5));
        let caught = catch_unwind(AssertUnwindSafe(|| by_turns(&cx, vec![patient(), panics], |()| false)));
        assert!(caught.is_err());
    }
}
