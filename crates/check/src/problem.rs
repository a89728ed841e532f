//! The problem in whole numbers: units, nets, and what a device can hold below the claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::decimal::{Decimal, LARGEST, power_of_ten};
use crate::instance::Instance;
use crate::order::Order;
use crate::question::{Class, Question, Scope};

/// Coefficients of compute, in and out.
pub type Piece = [i128; 3];

/// A kind of device: a class of accelerators, or the CPUs.
#[derive(Debug, Clone)]
pub struct Kind {
    /// How many there are.
    pub count: u32,
    /// Time of each unit; `None` where it cannot run it.
    pub time: Vec<Option<i128>>,
    /// The linear pieces of its load, in parts of `one`.
    pub pieces: Vec<Piece>,
    /// What a coefficient of 1 is.
    pub one: i128,
    /// The most bytes that fit; `None` where there is no limit.
    pub capacity: Option<i128>,
    /// The most devices that share a set.
    pub most_replicas: u32,
}

/// What a unit sends to others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Net {
    /// The unit that makes it.
    pub source: usize,
    /// The other units that need it, ascending.
    pub sinks: Vec<usize>,
    /// The time to move it.
    pub cost: i128,
}

/// A device's compute, in and out, in units of the claim.
pub type Terms = [i128; 3];

/// A question about an instance in whole numbers.
#[derive(Debug, Clone)]
pub struct Problem {
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
    /// The largest load that is to be refuted.
    pub target: i128,
    /// Positions of the nodes in the order of passes.
    pub sequence: Vec<usize>,
}

/// A ring of replicas.
#[derive(Debug, Clone)]
struct Ring {
    /// Units of time in one of the instance.
    time: i128,
    bandwidth: i128,
    is_overlapped: bool,
}

impl Ring {
    /// What `r` replicas together take to synchronise so many bytes, in whole units of the claim, rounded up: next to whole
    /// numbers that is no loss.
    fn synchronised(&self, r: i128, parameters: i128) -> i128 {
        upward(2 * (r - 1) * parameters * self.time, self.bandwidth)
    }
}

/// The quotient, rounded up.
fn upward(dividend: i128, divisor: i128) -> i128 {
    dividend / divisor + i128::from(dividend % divisor > 0)
}

impl Problem {
    /// The problem. O(n + m log m).
    ///
    /// # Errors
    /// The question does not fit the instance, a time is no whole number of the claim's units, or numbers are too large.
    pub fn new(instance: &Instance, question: &Question) -> Result<Self, String> {
        if question.accelerators.len() != instance.classes {
            return Err(format!("the instance has {} classes of accelerators", instance.classes));
        }
        let whole = Order::new(instance);
        let order = match question.scope {
            Scope::Arbitrary => whole.unordered(),
            Scope::Convex => whole,
            Scope::Acyclic => whole.contracted(),
        };
        let bytes = instance.nodes.iter().flat_map(|node| [node.memory, node.parameters]);
        let limits = question.accelerators.iter().filter_map(|class| class.memory);
        let bandwidth = question.replication.map(|replication| replication.bandwidth);
        let byte_places = bytes.chain(limits).chain(bandwidth).map(Decimal::places).max().unwrap_or_default();
        let scaler = Scaler { order: &order, digits: question.digits, byte_places };
        let ring = question.replication.map(|replication| {
            let time = power_of_ten(question.digits).ok_or("there are too many digits")?;
            let bandwidth = replication.bandwidth.scaled(byte_places)?;
            Ok::<_, String>(Ring { time, bandwidth, is_overlapped: replication.is_overlapped })
        });
        let most = question.replication.map_or(1, |replication| replication.most);
        let cpus =
            Class { count: question.cpus, memory: None, load: vec![[Decimal::ONE, Decimal::ZERO, Decimal::ZERO]] };
        let classes = question.accelerators.iter().map(|class| (class, most)).chain([(&cpus, 1)]);
        let kinds =
            classes.enumerate().map(|(k, (class, most))| scaler.kind(instance, k, class, most.min(class.count)));
        let problem = Self {
            scope: question.scope,
            kinds: kinds.collect::<Result<_, _>>()?,
            nets: scaler.nets(instance, question.transfer_scale)?,
            memory: scaler.of_units(instance.nodes.iter().map(|node| node.memory), byte_places)?,
            parameters: scaler.of_units(instance.nodes.iter().map(|node| node.parameters), byte_places)?,
            ring: ring.transpose()?,
            target: question.claim - 1,
            sequence: question.order.clone(),
            order,
        };
        problem.is_small().then_some(problem).ok_or_else(|| "the numbers are too large for exact sums".into())
    }

    /// Whether no sum, product or difference that a check takes can overflow.
    fn is_small(&self) -> bool {
        let moved = self.nets.iter().try_fold(0_i128, |sum, net| sum.checked_add(net.cost));
        let bytes = self.memory.iter().chain(&self.parameters).try_fold(0_i128, |sum, &b| sum.checked_add(b));
        let replicas = self.kinds.iter().map(|kind| i128::from(kind.most_replicas)).max().unwrap_or(1).max(1);
        let is_small = |kind: &Kind| {
            let compute = kind.time.iter().flatten().try_fold(0_i128, |sum, &t| sum.checked_add(t))?;
            let all = compute.checked_add(moved?)?.checked_add(self.target.abs())?.checked_add(1)?;
            let largest = kind.pieces.iter().flatten().copied().max()?.max(kind.one);
            all.checked_mul(largest)?.checked_mul(4 * replicas).filter(|&all| all < LARGEST)
        };
        let synchronised = self
            .ring
            .as_ref()
            .map_or(Some(0), |ring| bytes.and_then(|bytes| bytes.checked_mul(ring.time)?.checked_mul(2 * replicas)));
        synchronised.is_some()
            && bytes.is_some_and(|bytes| bytes < LARGEST)
            && self.kinds.iter().all(|k| is_small(k).is_some())
    }

    /// The most that each piece of the load of `replicas` devices of a kind may come to that together hold a set of so many
    /// parameter bytes, for a load of at most the target; `None` where synchronisation alone takes longer.
    pub fn allowance(&self, kind: &Kind, replicas: u32, parameters: i128) -> Option<i128> {
        let r = i128::from(replicas);
        let shared = r * self.target;
        let Some(ring) = self.ring.as_ref().filter(|_| replicas > 1) else { return Some(shared * kind.one) };
        let synchronised = ring.synchronised(r, parameters);
        match ring.is_overlapped {
            true => (synchronised <= shared).then_some(shared * kind.one),
            false => (synchronised <= shared).then(|| (shared - synchronised) * kind.one),
        }
    }

    /// The least whole target within which `replicas` devices of a kind are whose set has these sums.
    pub fn load(&self, kind: &Kind, replicas: u32, terms: &Terms, parameters: i128) -> i128 {
        let r = i128::from(replicas);
        let load = upward(kind.largest_piece(terms), kind.one);
        match self.ring.as_ref().filter(|_| replicas > 1) {
            None => upward(load, r),
            Some(ring) if ring.is_overlapped => upward(load.max(ring.synchronised(r, parameters)), r),
            Some(ring) => upward(load + ring.synchronised(r, parameters), r),
        }
    }

    /// The unit of the node at a position.
    ///
    /// # Errors
    /// There is no such node.
    pub fn unit(&self, node: usize) -> Result<usize, String> {
        self.order.unit_of.get(node).copied().ok_or_else(|| format!("there is no node {node}"))
    }
}

impl Kind {
    /// The largest piece of a load.
    pub fn largest_piece(&self, terms: &Terms) -> i128 {
        self.pieces.iter().map(|piece| value(piece, terms)).max().unwrap_or_default()
    }

    /// The largest coefficient of compute: what a time unit of work adds to the load at least.
    pub fn per_work(&self) -> i128 {
        self.pieces.iter().map(|piece| piece[0]).max().unwrap_or_default()
    }
}

/// A piece's value.
pub fn value(piece: &Piece, terms: &Terms) -> i128 {
    piece.iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum()
}

/// From decimals to whole numbers.
struct Scaler<'a> {
    order: &'a Order,
    digits: u32,
    byte_places: u32,
}

impl Scaler<'_> {
    /// Sums over the nodes of each unit.
    fn of_units(&self, values: impl Iterator<Item = Decimal>, places: u32) -> Result<Vec<i128>, String> {
        let mut sums = vec![0_i128; self.order.units];
        for (value, &unit) in values.zip(&self.order.unit_of) {
            let sum = sums[unit].checked_add(value.scaled(places)?);
            sums[unit] = sum.ok_or("a sum is too large")?;
        }
        Ok(sums)
    }

    fn kind(&self, instance: &Instance, k: usize, class: &Class, most_replicas: u32) -> Result<Kind, String> {
        let times = instance.nodes.iter().map(|node| node.times[k].unwrap_or(Decimal::ZERO));
        let mut time: Vec<Option<i128>> = self.of_units(times, self.digits)?.into_iter().map(Some).collect();
        for (node, &unit) in instance.nodes.iter().zip(&self.order.unit_of) {
            if node.times[k].is_none() {
                time[unit] = None;
            }
        }
        let places = class.load.iter().flatten().map(|coefficient| coefficient.places()).max().unwrap_or_default();
        let piece = |piece: &[Decimal; 3]| {
            let scaled = |i: usize| piece[i].scaled(places);
            Ok([scaled(0)?, scaled(1)?, scaled(2)?])
        };
        // A billionth more than the limit fits: `docs/format.md`.
        let capacity = class.memory.map(|bytes| bytes.scaled(self.byte_places)).transpose()?;
        Ok(Kind {
            count: class.count,
            time,
            pieces: class.load.iter().map(piece).collect::<Result<_, String>>()?,
            one: power_of_ten(places).ok_or("a coefficient has too many decimals")?,
            capacity: capacity.map(|bytes| bytes + bytes / 1_000_000_000),
            most_replicas,
        })
    }

    /// The transfers between units, those of equal ends as one.
    fn nets(&self, instance: &Instance, transfer_scale: Decimal) -> Result<Vec<Net>, String> {
        let unit_of = &self.order.unit_of;
        let mut costs: BTreeMap<(usize, Vec<usize>), i128> = BTreeMap::new();
        for edges in instance.edges.chunk_by(|a, b| a.0 == b.0) {
            let source = unit_of[edges[0].0];
            let sinks: BTreeSet<usize> =
                edges.iter().map(|&(_, b)| unit_of[b]).filter(|&unit| unit != source).collect();
            let time = instance.nodes[edges[0].0].transfer.times(transfer_scale)?;
            let cost = time.scaled(self.digits)?;
            if cost > 0 && !sinks.is_empty() {
                let sum = costs.entry((source, sinks.into_iter().collect())).or_default();
                *sum = sum.checked_add(cost).ok_or("a sum is too large")?;
            }
        }
        Ok(costs.into_iter().map(|((source, sinks), cost)| Net { source, sinks, cost }).collect())
    }
}
