//! Stages as the ideal DP sees them: who can hold one, and linear bounds of what it costs.

use crate::cost::{Piece, ring_all_reduce};
use crate::graph::Precedence;
use crate::preprocess::{Reduced, joint};
use crate::problem::{Problem, Replication};

/// Who holds a stage: a device of one kind, or several as replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageKind {
    /// Index into [`Reduced::kinds`].
    pub kind: usize,
    /// How many devices share the stage.
    pub replicas: usize,
    /// Where the boundary below the stage lies.
    pub lower: Boundary,
    /// Where the boundary above the stage lies.
    pub upper: Boundary,
}

/// Where a boundary between two stages lies, as far as the price of the nets that it cuts goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// Inside a server: the nets cost their transfer time, or more if they leave the server elsewhere.
    Inside,
    /// Between two servers, or a server and a CPU: the nets cost their price between servers. Without servers, all
    /// boundaries are between devices.
    Between,
}

impl Boundary {
    /// How many times its transfer time net `e` costs at least where this boundary cuts it.
    pub fn price(self, reduced: &Reduced, e: usize) -> f64 {
        match self {
            Boundary::Inside => 1.0,
            Boundary::Between => reduced.between[e],
        }
    }
}

impl StageKind {
    /// Whether a stage of this kind and one of kind `above` can share a boundary.
    pub fn meets(&self, above: &Self) -> bool {
        self.upper == above.lower && (self.upper == Boundary::Between || self.kind == above.kind)
    }
}

/// The stage kinds of a problem: each device kind, with each admissible number of replicas and each way to lie in a
/// server.
pub fn stage_kinds(problem: &Problem, reduced: &Reduced) -> Vec<StageKind> {
    let most = problem.spec.most_replicas();
    let group = problem.spec.interconnect.map_or(usize::MAX, |i| i.server_size);
    let kinds = reduced.kinds.iter().enumerate();
    kinds
        .flat_map(|(kind, costs)| {
            let is_cpu = costs.kind == crate::problem::DeviceKind::Cpu;
            let most = if is_cpu { 1 } else { most.min(costs.count).min(group) };
            (1..=most).flat_map(move |replicas| {
                let is_alone = is_cpu || group == usize::MAX || replicas == group;
                placements(is_alone).iter().map(move |&(lower, upper)| StageKind { kind, replicas, lower, upper })
            })
        })
        .collect()
}

/// The boundaries that a stage can have: with nothing else in its server, or with something below or above it.
fn placements(is_alone: bool) -> &'static [(Boundary, Boundary)] {
    use Boundary::{Between, Inside};
    let all = &[(Between, Between), (Between, Inside), (Inside, Inside), (Inside, Between)];
    if is_alone { &all[..1] } else { all }
}

/// A linear function of ideals that bounds stages from both ends.
///
/// For ideals A ⊆ J it bounds the stage J \ A by upper(J) − lower(A), where upper(J) = weight(J) + the upper charges
/// of the nets that J cuts, and lower(A) = weight(A) − the lower charges of the nets that A cuts. A net that stays
/// live across a whole stage would be charged wrongly; see [`Variant::cap`].
#[derive(Debug, Clone, PartialEq)]
pub struct Potential {
    /// Weight of each unit.
    pub weight: Vec<f64>,
    /// What a stage pays for each net cut by its upper boundary; empty when no net is charged.
    pub upper: Vec<f64>,
    /// What a stage pays for each net cut by its lower boundary; empty when no net is charged.
    pub lower: Vec<f64>,
}

impl Potential {
    /// Whether any net is charged.
    pub fn is_charged(&self) -> bool {
        !self.upper.is_empty()
    }

    /// Weight of all units.
    pub fn total(&self) -> f64 {
        self.weight.iter().sum()
    }

    /// The factor by which `self` is `other`, if it is a multiple of it up to what costs lose on their grid, from below: what
    /// no part of `self` is less than.
    fn multiple_of(&self, other: &Self) -> Option<f64> {
        let parts = [(&self.weight, &other.weight), (&self.upper, &other.upper), (&self.lower, &other.lower)];
        if parts.iter().any(|(a, b)| a.len() != b.len()) {
            return None;
        }
        let pairs = || parts.iter().flat_map(|(a, b)| a.iter().zip(b.iter()));
        if pairs().any(|(&a, &b)| (a == 0.0) != (b == 0.0)) {
            return None;
        }
        let ratios = || pairs().filter(|&(_, &b)| b != 0.0).map(|(&a, &b)| a / b);
        let (least, most) = (ratios().fold(f64::MAX, f64::min), ratios().fold(0.0, f64::max));
        (most <= least * (1.0 + LOST_ON_GRID)).then_some(least)
    }
}

/// Costs of two kinds of device that are in proportion are so but for this part once each is rounded down to a grid. A
/// potential of its own for each would make Pareto fronts of pairs that say nothing new, a hundred times as large.
const LOST_ON_GRID: f64 = 1e-8;

/// A lower bound of the load of one kind of stage: factor · (upper(J) − lower(A)) of a potential.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variant {
    /// Index of the stage kind.
    pub stage: usize,
    /// Index of the potential.
    pub potential: usize,
    /// The load is at least this times the potential's difference.
    pub factor: f64,
    /// The bound holds for stages whose potential difference is at most this, whatever the target. A charged variant
    /// has none: it holds for stages heavier than all work beside a charged net, which no such net can bypass.
    pub cap: Option<f64>,
}

/// Variants and the potentials they share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bounds {
    /// The potentials, none a multiple of another.
    pub potentials: Vec<Potential>,
    /// The variants of all stage kinds.
    pub variants: Vec<Variant>,
}

impl Bounds {
    fn add(&mut self, stage: usize, potential: Potential, cap: Option<f64>) {
        let known = self.potentials.iter().enumerate().find_map(|(i, p)| Some((i, potential.multiple_of(p)?)));
        let (potential, factor) = known.unwrap_or_else(|| {
            self.potentials.push(potential);
            (self.potentials.len() - 1, 1.0)
        });
        self.variants.push(Variant { stage, potential, factor, cap: cap.map(|cap| cap / factor) });
    }

    /// The potential of variant `t`.
    pub fn of(&self, t: usize) -> &Potential {
        &self.potentials[self.variants[t].potential]
    }

    /// The most that a stage of variant `t` may differ in its potential at `target`.
    pub fn allowance(&self, t: usize, target: f64) -> f64 {
        let Variant { factor, cap, .. } = self.variants[t];
        cap.map_or(target / factor, |cap| cap.min(target / factor))
    }
}

/// Which ideals a relaxation speaks of.
pub enum Ideals<'a> {
    /// Those of the order graph.
    Graph(&'a Precedence),
    /// The prefixes of an order: the position of each unit.
    Prefixes(&'a [usize]),
}

impl Ideals<'_> {
    /// Whether every ideal that holds `v` holds `u`.
    fn precedes(&self, u: usize, v: usize) -> bool {
        match self {
            Ideals::Graph(precedence) => precedence.precedes(u, v),
            Ideals::Prefixes(position) => position[u] <= position[v],
        }
    }

    /// For each unit the weight of all units that precede it, and of all that it precedes; itself included.
    fn cones(&self, weight: &[f64]) -> (Vec<f64>, Vec<f64>) {
        match self {
            Ideals::Graph(precedence) => {
                let (mut before, mut after) = cones_of_line(precedence.order(), weight);
                for (u, v) in precedence.incomparable() {
                    after[u] -= weight[v];
                    before[v] -= weight[u];
                }
                (before, after)
            }
            Ideals::Prefixes(position) => {
                let mut order = vec![0; weight.len()];
                position.iter().enumerate().for_each(|(u, &i)| order[i] = u);
                cones_of_line(&order, weight)
            }
        }
    }
}

/// The weight of all units up to each and from each on, where all units follow one another.
fn cones_of_line(order: &[usize], weight: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut before, mut after) = (vec![0.0; order.len()], vec![0.0; order.len()]);
    let total: f64 = weight.iter().sum();
    let mut sum = 0.0;
    for &u in order {
        after[u] = total - sum;
        sum += weight[u];
        before[u] = sum;
    }
    (before, after)
}

/// Builds the variants of stage kinds.
pub struct Variants<'a> {
    reduced: &'a Reduced,
    ideals: Ideals<'a>,
    replication: Option<Replication>,
    overlapped: bool,
    /// Stands for the weight of a unit that a kind cannot run: more than any target.
    prohibitive: f64,
}

impl<'a> Variants<'a> {
    /// Prepares for `problem`; loads above `ceiling` are of no interest.
    pub fn new(problem: &Problem, reduced: &'a Reduced, ideals: Ideals<'a>, ceiling: f64) -> Self {
        Self {
            reduced,
            ideals,
            replication: problem.spec.replication,
            overlapped: problem.costs.synchronisation == crate::cost::Synchronisation::Overlapped,
            prohibitive: 2.0 * ceiling + 1.0,
        }
    }

    /// How many linear bounds of a load there are to choose from: every piece, and their mean.
    pub fn bounds(reduced: &Reduced) -> usize {
        let pieces = reduced.kinds.iter().map(|kind| kind.pieces.len()).max().unwrap_or(1);
        if pieces == 1 { 1 } else { pieces + 1 }
    }

    /// The variants of all stage kinds under linear bound number `bound`, for targets of at most `upper`.
    pub fn all(&self, stages: &[StageKind], upper: f64, bound: usize) -> Bounds {
        self.charging(stages, BESIDE * upper, &self.bridges(), bound)
    }

    /// The variants of all stage kinds under linear bound number `bound` where every net is charged. They hold only for
    /// stages that no charged net bypasses.
    pub fn charging_all(&self, stages: &[StageKind], bound: usize) -> Bounds {
        self.charging(stages, f64::MAX, &[], bound)
    }

    fn charging(&self, stages: &[StageKind], limit: f64, bridges: &[usize], bound: usize) -> Bounds {
        let mut bounds = Bounds::default();
        for (i, &stage) in stages.iter().enumerate() {
            let pieces = &self.reduced.kinds[stage.kind].pieces;
            let piece = match pieces.get(bound) {
                Some(&piece) => piece,
                None => mean(pieces),
            };
            self.add(&mut bounds, (i, stage), piece, limit, bridges);
        }
        bounds
    }

    /// Adds the variants of `stage` (at `index`) under the linear bound `piece`, charging the nets that have at most
    /// weight `limit` beside them. The one free of communication never ends at one of the `bridges`.
    fn add(
        &self,
        bounds: &mut Bounds,
        (index, stage): (usize, StageKind),
        piece: Piece,
        limit: f64,
        bridges: &[usize],
    ) {
        let weight = self.weight(stage, piece);
        let mut free = Potential { weight: weight.clone(), upper: vec![], lower: vec![] };
        let costs = &self.reduced.kinds[stage.kind];
        let pays = piece.comm_in + piece.comm_out > 0.0 && costs.transfers.iter().any(|&c| c > 0.0);
        if !pays {
            return bounds.add(index, free, None);
        }
        let beside = self.beside(&weight);
        let charge = |up: bool| {
            let boundary = if up { stage.upper } else { stage.lower };
            let price = |e: usize| self.charge(stage, piece, e, up) * boundary.price(self.reduced, e);
            let charge = |e: usize| if beside[e] <= limit { price(e) } else { 0.0 };
            (0..beside.len()).map(charge).collect::<Vec<f64>>()
        };
        let cap = beside.iter().copied().filter(|&b| b <= limit).fold(0.0, f64::max);
        bounds.add(index, Potential { weight, upper: charge(true), lower: charge(false) }, None);
        if !bridges.is_empty() {
            free.upper = vec![0.0; beside.len()];
            bridges.iter().for_each(|&e| free.upper[e] = self.prohibitive);
            free.lower.clone_from(&free.upper);
        }
        bounds.add(index, free, Some(cap));
    }

    /// The nets that whatever boundary cuts them cuts alone: no net bypasses a stage that ends there.
    ///
    /// Only one ideal cuts a net of two units of which one precedes the other, when every other unit precedes the one or
    /// follows the other. That ideal comes first where units are sorted by how many precede them. A gradient may join units
    /// that no forward edge puts in order: many ideals cut such a net.
    fn bridges(&self) -> Vec<usize> {
        let n = self.reduced.unit_count();
        let (before, after) = self.ideals.cones(&vec![1.0; n]);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&u, &v| before[u].total_cmp(&before[v]));
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
        let span = |pins: &[u32]| {
            let positions = || pins.iter().map(|&u| position[u as usize]);
            (positions().min().unwrap_or(0), positions().max().unwrap_or(0))
        };
        let spans: Vec<(usize, usize)> = self.reduced.nets.iter().map(|net| span(&net.pins)).collect();
        // By position: the nets that open there less those that close.
        let mut change = vec![0_i64; n];
        for &(first, last) in &spans {
            change[first] += 1;
            change[last] -= 1;
        }
        let sum = |live: &mut i64, change: i64| {
            *live += change;
            Some(*live)
        };
        let live: Vec<i64> = change.into_iter().scan(0, sum).collect();
        let is_bridge = |e: &usize| {
            let (first, last) = spans[*e];
            let covered = before[order[first]] + after[order[last]];
            self.reduced.nets[*e].pins.len() == 2
                && covered == n as f64
                && live[first] == 1
                && self.ideals.precedes(order[first], order[last])
        };
        (0..spans.len()).filter(is_bridge).collect()
    }

    /// For each net a bound on the weight of a stage that it stays live across: such a stage lies beside the net,
    /// after at least one of its pins and before another.
    fn beside(&self, weight: &[f64]) -> Vec<f64> {
        let (before, after) = self.ideals.cones(weight);
        let total: f64 = weight.iter().sum();
        let least = |of: &[f64], pins: &[u32]| pins.iter().map(|&u| of[u as usize]).fold(f64::MAX, f64::min);
        let nets = self.reduced.nets.iter();
        nets.map(|net| (total - least(&before, &net.pins) - least(&after, &net.pins)).max(0.0)).collect()
    }

    fn weight(&self, stage: StageKind, piece: Piece) -> Vec<f64> {
        let r = stage.replicas;
        let sync = |u: usize| match self.replication {
            Some(rep) if r > 1 && !self.overlapped => {
                ring_all_reduce(self.reduced.parameter_bytes[u], r, rep.bandwidth)
            }
            _ => 0.0,
        };
        let costs = &self.reduced.kinds[stage.kind];
        let own = |u: usize| costs.terms(u).map_or(self.prohibitive, |terms| piece.value(&joint(&terms)) / r as f64);
        (0..self.reduced.unit_count()).map(|u| own(u) + sync(u)).collect()
    }

    /// What a stage pays for a net that its upper or lower boundary cuts.
    fn charge(&self, stage: StageKind, piece: Piece, e: usize, upper: bool) -> f64 {
        let net = &self.reduced.nets[e];
        let source_below = net.pins.iter().all(|&u| self.ideals.precedes(net.source as usize, u as usize));
        let coefficient = match (source_below, upper) {
            (true, true) => piece.comm_out,
            (true, false) => piece.comm_in,
            (false, _) => piece.comm_out.min(piece.comm_in),
        };
        coefficient * self.reduced.kinds[stage.kind].transfers[e] / stage.replicas as f64
    }
}

/// Nets with more than this part of the target beside them are not charged. A stage lighter than the work beside a
/// charged net counts as free of communication, which wastes most of a device and so hardly weakens the bound.
const BESIDE: f64 = 0.7;

fn mean(pieces: &[Piece]) -> Piece {
    let n = pieces.len() as f64;
    let sum = |of: fn(&Piece) -> f64| pieces.iter().map(of).sum::<f64>() / n;
    Piece::new(sum(|p| p.compute), sum(|p| p.comm_in), sum(|p| p.comm_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn potentials_in_proportion_but_for_a_grid_are_one() {
        let potential = |factor: f64, lost: f64| Potential {
            weight: vec![factor * (1.0 - lost), factor * 3.0],
            upper: vec![factor],
            lower: vec![factor * 2.0],
        };
        let mut bounds = Bounds::default();
        bounds.add(0, potential(1.0, 0.0), None);
        bounds.add(1, potential(5.0, 1e-9), None);
        bounds.add(2, potential(5.0, 1e-6), None);
        let [_, near, far] = bounds.variants[..] else { panic!("three were added") };
        assert_eq!((near.potential, far.potential, bounds.potentials.len()), (0, 1, 2));
        // No part of it is less than the factor says.
        assert!(near.factor <= 5.0 * (1.0 - 1e-9) && near.factor > 5.0 * (1.0 - 2e-9));
    }
}
