//! The problem in whole numbers: units, nets, and what a device can hold below the claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::decimal::{Decimal, product, sum};
use crate::instance::{Instance, Node};
use crate::order::Order;
use crate::question::{Class, Objective, Question, Scope};

/// A kind of device: a class of accelerators, or the CPUs.
pub struct Kind {
    /// How many there are.
    pub count: u32,
    /// Time of each unit; `None` where it cannot run it.
    pub time: Vec<Option<i128>>,
    /// How much of that is the backward pass, where the objective tells passes apart.
    backward: Vec<i128>,
    /// The linear pieces of its load: coefficients of compute, in and out, which make units of the claim of times.
    pub pieces: Vec<[i128; 3]>,
    /// The most bytes that fit; `None` where there is no limit.
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

/// Sums of compute, in and out of a pass; the first one has all where the objective does not tell passes apart.
pub type Terms = [i128; 3];

impl Kind {
    /// The time of a unit in each pass.
    pub fn passes(&self, unit: usize) -> Option<[i128; 2]> {
        self.time[unit].map(|time| [time - self.backward[unit], self.backward[unit]])
    }
}

/// A question about an instance in whole numbers. No sum or product of loads, bytes, coefficients and replicas overflows.
pub struct Problem {
    /// What they are judged by.
    pub objective: Objective,
    /// Which splits count.
    pub scope: Scope,
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
    /// How replicas synchronise their weights.
    ring: Option<Ring>,
    /// The largest whole load that is to be refuted, in units of the claim.
    pub target: i128,
    /// No piece of a load is larger, nor the target or the bytes of a device.
    pub largest: i128,
    /// Positions of the nodes in the order of passes.
    pub sequence: Vec<usize>,
}

/// A ring of replicas: units of time in one of the instance, bandwidth, and whether synchronisation hides behind the load.
struct Ring {
    time: i128,
    bandwidth: i128,
    is_overlapped: bool,
}

/// The most decimals of these numbers.
fn places(numbers: impl Iterator<Item = Decimal>) -> u32 {
    numbers.map(Decimal::places).max().unwrap_or_default()
}

impl Problem {
    /// The problem; or how the question does not fit the instance, or which numbers are not whole or too large.
    /// O(n + m log m).
    pub fn new(instance: &Instance, question: &Question) -> Result<Self, String> {
        let whole = Order::new(instance);
        let order = match question.scope {
            Scope::Arbitrary => whole.unordered(),
            Scope::Convex => whole,
            Scope::Acyclic => whole.contracted(),
        };
        Self::of_order(instance, question, order)
    }

    /// The same on the units of another order of the instance.
    pub fn of_order(instance: &Instance, question: &Question, order: Order) -> Result<Self, String> {
        if question.accelerators.len() != instance.classes {
            return Err(format!("the instance has {} classes of accelerators", instance.classes));
        }
        let bytes = instance.nodes.iter().flat_map(|node| [node.memory, node.parameters]);
        let limits = question.accelerators.iter().filter_map(|class| class.memory);
        let bandwidth = question.replication.iter().map(|replication| replication.bandwidth);
        let coefficients = question.accelerators.iter().flat_map(|class| class.load.iter().flatten().copied());
        let of_coefficients = places(coefficients);
        let of_times = question.digits.checked_sub(of_coefficients);
        let scale = Scale {
            order: &order,
            has_passes: question.objective == Objective::GPipe,
            time: of_times.ok_or_else(|| format!("a coefficient has more than {} decimals", question.digits))?,
            bytes: places(bytes.chain(limits).chain(bandwidth)),
            coefficients: of_coefficients,
        };
        let ring = question.replication.as_ref().map(|replication| {
            let bandwidth = replication.bandwidth.scaled(scale.bytes)?;
            let time = Decimal::ONE.scaled(question.digits)?;
            Ok::<_, String>(Ring { time, bandwidth, is_overlapped: replication.is_overlapped })
        });
        let most = question.replication.as_ref().map_or(1, |replication| replication.most);
        let on_cpu = vec![[Decimal::ONE, Decimal::ZERO, Decimal::ZERO]];
        let cpus = Class { count: question.cpus, memory: None, load: on_cpu };
        let classes = question.accelerators.iter().map(|class| (class, most)).chain([(&cpus, 1)]);
        let kinds = classes.enumerate().map(|(k, (class, most))| scale.kind(instance, k, class, most.min(class.count)));
        let mut problem = Self {
            objective: question.objective,
            scope: question.scope,
            kinds: kinds.collect::<Result<_, _>>()?,
            nets: scale.nets(instance, question.transfer_scale)?,
            memory: scale.of_units(instance.nodes.iter().map(|node| node.memory), scale.bytes)?,
            parameters: scale.of_units(instance.nodes.iter().map(|node| node.parameters), scale.bytes)?,
            ring: ring.transpose()?,
            target: question.claim - 1,
            largest: 0,
            sequence: question.order.clone(),
            order,
        };
        problem.largest = problem.largest()?;
        Ok(problem)
    }

    /// More than whatever loads and bytes come to, by all replicas together.
    fn largest(&self) -> Result<i128, String> {
        let moved = self.nets.iter().map(|net| net.cost);
        let limits = self.kinds.iter().filter_map(|kind| kind.capacity);
        let bytes = sum(self.memory.iter().chain(&self.parameters).copied().chain(limits))?;
        let replicas = i128::from(self.kinds.iter().map(|kind| kind.most_replicas).max().unwrap_or(1).max(1));
        let synchronised = self.ring.as_ref().map_or(Ok(0), |ring| product([2 * replicas, bytes, ring.time]))?;
        let mut load = 0;
        for kind in &self.kinds {
            let times = kind.time.iter().flatten().copied();
            let all = sum(times.chain(moved.clone()).chain([self.target.abs(), 1]))?;
            let coefficient = kind.pieces.iter().flatten().copied().max().unwrap_or_default().max(1);
            load = load.max(product([4 * replicas, all, coefficient])?);
        }
        sum([load, bytes, synchronised])
    }

    /// What `replicas` devices of a kind whose set has these sums ask of each of the two maxima that the objective adds up:
    /// the load and nothing, or for GPipe the passes' loads.
    pub fn loads(&self, kind: &Kind, replicas: u32, passes: &[Terms], parameters: i128) -> [i128; 2] {
        let load = |terms: &Terms| {
            let value = |piece: &[i128; 3]| piece.iter().zip(terms).map(|(a, b)| a * b).sum();
            kind.pieces.iter().map(value).max().unwrap_or_default()
        };
        match self.objective {
            Objective::Throughput => [self.load(load(&passes[0]), replicas, parameters), 0],
            Objective::GPipe => [load(&passes[0]), load(&passes[1])],
        }
    }

    /// Whether splits whose devices ask so much are below the claim.
    pub fn is_within(&self, largest: [i128; 2]) -> bool {
        largest[0] + largest[1] <= self.target
    }

    /// What a chain of stages has to remember of their loads: nothing where each is within the target by itself.
    pub fn kept(&self, loads: [i128; 2]) -> [i128; 2] {
        if self.objective == Objective::GPipe { loads } else { [0; 2] }
    }

    /// The load of `replicas` devices whose set has this load for one of them, rounded down: it is below a whole number
    /// exactly where the load is. Synchronisation by itself may be rounded down first, next to a whole number.
    fn load(&self, of_one: i128, replicas: u32, parameters: i128) -> i128 {
        let Some(ring) = self.ring.as_ref().filter(|_| replicas > 1) else { return of_one };
        let r = i128::from(replicas);
        let synchronised = 2 * (r - 1) * parameters * ring.time / ring.bandwidth;
        (if ring.is_overlapped { of_one.max(synchronised) } else { of_one + synchronised }) / r
    }

    /// The unit of the node at a position.
    pub fn unit(&self, node: usize) -> Result<usize, String> {
        self.order.unit_of.get(node).copied().ok_or_else(|| format!("there is no node {node}"))
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

/// From decimals to whole numbers: how many decimals times, bytes and coefficients keep.
struct Scale<'a> {
    order: &'a Order,
    has_passes: bool,
    time: u32,
    bytes: u32,
    coefficients: u32,
}

impl Scale<'_> {
    /// The pass of a node, where they are told apart.
    fn pass(&self, node: &Node) -> usize {
        usize::from(self.has_passes && node.backward)
    }

    /// Sums over the nodes of each unit.
    fn of_units(&self, values: impl Iterator<Item = Decimal>, places: u32) -> Result<Vec<i128>, String> {
        let mut sums = vec![0; self.order.units];
        for (value, &unit) in values.zip(&self.order.unit_of) {
            sums[unit] = sum([sums[unit], value.scaled(places)?])?;
        }
        Ok(sums)
    }

    fn kind(&self, instance: &Instance, k: usize, class: &Class, most_replicas: u32) -> Result<Kind, String> {
        let times = instance.nodes.iter().map(|node| node.times[k].unwrap_or(Decimal::ZERO));
        let mut time: Vec<Option<i128>> = self.of_units(times, self.time)?.into_iter().map(Some).collect();
        for (node, &unit) in instance.nodes.iter().zip(&self.order.unit_of) {
            time[unit] = time[unit].filter(|_| node.times[k].is_some());
        }
        let in_backward = |v: &Node| v.times[k].filter(|_| self.pass(v) == 1).unwrap_or(Decimal::ZERO);
        let backward = self.of_units(instance.nodes.iter().map(in_backward), self.time)?;
        let mut pieces = Vec::with_capacity(class.load.len());
        for [compute, into, out] in &class.load {
            let scaled = |coefficient: &Decimal| coefficient.scaled(self.coefficients);
            pieces.push([scaled(compute)?, scaled(into)?, scaled(out)?]);
        }
        // A billionth more than the limit fits: `docs/format.md`.
        let capacity = class.memory.map(|bytes| bytes.scaled(self.bytes)).transpose()?;
        let capacity = capacity.map(|bytes| bytes + bytes / 1_000_000_000);
        Ok(Kind { count: class.count, time, backward, pieces, capacity, most_replicas })
    }

    /// The transfers between units, those of equal ends as one.
    fn nets(&self, instance: &Instance, transfer_scale: Decimal) -> Result<Vec<Net>, String> {
        let unit_of = &self.order.unit_of;
        let mut costs: BTreeMap<(usize, Vec<usize>, usize), i128> = BTreeMap::new();
        for edges in instance.edges.chunk_by(|a, b| a.0 == b.0) {
            let (source, maker) = (unit_of[edges[0].0], &instance.nodes[edges[0].0]);
            let sinks: BTreeSet<usize> = edges.iter().map(|&(_, b)| unit_of[b]).filter(|&u| u != source).collect();
            let cost = maker.transfer.times(transfer_scale)?.scaled(self.time)?;
            if cost > 0 && !sinks.is_empty() {
                let all = costs.entry((source, sinks.into_iter().collect(), self.pass(maker))).or_default();
                *all = sum([*all, cost])?;
            }
        }
        Ok(costs.into_iter().map(|((source, sinks, pass), cost)| Net { source, sinks, cost, pass }).collect())
    }
}
