//! What a target forces: which kinds of device can still hold which units.

use super::cardinality::overcrowds;
use super::cuts::Holder;
use super::linear::ROUNDING;
use super::prices::{best_prices, cheapest, priced_work};
use super::shares::{Shares, leading_piece};
use crate::graph::NodeSet;
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::search::SearchContext;

/// Whether no split has an objective of at most `target`.
///
/// A unit leaves a kind of device when every set that holds it, without the units that have left, loads a device of the
/// kind above the target (a minimum cut), or when the work of all units leaves no time for it. What left one kind
/// burdens the others. The target is refuted when a unit can go nowhere, when the work exceeds the devices' time, or
/// when the devices cannot hold the heaviest units (`overcrowds`). A false answer says nothing, and is given early
/// when `cx` says to stop.
pub fn refutes(problem: &Problem, reduced: &Reduced, target: f64, cx: &SearchContext) -> bool {
    Forcing::new(problem, reduced, target).refutes(cx)
}

/// The state of propagation.
struct Forcing<'a> {
    problem: &'a Problem,
    reduced: &'a Reduced,
    target: f64,
    /// By kind: whether its devices can hold each unit.
    allowed: Vec<NodeSet>,
    holders: Vec<Holder>,
    /// By holder and linear bound of its load.
    witnesses: Vec<Vec<Witnesses>>,
}

/// Sets that meet the target: they spare a cut for each of their units.
struct Witnesses {
    sets: Vec<NodeSet>,
    /// For each unit the number of a set that holds it.
    of: Vec<Option<usize>>,
}

impl Witnesses {
    fn add(&mut self, set: NodeSet) {
        set.iter().for_each(|u| self.of[u] = Some(self.sets.len()));
        self.sets.push(set);
    }

    /// Whether some set is known to hold all these units.
    fn holds(&self, units: &[usize]) -> bool {
        let known = self.of[units[0]].map(|set| &self.sets[set]);
        known.is_some_and(|set| units.iter().all(|&u| set.contains(u)))
    }

    /// Whether some set is known to hold so many of these units.
    fn hold_of(&self, units: &[usize], count: usize) -> bool {
        self.sets.iter().any(|set| units.iter().filter(|&&u| set.contains(u)).count() >= count)
    }

    /// Forgets the sets that hold `u`.
    fn forbid(&mut self, u: usize) {
        let sets = &self.sets;
        self.of.iter_mut().filter(|of| of.is_some_and(|set| sets[set].contains(u))).for_each(|of| *of = None);
        self.sets.iter_mut().filter(|set| set.contains(u)).for_each(|set| *set = NodeSet::new(set.capacity()));
    }
}

impl<'a> Forcing<'a> {
    fn new(problem: &'a Problem, reduced: &'a Reduced, target: f64) -> Self {
        let n = reduced.unit_count();
        let holders = Holder::all(problem, reduced);
        let none = || Witnesses { sets: Vec::new(), of: vec![None; n] };
        let witnesses = holders.iter().map(|holder| holder.cuts.iter().map(|_| none()).collect()).collect();
        let allowed = reduced.kinds.iter().map(|kind| if kind.count > 0 { NodeSet::full(n) } else { NodeSet::new(n) });
        Self { problem, reduced, target, allowed: allowed.collect(), holders, witnesses }
    }

    fn refutes(&mut self, cx: &SearchContext) -> bool {
        loop {
            let too_heavy = self.too_heavy(cx);
            let shares = self.shares(cx);
            if self.problem.spec.replication.is_none()
                && overcrowds(&shares, self.target, |kind, units, count| {
                    !cx.should_stop() && self.crowds(kind, units, count)
                })
            {
                return true;
            }
            let left = too_heavy + self.squeeze_out(&shares);
            let goes_nowhere = |u: usize| !self.allowed.iter().any(|units| units.contains(u));
            if (0..self.reduced.unit_count()).any(goes_nowhere) {
                return true;
            }
            if left == 0 || cx.should_stop() {
                return false;
            }
        }
    }

    fn forbid(&mut self, kind: usize, u: usize) {
        self.allowed[kind].remove(u);
        for (holder, witnesses) in self.holders.iter_mut().zip(&mut self.witnesses) {
            if holder.kind == kind {
                holder.forbid(u);
                witnesses.iter_mut().for_each(|known| known.forbid(u));
            }
        }
    }

    /// Whether a set that holds `units` meets the target on some number of devices of `kind`.
    fn can_hold(&mut self, kind: usize, units: &[usize]) -> bool {
        let n = self.reduced.unit_count();
        let mut holders = self.holders.iter_mut().zip(&mut self.witnesses).filter(|(holder, _)| holder.kind == kind);
        holders.any(|(holder, witnesses)| {
            holder.cuts.iter_mut().zip(witnesses).all(|(cuts, known)| {
                if !known.holds(units) {
                    if cuts.exceeds(units, self.target) {
                        return false;
                    }
                    known.add(NodeSet::from_nodes(n, cuts.set()));
                }
                true
            })
        })
    }

    /// Whether no device of `kind` can hold `count` of `units` at the target.
    fn crowds(&mut self, kind: usize, units: &[usize], count: usize) -> bool {
        let units: Vec<usize> = units.iter().copied().filter(|&u| self.allowed[kind].contains(u)).collect();
        let (n, target) = (self.reduced.unit_count(), self.target);
        let mut holders = self.holders.iter_mut().zip(&mut self.witnesses).filter(|(holder, _)| holder.kind == kind);
        units.len() < count
            || holders.all(|(holder, witnesses)| {
                holder.cuts.iter_mut().zip(witnesses).any(|(cuts, known)| {
                    if known.hold_of(&units, count) {
                        return false;
                    }
                    let crowds = cuts.crowds(&units, count, target);
                    if crowds == Some(false) {
                        known.add(NodeSet::from_nodes(n, cuts.set()));
                    }
                    crowds == Some(true)
                })
            })
    }

    /// Takes units from the kinds that cannot hold them at the target; how many.
    fn too_heavy(&mut self, cx: &SearchContext) -> usize {
        let mut left = 0;
        for kind in 0..self.allowed.len() {
            for u in self.allowed[kind].clone().iter() {
                if cx.should_stop() {
                    return left;
                }
                if !self.can_hold(kind, &[u]) {
                    self.forbid(kind, u);
                    left += 1;
                }
            }
        }
        left
    }

    /// Takes units from the kinds on which the work of all units leaves no time for them; how many.
    fn squeeze_out(&mut self, shares: &Shares) -> usize {
        let kinds = self.allowed.len();
        let alone = |kind: usize| {
            let count = shares.kinds[kind].count as f64;
            (0..kinds).map(|other| if other == kind && count > 0.0 { 1.0 / count } else { 0.0 }).collect::<Vec<f64>>()
        };
        let mut left = 0;
        for prices in (0..kinds).map(alone).chain([best_prices(shares)]) {
            let work = priced_work(shares, &prices);
            for kind in 0..kinds {
                for u in self.allowed[kind].clone().iter() {
                    let (Some(share), Some(least)) = (shares.kinds[kind].of[u], cheapest(shares, &prices, u)) else {
                        continue;
                    };
                    if (work - least + prices[kind] * share) > self.target * (1.0 + ROUNDING) {
                        self.forbid(kind, u);
                        left += 1;
                    }
                }
            }
        }
        left
    }

    /// Shares on the kinds that can still hold the units, with the nets that must be paid.
    ///
    /// Where no device of a kind can hold all pins of a net, each of them that holds one pays. Of two pins, each pays on
    /// its own; of more, only one is charged, as one device may hold all the others.
    fn shares(&mut self, cx: &SearchContext) -> Shares {
        let mut shares = Shares::new(self.reduced);
        for kind in 0..shares.kinds.len() {
            let allowed = self.allowed[kind].clone();
            let of = &mut shares.kinds[kind].of;
            of.iter_mut().enumerate().filter(|(u, _)| !allowed.contains(*u)).for_each(|(_, share)| *share = None);
            // Nets that are not charged make the bound weaker.
            for e in (0..self.reduced.nets.len()).take_while(|_| !cx.should_stop()) {
                self.charge(kind, e, of);
            }
        }
        shares
    }

    fn charge(&mut self, kind: usize, e: usize, of: &mut [Option<f64>]) {
        let (net, costs) = (&self.reduced.nets[e], &self.reduced.kinds[kind]);
        let piece = leading_piece(costs);
        if costs.transfers[e] * (piece.comm_in + piece.comm_out) == 0.0 {
            return;
        }
        let pins: Vec<usize> = net.pins.iter().map(|&u| u as usize).collect();
        let is_whole = pins.iter().all(|&u| of[u].is_some()) && self.can_hold(kind, &pins);
        if is_whole {
            return;
        }
        let charged = if pins.len() == 2 { 2 } else { 1 };
        let holdable: Vec<usize> = pins.into_iter().filter(|&u| of[u].is_some()).take(charged).collect();
        for u in holdable {
            let price = if u == net.source as usize { piece.comm_out } else { piece.comm_in };
            of[u] = of[u].map(|share| share + price * costs.transfers[e]);
        }
    }
}
