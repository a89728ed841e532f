//! Which node runs in which subgraph, and what latency follows.

use std::ops::Range;

use crate::cost::{Piece, Terms, max_of_pieces};
use crate::graph::NodeId;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Solution, fits};

/// Where a node runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Cpu,
    /// In the block with this index: accelerator a runs the blocks a·q to a·q + q − 1 in this order.
    Block(usize),
}

/// What a placement is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Value {
    pub latency: f64,
    /// Bytes above the accelerators' memories; 0 where everything fits.
    pub overload: f64,
}

/// What nodes cost on one accelerator class.
struct Class {
    kind: DeviceKind,
    /// Compute time of each node; `None` where the class cannot run it.
    times: Vec<Option<f64>>,
    memory: Vec<f64>,
    /// Time to move each transfer.
    transfers: Vec<f64>,
    limit: Option<f64>,
    pieces: Vec<Piece>,
}

/// The blocks of a platform, and the latency of what is placed in them.
pub(super) struct Blocks<'a> {
    problem: &'a Problem,
    /// Blocks of each accelerator: the q of the latency.
    pub per_accelerator: usize,
    classes: Vec<Class>,
    /// The class of each accelerator, as an index into `classes`.
    accelerators: Vec<usize>,
    /// CPU time of each node; `None` where no CPU can run it or there is none.
    cpu_times: Vec<Option<f64>>,
    /// The transfers of each node, by index.
    transfers_of: Vec<Range<usize>>,
}

impl<'a> Blocks<'a> {
    pub fn new(problem: &'a Problem) -> Self {
        let Objective::Latency { subgraphs } = problem.spec.objective else {
            unreachable!("the solvers have refused other objectives");
        };
        let n = problem.node_count();
        let (mut classes, mut accelerators, mut cpu_times) = (Vec::new(), Vec::new(), vec![None; n]);
        for kind in problem.device_kinds() {
            let table = problem.costs.kind(kind);
            let costs = || table.nodes.iter();
            let times = costs().map(|cost| cost.map(|cost| cost.compute)).collect();
            if kind == DeviceKind::Cpu {
                cpu_times = times;
                continue;
            }
            accelerators.extend(vec![classes.len(); problem.device_count(kind)]);
            classes.push(Class {
                kind,
                times,
                memory: costs().map(|cost| cost.map_or(0.0, |cost| cost.memory)).collect(),
                transfers: table.transfers.clone(),
                limit: problem.memory_limit(kind),
                pieces: table.pieces.clone(),
            });
        }
        // More subgraphs than nodes are of no use.
        let per_accelerator = subgraphs.min(n.max(1));
        let transfers_of = (0..n).map(|v| problem.costs.transfers_from(v)).collect();
        Self { problem, per_accelerator, classes, accelerators, cpu_times, transfers_of }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.accelerators.len() * self.per_accelerator
    }

    /// Whether all `nodes` can run at `place`.
    pub fn can_run(&self, nodes: &[NodeId], place: Place) -> bool {
        let times = match place {
            Place::Cpu => &self.cpu_times,
            Place::Block(block) => &self.class(block).times,
        };
        nodes.iter().all(|&v| times[v].is_some())
    }

    /// Bytes on the accelerator of `block` once it has `nodes` beside those that take the bytes `held`, if they fit.
    pub fn with(&self, held: f64, nodes: &[NodeId], block: usize) -> Option<f64> {
        let class = self.class(block);
        let bytes = nodes.iter().map(|&v| class.memory[v]).fold(held, |sum, bytes| sum + bytes);
        fits(bytes, class.limit).then_some(bytes)
    }

    /// Each device's nodes in the first block of an accelerator of its kind, or on the CPU; `None` where there are more
    /// devices of a kind than accelerators, or nodes that are on no device.
    pub fn places(&self, devices: &[(DeviceKind, Vec<NodeId>)]) -> Option<Vec<Place>> {
        let mut places = vec![None; self.cpu_times.len()];
        let mut is_free = vec![true; self.accelerators.len()];
        for (kind, nodes) in devices.iter().filter(|(_, nodes)| !nodes.is_empty()) {
            let place = if *kind == DeviceKind::Cpu {
                Place::Cpu
            } else {
                let is_of_kind = |&a: &usize| is_free[a] && self.classes[self.accelerators[a]].kind == *kind;
                let accelerator = (0..is_free.len()).find(is_of_kind)?;
                is_free[accelerator] = false;
                Place::Block(accelerator * self.per_accelerator)
            };
            nodes.iter().for_each(|&v| places[v] = Some(place));
        }
        places.into_iter().collect()
    }

    /// Bytes that all nodes occupy on an accelerator.
    pub fn memory(&self) -> f64 {
        self.classes.first().map_or(0.0, |class| class.memory.iter().sum())
    }

    /// A time of the size of a latency: that of all nodes one after another, on the first kind that runs them.
    pub fn scale(&self) -> f64 {
        let times = self.classes.iter().map(|class| &class.times).chain([&self.cpu_times]);
        let times: Vec<&Vec<Option<f64>>> = times.collect();
        (0..self.cpu_times.len()).filter_map(|v| times.iter().find_map(|times| times[v])).sum()
    }

    /// The split as devices with their nodes, with `latency` as its claim.
    pub fn solution(&self, places: &[Place], latency: f64) -> Solution {
        let mut blocks = vec![Vec::new(); self.len()];
        let mut on_cpu = Vec::new();
        for (place, &id) in places.iter().zip(&self.problem.ids) {
            match *place {
                Place::Cpu => on_cpu.push(id),
                Place::Block(block) => blocks[block].push(id),
            }
        }
        let mut devices = Vec::new();
        for (subgraphs, &class) in blocks.chunks(self.per_accelerator).zip(&self.accelerators) {
            let used: Vec<Vec<u64>> = subgraphs.iter().filter(|nodes| !nodes.is_empty()).cloned().collect();
            let device = DeviceAssignment::new(self.classes[class].kind, used.concat());
            match used.len() {
                0 => {}
                1 => devices.push(device),
                _ => devices.push(DeviceAssignment { subgraphs: used, ..device }),
            }
        }
        if !on_cpu.is_empty() {
            devices.push(DeviceAssignment::new(DeviceKind::Cpu, on_cpu));
        }
        Solution { devices, objective: Some(latency) }
    }

    fn class(&self, block: usize) -> &Class {
        &self.classes[self.accelerators[block / self.per_accelerator]]
    }
}

/// Evaluates placements; keeps its memory between them.
pub(super) struct Evaluator<'a> {
    pub blocks: &'a Blocks<'a>,
    /// Nodes of each block.
    members: Vec<Vec<u32>>,
    /// What each block has to do, as far as known.
    terms: Vec<Terms>,
    /// When the producers of each job are ready, as far as known. Jobs are the blocks, then the nodes.
    ready: Vec<f64>,
    /// How many edges into each job have not carried their data.
    missing: Vec<usize>,
    /// The last transfer that each block received.
    received: Vec<usize>,
    queue: Vec<usize>,
}

impl<'a> Evaluator<'a> {
    pub fn new(blocks: &'a Blocks<'a>) -> Self {
        let (b, n) = (blocks.len(), blocks.problem.node_count());
        Self {
            blocks,
            members: vec![Vec::new(); b],
            terms: vec![Terms::default(); b],
            ready: vec![0.0; b + n],
            missing: vec![0; b + n],
            received: vec![usize::MAX; b],
            queue: Vec::with_capacity(b + n),
        }
    }

    /// The latency of a placement, or `None` where blocks wait for each other. O(n + m).
    pub fn value(&mut self, places: &[Place]) -> Option<Value> {
        let total = self.prepare(places);
        let mut latency = 0.0f64;
        let mut next = 0;
        while let Some(&job) = self.queue.get(next) {
            next += 1;
            latency = latency.max(self.run(job, places));
        }
        (next == total).then(|| Value { latency, overload: self.overload() })
    }

    /// Counts what every job waits for, queues those that wait for nothing, and returns how many there are.
    fn prepare(&mut self, places: &[Place]) -> usize {
        let b = self.blocks.len();
        self.members.iter_mut().for_each(Vec::clear);
        self.terms.fill(Terms::default());
        self.ready.fill(0.0);
        self.missing.fill(0);
        self.received.fill(usize::MAX);
        self.queue.clear();
        for (v, &place) in places.iter().enumerate() {
            if let Place::Block(block) = place {
                self.members[block].push(v as u32);
            }
            let job = job(b, v, place);
            let from = |&u: &u32| self::job(b, u as usize, places[u as usize]) != job;
            self.missing[job] += self.blocks.problem.graph.predecessors(v).iter().filter(|u| from(u)).count();
        }
        let is_first = |block: usize| block.is_multiple_of(self.blocks.per_accelerator);
        (0..b).filter(|&block| !is_first(block)).for_each(|block| self.missing[block] += 1);
        let on_cpus = (0..places.len()).filter(|&v| places[v] == Place::Cpu).map(|v| b + v);
        let mut total = 0;
        for job in (0..b).chain(on_cpus) {
            total += 1;
            if self.missing[job] == 0 {
                self.queue.push(job);
            }
        }
        total
    }

    /// Runs a job whose producers are ready, and returns when it is finished.
    fn run(&mut self, job: usize, places: &[Place]) -> f64 {
        let b = self.blocks.len();
        if job >= b {
            let finish = self.ready[job] + self.blocks.cpu_times[job - b].unwrap_or(0.0);
            self.pass_on(job - b, job, finish, places);
            return finish;
        }
        let class = self.blocks.class(job);
        let members = std::mem::take(&mut self.members[job]);
        for &v in &members {
            let v = v as usize;
            let leaves = |&w: &NodeId| self::job(b, w, places[w]) != job;
            self.terms[job].compute += class.times[v].unwrap_or(0.0);
            for t in self.blocks.transfers_of[v].clone() {
                if self.blocks.problem.costs.transfers[t].consumers.iter().any(leaves) {
                    self.terms[job].comm_out += class.transfers[t];
                }
            }
        }
        let finish = self.ready[job] + max_of_pieces(&class.pieces, &self.terms[job]);
        members.iter().for_each(|&v| self.pass_on(v as usize, job, finish, places));
        self.members[job] = members;
        if !(job + 1).is_multiple_of(self.blocks.per_accelerator) {
            self.arrive(job + 1, finish);
        }
        finish
    }

    /// Hands the output of `u`, ready at `time`, to its consumers in other jobs.
    fn pass_on(&mut self, u: NodeId, from: usize, time: f64, places: &[Place]) {
        let blocks = self.blocks;
        for t in blocks.transfers_of[u].clone() {
            for &w in &blocks.problem.costs.transfers[t].consumers {
                if let Place::Block(block) = places[w]
                    && block != from
                    && self.received[block] != t
                {
                    self.received[block] = t;
                    self.terms[block].comm_in += blocks.class(block).transfers[t];
                }
            }
        }
        for &w in blocks.problem.graph.successors(u) {
            let to = job(blocks.len(), w as usize, places[w as usize]);
            if to != from {
                self.arrive(to, time);
            }
        }
    }

    fn arrive(&mut self, job: usize, time: f64) {
        self.ready[job] = self.ready[job].max(time);
        self.missing[job] -= 1;
        if self.missing[job] == 0 {
            self.queue.push(job);
        }
    }

    /// Bytes above the accelerators' memories.
    fn overload(&self) -> f64 {
        let used = |(a, blocks): (usize, &[Vec<u32>])| {
            let class = self.blocks.class(a * self.blocks.per_accelerator);
            let used: f64 = blocks.iter().flatten().map(|&v| class.memory[v as usize]).sum();
            if fits(used, class.limit) { 0.0 } else { class.limit.map_or(0.0, |limit| used - limit) }
        };
        self.members.chunks(self.blocks.per_accelerator).enumerate().map(used).sum()
    }
}

/// The job that runs node `v` at `place`, where there are `blocks` blocks.
fn job(blocks: usize, v: NodeId, place: Place) -> usize {
    match place {
        Place::Cpu => blocks + v,
        Place::Block(block) => block,
    }
}
