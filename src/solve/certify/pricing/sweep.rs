//! Dynamic programming along an order of the variables: the most gain of every load, in whole cells.
//!
//! Where the graph is nearly a chain, few variables are tied to later ones at any time. A row for each of their joint
//! values then holds the most gain by load, for all loads at once, and a step adds one variable: rows are shifted by
//! what it consumes and the larger entries kept. That is plain work on arrays, many times as quick as the joining of
//! fronts that leave out what is dominated. Where memory is limited, too, a row has a plane for each number of cells of it.

use rustc_hash::FxHashMap;

use super::cell_size::{HALF_ROOM, NEARLY_WHOLE};
use super::network::{INSIDE, Network};
use super::prospects::Prospects;
use super::rows::{Cells, Chosen, LOAD, MEMORY, Row, Through};

/// One way to reach a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Arc<const D: usize> {
    /// The state before.
    pub from: usize,
    /// The value of the step's variable.
    pub value: u8,
    /// What it consumes.
    pub used: [f64; D],
    /// That in whole cells: of load, and of memory.
    pub(super) cells: Cells,
}

/// One variable more.
#[derive(Debug, Clone)]
pub struct Step<const D: usize> {
    /// The variable.
    pub variable: usize,
    /// How each joint value of the variables that are still needed is reached.
    pub states: Vec<Vec<Arc<D>>>,
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
    /// By how much of a cell a set may seem to consume more than it does, of load and of memory.
    surplus: [f64; 2],
}

/// The entries of a sweep, kept from one to the next for their memory.
#[derive(Debug, Default)]
pub struct Tables {
    rows: Vec<Row>,
    next: Vec<Row>,
    /// By which arc each entry was reached, by step and state.
    chosen: Vec<Vec<Chosen>>,
}

/// The most that a sweep may take.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Sums of an entry and an arc.
    pub sums: usize,
    /// Entries kept, of one byte each.
    pub entries: usize,
}

/// Less than any gain, also after all gains have been added.
const UNREACHED: i32 = i32::MIN / 2;

/// How wide a sweep may be.
#[derive(Debug, Clone, Copy)]
pub struct Width {
    /// The most states at a time.
    pub states: usize,
    /// The most arcs into a state.
    pub arcs_into_one: usize,
    /// The most arcs of all steps.
    pub arcs: usize,
}

impl Width {
    /// As wide as tables of all loads may be.
    const OF_TABLES: Self = Self { states: 1 << 8, arcs_into_one: 1 << 6, arcs: usize::MAX };
}

impl<const D: usize> Sweep<D> {
    /// The steps of `network` in this order of its variables; `None` where too many variables are tied to later ones. What
    /// they consume has yet to be [counted](Self::counted).
    pub fn new(network: &Network<D>, order: &[usize]) -> Option<Self> {
        Self::within(network, order, Width::OF_TABLES, &mut |_| false)
    }

    /// The same where they may be so wide; `None` also where `is_over`, which is told how many arcs each step has, says so.
    pub fn within(
        network: &Network<D>,
        order: &[usize],
        width: Width,
        is_over: &mut dyn FnMut(usize) -> bool,
    ) -> Option<Self> {
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
        let mut count = 0;
        for (i, &variable) in order.iter().enumerate() {
            let known: Vec<usize> = frontier.iter().copied().chain([variable]).collect();
            let kept: Vec<usize> = (0..known.len()).filter(|&at| last_use[known[at]] > i).collect();
            let mut numbers: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
            let mut step = Step { variable, states: Vec::new() };
            let mut reached = Vec::new();
            let mut steadiness = Vec::new();
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
                    step.states[to].push(Arc { from, value, used, cells: [0; 2] });
                    // The arc comes first whose variables that are not needed any more have the new one's value.
                    let alike = (0..known.len()).filter(|at| !kept.contains(at) && values[*at] == value).count();
                    steadiness.resize(step.states.len(), 0);
                    if alike > steadiness[to] {
                        steadiness[to] = alike;
                        let last = step.states[to].len() - 1;
                        step.states[to].swap(0, last);
                    }
                }
            }
            let arcs = step.arcs().count();
            count += arcs;
            let is_wide = step.states.iter().any(|arcs| arcs.len() > width.arcs_into_one);
            if reached.len() > width.states || count > width.arcs || is_wide || is_over(arcs) {
                return None;
            }
            frontier = kept.iter().map(|&at| known[at]).collect();
            states = reached;
            steps.push(step);
        }
        let most_arcs = steps.iter().flat_map(|step| &step.states).map(Vec::len).max()?;
        Some(Self { steps, arc_bits: most_arcs.next_power_of_two().ilog2(), surplus: [0.0; 2] })
    }

    /// The same with a resource in whole cells of this size, as [load](LOAD) or as [memory](MEMORY).
    ///
    /// Each state has a potential φ, by which what is consumed up to there exceeds its cells, none above 0: an arc from s to
    /// t that consumes u takes ⌊u + φ(s) − φ(t)⌋ cells. The sum along a path telescopes, so that no set seems to consume more
    /// than it does but for φ at the end, which [`Self::capacity`] adds to what a device has. Potentials are such that the
    /// first arc into a state, which goes on as the variables before, loses nothing: what is rounded off does not grow
    /// with the units of a set, but with how often the order enters and leaves it.
    pub fn counted(mut self, resource: usize, size: f64, role: usize) -> Self {
        let mut before = vec![0.0];
        for step in &mut self.steps {
            let potential = |arcs: &Vec<Arc<D>>| {
                let full = |arc: &Arc<D>| arc.used[resource] / size + before[arc.from];
                let steady = arcs.first().map_or(0.0, full);
                let rest = steady - (steady - NEARLY_WHOLE).ceil();
                arcs.iter().map(full).fold(rest.min(0.0), f64::min)
            };
            let after: Vec<f64> = step.states.iter().map(potential).collect();
            for (arcs, after) in step.states.iter_mut().zip(&after) {
                for arc in arcs {
                    let used = arc.used[resource] / size * HALF_ROOM;
                    arc.cells[role] = (used + (before[arc.from] - after)).max(0.0) as usize;
                }
            }
            before = after;
        }
        self.surplus[role] = -before.first().copied().unwrap_or_default();
        self
    }

    /// The whole cells that a set may seem to take which fits into so many.
    pub fn capacity(&self, cells: f64, role: usize) -> usize {
        (cells + self.surplus[role]) as usize
    }

    /// How many sums of an entry and an arc it takes where a device has so many cells; `None` where they or the entries
    /// are beyond the limit.
    pub fn effort(&self, capacity: Cells, limit: Limit) -> Option<usize> {
        let arcs = self.arcs();
        let states: usize = self.steps.iter().map(|step| step.states.len()).sum();
        let places = capacity.iter().fold(1, |product: usize, cells| product.saturating_mul(cells.saturating_add(1)));
        let (sums, entries) = (arcs.saturating_mul(places), states.saturating_mul(places));
        (sums <= limit.sums && entries <= limit.entries).then_some(sums)
    }

    /// The arcs of all steps.
    pub fn arcs(&self) -> usize {
        self.steps.iter().map(|step| step.arcs().count()).sum()
    }

    /// The most gain that all steps may sum up to.
    pub fn most_gain(&self) -> f64 {
        f64::from(1 << (30 - self.arc_bits))
    }

    /// Finds the most gain of each load, and of each memory, of up to `capacity` cells. `gain` tells that of each arc of each
    /// step, by number; none is negative. Arcs may have any number of cells: those above the capacity are in no set. Entries
    /// of no [prospects](Prospects) may be left out. How many sums that took.
    pub fn fill(
        &self,
        tables: &mut Tables,
        capacity: Cells,
        mut gain: impl FnMut(usize, &Arc<D>) -> i32,
        prospects: Option<&Prospects>,
    ) -> usize {
        let mut sums = 0;
        let bits = self.arc_bits;
        let Tables { rows, next, chosen } = tables;
        chosen.resize_with(self.steps.len().max(chosen.len()), Vec::new);
        rows.resize_with(rows.len().max(1), Row::default);
        rows[0].start();
        for (number, (step, chosen)) in self.steps.iter().zip(chosen).enumerate() {
            let count = step.states.len();
            next.resize_with(next.len().max(count), Row::default);
            chosen.resize_with(chosen.len().max(count), Chosen::default);
            for (state, (arcs, (row, chosen))) in step.states.iter().zip(next.iter_mut().zip(chosen)).enumerate() {
                let arc = |(i, arc): (usize, &Arc<D>)| Through {
                    source: &rows[arc.from],
                    cells: arc.cells,
                    add: (gain(number, arc) << bits) + i as i32,
                };
                let arcs: Vec<Through> = arcs.iter().enumerate().map(arc).collect();
                sums += row.fill(&arcs, capacity, bits, |load, entry| {
                    prospects.is_none_or(|prospects| prospects.are_good((number, state), load, entry >> bits))
                });
                chosen.choose(row, arcs.len(), bits);
            }
            std::mem::swap(rows, next);
        }
        sums
    }

    /// What partial sets can come to by steps of these gains; none is of no use yet.
    ///
    /// O(arcs · cells of load).
    pub fn prospects(&self, capacity: Cells, gain: impl Fn(usize, &Arc<D>) -> i32) -> Prospects {
        let row = |none| vec![none; capacity[LOAD] + 1];
        let last = self.steps.last().map_or(1, |step| step.states.len());
        let mut most = vec![vec![row(0); last]];
        for (number, step) in self.steps.iter().enumerate().rev() {
            let count = number.checked_sub(1).map_or(1, |before| self.steps[before].states.len());
            let mut before = vec![row(UNREACHED); count];
            for (arcs, rest) in step.states.iter().zip(most.last().into_iter().flatten()) {
                for arc in arcs.iter().filter(|arc| arc.cells[MEMORY] <= capacity[MEMORY]) {
                    let add = gain(number, arc);
                    let entries = before[arc.from].get_mut(arc.cells[LOAD]..).unwrap_or_default();
                    entries.iter_mut().zip(rest).for_each(|(entry, rest)| *entry = (*entry).max(rest + add));
                }
            }
            most.push(before);
        }
        most.reverse();
        Prospects { most, least: i32::MIN }
    }

    /// The loads and memories in cells that some set has, with the most gain of each: those of the last [`Self::fill`].
    pub fn gains<'t>(&self, tables: &'t Tables) -> impl Iterator<Item = End> + 't {
        let bits = self.arc_bits;
        let is_open = self.steps.last().is_some_and(|step| !step.states.is_empty());
        let row = is_open.then_some(&tables.rows[0]);
        row.into_iter().flat_map(Row::reached).map(move |([load, memory], entry)| End {
            load,
            memory,
            gain: entry >> bits,
        })
    }

    /// The steps, the last one first, that make up the most gain at an end, each with its arc.
    pub fn trace<'t>(&'t self, tables: &'t Tables, end: End) -> impl Iterator<Item = (&'t Step<D>, &'t Arc<D>)> {
        let (mut state, mut at) = (0, [end.load, end.memory]);
        self.steps.iter().zip(&tables.chosen).rev().map(move |(step, chosen)| {
            let arc = &step.states[state][chosen[state].at(at)];
            state = arc.from;
            at = [LOAD, MEMORY].map(|role| at[role] - arc.cells[role]);
            (step, arc)
        })
    }
}

impl<const D: usize> Arc<D> {
    /// Whether the step puts its variable inside.
    pub fn is_inside(&self) -> bool {
        self.value == INSIDE
    }
}

/// What sets may end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Their load in cells.
    pub load: usize,
    /// Their memory in cells.
    pub memory: usize,
    /// The most gain of them.
    pub gain: i32,
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
