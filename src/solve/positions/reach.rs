//! Which positions matter in each state: those that are reached, and from which the rest leads into what is asked for.

use super::measure::{Measure, Window};
use super::sides::{EARLIER, INSIDE};
use super::steps::{Arc, Step, Steps};

/// Positions from a least to a most; none where the least is above the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub low: i64,
    pub high: i64,
}

impl Span {
    pub const NONE: Self = Self { low: i64::MAX / 4, high: i64::MIN / 4 };
    pub const ZERO: Self = Self { low: 0, high: 0 };

    /// The positions of a window.
    pub fn of(window: &Window) -> Self {
        Self { low: *window.start() as i64, high: *window.end() as i64 }
    }

    pub fn len(self) -> usize {
        (self.high - self.low + 1).max(0) as usize
    }

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn moved(self, by: i64) -> Self {
        Self { low: self.low + by, high: self.high + by }
    }

    pub fn meet(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

/// By how many cells an arc moves where the stage begins and where it ends.
pub fn shift(step: &Step, side: u8, measure: &Measure) -> [i64; 2] {
    let cells = step.unit.map_or(0, |u| i64::from(measure.of[u]));
    match side {
        EARLIER => [cells, cells],
        INSIDE => [0, cells],
        _ => [0, 0],
    }
}

/// The entries of one state in a table: a row for each end of the stage, a column for each begin.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    pub begin: Span,
    pub end: Span,
    /// The number of the first entry.
    pub at: usize,
}

impl Block {
    /// That of the state before the first step.
    pub const START: Self = Self { begin: Span::ZERO, end: Span::ZERO, at: 0 };

    const NONE: Self = Self { begin: Span::NONE, end: Span::NONE, at: 0 };

    /// How many entries it has.
    pub fn area(&self) -> usize {
        self.begin.len() * self.end.len()
    }

    /// The number of an entry, where the block has it.
    pub fn entry(&self, begin: i64, end: i64) -> Option<usize> {
        let is_inside = |span: Span, at: i64| span.low <= at && at <= span.high;
        let row = (end - self.end.low) as usize;
        (is_inside(self.begin, begin) && is_inside(self.end, end))
            .then(|| self.at + row * self.begin.len() + (begin - self.begin.low) as usize)
    }

    /// Those of both, and of what is between.
    fn join(self, other: Self) -> Self {
        Self { begin: self.begin.join(other.begin), end: self.end.join(other.end), at: 0 }
    }

    fn moved(self, [begin, end]: [i64; 2]) -> Self {
        Self { begin: self.begin.moved(begin), end: self.end.moved(end), at: 0 }
    }

    /// Those of both.
    fn meet(self, other: Self) -> Self {
        let both = Self { begin: self.begin.meet(other.begin), end: self.end.meet(other.end), at: 0 };
        if both.area() > 0 { both } else { Self::NONE }
    }
}

/// What the states of stages within a load have.
#[derive(Debug)]
pub struct Reach {
    /// The least load with which each state is reached, by step.
    reached: Vec<Vec<f64>>,
    /// The least that is yet to come of it.
    rest: Vec<Vec<f64>>,
    most: f64,
}

impl Reach {
    /// For stages of at most so much load. O(arcs).
    pub fn new(steps: &Steps, most: f64) -> Self {
        let mut reached = vec![vec![0.0]];
        for step in &steps.steps {
            let before: &Vec<f64> = &reached[reached.len() - 1];
            let through = |arc: &Arc| before[arc.from as usize] + arc.load;
            let after = step.states().map(|arcs| arcs.iter().map(through).fold(f64::INFINITY, f64::min)).collect();
            reached.push(after);
        }
        let mut rest = vec![vec![0.0; steps.ends.len()]];
        for (step, states) in steps.steps.iter().zip(&reached).rev() {
            let mut before = vec![f64::INFINITY; states.len()];
            for (arcs, after) in step.states().zip(&rest[rest.len() - 1]) {
                for arc in arcs {
                    let known = &mut before[arc.from as usize];
                    *known = known.min(after + arc.load);
                }
            }
            rest.push(before);
        }
        rest.reverse();
        Self { reached, rest, most: most * ROOM }
    }

    /// The blocks of the states after each number of steps, for stages that begin and end within the windows of their last state. O(arcs).
    pub fn blocks(&self, steps: &Steps, measure: &Measure, windows: &[Option<[Window; 2]>]) -> Vec<Vec<Block>> {
        let block = |[begin, end]: &[Window; 2]| Block { begin: Span::of(begin), end: Span::of(end), at: 0 };
        let last: Vec<Block> = windows.iter().map(|windows| windows.as_ref().map_or(Block::NONE, block)).collect();
        let mut blocks = vec![last];
        for (at, step) in steps.steps.iter().enumerate().rev() {
            let mut before = vec![Block::NONE; self.reached[at].len()];
            let after = &blocks[blocks.len() - 1];
            self.arcs_within(at, step, |state, arc| {
                let [begin, end] = shift(step, arc.side, measure);
                let known = &mut before[arc.from as usize];
                *known = known.join(after[state].moved([-begin, -end]));
            });
            blocks.push(before);
        }
        blocks.reverse();
        blocks[0][0] = blocks[0][0].meet(Block::START);
        for (at, step) in steps.steps.iter().enumerate() {
            let (before, after) = blocks.split_at_mut(at + 1);
            let mut reached = vec![Block::NONE; after[0].len()];
            self.arcs_within(at, step, |state, arc| {
                let through = before[at][arc.from as usize].moved(shift(step, arc.side, measure));
                reached[state] = reached[state].join(through);
            });
            let mut entries = 0;
            for (block, reached) in after[0].iter_mut().zip(reached) {
                *block = Block { at: entries, ..block.meet(reached) };
                entries += block.area();
            }
        }
        blocks
    }

    /// Calls for each arc of a step on the way to stages within the load, with the state that it leads to.
    fn arcs_within<'s>(&self, at: usize, step: &'s Step, mut visit: impl FnMut(usize, &'s Arc)) {
        for (state, (arcs, rest)) in step.states().zip(&self.rest[at + 1]).enumerate() {
            for arc in arcs {
                if self.reached[at][arc.from as usize] + arc.load + rest <= self.most {
                    visit(state, arc);
                }
            }
        }
    }
}

/// Room for the rounding of sums.
const ROOM: f64 = 1.0 + 1e-9;
