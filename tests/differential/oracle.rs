//! The least objective of a small problem, by looking at every split, in exact rational numbers.
//!
//! The formulas are written from the documentation of `dagsplit::verify` and of the problem's types, and share no code
//! with the library. Sets of nodes are bit masks.

use std::collections::{BTreeMap, HashMap};

use dagsplit::instance::Instance;
use dagsplit::problem::{CostKind, DeviceKind, MemoryModel, NodeWeight, Objective, ProblemSpec, Scope, Solution};
use num_bigint::BigInt;

use super::exact::{SHIFT, parts, product, shifted};

/// A set of nodes, or of colour groups.
type Mask = u32;

/// Weights are multiples of 2^-WEIGHT_SHIFT, their squares of 2^-(2 · WEIGHT_SHIFT).
const WEIGHT_SHIFT: i64 = 160;

/// A device, or a group of replicas, with nodes on it.
#[derive(Clone)]
struct Stage {
    kind: DeviceKind,
    replicas: usize,
    server: Option<usize>,
    nodes: Mask,
}

/// What is asked of a case, in exact numbers.
pub struct Oracle<'a> {
    instance: &'a Instance,
    spec: &'a ProblemSpec,
    edges: Vec<(usize, usize)>,
    producers: Vec<Mask>,
    consumers: Vec<Mask>,
    /// The nodes of each colour group.
    groups: Vec<Mask>,
    /// The nodes of the order graph, and what is behind each node in it.
    ordered: Mask,
    order_edges: Vec<(usize, usize)>,
    behind: Vec<Mask>,
    /// Objectives are whole multiples of 2^-SHIFT / `denominator`.
    denominator: BigInt,
    /// The least common multiple of the numbers of replicas.
    common: usize,
    loads: HashMap<(DeviceKind, usize, Mask, Option<Mask>), [BigInt; 2]>,
    best: Option<BigInt>,
    too_close: bool,
}

/// What [`Oracle::solve`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The least objective, in the oracle's unit.
    Optimum(BigInt),
    /// There is no split.
    Infeasible,
    /// Whether some set fits in memory depends on roundings.
    TooClose,
}

impl<'a> Oracle<'a> {
    pub fn new(instance: &'a Instance, spec: &'a ProblemSpec) -> Self {
        let nodes = &instance.nodes;
        let index: HashMap<u64, usize> = nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let mut edges: Vec<(usize, usize)> =
            instance.edges.iter().map(|edge| (index[&edge.source], index[&edge.target])).collect();
        edges.sort_unstable();
        edges.dedup();
        let (mut producers, mut consumers) = (vec![0; nodes.len()], vec![0; nodes.len()]);
        for &(u, v) in &edges {
            consumers[u] |= 1 << v;
            producers[v] |= 1 << u;
        }
        let common = spec.replication.map_or(1, |r| (1..=r.max_replicas).fold(1, lcm));
        let denominator = match (spec.objective, spec.replication) {
            (Objective::Sharding(_), _) => BigInt::from(device_count(spec).pow(2)),
            (_, Some(replication)) => BigInt::from(common) * parts(replication.bandwidth).0,
            (_, None) => BigInt::from(1),
        };
        let mut oracle = Self {
            instance,
            spec,
            edges,
            producers,
            consumers,
            groups: groups(instance),
            ordered: 0,
            order_edges: Vec::new(),
            behind: Vec::new(),
            denominator,
            common,
            loads: HashMap::new(),
            best: None,
            too_close: false,
        };
        oracle.build_order_graph();
        oracle
    }

    /// The least objective of all splits.
    pub fn solve(&mut self) -> Answer {
        let all = (1 << self.groups.len()) - 1;
        self.place(all, &mut Vec::new());
        match &self.best {
            _ if self.too_close => Answer::TooClose,
            Some(best) => Answer::Optimum(best.clone()),
            None => Answer::Infeasible,
        }
    }

    /// `x` in the oracle's unit, rounded down.
    pub fn number(&self, x: f64) -> BigInt {
        let (mantissa, exponent) = parts(x);
        shifted(&self.denominator * mantissa, exponent + SHIFT)
    }

    /// A value of the oracle's unit to read: exact to about fifteen digits.
    pub fn shown(&self, value: &BigInt) -> String {
        let digits = (value * BigInt::from(10).pow(30) / &self.denominator) >> SHIFT;
        format!("{digits}e-30")
    }

    /// How far objectives may be off beside a part of 1e-9: for the sharding cost 1e-12 of the square of all weight, which
    /// is what squares of deviations are small differences of.
    pub fn rounding(&self) -> BigInt {
        let Objective::Sharding(sharding) = self.spec.objective else { return BigInt::ZERO };
        let total = self.weight(!0);
        squared(sharding.variance, &(total * device_count(self.spec))) / 10u64.pow(12)
    }

    /// The exact objective of a split that the verifier has passed; `None` for the latency.
    pub fn value_of(&mut self, solution: &Solution) -> Option<BigInt> {
        if matches!(self.spec.objective, Objective::Latency { .. }) {
            return None;
        }
        let index: HashMap<u64, usize> = self.instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let used = solution.devices.iter().filter(|device| !device.nodes.is_empty());
        let stages: Vec<Stage> = used
            .map(|device| Stage {
                kind: device.kind,
                replicas: device.replicas,
                server: device.server.filter(|_| self.spec.interconnect.is_some() && device.kind != DeviceKind::Cpu),
                nodes: device.nodes.iter().fold(0, |mask, id| mask | 1 << index[id]),
            })
            .collect();
        Some(self.value(&stages))
    }

    /// Puts the colour groups `rest` on devices in every way; the first of them opens the next device.
    fn place(&mut self, rest: Mask, stages: &mut Vec<Stage>) {
        if rest == 0 {
            return self.complete(stages);
        }
        let first = rest & rest.wrapping_neg();
        let mut others = rest ^ first;
        loop {
            let set = first | others;
            let nodes = members(set).fold(0, |mask, group| mask | self.groups[group]);
            if !self.is_convex_scope() || self.is_convex(nodes) {
                for stage in self.stages_for(nodes, stages) {
                    stages.push(stage);
                    if !self.is_hopeless(stages) {
                        self.place(rest ^ set, stages);
                    }
                    stages.pop();
                }
            }
            if others == 0 {
                return;
            }
            others = (others - 1) & (rest ^ first);
        }
    }

    /// Every kind of device, number of replicas and server that can still take `nodes`; one of equal servers.
    fn stages_for(&mut self, nodes: Mask, stages: &[Stage]) -> Vec<Stage> {
        let platform = &self.spec.platform;
        let kinds = (0..platform.accelerators.len()).map(DeviceKind::Accelerator).chain([DeviceKind::Cpu]);
        let mut found = Vec::new();
        for kind in kinds {
            let used: usize = stages.iter().filter(|stage| stage.kind == kind).map(|stage| stage.replicas).sum();
            let (count, most) = match kind {
                DeviceKind::Accelerator(class) => {
                    (platform.accelerators[class].count, self.spec.replication.map_or(1, |r| r.max_replicas))
                }
                DeviceKind::Cpu => (platform.cpus, 1),
            };
            if !members(nodes).all(|v| self.time(v, kind).is_some()) {
                continue;
            }
            for replicas in 1..=most.min(count.saturating_sub(used)) {
                if self.fits(nodes, kind, replicas) {
                    let servers = self.servers_for(kind, replicas, stages);
                    found.extend(servers.into_iter().map(|server| Stage { kind, replicas, server, nodes }));
                }
            }
        }
        found
    }

    fn servers_for(&self, kind: DeviceKind, replicas: usize, stages: &[Stage]) -> Vec<Option<usize>> {
        let (Some(interconnect), DeviceKind::Accelerator(class)) = (self.spec.interconnect, kind) else {
            return vec![None];
        };
        let (size, classes) = (interconnect.server_size, &self.spec.platform.accelerators);
        let first: usize = classes[..class].iter().map(|class| class.count / size).sum();
        let in_server =
            |s| stages.iter().filter(|stage| stage.server == Some(s)).map(|stage| stage.replicas).sum::<usize>();
        let mut found = Vec::new();
        for server in first..first + classes[class].count / size {
            if in_server(server) + replicas <= size {
                found.push(Some(server));
            }
            if in_server(server) == 0 {
                break; // Empty servers of a class are alike.
            }
        }
        found
    }

    /// Whether the stages alone are no better than the best split: loads are final without servers.
    fn is_hopeless(&mut self, stages: &[Stage]) -> bool {
        let is_pipeline =
            matches!(self.spec.objective, Objective::Throughput | Objective::GPipe | Objective::Step { .. });
        if !is_pipeline || self.spec.interconnect.is_some() || self.best.is_none() {
            return false;
        }
        let value = self.value(stages);
        self.best.as_ref().is_some_and(|best| value >= *best)
    }

    fn complete(&mut self, stages: &[Stage]) {
        if let Objective::Latency { subgraphs } = self.spec.objective {
            return self.run(stages, subgraphs);
        }
        if self.is_in_scope(stages) {
            let value = self.value(stages);
            self.offer(value);
        }
    }

    fn offer(&mut self, value: BigInt) {
        if self.best.as_ref().is_none_or(|best| value < *best) {
            self.best = Some(value);
        }
    }

    fn value(&mut self, stages: &[Stage]) -> BigInt {
        if let Objective::Sharding(_) = self.spec.objective {
            return self.sharding_cost(stages);
        }
        let (mut most, mut once) = ([BigInt::ZERO, BigInt::ZERO], BigInt::ZERO);
        for stage in stages {
            let server = stage.server.map(|_| {
                let beside = stages.iter().filter(|other| other.server == stage.server);
                beside.fold(0, |mask, other| mask | other.nodes)
            });
            for (most, load) in most.iter_mut().zip(self.load(stage.kind, stage.replicas, stage.nodes, server)) {
                once += &load;
                *most = std::mem::take(most).max(load);
            }
        }
        let [forward, backward] = most;
        match self.spec.objective {
            Objective::Step { microbatches } => once + forward * (microbatches - 1),
            _ => forward + backward,
        }
    }

    /// The loads of both passes under GPipe; else the load, and 0. `server` holds all nodes in the device's server.
    fn load(&mut self, kind: DeviceKind, replicas: usize, nodes: Mask, server: Option<Mask>) -> [BigInt; 2] {
        let key = (kind, replicas, nodes, server);
        if let Some(known) = self.loads.get(&key) {
            return known.clone();
        }
        let backward = self.mask_of(|v| self.instance.nodes[v].backward);
        let synchronise = self.all_reduce(nodes, replicas);
        let none = BigInt::ZERO;
        let loads = if self.spec.objective == Objective::GPipe {
            let (in_forward, in_backward) = if backward == 0 { (&synchronise, &none) } else { (&none, &synchronise) };
            [self.load_of_passes(!backward, in_forward, &key), self.load_of_passes(backward, in_backward, &key)]
        } else {
            [self.load_of_passes(!0, &synchronise, &key), BigInt::ZERO]
        };
        self.loads.insert(key, loads.clone());
        loads
    }

    /// The load of the nodes and outputs of `pass`.
    fn load_of_passes(
        &self,
        pass: Mask,
        synchronise: &BigInt,
        &(kind, replicas, nodes, server): &(DeviceKind, usize, Mask, Option<Mask>),
    ) -> BigInt {
        let [mut compute, mut comm_in, mut comm_out] = [BigInt::ZERO, BigInt::ZERO, BigInt::ZERO];
        for u in members(self.mask_of(|v| pass >> v & 1 == 1)) {
            let is_here = nodes >> u & 1 == 1;
            if is_here {
                compute += self.in_unit(&[self.time(u, kind).unwrap()]);
            }
            if kind == DeviceKind::Cpu {
                continue;
            }
            let touched = 1 << u | self.consumers[u];
            let factor = match (self.spec.interconnect, server) {
                (Some(interconnect), Some(server)) if touched & !server != 0 => interconnect.between_factor,
                _ => 1.0,
            };
            let charge = || self.in_unit(&[self.instance.nodes[u].transfer_time, factor]);
            if is_here && self.consumers[u] & !nodes != 0 {
                comm_out += charge();
            } else if !is_here && self.consumers[u] & nodes != 0 {
                comm_in += charge();
            }
        }
        let load = match self.spec.cost {
            CostKind::Additive => compute + comm_in + comm_out,
            CostKind::Overlap => compute.max(comm_in + comm_out),
            CostKind::Duplex => compute.max(comm_in).max(comm_out),
        };
        if replicas <= 1 {
            return load;
        }
        let share = load / replicas;
        match self.spec.cost {
            CostKind::Additive => share + synchronise,
            CostKind::Overlap | CostKind::Duplex => share.max(synchronise.clone()),
        }
    }

    /// 2 (r − 1) / r · bytes / bandwidth.
    fn all_reduce(&self, nodes: Mask, replicas: usize) -> BigInt {
        let Some(replication) = self.spec.replication.filter(|_| replicas > 1) else { return BigInt::ZERO };
        // The unit's denominator holds the bandwidth's mantissa, so that its power of two is all that is left to divide by.
        let shift = SHIFT - parts(replication.bandwidth).1;
        let bytes: BigInt = members(nodes).map(|v| product(&[self.instance.nodes[v].parameter_bytes], shift)).sum();
        bytes * (2 * (replicas - 1) * (self.common / replicas))
    }

    /// Whether the nodes fit in the memory of one device.
    fn fits(&mut self, nodes: Mask, kind: DeviceKind, replicas: usize) -> bool {
        let DeviceKind::Accelerator(class) = kind else { return true };
        let Some(limit) = self.spec.platform.accelerators[class].memory else { return true };
        let (used, limit) = match self.spec.memory {
            MemoryModel::Additive => (self.sum(nodes, |v| self.instance.nodes[v].memory), product(&[limit], SHIFT)),
            MemoryModel::Recomputation { microbatches } => {
                let used = self.peaks(nodes) + self.boundary(nodes);
                (used, product(&[limit], SHIFT) * microbatches * replicas)
            }
        };
        let (used, limit) = (used * 10u64.pow(9), limit * (10u64.pow(9) + 1));
        let distance = if used > limit { &used - &limit } else { &limit - &used };
        self.too_close |= distance * 10u64.pow(12) <= limit && used != limit;
        used <= limit
    }

    /// The larger of the two passes' memory of each colour class, and all memory of nodes without one.
    fn peaks(&self, nodes: Mask) -> BigInt {
        let pass = |group: Mask, backward: bool| {
            let of_pass = self.mask_of(|v| self.instance.nodes[v].backward == backward);
            self.sum(group & of_pass, |v| self.instance.nodes[v].memory)
        };
        let inside = self.groups.iter().filter(|&&group| group & nodes != 0);
        inside.map(|&group| pass(group, false).max(pass(group, true))).sum()
    }

    /// The outputs of the edges that cross the boundary, each edge by itself.
    fn boundary(&self, nodes: Mask) -> BigInt {
        let crossing = self.edges.iter().filter(|&&(u, v)| (nodes >> u ^ nodes >> v) & 1 == 1);
        crossing.map(|&(u, _)| product(&[self.instance.nodes[u].output_bytes.unwrap_or(0.0)], SHIFT)).sum()
    }

    fn sharding_cost(&self, stages: &[Stage]) -> BigInt {
        let Objective::Sharding(sharding) = self.spec.objective else { unreachable!("another objective") };
        let devices = device_count(self.spec);
        let total = self.weight(!0);
        let mut cost = squared(sharding.variance, &total) * (devices - stages.len());
        for stage in stages {
            cost += squared(sharding.variance, &(self.weight(stage.nodes) * devices - &total));
        }
        let stage_of = |v: usize| stages.iter().position(|stage| stage.nodes >> v & 1 == 1).unwrap();
        for &(u, v) in &self.edges {
            let (from, to) = (stage_of(u), stage_of(v));
            if from != to {
                let is_near = stages[from].server.is_some() && stages[from].server == stages[to].server;
                let factor = self.spec.interconnect.filter(|_| !is_near).map_or(1.0, |servers| servers.between_factor);
                cost += product(&[sharding.edge, factor], SHIFT) * devices.pow(2);
            }
        }
        cost
    }

    fn weight(&self, nodes: Mask) -> BigInt {
        let Objective::Sharding(sharding) = self.spec.objective else { unreachable!("another objective") };
        let weight = |v: usize| match sharding.weight {
            NodeWeight::Parameters => self.instance.nodes[v].parameter_bytes,
            NodeWeight::Memory => self.instance.nodes[v].memory,
        };
        members(nodes & self.mask_of(|_| true)).map(|v| product(&[weight(v)], WEIGHT_SHIFT)).sum()
    }

    /// Offers the latency of every division of the accelerators' nodes into subgraphs.
    fn run(&mut self, stages: &[Stage], allowed: usize) {
        let choices: Vec<Vec<Vec<Mask>>> = stages
            .iter()
            .map(|stage| match stage.kind {
                DeviceKind::Cpu => vec![members(stage.nodes).map(|v| 1 << v).collect()],
                DeviceKind::Accelerator(_) => divisions(stage.nodes, allowed),
            })
            .collect();
        let mut chosen = vec![0; stages.len()];
        loop {
            let divided: Vec<&[Mask]> = chosen.iter().zip(&choices).map(|(&i, of)| &of[i][..]).collect();
            if let Some(latency) = self.latency(stages, &divided) {
                self.offer(latency);
            }
            let Some(turn) = (0..stages.len()).find(|&i| chosen[i] + 1 < choices[i].len()) else { return };
            chosen[..turn].fill(0);
            chosen[turn] += 1;
        }
    }

    /// When the last subgraph ends, or `None` where some wait for each other.
    fn latency(&mut self, stages: &[Stage], divided: &[&[Mask]]) -> Option<BigInt> {
        let mut finish: Vec<Option<BigInt>> = vec![None; self.instance.nodes.len()];
        let mut left = self.mask_of(|_| true);
        while left != 0 {
            let before = left;
            for (stage, subgraphs) in stages.iter().zip(divided) {
                let mut turn = BigInt::ZERO; // When the subgraphs before it on its accelerator have ended.
                for &nodes in *subgraphs {
                    if nodes & left == 0 {
                        turn = finish[nodes.trailing_zeros() as usize].clone()?;
                        continue;
                    }
                    let feeding = members(nodes).fold(0, |mask, v| mask | self.producers[v]) & !nodes;
                    let is_cpu = stage.kind == DeviceKind::Cpu;
                    if feeding & left != 0 {
                        if is_cpu { continue } else { break }
                    }
                    let ready = members(feeding).filter_map(|u| finish[u].clone()).max().unwrap_or_default();
                    let start = if is_cpu { ready } else { ready.max(turn) };
                    let end = start + &self.load(stage.kind, 1, nodes, None)[0];
                    members(nodes).for_each(|v| finish[v] = Some(end.clone()));
                    left &= !nodes;
                    turn = end;
                }
            }
            if left == before {
                return None;
            }
        }
        finish.into_iter().flatten().max()
    }

    fn build_order_graph(&mut self) {
        let nodes = &self.instance.nodes;
        // The nodes that stand for each group: its forward nodes, or its first.
        let stand_ins = |group: Mask| match members(group).filter(|&v| !nodes[v].backward).fold(0, |m, v| m | 1 << v) {
            0 => group & group.wrapping_neg(),
            forward => forward,
        };
        let is_orphan = |group: Mask| members(group).all(|v| nodes[v].backward);
        let group_of = |v: usize| *self.groups.iter().find(|&&group| group >> v & 1 == 1).unwrap();
        let ordered = self.groups.iter().fold(0, |mask, &group| mask | stand_ins(group));
        let mut order = Vec::new();
        for &(a, b) in &self.edges {
            let (of_a, of_b) = (group_of(a), group_of(b));
            if !nodes[a].backward && !nodes[b].backward {
                order.push((a, b));
            } else if nodes[a].backward && nodes[b].backward && of_a != of_b && (is_orphan(of_a) || is_orphan(of_b)) {
                order.extend(members(stand_ins(of_b)).flat_map(|v| members(stand_ins(of_a)).map(move |u| (v, u))));
            }
        }
        let mut behind: Vec<Mask> = vec![0; nodes.len()];
        for _ in 0..nodes.len() {
            for &(u, v) in &order {
                behind[u] |= 1 << v | behind[v];
            }
        }
        (self.ordered, self.order_edges, self.behind) = (ordered, order, behind);
    }

    fn is_convex_scope(&self) -> bool {
        self.spec.scope == Scope::Convex && !matches!(self.spec.objective, Objective::Latency { .. })
    }

    /// Whether no path of the order graph leaves the set and returns.
    fn is_convex(&self, set: Mask) -> bool {
        let set = set & self.ordered;
        let returns = |x: usize| self.behind[x] & set != 0 && members(set).any(|u| self.behind[u] >> x & 1 == 1);
        !members(self.ordered & !set).any(returns)
    }

    fn is_in_scope(&self, stages: &[Stage]) -> bool {
        match &self.spec.scope {
            Scope::Arbitrary | Scope::Convex => true, // Convex sets alone are placed.
            Scope::Acyclic => self.is_acyclic(stages),
            Scope::Linearized(line) => {
                let line: Vec<usize> = line.iter().copied().filter(|&v| self.ordered >> v & 1 == 1).collect();
                let is_interval = |stage: &Stage| {
                    let inside = |v: usize| stage.nodes >> v & 1 == 1;
                    let starts = (0..line.len()).filter(|&i| inside(line[i]) && (i == 0 || !inside(line[i - 1])));
                    starts.count() <= 1
                };
                self.is_acyclic(stages) && stages.iter().all(is_interval)
            }
        }
    }

    /// Whether the devices can be put in an order, and servers with CPUs, too.
    fn is_acyclic(&self, stages: &[Stage]) -> bool {
        let mut servers: BTreeMap<(Option<usize>, usize), Mask> = BTreeMap::new();
        for (i, stage) in stages.iter().enumerate() {
            let alone = if stage.server.is_none() { i } else { 0 };
            *servers.entry((stage.server, alone)).or_default() |= stage.nodes;
        }
        self.has_order(stages.iter().map(|stage| stage.nodes).collect())
            && self.has_order(servers.into_values().collect())
    }

    fn has_order(&self, mut parts: Vec<Mask>) -> bool {
        loop {
            let left = parts.iter().fold(0, |mask, part| mask | part);
            let is_first = |part: Mask| {
                let into = |&(u, v): &(usize, usize)| part >> v & 1 == 1 && (left & !part) >> u & 1 == 1;
                !self.order_edges.iter().any(into)
            };
            let Some(first) = parts.iter().position(|&part| is_first(part)) else { return parts.is_empty() };
            parts.swap_remove(first);
        }
    }

    fn time(&self, v: usize, kind: DeviceKind) -> Option<f64> {
        match kind {
            DeviceKind::Accelerator(class) => self.instance.nodes[v].accelerator_times[class],
            DeviceKind::Cpu => self.instance.nodes[v].cpu_time,
        }
    }

    fn in_unit(&self, factors: &[f64]) -> BigInt {
        product(factors, SHIFT) * &self.denominator
    }

    fn sum(&self, nodes: Mask, value: impl Fn(usize) -> f64) -> BigInt {
        members(nodes).map(|v| product(&[value(v)], SHIFT)).sum()
    }

    fn mask_of(&self, is_in: impl Fn(usize) -> bool) -> Mask {
        (0..self.instance.nodes.len()).filter(|&v| is_in(v)).fold(0, |mask, v| mask | 1 << v)
    }
}

/// The nodes that share a device.
fn groups(instance: &Instance) -> Vec<Mask> {
    let mut found: Vec<(Option<u64>, Mask)> = Vec::new();
    for (v, node) in instance.nodes.iter().enumerate() {
        match found.iter_mut().find(|(color, _)| color.is_some() && *color == node.color_class) {
            Some((_, group)) => *group |= 1 << v,
            None => found.push((node.color_class, 1 << v)),
        }
    }
    found.into_iter().map(|(_, group)| group).collect()
}

/// Every way to run `nodes` as at most `allowed` subgraphs in a row.
fn divisions(nodes: Mask, allowed: usize) -> Vec<Vec<Mask>> {
    if allowed == 1 {
        return vec![vec![nodes]];
    }
    let mut found = vec![vec![nodes]];
    let mut first = (nodes - 1) & nodes;
    while first != 0 {
        found.extend(divisions(nodes & !first, allowed - 1).into_iter().map(|mut rest| {
            rest.insert(0, first);
            rest
        }));
        first = (first - 1) & nodes;
    }
    found
}

/// `variance` · `weight`², of a weight in its own unit.
fn squared(variance: f64, weight: &BigInt) -> BigInt {
    product(&[variance], SHIFT - 2 * WEIGHT_SHIFT) * weight * weight
}

fn device_count(spec: &ProblemSpec) -> usize {
    spec.platform.cpus + spec.platform.accelerators.iter().map(|class| class.count).sum::<usize>()
}

fn members(mask: Mask) -> impl Iterator<Item = usize> {
    (0..Mask::BITS as usize).filter(move |v| mask >> v & 1 == 1)
}

fn lcm(a: usize, b: usize) -> usize {
    (a..).step_by(a).find(|multiple| multiple % b == 0).unwrap_or(a * b)
}
