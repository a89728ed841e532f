//! The frontier automaton: all ideals of a graph as the paths of a small layered automaton.
//!
//! Units are decided in one topological order, each in or out of the ideal. What the past means to the future is
//! one bit for each decided unit with an undecided successor (is it in?) and two for each net with decided and
//! undecided pins (all in, all out, or already cut). Prefixes of ideals that agree on these share a state, so the
//! automaton has as many states as the frontiers have patterns: 612 on NASNet-A, whose ideals number 10¹¹.
//! Every additive function of an ideal (its work, the cost of the nets it cuts) is a sum along its path, so a
//! pass over the automaton minimises it, counts, or enumerates.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::graph::Csr;
use crate::preprocess::Reduced;
use crate::solve::SearchContext;

/// Marks a transition that no ideal takes.
pub const FORBIDDEN: u32 = u32::MAX;

/// Nets of one unit beyond this many are not tracked: their cost is left out, which relaxations may do.
const TRACKED_NETS: usize = 64;

/// States between two looks at the limits.
const PATIENCE: usize = 1 << 14;

/// One way to decide a unit in one state.
#[derive(Debug, Clone, Copy)]
pub struct Transition {
    /// State in the next layer, or [`FORBIDDEN`].
    pub next: u32,
    /// Which nets of the unit become cut: bit i is the i-th net of its row in [`Reduced::nets_of`].
    pub cut: u64,
}

/// All states at one position of the order; `transitions[s] = [out, in]` decide the position's unit.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// What the two decisions lead to.
    pub transitions: Vec<[Transition; 2]>,
}

/// The automaton of a graph's ideals along one topological order.
#[derive(Debug, Clone)]
pub struct Frontier {
    /// The units in the order they are decided.
    pub order: Vec<usize>,
    /// One layer per position; the state after the last one is 0.
    pub layers: Vec<Layer>,
    /// For each state, also after the last position, whether no later unit can be in.
    closed: Vec<Vec<bool>>,
}

/// The automaton would have had more states than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooWide;

impl Frontier {
    /// The automaton of `reduced` along `order`. O(states · degree).
    ///
    /// # Errors
    /// [`TooWide`] when it would exceed `max_states` states, or a limit comes first.
    pub fn new(reduced: &Reduced, order: Vec<usize>, max_states: usize, cx: &SearchContext) -> Result<Self, TooWide> {
        Self::along(reduced, &DirectOrder::new(reduced), order, &AtomicUsize::new(max_states), cx)
    }

    /// The automaton along `order`, unless it exceeds `most` states, which may shrink meanwhile.
    fn along(
        reduced: &Reduced,
        direct: &DirectOrder,
        order: Vec<usize>,
        most: &AtomicUsize,
        cx: &SearchContext,
    ) -> Result<Self, TooWide> {
        let plan = Plan::new(reduced, direct, &order);
        let layers = match plan.slots.div_ceil(32) {
            0..=1 => build::<1>(&plan, most, cx),
            2 => build::<2>(&plan, most, cx),
            3..=4 => build::<4>(&plan, most, cx),
            5..=8 => build::<8>(&plan, most, cx),
            9..=32 => build::<32>(&plan, most, cx),
            _ => Err(TooWide),
        }?;
        let closed = closed(&layers);
        Ok(Self { order, layers, closed })
    }

    /// The automaton along the best of several orders, by its number of states.
    ///
    /// # Errors
    /// [`TooWide`] when every order exceeds `max_states`, or a limit comes first.
    pub fn smallest(reduced: &Reduced, max_states: usize, cx: &SearchContext) -> Result<Self, TooWide> {
        let is_large = reduced.unit_count() >= PATIENCE;
        let direct = DirectOrder::new(reduced);
        let most = AtomicUsize::new(max_states);
        // An order as good as the best so far is finished: which one is taken does not depend on who is first.
        let along = |order: &fn(&Reduced, &SearchContext) -> Vec<usize>| {
            let order = (!is_large || !cx.should_stop()).then(|| order(reduced, cx))?;
            let automaton = Self::along(reduced, &direct, order, &most, cx).ok()?;
            most.fetch_min(automaton.state_count() + 1, Ordering::Relaxed);
            Some(automaton)
        };
        let automata: Vec<_> = super::orders::NARROW.par_iter().map(along).collect();
        automata.into_iter().flatten().min_by_key(Self::state_count).ok_or(TooWide)
    }

    /// Whether all ideals through `state` before position `depth` hold no unit from there on.
    #[inline]
    pub fn is_closed(&self, depth: usize, state: u32) -> bool {
        self.closed[depth][state as usize]
    }

    /// How many states all layers have together.
    pub fn state_count(&self) -> usize {
        self.layers.iter().map(|layer| layer.transitions.len()).sum()
    }

    /// The most states of one layer.
    pub fn width(&self) -> usize {
        self.layers.iter().map(|layer| layer.transitions.len()).max().unwrap_or(1)
    }

    /// How many ideals the graph has, exact up to 2⁵³.
    pub fn ideal_count(&self) -> f64 {
        let mut suffix = vec![1.0];
        for layer in self.layers.iter().rev() {
            let count = |t: &Transition| if t.next == FORBIDDEN { 0.0 } else { suffix[t.next as usize] };
            suffix = layer.transitions.iter().map(|[out, into]| count(out) + count(into)).collect();
        }
        suffix[0]
    }
}

fn closed(layers: &[Layer]) -> Vec<Vec<bool>> {
    let mut closed = vec![vec![true]];
    for layer in layers.iter().rev() {
        let later = &closed[closed.len() - 1];
        let stays = |[out, into]: &[Transition; 2]| into.next == FORBIDDEN && later[out.next as usize];
        let own = layer.transitions.iter().map(stays).collect();
        closed.push(own);
    }
    closed.reverse();
    closed
}

/// What deciding the unit at one position reads and writes, in slots of two bits.
#[derive(Debug, Default)]
struct Step {
    /// Slots of the unit's predecessors: all must be in for it to be in.
    predecessors: Vec<u32>,
    /// Nets that this unit is the first pin of: slot, and bit among the unit's nets.
    opened: Vec<u32>,
    /// Nets with decided pins: slot, and bit among the unit's nets.
    continued: Vec<(u32, u32)>,
    /// The unit's own slot, when a successor is still undecided.
    own: Option<u32>,
    /// Slots that nothing later reads.
    closed: Vec<u32>,
}

/// The steps of an order, and how many slots a state needs.
struct Plan {
    steps: Vec<Step>,
    slots: usize,
}

/// Hands out slots and takes them back.
#[derive(Default)]
struct Slots {
    free: Vec<u32>,
    used: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }
}

impl Plan {
    fn new(reduced: &Reduced, direct: &DirectOrder, order: &[usize]) -> Self {
        let n = order.len();
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
        let last_successor: Vec<Option<usize>> =
            (0..n).map(|u| direct.successors.row(u).iter().map(|&v| position[v as usize]).max()).collect();
        let net_span = |e: usize| {
            let at = reduced.nets[e].pins.iter().map(|&u| position[u as usize]);
            (at.clone().min(), at.max())
        };
        let spans: Vec<(Option<usize>, Option<usize>)> = (0..reduced.nets.len()).map(net_span).collect();
        let mut unit_slot = vec![u32::MAX; n];
        let mut net_slot = vec![u32::MAX; reduced.nets.len()];
        let mut slots = Slots::default();
        let mut steps = Vec::with_capacity(n);
        for (i, &u) in order.iter().enumerate() {
            let mut step = Step::default();
            for &p in direct.predecessors.row(u) {
                let p = p as usize;
                step.predecessors.push(unit_slot[p]);
                if last_successor[p] == Some(i) {
                    step.closed.push(unit_slot[p]);
                }
            }
            for (bit, &e) in reduced.nets_of.row(u).iter().enumerate().take(TRACKED_NETS) {
                let e = e as usize;
                let tracked = |v: &u32| rank_in_row(&reduced.nets_of, *v as usize, e) < TRACKED_NETS;
                if !reduced.nets[e].pins.iter().all(tracked) {
                    continue;
                }
                if spans[e].0 == Some(i) {
                    net_slot[e] = slots.take();
                    step.opened.push(net_slot[e]);
                } else {
                    step.continued.push((net_slot[e], bit as u32));
                }
                if spans[e].1 == Some(i) {
                    step.closed.push(net_slot[e]);
                }
            }
            if last_successor[u].is_some() {
                unit_slot[u] = slots.take();
                step.own = Some(unit_slot[u]);
            }
            slots.free.extend(&step.closed);
            steps.push(step);
        }
        Self { steps, slots: slots.used as usize }
    }
}

fn rank_in_row(rows: &Csr, row: usize, value: usize) -> usize {
    rows.row(row).partition_point(|&e| (e as usize) < value)
}

/// Order edges both ways, without the transitive ones where the closure says which these are.
struct DirectOrder {
    successors: Csr,
    predecessors: Csr,
}

impl DirectOrder {
    fn new(reduced: &Reduced) -> Self {
        let order = &reduced.order;
        let n = order.node_count();
        let mut edges: Vec<(usize, usize)> = order.edges().collect();
        if let Some(precedence) = reduced.precedence() {
            let others = |u: usize, v: usize| order.successors(u).iter().map(|&w| w as usize).filter(move |&w| w != v);
            edges.retain(|&(u, v)| !others(u, v).any(|w| precedence.precedes(w, v)));
        }
        Self {
            successors: Csr::new(n, edges.iter().copied()),
            predecessors: Csr::new(n, edges.iter().map(|&(u, v)| (v, u))),
        }
    }
}

/// A state: two bits per slot.
type Key<const W: usize> = [u64; W];

const OUT: u64 = 0;
const IN: u64 = 1;
const CUT: u64 = 2;

#[inline]
fn get<const W: usize>(key: &Key<W>, slot: u32) -> u64 {
    key[slot as usize / 32] >> (slot % 32 * 2) & 3
}

#[inline]
fn set<const W: usize>(key: &mut Key<W>, slot: u32, value: u64) {
    let shift = slot % 32 * 2;
    let word = &mut key[slot as usize / 32];
    *word = *word & !(3 << shift) | value << shift;
}

fn build<const W: usize>(plan: &Plan, most: &AtomicUsize, cx: &SearchContext) -> Result<Vec<Layer>, TooWide> {
    let mut states: Vec<Key<W>> = vec![[0; W]];
    let mut index: FxHashMap<Key<W>, u32> = FxHashMap::default();
    let mut layers = Vec::with_capacity(plan.steps.len());
    let (mut total, mut unlooked) = (1, 0);
    for step in &plan.steps {
        index.clear();
        let mut next: Vec<Key<W>> = Vec::new();
        let mut number = |key: Key<W>| {
            *index.entry(key).or_insert_with(|| {
                next.push(key);
                next.len() as u32 - 1
            })
        };
        let mut decide = |key: &Key<W>, value: u64| {
            if value == IN && step.predecessors.iter().any(|&slot| get(key, slot) != IN) {
                return Transition { next: FORBIDDEN, cut: 0 };
            }
            let (key, cut) = step.apply(*key, value);
            Transition { next: number(key), cut }
        };
        let transitions = states.iter().map(|key| [decide(key, OUT), decide(key, IN)]).collect();
        layers.push(Layer { transitions });
        total += next.len();
        unlooked += next.len();
        if total > most.load(Ordering::Relaxed) || unlooked >= PATIENCE && cx.should_stop() {
            return Err(TooWide);
        }
        unlooked %= PATIENCE;
        states = next;
    }
    Ok(layers)
}

impl Step {
    fn apply<const W: usize>(&self, mut key: Key<W>, value: u64) -> (Key<W>, u64) {
        let mut cut = 0;
        for &(slot, bit) in &self.continued {
            let before = get(&key, slot);
            if before != value && before != CUT {
                cut |= 1 << bit;
                set(&mut key, slot, CUT);
            }
        }
        self.opened.iter().for_each(|&slot| set(&mut key, slot, value));
        if let Some(slot) = self.own {
            set(&mut key, slot, value);
        }
        self.closed.iter().for_each(|&slot| set(&mut key, slot, 0));
        (key, cut)
    }
}
