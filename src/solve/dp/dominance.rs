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

use rustc_hash::FxHashSet;

use super::loads::{SetLoads, Sums, Value, contains, objective, worse, zeros};
use super::search::Bits;
use super::stage::StageKind;
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

/// Ideals that some extension of the same stage from the same ideal went through: what it ended with dominates them.
pub type Covered = FxHashSet<Bits>;

/// Extends ideals by dominance.
pub struct Dominance<'a> {
    reduced: &'a Reduced,
    passes: std::ops::Range<usize>,
}

impl<'a> Dominance<'a> {
    /// The rule for `problem`, or `None` where the argument does not hold.
    pub fn new(problem: &Problem, reduced: &'a Reduced) -> Option<Self> {
        let symmetric = reduced.kinds.iter().all(|k| k.pieces.iter().all(|p| p.comm_in == p.comm_out));
        let passes = match problem.spec.objective {
            Objective::Throughput | Objective::Latency { .. } | Objective::Sharding(_) => 2..3,
            Objective::GPipe => 0..2,
        };
        symmetric.then_some(Self { reduced, passes })
    }

    /// Extends `reached`, the end of a stage from the ideal `from` of value `before`, as far as the stage stays within
    /// `target` (for GPipe: as far as its value does not grow). Whether that leads to an ideal not yet covered.
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
        let ready = |ideal: &Bits, u: usize| {
            !contains(ideal, u) && self.reduced.order.predecessors(u).iter().all(|&p| contains(ideal, p as usize))
        };
        let mut candidates: Vec<usize> = zeros(ideal, self.reduced.unit_count()).filter(|&u| ready(ideal, u)).collect();
        let mut is_extended = false;
        let mut next = 0;
        let mut failures = 0;
        while failures < candidates.len() {
            next %= candidates.len();
            let u = candidates[next];
            let extended = self.is_free(u, ideal).then(|| loads.with_unit(stage, sums, from, ideal, u)).flatten();
            let joined = extended.and_then(|new| Some((new, worse(loads.finish(stage, &new)?, before))));
            match joined {
                Some((new, v)) if self.is_no_worse(v, *value, target) => {
                    (*sums, *value) = (new, v);
                    ideal[u / 64] |= 1 << (u % 64);
                    set[u / 64] |= 1 << (u % 64);
                    if !covered.insert(ideal.clone()) {
                        return false;
                    }
                    candidates.swap_remove(next);
                    let successors = self.reduced.order.successors(u).iter().map(|&v| v as usize);
                    candidates.extend(successors.filter(|&v| ready(ideal, v)));
                    is_extended = true;
                    failures = 0;
                }
                _ => {
                    next += 1;
                    failures += 1;
                }
            }
        }
        if is_extended {
            // The running sums have rounding errors of their own.
            *value = sets.least_value(stage, set, from, ideal).map_or(*value, |v| worse(v, before));
        }
        true
    }

    fn is_no_worse(&self, new: Value, old: Value, target: f64) -> bool {
        match self.passes.len() {
            1 => objective(new) <= target,
            _ => new[0] <= old[0] && new[1] <= old[1],
        }
    }

    /// Whether no later stage loses when `u` joins `ideal`.
    fn is_free(&self, u: usize, ideal: &Bits) -> bool {
        let mut accelerators = self.reduced.kinds.iter().filter(|kind| kind.kind != DeviceKind::Cpu);
        let bytes = self.reduced.boundary.added(u, |v| contains(ideal, v));
        accelerators.all(|kind| {
            bytes <= kind.memory[u] && self.passes.clone().all(|pass| self.is_harmless(kind, u, ideal, pass))
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
