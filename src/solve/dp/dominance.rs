//! Extension dominance: an ideal that can take in more at no loss to any later stage does so at once.
//!
//! Let J be an ideal that a chain of stages reaches, and u a unit that may come next. Suppose that for every
//! accelerator the cut of J ∪ {u} exceeds that of J by at most u's compute time. Take any later stage S of a chain
//! through J. Cuts are submodular, so cut(S \ u) ≤ cut(S) + cut(J ∪ u) − cut(J) when u ∈ S, hence
//! load(S \ u) ≤ load(S), and a chain through J ∪ {u} is as good as one through J. So if u also fits on the stage
//! before, J itself need not be kept. The argument asks that in and out weigh the same in every piece of a load.
//!
//! Where a device keeps bytes for the edges that it cuts, S \ u has to fit, too. By the same inequality it does if J ∪ {u}
//! cuts no more bytes beyond those of J than u has by itself.
//!
//! With servers the same holds for loads that depend on a stage's own boundaries alone. The lower boundary of the stage
//! that loses u may lie in a server or between two, so the cut has to be harmless at both prices. And a stage that
//! does not hold u may pay the higher price for a net of u once u lies below it: only if it holds pins of a net that
//! has none in J, which a net all of whose other pins follow u does not allow.

use std::collections::VecDeque;

use super::chain::Bits;
use super::loads::{SetLoads, Sums, Value, contains, objective, worse, zeros};
use super::stage::StageKind;
use crate::graph::is_subset;
use crate::preprocess::{KindCosts, Reduced, joint};
use crate::problem::{DeviceKind, Objective, Problem};

/// The end of a stage that is being extended.
pub struct Extension {
    /// The ideal after the stage.
    pub ideal: Bits,
    /// The stage's units.
    pub set: Bits,
    /// What the stage's value is made of.
    pub sums: Sums,
    /// The worst value up to the stage.
    pub value: Value,
}

/// The extensions of one stage from one ideal.
///
/// What leads from an ideal to its extension stays free in larger ideals, as cuts are submodular. So whatever lies
/// between the two is dominated by the extension, unless its own value is better.
#[derive(Default)]
pub struct Covered {
    extensions: VecDeque<Interval>,
}

/// All ideals from one to what it was extended to.
struct Interval {
    least: Bits,
    most: Bits,
    /// The worst value up to the end of the extension.
    value: Value,
}

/// How many extensions are looked at: the last ones, which lie nearest.
const MOST_EXTENSIONS: usize = 32;

impl Covered {
    /// Whether an extension dominates `ideal`, reached with at least `value`.
    pub fn dominates(&self, ideal: &Bits, value: Value, is_one_load: bool) -> bool {
        self.extensions.iter().any(|known| {
            (is_one_load || known.value[0] <= value[0] && known.value[1] <= value[1])
                && is_subset(&known.least, ideal)
                && is_subset(ideal, &known.most)
        })
    }

    fn push(&mut self, least: Bits, most: Bits, value: Value) {
        self.extensions.truncate(MOST_EXTENSIONS - 1);
        self.extensions.push_front(Interval { least, most, value });
    }
}

/// Extends ideals by dominance.
pub struct Dominance<'a> {
    reduced: &'a Reduced,
    passes: std::ops::Range<usize>,
    /// Units that no ideal can take in for free, whatever it holds.
    never_free: Bits,
}

impl<'a> Dominance<'a> {
    /// The rule for `problem`, or `None` where the argument does not hold.
    pub fn new(problem: &Problem, reduced: &'a Reduced) -> Option<Self> {
        let symmetric = reduced.kinds.iter().all(|k| k.pieces.iter().all(|p| p.comm_in == p.comm_out));
        let passes = match problem.spec.objective {
            Objective::Throughput | Objective::Step { .. } | Objective::Latency { .. } | Objective::Sharding(_) => 2..3,
            Objective::GPipe => 0..2,
        };
        let empty: Bits = vec![0; reduced.unit_count().div_ceil(64)].into();
        let mut rule = Self { reduced, passes, never_free: empty.clone() };
        for u in 0..reduced.unit_count() {
            if rule.is_first(u) && !rule.is_free(u, &empty) {
                rule.never_free[u / 64] |= 1 << (u % 64);
            }
        }
        symmetric.then_some(rule)
    }

    /// Whether no ideal without `u` holds a pin of `u`'s nets, so that all of them are the same to it.
    fn is_first(&self, u: usize) -> bool {
        let follows = |p: u32| p as usize == u || self.reduced.order.successors(u).binary_search(&p).is_ok();
        self.reduced.kinds.iter().all(|kind| kind.boundary.is_empty())
            && self
                .reduced
                .nets_of
                .row(u)
                .iter()
                .all(|&e| self.reduced.nets[e as usize].pins.iter().all(|&p| follows(p)))
    }

    /// Extends `reached`, the end of a stage from the ideal `from` of value `before`, as far as the stage stays within
    /// `target` (for GPipe: as far as its value does not grow). Whether no extension in `covered` dominates it.
    pub fn extend(
        &self,
        reached: &mut Extension,
        stage: StageKind,
        (from, before): (&Bits, Value),
        (sets, covered): (&mut SetLoads, &mut Covered),
        target: f64,
    ) -> bool {
        let Extension { ideal, set, sums, value } = reached;
        let loads = sets.loads();
        // Units to look at; those that the load did not allow are looked at again once another one has joined.
        let passed_over: Bits = ideal.iter().zip(&self.never_free).map(|(a, b)| a | b).collect();
        let mut next: Vec<usize> = zeros(&passed_over, self.reduced.unit_count()).collect();
        let mut refused: Vec<usize> = Vec::new();
        let least = ideal.clone();
        let mut is_extended = false;
        while let Some(u) = next.pop() {
            if !self.is_ready(u, ideal) || !self.is_free(u, ideal) {
                continue;
            }
            let joined = loads
                .with_unit(stage, sums, from, ideal, u)
                .and_then(|new| Some((new, worse(loads.finish(stage, &new)?, before))));
            let Some((new, v)) = joined.filter(|&(_, v)| self.is_no_worse(v, *value, target)) else {
                refused.push(u);
                continue;
            };
            (*sums, *value) = (new, v);
            ideal[u / 64] |= 1 << (u % 64);
            set[u / 64] |= 1 << (u % 64);
            if covered.dominates(ideal, *value, loads.is_one_load()) {
                return false;
            }
            is_extended = true;
            next.append(&mut refused);
            next.extend(self.neighbours(u));
        }
        if is_extended {
            // The running sums have rounding errors of their own.
            *value = sets.least_value(stage, set, from, ideal).map_or(*value, |v| worse(v, before));
            covered.push(least, ideal.clone(), *value);
        }
        true
    }

    /// The units that may be ready or free once `u` has joined an ideal, and were not before.
    fn neighbours(&self, u: usize) -> impl Iterator<Item = usize> + '_ {
        let pins = |&e: &u32| self.reduced.nets[e as usize].pins.iter().copied();
        let sharing = self.reduced.nets_of.row(u).iter().flat_map(pins);
        let keeping = self.reduced.kinds.iter().flat_map(move |kind| kind.boundary.of(u)).map(|&(v, _)| v);
        let following = self.reduced.order.successors(u).iter().copied();
        sharing.chain(keeping).chain(following).map(|v| v as usize)
    }

    fn is_ready(&self, u: usize, ideal: &Bits) -> bool {
        !contains(ideal, u) && self.reduced.order.predecessors(u).iter().all(|&p| contains(ideal, p as usize))
    }

    fn is_no_worse(&self, new: Value, old: Value, target: f64) -> bool {
        match self.passes.len() {
            1 => objective(new) <= target,
            _ => new[0] <= old[0] && new[1] <= old[1],
        }
    }

    /// Whether no later stage loses when `u` joins `ideal`.
    pub fn is_free(&self, u: usize, ideal: &Bits) -> bool {
        let mut accelerators = self.reduced.kinds.iter().filter(|kind| kind.kind != DeviceKind::Cpu);
        accelerators.all(|kind| {
            kind.boundary.added(u, |v| contains(ideal, v)) <= kind.memory[u]
                && self.passes.clone().all(|pass| self.is_harmless(kind, u, ideal, pass))
        }) && self.reduced.nets_of.row(u).iter().all(|&e| self.keeps_price(e as usize, u, ideal))
    }

    /// Whether no stage without `u` pays more for net `e` once `u` is in `ideal`.
    fn keeps_price(&self, e: usize, u: usize, ideal: &Bits) -> bool {
        let pins = &self.reduced.nets[e].pins;
        let follows = |p: &u32| *p as usize == u || self.reduced.order.successors(u).binary_search(p).is_ok();
        self.reduced.between[e] == 1.0 || pins.iter().any(|&p| contains(ideal, p as usize)) || pins.iter().all(follows)
    }

    /// Whether taking `u` into `ideal` raises the cut by no more than `u`'s compute, at the price in a server and at
    /// that between servers; pass 2 is both together.
    fn is_harmless(&self, kind: &KindCosts, u: usize, ideal: &Bits, pass: usize) -> bool {
        let Some(terms) = kind.terms(u) else { return true };
        let own = if pass == 2 { joint(&terms) } else { terms[pass] };
        let mut changes = [0.0; 2];
        for &e in self.reduced.nets_of.row(u) {
            let net = &self.reduced.nets[e as usize];
            if pass < 2 && usize::from(net.backward) != pass {
                continue;
            }
            let inside = net.pins.iter().filter(|&&p| contains(ideal, p as usize)).count();
            let is_cut_more = f64::from(u8::from(inside == 0)) - f64::from(u8::from(inside + 1 == net.pins.len()));
            let change = is_cut_more * kind.transfers[e as usize];
            changes[0] += change;
            changes[1] += change * self.reduced.between[e as usize];
        }
        kind.pieces.iter().all(|p| changes.iter().all(|change| p.comm_in * change <= p.value(&own)))
    }
}
