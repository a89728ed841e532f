//! Dynamic programming along an order of the variables: the most gain of every load, in whole cells.
//!
//! Where the graph is nearly a chain, few variables are tied to later ones at any time. A row for each of their joint
//! values then holds the most gain by load, for all loads at once, and a step adds one variable: rows are shifted by
//! what it consumes and the larger entries kept. That is plain work on arrays, many times as quick as the joining of
//! fronts even though no entry is left out.

use rustc_hash::FxHashMap;

use super::network::{INSIDE, Network};

/// One way to reach a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Arc<const D: usize> {
    /// The state before.
    from: usize,
    /// Whether the step puts its variable inside.
    pub is_inside: bool,
    /// What it consumes.
    pub used: [f64; D],
    /// The first resource in whole cells.
    pub cells: usize,
}

/// One variable more.
#[derive(Debug, Clone)]
pub struct Step<const D: usize> {
    /// The variable.
    pub variable: usize,
    /// How each joint value of the variables that are still needed is reached.
    states: Vec<Vec<Arc<D>>>,
}

impl<const D: usize> Step<D> {
    fn arcs(&self) -> impl Iterator<Item = &Arc<D>> {
        self.states.iter().flatten()
    }

    /// The most that it may consume of a resource.
    pub fn most_used(&self, resource: usize) -> f64 {
        self.arcs().map(|arc| arc.used[resource]).fold(0.0, f64::max)
    }
}

/// The steps of a network's variables.
#[derive(Debug, Clone)]
pub struct Sweep<const D: usize> {
    /// One for each variable.
    pub steps: Vec<Step<D>>,
    /// Low bits of an entry that say by which arc it was reached.
    arc_bits: u32,
}

/// The entries of a sweep, kept from one to the next for their memory.
#[derive(Debug, Default)]
pub struct Tables {
    rows: Vec<Vec<i32>>,
    next: Vec<Vec<i32>>,
    /// By which arc each entry was reached: one row for each state of each step, empty where there is one arc alone.
    arcs: Vec<Vec<Vec<u8>>>,
}

/// The most that a sweep may take.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Sums of an entry and an arc.
    pub sums: usize,
    /// Entries kept, of one byte each.
    pub entries: usize,
}

/// Less than any gain, and still less after all gains have been added.
const NONE: i32 = i32::MIN;

/// The most states at a time.
const MOST_STATES: usize = 1 << 8;

/// The most arcs into a state.
const MOST_ARCS: usize = 1 << 6;

impl<const D: usize> Sweep<D> {
    /// The steps of `network` in this order of its variables; `None` where too many variables are tied to later ones. What
    /// they consume has yet to be [counted](Self::counted).
    pub fn new(network: &Network<D>, order: &[usize]) -> Option<Self> {
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &v)| rank[v] = i);
        let mut factors_at = vec![Vec::new(); order.len()];
        let mut last_use: Vec<usize> = rank.clone();
        for (f, factor) in network.factors.iter().enumerate() {
            let last = factor.scope.iter().map(|&v| rank[v]).max()?;
            factors_at[last].push(f);
            factor.scope.iter().for_each(|&v| last_use[v] = last_use[v].max(last));
        }
        let mut frontier: Vec<usize> = Vec::new();
        let mut states: Vec<Vec<u8>> = vec![Vec::new()];
        let mut steps = Vec::with_capacity(order.len());
        for (i, &variable) in order.iter().enumerate() {
            let known: Vec<usize> = frontier.iter().copied().chain([variable]).collect();
            let kept: Vec<usize> = (0..known.len()).filter(|&at| last_use[known[at]] > i).collect();
            let mut numbers: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
            let mut step = Step { variable, states: Vec::new() };
            let mut reached = Vec::new();
            for (from, state) in states.iter().enumerate() {
                for value in 0..network.domains[variable] {
                    let values: Vec<u8> = state.iter().copied().chain([value]).collect();
                    let Some(used) = consumption(network, &factors_at[i], &known, &values) else { continue };
                    let key: Vec<u8> = kept.iter().map(|&at| values[at]).collect();
                    let to = *numbers.entry(key).or_insert_with_key(|key| {
                        reached.push(key.clone());
                        step.states.push(Vec::new());
                        reached.len() - 1
                    });
                    step.states[to].push(Arc { from, is_inside: value == INSIDE, used, cells: 0 });
                }
            }
            if reached.len() > MOST_STATES || step.states.iter().any(|arcs| arcs.len() > MOST_ARCS) {
                return None;
            }
            frontier = kept.iter().map(|&at| known[at]).collect();
            states = reached;
            steps.push(step);
        }
        let most_arcs = steps.iter().flat_map(|step| &step.states).map(Vec::len).max()?;
        Some(Self { steps, arc_bits: most_arcs.next_power_of_two().ilog2() })
    }

    /// The same with the first resource in whole cells.
    pub fn counted(mut self, cells: impl Fn(f64) -> usize) -> Self {
        for arc in self.steps.iter_mut().flat_map(|step| &mut step.states).flatten() {
            arc.cells = cells(arc.used[0]);
        }
        self
    }

    /// How many sums of an entry and an arc it takes where a device has so many cells; `None` where they or the entries
    /// are beyond the limit.
    pub fn effort(&self, capacity: usize, limit: Limit) -> Option<usize> {
        let arcs: usize = self.steps.iter().map(|step| step.arcs().count()).sum();
        let states: usize = self.steps.iter().map(|step| step.states.len()).sum();
        let loads = capacity.saturating_add(1);
        let (sums, entries) = (arcs.saturating_mul(loads), states.saturating_mul(loads));
        (sums <= limit.sums && entries <= limit.entries).then_some(sums)
    }

    /// The most gain that all steps may sum up to.
    pub fn most_gain(&self) -> f64 {
        f64::from(1 << (30 - self.arc_bits))
    }

    /// Finds the most gain of each load of up to `capacity` cells. `gain` tells that of each arc of each step, by number;
    /// none is negative. Arcs may have any number of cells: those above the capacity are in no set.
    pub fn fill(&self, tables: &mut Tables, capacity: usize, mut gain: impl FnMut(usize, &Arc<D>) -> i32) {
        let mask = !((1 << self.arc_bits) - 1);
        let Tables { rows, next, arcs: arcs_of } = tables;
        arcs_of.resize_with(self.steps.len().max(arcs_of.len()), Vec::new);
        rows.resize_with(rows.len().max(1), Vec::new);
        rows[0].clear();
        rows[0].push(0);
        let mut most: usize = 0;
        for (number, (step, chosen)) in self.steps.iter().zip(arcs_of).enumerate() {
            let cells = step.arcs().map(|arc| arc.cells).filter(|&cells| cells <= capacity);
            most = most.saturating_add(cells.max().unwrap_or_default()).min(capacity);
            let count = step.states.len();
            next.resize_with(next.len().max(count), Vec::new);
            chosen.resize_with(chosen.len().max(count), Vec::new);
            for (arcs, (row, chosen)) in step.states.iter().zip(next.iter_mut().zip(chosen)) {
                let mut add = |i: usize, arc: &Arc<D>| (gain(number, arc) << self.arc_bits) + i as i32;
                row.clear();
                if let Some(arc) = arcs.first() {
                    let add = add(0, arc);
                    row.resize(arc.cells.min(most + 1), NONE);
                    extend(row, &rows[arc.from], most + 1, mask, add);
                }
                row.resize(most + 1, NONE);
                for (i, arc) in arcs.iter().enumerate().skip(1) {
                    raise(row.get_mut(arc.cells..).unwrap_or_default(), &rows[arc.from], mask, add(i, arc));
                }
                chosen.clear();
                if arcs.len() > 1 {
                    chosen.extend(row.iter().map(move |entry| (entry & !mask) as u8));
                }
            }
            std::mem::swap(rows, next);
        }
    }

    /// The loads in cells that some set has, with the most gain of each: those of the last [`Self::fill`].
    pub fn gains<'t>(&self, tables: &'t Tables) -> impl Iterator<Item = (usize, i32)> + 't {
        let bits = self.arc_bits;
        let is_open = self.steps.last().is_some_and(|step| !step.states.is_empty());
        let row = if is_open { tables.rows[0].as_slice() } else { &[] };
        row.iter().enumerate().filter(|(_, entry)| **entry >= 0).map(move |(load, entry)| (load, entry >> bits))
    }

    /// The steps, the last one first, that make up the most gain of a load, each with its arc.
    pub fn trace<'t>(&'t self, tables: &'t Tables, load: usize) -> impl Iterator<Item = (&'t Step<D>, &'t Arc<D>)> {
        let (mut state, mut load) = (0, load);
        self.steps.iter().zip(&tables.arcs).rev().map(move |(step, chosen)| {
            let arc = &step.states[state][chosen[state].get(load).map_or(0, |&i| usize::from(i))];
            state = arc.from;
            load -= arc.cells;
            (step, arc)
        })
    }
}

/// Extends `row` up to a length by the entries of `source` and one arc more. The closure owns what it adds: read anew for
/// each entry, that would keep the loop from running on vectors.
#[inline]
fn extend(row: &mut Vec<i32>, source: &[i32], most: usize, mask: i32, add: i32) {
    let source = &source[..source.len().min(most - row.len())];
    row.extend(source.iter().map(move |known| (known & mask) + add));
}

/// Raises the entries of `row` to those of `source` and one arc more.
#[inline]
fn raise(row: &mut [i32], source: &[i32], mask: i32, add: i32) {
    for (entry, known) in row.iter_mut().zip(source) {
        *entry = (*entry).max((known & mask) + add);
    }
}

/// What some factors consume where the `known` variables have these values; `None` where one forbids them.
fn consumption<const D: usize>(
    network: &Network<D>,
    factors: &[usize],
    known: &[usize],
    values: &[u8],
) -> Option<[f64; D]> {
    let value = |v: &usize| known.iter().position(|u| u == v).map_or(0, |at| usize::from(values[at]));
    let mut sum = [0.0; D];
    for &f in factors {
        let factor = &network.factors[f];
        let at = factor.scope.iter().fold(0, |at, v| at * usize::from(network.domains[*v]) + value(v));
        let used = factor.costs[at]?;
        sum = std::array::from_fn(|r| sum[r] + used[r]);
    }
    Some(sum)
}
