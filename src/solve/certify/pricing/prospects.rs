//! What partial sets can come to where memory counts: a pass back along the line without it says which are of no use.
//!
//! Profits change little from round to round, so that sets found before are nearly as good as the best. A partial set that
//! does not come up to them even if memory were free is left out; on graphs of today that, and what is not reached at all,
//! are four entries in five.

use super::PricedSet;
use super::sweep::{Arc, Cells, LOAD, MEMORY, Sweep};

/// What completions gain at most, whatever memory they take.
pub struct Prospects {
    /// By step before, state and load that is left.
    most: Vec<Vec<Vec<i32>>>,
    /// Sets that gain less are of no use.
    least: i32,
}

/// The prospects of one state.
pub struct OfState<'p> {
    most: &'p [i32],
    least: i32,
}

impl Prospects {
    /// The prospects of sets within `capacity` that gain no less than `least`. O(arcs · cells of load).
    pub fn new<const D: usize>(
        sweep: &Sweep<D>,
        capacity: Cells,
        least: i32,
        gain: impl Fn(usize, &Arc<D>) -> i32,
    ) -> Self {
        let row = || vec![UNREACHED; capacity[LOAD] + 1];
        let last = sweep.steps.last().map_or(1, |step| step.states.len());
        let mut most = vec![vec![vec![0; capacity[LOAD] + 1]; last]];
        for (number, step) in sweep.steps.iter().enumerate().rev() {
            let count = number.checked_sub(1).map_or(1, |before| sweep.steps[before].states.len());
            let mut before: Vec<Vec<i32>> = (0..count).map(|_| row()).collect();
            for (arcs, rest) in step.states.iter().zip(most.last().into_iter().flatten()) {
                for arc in arcs {
                    let [load, memory] = arc.cells;
                    if memory <= capacity[MEMORY] {
                        let add = gain(number, arc);
                        let entries = before[arc.from].get_mut(load..).unwrap_or_default();
                        entries.iter_mut().zip(rest).for_each(|(entry, rest)| *entry = (*entry).max(rest + add));
                    }
                }
            }
            most.push(before);
        }
        most.reverse();
        Self { most, least }
    }

    /// Those of a state after a step.
    pub fn of(&self, step: usize, state: usize) -> OfState<'_> {
        OfState { most: &self.most[step + 1][state], least: self.least }
    }
}

impl OfState<'_> {
    /// Whether a partial set of so much load and gain may be of use.
    pub fn are_good(&self, load: usize, gain: i32) -> bool {
        gain + self.most[self.most.len() - 1 - load] >= self.least
    }
}

/// Less than any gain, also after all gains have been added.
const UNREACHED: i32 = i32::MIN / 2;

/// Sets that are known to fit a device under a target.
#[derive(Debug, Default)]
pub struct Known {
    target: f64,
    sets: Vec<Vec<usize>>,
}

impl Known {
    /// Forgets those of another target.
    pub fn keep_under(&mut self, target: f64) {
        if self.target != target {
            *self = Self { target, sets: Vec::new() };
        }
    }

    /// The most that one of them gains, where units gain this much outside and inside; `None` where none is known.
    pub fn best(&self, of_unit: &[[i32; 2]]) -> Option<i32> {
        let outside: i32 = of_unit.iter().map(|[outside, _]| outside).sum();
        let more = |&u: &usize| of_unit[u][1] - of_unit[u][0];
        self.sets.iter().map(|units| outside + units.iter().map(more).sum::<i32>()).max()
    }

    /// Takes up sets, and forgets the oldest ones where they are many.
    pub fn add(&mut self, sets: &[PricedSet]) {
        self.sets.extend(sets.iter().map(|set| set.units.clone()));
        self.sets.drain(..self.sets.len().saturating_sub(MOST_KNOWN));
    }
}

/// How many sets are remembered.
const MOST_KNOWN: usize = 128;
