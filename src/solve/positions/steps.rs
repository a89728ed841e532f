//! The sets that a stage can be, unit by unit: each unit lies in an earlier stage, in this one, or in a later one.

use super::marks::{Ends, Marks, Open, Trace};
use crate::bound::leading_piece;
use crate::preprocess::{Reduced, Unordered};
use crate::search::{SearchContext, Stopped};
use crate::solve::certify::pricing::{self, MOST_PINS, Network, Resource, Sweep, Width, narrowest};

/// One way to reach a state.
#[derive(Debug, Clone, Copy)]
pub struct Arc {
    /// The state before.
    pub from: u32,
    /// Where the step's unit lies.
    pub side: u8,
    /// What it adds to the load.
    pub load: f64,
}

/// One unit more, or a helper variable. Its states are the joint values of all variables so far that still matter.
#[derive(Debug, Clone)]
pub struct Step {
    /// The unit, unless it is a helper.
    pub unit: Option<usize>,
    /// The arcs, by the state that they lead to.
    arcs: Vec<Arc>,
    /// Where the arcs of each state begin, and where those of the last one end.
    begins: Vec<u32>,
}

impl Step {
    /// How many states it leads to.
    pub fn state_count(&self) -> usize {
        self.begins.len() - 1
    }

    /// How many arcs it has.
    pub fn arc_count(&self) -> usize {
        self.arcs.len()
    }

    /// The states that it leads to, each with its arcs.
    pub fn states(&self) -> impl Iterator<Item = &[Arc]> {
        (0..self.state_count()).map(|state| self.arcs_into(state))
    }

    /// The arcs into a state.
    pub fn arcs_into(&self, state: usize) -> &[Arc] {
        &self.arcs[self.begins[state] as usize..self.begins[state + 1] as usize]
    }
}

impl Step {
    /// The step between states told apart by where marked units lie, given the ends in each state before it and, where its unit
    /// is marked, the unit's bit and what stages can have of the marked units so far; and the ends in each state after it.
    fn told_apart(&self, before: &[Vec<Ends>], mark: Option<(Trace, Open)>) -> (Self, Vec<Vec<Ends>>) {
        let mut first = vec![0];
        first.extend(before.iter().scan(0, |sum, ends| {
            *sum += ends.len() as u32;
            Some(*sum)
        }));
        let bit = mark.as_ref().map_or(0, |(bit, _)| *bit);
        let (mut arcs, mut begins, mut after) = (Vec::new(), vec![0], Vec::with_capacity(self.state_count()));
        for into in self.states() {
            let through = |arc: &Arc| {
                let arc = *arc;
                let sources = before[arc.from as usize].iter().zip(first[arc.from as usize]..);
                sources.map(move |(ends, from)| (ends.with(bit, arc.side), Arc { from, ..arc }))
            };
            let mut through: Vec<(Ends, Arc)> = into.iter().flat_map(through).collect();
            if let Some((_, open)) = &mark {
                through.retain(|(ends, _)| open.contains(*ends));
            }
            through.sort_by_key(|(ends, _)| *ends);
            let mut found = Vec::new();
            for alike in through.chunk_by(|a, b| a.0 == b.0) {
                found.push(alike[0].0);
                arcs.extend(alike.iter().map(|(_, arc)| *arc));
                begins.push(arcs.len() as u32);
            }
            after.push(found);
        }
        (Self { unit: self.unit, arcs, begins }, after)
    }
}

/// The steps to all stages that one kind of device can hold, whatever their load.
#[derive(Debug, Clone)]
pub struct Steps {
    /// One for each unit and helper variable.
    pub steps: Vec<Step>,
    /// For each state after the last step, which marked units are before the beginning and which before the end of its stages.
    pub ends: Vec<Ends>,
}

impl Steps {
    /// The steps for devices of this kind by the leading piece of their load; `None` where the graph is too wide, or `cx` says to
    /// stop.
    pub fn new(unordered: &Unordered, kind: usize, cx: &SearchContext) -> Option<Self> {
        let times = &unordered.units.kinds[kind].times;
        let load = [leading_load(&unordered.units, kind)];
        let ordered = |pins: usize| {
            let network = Network::<1>::new(unordered, &|u| times[u].is_some(), &load, pins);
            (narrowest(&network), network)
        };
        let narrower = |(a, _): &((f64, _), _), (b, _): &((f64, _), _)| a.0.total_cmp(&b.0);
        let ((_, order), network) = MOST_PINS.into_iter().map(ordered).min_by(narrower)?;
        let is_over = &mut |arcs: usize| cx.should_stop_after(1 + arcs * STEPS_PER_ARC);
        let sweep = Sweep::within(&network, &order, WIDTH, is_over)?;
        Some(Self::of(&sweep, unordered.units.unit_count()))
    }

    /// The steps of a sweep, without the states that lead nowhere.
    fn of(sweep: &Sweep<1>, units: usize) -> Self {
        let count = |at: usize| at.checked_sub(1).map_or(1, |before| sweep.steps[before].states.len());
        let mut number: Vec<Option<u32>> = vec![Some(0); count(sweep.steps.len())];
        let mut steps = Vec::with_capacity(sweep.steps.len());
        for (at, step) in sweep.steps.iter().enumerate().rev() {
            let live: Vec<_> =
                step.states.iter().zip(&number).filter_map(|(arcs, number)| number.map(|_| arcs)).collect();
            let mut before = vec![None; count(at)];
            live.iter().copied().flatten().for_each(|arc| before[arc.from] = Some(0));
            before.iter_mut().flatten().zip(0..).for_each(|(number, next)| *number = next);
            let mut begins = vec![0];
            let mut arcs = Vec::new();
            for into in live {
                let arc =
                    |arc: &pricing::Arc<1>| Some(Arc { from: before[arc.from]?, side: arc.value, load: arc.used[0] });
                arcs.extend(into.iter().filter_map(arc));
                begins.push(arcs.len() as u32);
            }
            steps.push(Step { unit: Some(step.variable).filter(|&v| v < units), arcs, begins });
            number = before;
        }
        steps.reverse();
        Self { steps, ends: vec![Ends::default()] }
    }

    /// The same steps, with states told apart by where marked units lie, as far as they can lie so; `None` where these are too many.
    ///
    /// # Errors
    /// `cx` says to stop.
    pub fn marked(&self, marks: &Marks, open: &Open, cx: &SearchContext) -> Result<Option<Self>, Stopped> {
        let mut before = vec![vec![Ends::default()]];
        let mut steps = Vec::with_capacity(self.steps.len());
        let (mut arcs, mut decided) = (0, 0);
        for step in &self.steps {
            let bit = step.unit.map_or(0, |u| marks.bit(u));
            decided |= bit;
            let mark = (bit != 0).then(|| (bit, open.as_far_as(decided)));
            let (step, after) = step.told_apart(&before, mark);
            arcs += step.arc_count();
            if arcs > MOST_ARCS || !cx.admits(arcs * BYTES_PER_ARC) {
                return Ok(None);
            }
            if cx.is_over_after(1 + step.arc_count() / ARCS_PER_STEP) {
                return Err(Stopped);
            }
            steps.push(step);
            before = after;
        }
        Ok(Some(Self { steps, ends: before.into_iter().flatten().collect() }))
    }
}

/// The piece of the load of a kind's devices that weighs compute most: no load is below it.
pub fn leading_load(units: &Reduced, kind: usize) -> Resource {
    let costs = &units.kinds[kind];
    Resource::of_piece(units, costs, &leading_piece(costs))
}

/// How wide a graph may be.
const WIDTH: Width = Width { states: 1 << 16, arcs_into_one: usize::MAX, arcs: 1 << 20 };

/// How many arcs there may be between states that are told apart by marks.
const MOST_ARCS: usize = 1 << 24;

/// Bytes of an arc told apart, with its part of the states and their blocks.
const BYTES_PER_ARC: usize = 2 * size_of::<Arc>();

/// Arcs told apart that count as a step of the run's turn.
const ARCS_PER_STEP: usize = 8;

/// Steps of the run's turn that it takes to find an arc.
const STEPS_PER_ARC: usize = 8;
