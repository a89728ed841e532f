//! Which positions matter in each state: those that are reached, and from which the rest leads into what is asked for.

use super::measure::{Measure, Window};
use super::steps::{Arc, EARLIER, INSIDE, Step, Steps};

/// Positions from a least to a most; none where the least is above the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub low: i64,
    pub high: i64,
}

impl Span {
    pub const NONE: Self = Self { low: i64::MAX / 4, high: i64::MIN / 4 };
    pub const ZERO: Self = Self { low: 0, high: 0 };

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

    /// Those from which what is yet to come can lead into the window.
    fn leading_into(self, window: &Window, rest: Self) -> Self {
        self.meet(Self { low: *window.start() as i64 - rest.high, high: *window.end() as i64 - rest.low })
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

/// What has been reached in a state, or is yet to come: where the stage begins, where it ends, and its least load.
#[derive(Debug, Clone, Copy)]
struct Extent {
    begin: Span,
    end: Span,
    load: f64,
}

impl Extent {
    const NONE: Self = Self { begin: Span::NONE, end: Span::NONE, load: f64::INFINITY };
    const ZERO: Self = Self { begin: Span::ZERO, end: Span::ZERO, load: 0.0 };

    fn join(self, other: Self) -> Self {
        let load = self.load.min(other.load);
        Self { begin: self.begin.join(other.begin), end: self.end.join(other.end), load }
    }

    fn through(self, arc: &Arc, [begin, end]: [i64; 2]) -> Self {
        Self { begin: self.begin.moved(begin), end: self.end.moved(end), load: self.load + arc.load }
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
}

/// What each state after so many steps has reached, and what is yet to come of it.
#[derive(Debug)]
pub struct Reach {
    reached: Vec<Vec<Extent>>,
    rest: Vec<Vec<Extent>>,
    most: f64,
}

impl Reach {
    /// For stages of at most so much load. O(arcs).
    pub fn new(steps: &Steps, measure: &Measure, most: f64) -> Self {
        let mut reached: Vec<Vec<Extent>> = vec![vec![Extent::ZERO]];
        for step in &steps.steps {
            let before = &reached[reached.len() - 1];
            let through = |arc: &Arc| before[arc.from as usize].through(arc, shift(step, arc.side, measure));
            let into = |arcs: &[Arc]| arcs.iter().map(through).fold(Extent::NONE, Extent::join);
            let after = step.states().map(into).collect();
            reached.push(after);
        }
        let mut rest = vec![vec![Extent::ZERO; reached[steps.steps.len()].len()]];
        for (step, states) in steps.steps.iter().zip(&reached).rev() {
            let mut before = vec![Extent::NONE; states.len()];
            for (arcs, after) in step.states().zip(&rest[rest.len() - 1]) {
                for arc in arcs {
                    let known = &mut before[arc.from as usize];
                    *known = known.join(after.through(arc, shift(step, arc.side, measure)));
                }
            }
            rest.push(before);
        }
        rest.reverse();
        Self { reached, rest, most: most * ROOM }
    }

    /// The blocks of the states after so many steps, for stages that begin and end within these windows.
    pub fn blocks(&self, steps: usize, [begin, end]: [&Window; 2]) -> Vec<Block> {
        let mut at = 0;
        let block = |(reached, rest): (&Extent, &Extent)| {
            let mut block = Block {
                begin: reached.begin.leading_into(begin, rest.begin),
                end: reached.end.leading_into(end, rest.end),
                at,
            };
            if reached.load + rest.load > self.most || block.area() == 0 {
                block = Block { begin: Span::NONE, end: Span::NONE, at };
            }
            at += block.area();
            block
        };
        self.reached[steps].iter().zip(&self.rest[steps]).map(block).collect()
    }
}

/// Room for the rounding of sums.
const ROOM: f64 = 1.0 + 1e-9;
