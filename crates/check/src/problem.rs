//! The problem in whole numbers: units, nets, and what a device can hold below the claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::decimal::{Decimal, places, product, sum};
use crate::instance::{Instance, Node};
use crate::order::Order;
use crate::question::{Class, Objective, Question, Replication, Synchronisation};

/// A kind of device: a class of accelerators, or the CPUs.
pub struct Kind {
    /// How many there are.
    pub count: u32,
    /// Time of each unit in each pass, all in the first one where the objective does not tell passes apart; `None` where it
    /// cannot run it.
    pub time: Vec<Option<[i128; 2]>>,
    /// The linear pieces of its load: coefficients of compute, in and out, which make units of the claim of times.
    pub pieces: Vec<Terms>,
    /// The most bytes that fit; `None` where all units do.
    pub capacity: Option<i128>,
    /// The most devices that share a set.
    pub most_replicas: u32,
}

/// What a unit sends to others.
pub struct Net {
    /// The unit that makes it.
    pub source: usize,
    /// The other units that need it, ascending.
    pub sinks: Vec<usize>,
    /// The time to move it.
    pub cost: i128,
    /// The pass of the node that makes it: 1 for the backward one, where the objective tells them apart.
    pub pass: usize,
}

/// Compute, in and out, of a pass.
pub type Terms = [i128; 3];

impl Kind {
    /// The time of a unit; `None` where it cannot run it.
    pub fn time(&self, unit: usize) -> Option<i128> {
        self.time[unit].map(|passes| passes[0] + passes[1])
    }

    /// The largest piece of the load.
    pub fn load(&self, terms: &Terms) -> i128 {
        let value = |piece: &Terms| piece.iter().zip(terms).map(|(a, b)| a * b).sum();
        self.pieces.iter().map(value).max().unwrap_or_default()
    }
}

/// A question about an instance in whole numbers. No sum or product of loads, bytes, coefficients and replicas overflows.
pub struct Problem<'a> {
    pub instance: &'a Instance,
    pub question: &'a Question,
    /// The classes of accelerators, then the CPUs.
    pub kinds: Vec<Kind>,
    /// Units, and how they are ordered.
    pub order: Order,
    /// What is sent between units.
    pub nets: Vec<Net>,
    /// Bytes of each unit.
    pub memory: Vec<i128>,
    /// Bytes that replicas synchronise, of each unit.
    pub parameters: Vec<i128>,
    /// The largest whole load that is to be refuted, in units of the claim.
    pub target: i128,
    /// No piece of a load is larger, nor the target or the bytes of a device.
    pub largest: i128,
    replication: Replication,
    /// The bandwidth, and units of the claim in one of the instance's time.
    ring: [i128; 2],
    /// How many decimals times, bytes and coefficients keep as whole numbers.
    places: [u32; 3],
}

impl<'a> Problem<'a> {
    /// The problem; or how the question does not fit the instance, or which numbers are not whole or too large.
    /// O(n + m log m).
    pub fn new(instance: &'a Instance, question: &'a Question) -> Result<Self> {
        Self::of_order(instance, question, Order::new(instance, question.scope))
    }

    /// The same on units that are ordered in this way.
    pub fn of_order(instance: &'a Instance, question: &'a Question, order: Order) -> Result<Self> {
        let classes = &question.kinds;
        ensure!(classes.len() == instance.classes + 1, "the instance has {} classes of accelerators", instance.classes);
        let coefficients = places(classes.iter().flat_map(|class| class.load.iter().flatten().copied()));
        ensure!(coefficients <= question.digits, "a coefficient has more than {} decimals", question.digits);
        let alone = Replication { most: 1, bandwidth: Decimal::ONE, synchronisation: Synchronisation::Added };
        let replication = question.replication.clone().unwrap_or(alone);
        let bytes = instance.nodes.iter().flat_map(|node| [node.memory, node.parameters]);
        let bytes = places(bytes.chain(classes.iter().filter_map(|class| class.memory)).chain([replication.bandwidth]));
        let of_units = |value: fn(&Node) -> Decimal| order.sums(instance.nodes.iter().map(|v| value(v).scaled(bytes)));
        let mut problem = Self {
            instance,
            question,
            kinds: Vec::new(),
            nets: Vec::new(),
            memory: of_units(|node| node.memory)?,
            parameters: of_units(|node| node.parameters)?,
            target: question.claim - 1,
            largest: 0,
            ring: [replication.bandwidth.scaled(bytes)?, Decimal::ONE.scaled(question.digits)?],
            places: [question.digits - coefficients, bytes, coefficients],
            replication,
            order,
        };
        problem.kinds = (0..classes.len()).map(|k| problem.kind(k)).collect::<Result<_>>()?;
        problem.nets = problem.nets()?;
        problem.largest = problem.largest()?;
        Ok(problem)
    }

    /// The pass of a node, where they are told apart.
    fn pass(&self, node: &Node) -> usize {
        usize::from(self.question.objective == Objective::Gpipe && node.backward)
    }

    fn kind(&self, k: usize) -> Result<Kind> {
        let Class { count, memory, load } = &self.question.kinds[k];
        let [of_times, of_bytes, of_coefficients] = self.places;
        let mut time = vec![Some([0; 2]); self.order.units];
        for (node, &unit) in self.instance.nodes.iter().zip(&self.order.unit_of) {
            if let (Some(passes), Some(own)) = (&mut time[unit], node.times[k]) {
                let all = &mut passes[self.pass(node)];
                *all = sum([*all, own.scaled(of_times)?])?;
            } else {
                time[unit] = None;
            }
        }
        let scaled = |number: Decimal| number.scaled(of_coefficients);
        let pieces = load.iter().map(|&[a, b, c]| Ok([scaled(a)?, scaled(b)?, scaled(c)?]));
        // A billionth more than the limit fits: `docs/format.md`.
        let capacity = memory.map(|bytes| bytes.scaled(of_bytes)).transpose()?;
        let all_bytes = sum(self.memory.iter().copied())?;
        let capacity = capacity.map(|bytes| bytes + bytes / 1_000_000_000).filter(|&bytes| bytes < all_bytes);
        let most_replicas = if k < self.instance.classes { self.replication.most.min(*count) } else { 1 };
        Ok(Kind { count: *count, time, pieces: pieces.collect::<Result<_>>()?, capacity, most_replicas })
    }

    /// The transfers between units, those of equal ends as one.
    fn nets(&self) -> Result<Vec<Net>> {
        let unit_of = &self.order.unit_of;
        let mut costs: BTreeMap<(usize, BTreeSet<usize>, usize), i128> = BTreeMap::new();
        for edges in self.instance.edges.chunk_by(|a, b| a.0 == b.0) {
            let (source, maker) = (unit_of[edges[0].0], &self.instance.nodes[edges[0].0]);
            let sinks: BTreeSet<usize> = edges.iter().map(|&(_, b)| unit_of[b]).filter(|&u| u != source).collect();
            let cost =
                maker.transfer.times(self.question.transfer_scale.unwrap_or(Decimal::ONE))?.scaled(self.places[0])?;
            if cost > 0 && !sinks.is_empty() {
                let all = costs.entry((source, sinks, self.pass(maker))).or_default();
                *all = sum([*all, cost])?;
            }
        }
        let net = |((source, sinks, pass), cost): (_, _)| Net { source, sinks: Vec::from_iter(sinks), cost, pass };
        Ok(costs.into_iter().map(net).collect())
    }

    /// More than whatever loads and bytes come to, by all replicas together.
    fn largest(&self) -> Result<i128> {
        let limits = self.kinds.iter().filter_map(|kind| kind.capacity);
        let bytes = sum(self.memory.iter().chain(&self.parameters).copied().chain(limits))?;
        let replicas = i128::from(self.kinds.iter().map(|kind| kind.most_replicas).max().unwrap_or(1).max(1));
        let synchronised = if replicas > 1 { product([2 * replicas, bytes, self.ring[1]])? } else { 0 };
        let times = self.kinds.iter().flat_map(|kind| kind.time.iter().flatten().flatten().copied());
        let all = sum(times.chain(self.nets.iter().map(|net| net.cost)).chain([self.target.abs(), 1]))?;
        let coefficients = self.kinds.iter().flat_map(|kind| kind.pieces.iter().flatten().copied());
        let load = product([4 * replicas, all, coefficients.fold(1, i128::max)])?;
        sum([load, bytes, synchronised])
    }

    /// What `replicas` devices of a kind whose set has these sums ask of each of the two maxima that the objective adds up:
    /// the loads of the passes, of which the first one is all where the objective does not tell them apart. Shared loads are
    /// rounded down: such a load is below a whole number exactly where the load is. Synchronisation by itself may be rounded down
    /// first, next to a whole number.
    pub fn loads(&self, kind: &Kind, replicas: u32, passes: &[Terms; 2], parameters: i128) -> [i128; 2] {
        let mut loads = [kind.load(&passes[0]), kind.load(&passes[1])];
        if replicas > 1 {
            let r = i128::from(replicas);
            let synchronised = 2 * (r - 1) * parameters * self.ring[1] / self.ring[0];
            let is_overlapped = self.replication.synchronisation == Synchronisation::Overlapped;
            loads[0] = if is_overlapped { loads[0].max(synchronised) } else { loads[0] + synchronised } / r;
        }
        loads
    }

    /// Whether splits whose devices ask so much are below the claim.
    pub fn is_within(&self, largest: [i128; 2]) -> bool {
        largest[0] + largest[1] <= self.target
    }

    /// The unit of the node at a position.
    pub fn unit(&self, node: usize) -> Result<usize> {
        self.order.unit_of.get(node).copied().ok_or_else(|| format!("there is no node {node}"))
    }

    /// Whether no kind shares a set among devices.
    pub fn is_without_replicas(&self) -> bool {
        self.kinds.iter().all(|kind| kind.most_replicas <= 1)
    }

    /// The kinds of which there are devices, with their numbers.
    pub fn present(&self) -> impl Iterator<Item = (usize, &Kind)> {
        self.kinds.iter().enumerate().filter(|(_, kind)| kind.count > 0)
    }

    /// The nets that each unit makes or needs.
    pub fn nets_of(&self) -> Vec<Vec<usize>> {
        let mut nets_of = vec![Vec::new(); self.order.units];
        for (e, net) in self.nets.iter().enumerate() {
            net.sinks.iter().chain([&net.source]).for_each(|&u| nets_of[u].push(e));
        }
        nets_of
    }
}
