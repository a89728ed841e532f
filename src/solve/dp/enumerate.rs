//! Enumeration of the ideals that may follow a given one, on the frontier automaton.

use std::sync::Arc;

use super::chain::Bits;
use super::frontier::{FORBIDDEN, Frontier, Transition};
use super::loads::contains;
use super::pareto_fronts::{Label, increment, largest_x};
use super::relaxation::{Relaxation, Windows};
use super::stage::Potential;
use super::suffixes::FrontTable;
use crate::preprocess::Reduced;
use crate::problem::fits;
use crate::search::{SearchContext, Stopped};

/// What an enumeration works on.
#[derive(Clone, Copy)]
pub struct Enumerator<'a> {
    /// The problem on units.
    pub reduced: &'a Reduced,
    /// The automaton of ideals.
    pub frontier: &'a Frontier,
    /// The relaxation whose windows bound the ideals.
    pub relaxation: &'a Relaxation<'a>,
    /// Tables of the relaxation's fronts; `None` where only a ratio is known.
    pub tables: &'a [Option<Arc<FrontTable>>],
    /// The ideals that hold all units up to a position.
    pub prefixes: &'a Prefixes,
}

/// The states and values of the ideals that hold all units up to a position of the automaton's order.
pub struct Prefixes {
    states: Vec<u32>,
    /// By potential and position: lower value (`x`) and upper value (`y`).
    values: Vec<Vec<Label>>,
}

impl Prefixes {
    /// The values under each of `potentials`. O(n).
    pub fn new(reduced: &Reduced, frontier: &Frontier, potentials: &[Potential]) -> Self {
        let mut states = vec![0];
        let mut values = vec![vec![Label { x: 0.0, y: 0.0 }]; potentials.len()];
        for (depth, (layer, &unit)) in frontier.layers.iter().zip(&frontier.order).enumerate() {
            let transition = layer.transitions[states[depth] as usize][1];
            states.push(transition.next);
            for (values, potential) in values.iter_mut().zip(potentials) {
                let Label { x, y } = increment(reduced, potential, unit, true, transition);
                values.push(Label { x: values[depth].x + x, y: values[depth].y + y });
            }
        }
        Self { states, values }
    }
}

/// The ideals that one stage kind may lead to from one ideal.
struct Enumeration<'a> {
    base: Enumerator<'a>,
    from: &'a Bits,
    /// Index of the stage kind.
    stage: usize,
    /// How many ideals to find, the largest first; all, the smallest first, without it.
    wanted: Option<usize>,
    /// The most the potential of the stage's units may be, whatever its communication.
    heaviest: f64,
    /// Variants of the stage below the boundary, each with the most its upper value may be.
    below: Vec<(usize, f64)>,
    /// Variants of the stage above the boundary, each with the least its lower value may be.
    above: Vec<(usize, f64)>,
    /// For each variant above its weight from each position on; empty where tables say more.
    rest: Vec<Vec<f64>>,
}

/// A decision: the state before it, sums so far, and what is left to try.
#[derive(Clone, Copy)]
struct Node {
    state: u32,
    weight: f64,
    memory: f64,
    /// The pair of variants that admitted it.
    pair: u32,
    /// How many of its two decisions have been tried.
    next: u8,
}

/// Which ideals to enumerate: those that may end a stage after a given ideal.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// What the relaxation says of boundaries.
    pub windows: &'a Windows,
    /// The ideal before the stage.
    pub from: &'a Bits,
    /// Index of the stage's kind.
    pub stage: usize,
    /// The devices left after the stage.
    pub left: usize,
    /// How many to find, the largest first; all, the smallest first, without it.
    pub most: Option<usize>,
}

impl Enumerator<'_> {
    /// Calls `found` with each ideal that `query` asks for, once each, after at most `max_steps` decisions.
    ///
    /// # Errors
    /// [`Stopped`] when the context asks to stop, or the steps are used up.
    pub fn run(
        &self,
        query: &Query,
        max_steps: usize,
        cx: &SearchContext,
        found: &mut impl FnMut(&Bits),
    ) -> Result<(), Stopped> {
        let Query { windows, from, stage, left, most: wanted } = *query;
        let variants = &self.relaxation.bounds.variants;
        let most = |t: usize| self.lower_value(from, t) + self.relaxation.allowance(t, windows.target);
        let below: Vec<(usize, f64)> =
            (0..variants.len()).filter(|&t| variants[t].stage == stage).map(|t| (t, most(t))).collect();
        let above: Vec<(usize, f64)> = (0..variants.len())
            .filter(|&t| self.relaxation.stages[stage].meets(&self.relaxation.stage(t)))
            .filter_map(|t| Some((t, windows.need(left, t)?)))
            .collect();
        if above.is_empty() {
            return Ok(());
        }
        let rest = above.iter().map(|&(a, _)| {
            let has_tables = below.iter().all(|&(b, _)| self.tables[self.relaxation.front_index(b, a)].is_some());
            if has_tables { Vec::new() } else { self.rest(a) }
        });
        let rest = rest.collect();
        // The first variant of a stage kind has no cap of its own.
        let heaviest = self.relaxation.allowance(below[0].0, windows.target);
        Enumeration { base: *self, from, stage, wanted, heaviest, below, above, rest }.run(max_steps, cx, found)
    }

    /// How much more than it needs the ideal gives to some stage above it, as a load.
    pub fn slack(&self, ideal: &Bits, windows: &Windows, left: usize) -> f64 {
        let variants = &self.relaxation.bounds.variants;
        let slack = |t: usize| Some(variants[t].factor * (self.lower_value(ideal, t) - windows.need(left, t)?));
        (0..variants.len()).filter_map(slack).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The lower value of an ideal under variant `t`.
    fn lower_value(&self, ideal: &Bits, t: usize) -> f64 {
        let potential = self.relaxation.bounds.of(t);
        let weight: f64 = super::loads::ones(ideal).map(|u| potential.weight[u]).sum();
        let charges = potential.lower.iter().zip(&self.reduced.nets).filter(|&(&c, net)| {
            let inside = contains(ideal, net.pins[0] as usize);
            c > 0.0 && net.pins.iter().any(|&u| contains(ideal, u as usize) != inside)
        });
        weight - charges.map(|(c, _)| c).sum::<f64>()
    }

    /// Weight of variant `t` over the units from each position on.
    fn rest(&self, t: usize) -> Vec<f64> {
        let order = &self.frontier.order;
        let mut rest = vec![0.0; order.len() + 1];
        for (i, &u) in order.iter().enumerate().rev() {
            rest[i] = rest[i + 1] + self.relaxation.bounds.of(t).weight[u];
        }
        rest
    }
}

impl Enumeration<'_> {
    fn run(&self, max_steps: usize, cx: &SearchContext, found: &mut impl FnMut(&Bits)) -> Result<(), Stopped> {
        let frontier = self.base.frontier;
        let n = frontier.order.len();
        let mut ideal: Bits = vec![0; n.div_ceil(64)].into();
        let width = self.below.len() + self.above.len();
        // Sums of the variants, one row per depth: upper values of those below, lower values of those above.
        let mut sums = vec![0.0; width * (n + 1)];
        // The first units of the order are mostly in `from`: nothing to decide.
        let given = frontier.order.iter().take_while(|&&u| contains(self.from, u)).count();
        let state = self.skip(given, &mut sums[width * given..], &mut ideal);
        let mut path = Vec::with_capacity(n + 1 - given);
        path.push(Node { state, weight: 0.0, memory: 0.0, pair: 0, next: 0 });
        let (mut steps, mut count) = (0_usize, 0);
        // From here on no unit of `from` is left to decide.
        let settled = (0..n).rev().find(|&i| contains(self.from, frontier.order[i])).map_or(0, |i| i + 1);
        while let Some(depth) = path.len().checked_sub(1).map(|last| given + last) {
            steps += 1;
            if steps.is_multiple_of(4096) && (steps > max_steps || cx.should_stop()) {
                return Err(Stopped);
            }
            let node = &mut path[depth - given];
            if node.next == 0 && depth >= settled && frontier.is_closed(depth, node.state) {
                found(&ideal);
                count += 1;
                if self.wanted == Some(count) {
                    return Ok(());
                }
                path.pop();
                continue;
            }
            let unit = frontier.order[depth];
            ideal[unit / 64] &= !(1 << (unit % 64));
            if node.next == 2 {
                path.pop();
                continue;
            }
            // Small ideals come first where all are asked for: their extensions cover larger ones.
            let into = (node.next == 1) == self.wanted.is_none();
            node.next += 1;
            if !into && contains(self.from, unit) {
                continue;
            }
            let node = *node;
            if let Some(child) = self.child(depth, unit, into, &node, &mut sums) {
                if into {
                    ideal[unit / 64] |= 1 << (unit % 64);
                }
                path.push(child);
            }
        }
        Ok(())
    }

    /// Takes in the first `given` units of the order: the state after them.
    fn skip(&self, given: usize, sums: &mut [f64], ideal: &mut Bits) -> u32 {
        let Enumerator { frontier, relaxation, prefixes, .. } = self.base;
        frontier.order[..given].iter().for_each(|&unit| ideal[unit / 64] |= 1 << (unit % 64));
        let value = |t: usize| prefixes.values[relaxation.bounds.variants[t].potential][given];
        let below = self.below.iter().map(|&(t, _)| value(t).y);
        let above = self.above.iter().map(|&(t, _)| value(t).x);
        sums.iter_mut().zip(below.chain(above)).for_each(|(sum, value)| *sum = value);
        prefixes.states[given]
    }

    /// The sums after deciding `unit` along `transition`.
    fn extend(&self, unit: usize, into: bool, transition: Transition, before: &[f64], after: &mut [f64]) {
        let Enumerator { reduced, relaxation, .. } = self.base;
        let (below, above) = after.split_at_mut(self.below.len());
        for ((sum, &(t, _)), before) in below.iter_mut().zip(&self.below).zip(before) {
            *sum = before + increment(reduced, relaxation.bounds.of(t), unit, into, transition).y;
        }
        for ((sum, &(t, _)), before) in above.iter_mut().zip(&self.above).zip(&before[self.below.len()..]) {
            *sum = before + increment(reduced, relaxation.bounds.of(t), unit, into, transition).x;
        }
    }

    fn child(&self, depth: usize, unit: usize, into: bool, node: &Node, sums: &mut [f64]) -> Option<Node> {
        let Enumerator { reduced, frontier, relaxation, .. } = self.base;
        let transition = frontier.layers[depth].transitions[node.state as usize][usize::from(into)];
        if transition.next == FORBIDDEN {
            return None;
        }
        let mut child = Node { state: transition.next, next: 0, ..*node };
        if into && !contains(self.from, unit) {
            let stage = relaxation.stages[self.stage];
            let kind = &reduced.kinds[stage.kind];
            kind.times[unit]?;
            let t = self.below[0].0;
            child.weight += relaxation.bounds.of(t).weight[unit];
            child.memory += kind.memory[unit];
            if child.weight > self.heaviest || !fits(child.memory, kind.capacity(stage.replicas)) {
                return None;
            }
        }
        let width = self.below.len() + self.above.len();
        let (before, after) = sums[width * depth..].split_at_mut(width);
        self.extend(unit, into, transition, before, after);
        child.pair = self.admitting_pair(depth + 1, child.state, node.pair, &after[..width])?;
        Some(child)
    }

    /// A pair of variants that some completion satisfies, tried from `hint` on.
    fn admitting_pair(&self, depth: usize, state: u32, hint: u32, sums: &[f64]) -> Option<u32> {
        let pairs = (self.below.len() * self.above.len()) as u32;
        (0..pairs).map(|i| (i + hint) % pairs).find(|&pair| {
            let (b, a) = (pair as usize / self.above.len(), pair as usize % self.above.len());
            let ((below, most), (above, need)) = (self.below[b], self.above[a]);
            let sum = Label { x: sums[self.below.len() + a], y: sums[b] };
            match &self.base.tables[self.base.relaxation.front_index(below, above)] {
                Some(table) => largest_x(table.front(depth, state), most - sum.y).is_some_and(|x| sum.x + x >= need),
                None => {
                    let rest = if self.base.frontier.is_closed(depth, state) { 0.0 } else { self.rest[a][depth] };
                    sum.y <= most && sum.x + rest >= need
                }
            }
        })
    }
}
