//! What partial sets can come to where memory counts: a pass back along the line without it says which are of no use.
//!
//! Profits change little from round to round, so that sets found before are nearly as good as the best. A partial set that
//! does not come up to them even if memory were free is left out; that, and what is not reached at all, are nine entries in ten
//! and more on graphs of today.

/// What completions gain at most, whatever memory they take.
pub struct Prospects {
    /// By step after them, state and load that is left.
    pub most: Vec<Vec<Vec<i32>>>,
    /// Sets that gain less are of no use.
    pub least: i32,
}

impl Prospects {
    /// Whether a partial set of so much load and gain may be of use in a state after a step.
    pub fn are_good(&self, (step, state): (usize, usize), load: usize, gain: i32) -> bool {
        let most = &self.most[step + 1][state];
        gain + most[most.len() - 1 - load] >= self.least
    }
}

/// Sets that a line has found before, or others; they need not fit any more.
#[derive(Debug, Default)]
pub struct Known {
    sets: Vec<Vec<usize>>,
}

impl Known {
    /// The most that one of them gains, where units gain this much outside and inside; `None` where none is known.
    pub fn best(&self, of_unit: &[[i32; 2]]) -> Option<i32> {
        let outside: i32 = of_unit.iter().map(|[outside, _]| outside).sum();
        let more = |&u: &usize| of_unit[u][1] - of_unit[u][0];
        self.sets.iter().map(|units| outside + units.iter().map(more).sum::<i32>()).max()
    }

    /// Takes up sets, and forgets the oldest ones where they are many.
    pub fn add(&mut self, sets: impl Iterator<Item = Vec<usize>>) {
        self.sets.extend(sets);
        self.sets.drain(..self.sets.len().saturating_sub(MOST_KNOWN));
    }
}

/// How many sets are remembered.
const MOST_KNOWN: usize = 128;
