//! The ideals of the order, the stages between them, and what is left of the pipeline behind each.

use rustc_hash::FxHashMap;

use super::{JointError, JointProblem};
use crate::cost::Terms;
use crate::graph::NodeSet;

/// The place of a unit that the new stage holds.
pub(super) const NEW: u16 = u16::MAX;

/// The ideals, from small to large: the first is empty, the last holds everything.
pub(super) struct Ideals<'a> {
    problem: &'a JointProblem,
    pub sets: Vec<NodeSet>,
    /// For each ideal its units that exchange messages with units outside, ascending.
    pub open: Vec<Vec<usize>>,
    /// For each ideal and open unit the bytes that are still to be sent and received, each net counted once.
    pub to_come: Vec<Vec<(f64, f64)>>,
    /// The nets that make messages; none where messages do not count.
    nets: Vec<usize>,
    nets_of: Vec<Vec<usize>>,
    /// For each ideal the larger ones, with the least time of the stage between the two.
    pub stages: Vec<Vec<(u32, f64)>>,
    /// For each number of stages and each ideal the least time of the slowest of that many stages behind it, if every
    /// link were the fastest one; `None` where there are no such stages.
    pub behind: Vec<Vec<Option<f64>>>,
}

/// A stage between two ideals, as a label sees it.
pub(super) struct Arc {
    pub to: u32,
    pub compute: f64,
    pub parameter_bytes: f64,
    pub memory: f64,
    /// Bytes that come from open units of the smaller ideal, by their places.
    pub incoming: Vec<(u16, f64)>,
    /// Bytes that go to the stages of these open units, to each stage once.
    pub outgoing: Vec<(Vec<u16>, f64)>,
    /// For each open unit of the larger ideal its place among those of the smaller one, or [`NEW`].
    pub places: Vec<u16>,
}

impl<'a> Ideals<'a> {
    pub fn new(problem: &'a JointProblem, most: usize) -> Result<Self, JointError> {
        let sets = enumerate(problem, most)?;
        let counts = problem.cost.counted.messages();
        let nets: Vec<usize> = (0..problem.units.nets.len()).filter(|_| counts).collect();
        let mut nets_of = vec![Vec::new(); problem.units.units.len()];
        for &net in &nets {
            let pins = &problem.units.nets[net];
            pins.consumers.iter().chain([&pins.source]).for_each(|&unit| nets_of[unit].push(net));
        }
        let (open, to_come) = (Vec::new(), Vec::new());
        let mut ideals = Self { problem, sets, open, to_come, nets, nets_of, stages: Vec::new(), behind: Vec::new() };
        for ideal in 0..ideals.sets.len() {
            let (open, to_come) = ideals.opened(ideal);
            ideals.open.push(open);
            ideals.to_come.push(to_come);
        }
        ideals.stages = (0..ideals.sets.len()).map(|ideal| ideals.stages_above(ideal)).collect();
        ideals.behind = ideals.relaxation();
        Ok(ideals)
    }

    /// The open units of an ideal, and what they have still to send and to receive.
    fn opened(&self, ideal: usize) -> (Vec<usize>, Vec<(f64, f64)>) {
        let set = &self.sets[ideal];
        let mut bytes: FxHashMap<usize, (f64, f64)> = FxHashMap::default();
        for net in self.nets.iter().map(|&net| &self.problem.units.nets[net]) {
            if set.contains(net.source) {
                if net.consumers.iter().any(|&unit| !set.contains(unit)) {
                    bytes.entry(net.source).or_default().0 += net.bytes;
                }
            } else {
                let mut inside = net.consumers.iter().filter(|&&unit| set.contains(unit));
                // Consumers of one stage receive it once together, so that the first one alone counts.
                if let Some(&first) = inside.next() {
                    bytes.entry(first).or_default().1 += net.bytes;
                }
                for &unit in inside {
                    bytes.entry(unit).or_default();
                }
            }
        }
        let mut open: Vec<usize> = bytes.keys().copied().collect();
        open.sort_unstable();
        let to_come = open.iter().map(|unit| bytes[unit]).collect();
        (open, to_come)
    }

    fn stages_above(&self, ideal: usize) -> Vec<(u32, f64)> {
        let set = &self.sets[ideal];
        let larger = (ideal + 1..self.sets.len()).filter(|&other| set.is_subset(&self.sets[other]));
        larger.map(|other| (other as u32, self.least_time(ideal, other))).collect()
    }

    /// The time of the stage between two ideals on the fastest device with the fastest links.
    fn least_time(&self, from: usize, to: usize) -> f64 {
        let JointProblem { units, topology, cost, replicas, .. } = self.problem;
        let (below, above) = (&self.sets[from], &self.sets[to]);
        let held = |unit: usize| above.contains(unit) && !below.contains(unit);
        let speed = topology.devices.iter().map(|device| device.speed).fold(0.0, f64::max);
        let (mut terms, mut parameters) = (Terms::default(), 0.0);
        let (mut sent, mut received) = (0.0, 0.0);
        for unit in above.difference(below).iter() {
            terms.compute += units.units[unit].compute() / speed;
            parameters += units.units[unit].parameter_bytes;
            for &net in &self.nets_of[unit] {
                let net = &units.nets[net];
                if net.source == unit {
                    let before = net.consumers.iter().any(|&unit| below.contains(unit));
                    let behind = net.consumers.iter().any(|&unit| !above.contains(unit));
                    sent += net.bytes * f64::from(u8::from(before) + u8::from(behind));
                } else if !held(net.source) && net.consumers.iter().copied().find(|&unit| held(unit)) == Some(unit) {
                    received += net.bytes;
                }
            }
        }
        let fastest = fastest_link(self.problem);
        (terms.comm_in, terms.comm_out) = (received / fastest, sent / fastest);
        let all_reduce = if cost.counted.all_reduce() && *replicas > 1 {
            let steps = 2.0 * (replicas - 1) as f64;
            steps * parameters / *replicas as f64 / fastest
        } else {
            0.0
        };
        cost.time(&terms, all_reduce)
    }

    fn relaxation(&self) -> Vec<Vec<Option<f64>>> {
        let mut last = vec![None; self.sets.len()];
        *last.last_mut().unwrap_or(&mut None) = Some(0.0);
        let mut behind = vec![last];
        for stages in 0..self.problem.stages {
            let next = &behind[stages];
            let least = |ideal: usize| {
                let times = self.stages[ideal]
                    .iter()
                    .filter_map(|&(to, time)| next[to as usize].map(|slowest: f64| slowest.max(time)));
                times.min_by(f64::total_cmp)
            };
            let row = (0..self.sets.len()).map(least).collect();
            behind.push(row);
        }
        behind
    }

    /// The stage between two ideals.
    pub fn arc(&self, from: usize, to: usize) -> Arc {
        let (below, above) = (&self.sets[from], &self.sets[to]);
        let place = |unit: usize| self.open[from].binary_search(&unit).map_or(NEW, |place| place as u16);
        let mut arc = Arc {
            to: to as u32,
            compute: 0.0,
            parameter_bytes: 0.0,
            memory: 0.0,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            places: self.open[to].iter().map(|&unit| place(unit)).collect(),
        };
        let held = above.difference(below);
        for unit in held.iter() {
            let stage = &self.problem.units.units[unit];
            arc.compute += stage.compute();
            arc.parameter_bytes += stage.parameter_bytes;
            arc.memory += stage.memory;
        }
        for net in self.nets.iter().map(|&net| &self.problem.units.nets[net]) {
            if below.contains(net.source) && net.consumers.iter().any(|&unit| held.contains(unit)) {
                arc.incoming.push((place(net.source), net.bytes));
            } else if held.contains(net.source) {
                let places: Vec<u16> =
                    net.consumers.iter().filter(|&&unit| below.contains(unit)).map(|&unit| place(unit)).collect();
                if !places.is_empty() {
                    arc.outgoing.push((places, net.bytes));
                }
            }
        }
        arc
    }
}

/// Bytes per time unit of the fastest link. With one device there is none, and nothing to send.
fn fastest_link(problem: &JointProblem) -> f64 {
    let topology = &problem.topology;
    let pairs = (0..topology.len()).flat_map(|a| (0..topology.len()).filter(move |&b| a != b).map(move |b| (a, b)));
    pairs.map(|(a, b)| topology.bandwidth(a, b)).max_by(f64::total_cmp).unwrap_or(f64::MAX)
}

/// Every ideal, by size.
fn enumerate(problem: &JointProblem, most: usize) -> Result<Vec<NodeSet>, JointError> {
    let order = &problem.units.order;
    let count = order.node_count();
    let mut sets: Vec<NodeSet> = vec![NodeSet::new(count)];
    let mut known: rustc_hash::FxHashSet<NodeSet> = sets.iter().cloned().collect();
    let mut next = 0;
    // Each ideal is found from those with one unit less, so that sizes ascend.
    while next < sets.len() {
        for unit in 0..count {
            let set = &sets[next];
            let is_next = !set.contains(unit) && order.predecessors(unit).iter().all(|&p| set.contains(p as usize));
            if !is_next {
                continue;
            }
            let mut larger = set.clone();
            larger.insert(unit);
            if known.insert(larger.clone()) {
                sets.push(larger);
            }
        }
        if sets.len() > most {
            return Err(JointError::TooManyIdeals(most));
        }
        next += 1;
    }
    Ok(sets)
}
