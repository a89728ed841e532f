//! The problem on units: what a step of the dynamic program costs.

use super::units::{REACHABILITY_LIMIT, Units};
use crate::cost::{Piece, compute_load};
use crate::graph::{Csr, NodeId, NodeSet, paths, reachability, topological};
use crate::problem::{DeviceKind, Problem};

/// An output that other units wait for: a transfer with a consumer outside the unit of its source, or what of a node's
/// consumers no transfer reaches.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// The node that produces it.
    pub node: NodeId,
    /// The unit of that node.
    pub unit: usize,
    /// What an accelerator pays for; `None` where it takes no time.
    pub transfer: Option<usize>,
    /// Nodes of other units that consume it.
    pub consumers: Vec<NodeId>,
    /// The units of these nodes, ascending.
    pub units: Vec<usize>,
}

/// What the units cost on one class of accelerators.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// The device kind.
    pub kind: DeviceKind,
    /// How many accelerators there are.
    pub count: usize,
    /// Memory of each in bytes; `None` is unlimited.
    pub memory_limit: Option<f64>,
    /// Compute time of each unit; `None` where the class cannot run it.
    pub compute: Vec<Option<f64>>,
    /// Bytes of each unit.
    pub memory: Vec<f64>,
    /// Time to move each port's output onto or off an accelerator.
    pub transfer: Vec<f64>,
    /// The pieces of a load.
    pub pieces: Vec<Piece>,
}

/// How a unit runs on the CPU, node by node: outputs are the unit's ports, then the end of the last node.
#[derive(Debug, Clone)]
pub(super) struct CpuRun {
    /// For each output the time by which it is ready when every input is ready at time 0 or before.
    pub earliest: Vec<f64>,
    /// For each output the ports it waits for, each with the time from that port to the output.
    pub waits: Vec<Vec<(u32, f64)>>,
}

/// The problem on units.
pub(super) struct Model<'a> {
    /// The problem on nodes.
    pub problem: &'a Problem,
    /// The units.
    pub units: Units,
    /// The accelerator classes with a device.
    pub classes: Vec<Class>,
    /// Every port, by unit.
    pub ports: Vec<Port>,
    /// The ports of each unit.
    pub outputs: Csr,
    /// The ports that each unit consumes.
    pub inputs: Csr,
    /// How each unit runs on the CPU; `None` where it cannot.
    pub cpu: Vec<Option<CpuRun>>,
    /// For each unit those that follow it, itself included; none where there are too many units.
    pub descendants: Option<Vec<NodeSet>>,
    /// For each node a time that passes at least from its start to the end of the split.
    pub tails: Vec<f64>,
}

impl<'a> Model<'a> {
    /// Contracts `problem` and tabulates its costs.
    pub fn new(problem: &'a Problem) -> Self {
        Self::of_units(problem, Units::new(problem, true, &[]))
    }

    /// A relaxation: leaves that take no time need no memory. `None` where this would change nothing.
    pub fn without_leaf_memory(problem: &'a Problem) -> Option<Self> {
        let units = Units::new(problem, false, &[]);
        units.ignores_memory.contains(&true).then(|| Self::of_units(problem, units))
    }

    /// A relaxation: without the nodes from which no path leads to where the longest path ends. `None` where there are
    /// none. O(n + m) and the units.
    pub fn without_side_heads(&self) -> Option<Self> {
        let graph = &self.problem.graph;
        let order = topological::smallest_first(graph);
        let is_there = |v: &NodeId| self.units.of_node[*v].is_some();
        let mut v =
            (0..graph.node_count()).filter(is_there).max_by(|&a, &b| self.tails[a].total_cmp(&self.tails[b]))?;
        let after = |v: NodeId| graph.successors(v).iter().map(|&w| w as usize).filter(is_there);
        while let Some(next) = after(v).max_by(|&a, &b| self.tails[a].total_cmp(&self.tails[b])) {
            v = next;
        }
        let end = v;
        let mut left_out = vec![true; graph.node_count()];
        for &v in order.iter().rev() {
            left_out[v] = v != end && graph.successors(v).iter().all(|&w| left_out[w as usize]);
        }
        let changes = (0..graph.node_count()).any(|v| left_out[v] && is_there(&v));
        changes.then(|| Self::of_units(self.problem, Units::new(self.problem, self.units.leaf_memory, &left_out)))
    }

    fn of_units(problem: &'a Problem, units: Units) -> Self {
        let ports = ports(problem, &units);
        let count = units.members.len();
        let rows = |of: fn(&Port) -> &[usize]| {
            let pairs = ports.iter().enumerate().flat_map(|(p, port)| of(port).iter().map(move |&u| (u, p)));
            Csr::new(count, pairs.collect::<Vec<_>>())
        };
        let outputs = rows(|port| std::slice::from_ref(&port.unit));
        let inputs = rows(|port| &port.units);
        let accelerators = problem.device_kinds().into_iter().filter(|&kind| kind != DeviceKind::Cpu);
        let classes = accelerators.map(|kind| Class::new(problem, kind, &units, &ports)).collect();
        let descendants = (count <= REACHABILITY_LIMIT).then(|| reachability::descendants(&units.order));
        let (cpu, tails) = (Vec::new(), Vec::new());
        let mut model = Self { problem, units, classes, ports, outputs, inputs, cpu, descendants, tails };
        model.cpu = model.cpu_runs();
        model.tails = model.tails();
        model
    }

    /// Whether unit `v` follows unit `u`. Where there are too many units to know it, any may.
    #[inline]
    pub fn reaches(&self, u: usize, v: usize) -> bool {
        self.descendants.as_ref().is_none_or(|descendants| descendants[u].contains(v))
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.units.members.len()
    }

    fn cpu_runs(&self) -> Vec<Option<CpuRun>> {
        let mut runs: Vec<Option<CpuRun>> = (0..self.unit_count()).map(|u| self.cpu_run(u)).collect();
        // A class that stays apart is on the CPU as a whole or not at all.
        let mut runs_all = vec![true; self.units.class_members.len()];
        for (run, class) in runs.iter().zip(&self.units.class) {
            class.iter().for_each(|&c| runs_all[c] &= run.is_some());
        }
        for (run, class) in runs.iter_mut().zip(&self.units.class) {
            if class.is_some_and(|c| !runs_all[c]) {
                *run = None;
            }
        }
        runs
    }

    /// Longest paths through the unit, from each of its inputs to each of its outputs.
    fn cpu_run(&self, unit: usize) -> Option<CpuRun> {
        let Problem { graph, costs, spec, .. } = self.problem;
        if spec.platform.cpus == 0 {
            return None;
        }
        let members = &self.units.members[unit];
        let times: Option<Vec<f64>> =
            members.iter().map(|&v| costs.node(v, DeviceKind::Cpu).map(|cost| cost.compute)).collect();
        let times = times?;
        let local = |v: NodeId| members.iter().position(|&w| w == v);
        let outputs = self.outputs.row(unit);
        // Ready times of the members; `start` is when an input of the first path arrives.
        let run = |input: Option<usize>| {
            let mut ready: Vec<Option<f64>> = Vec::with_capacity(members.len());
            for (&v, time) in members.iter().zip(&times) {
                let inside =
                    graph.predecessors(v).iter().filter_map(|&u| ready[..].get(local(u as usize)?).copied()?);
                let from_input = input.filter(|&p| self.ports[p].consumers.contains(&v)).map(|_| 0.0);
                let at_once = input.is_none().then_some(0.0);
                ready.push(inside.chain(from_input).chain(at_once).reduce(f64::max).map(|start| start + time));
            }
            let mut out: Vec<Option<f64>> =
                outputs.iter().map(|&p| local(self.ports[p as usize].node).and_then(|i| ready[i])).collect();
            out.push(ready.into_iter().flatten().reduce(f64::max));
            out
        };
        let earliest = run(None).into_iter().map(|time| time.unwrap_or(0.0)).collect();
        let mut waits = vec![Vec::new(); outputs.len() + 1];
        for &p in self.inputs.row(unit) {
            for (waits, time) in waits.iter_mut().zip(run(Some(p as usize))) {
                waits.extend(time.map(|time| (p, time)));
            }
        }
        Some(CpuRun { earliest, waits })
    }

    /// Longest paths from each node, each node at its least compute time.
    fn tails(&self) -> Vec<f64> {
        let least = |u: usize, v: NodeId| {
            let cpu = self.cpu[u].is_some().then(|| self.problem.costs.node(v, DeviceKind::Cpu)).flatten();
            let cpu = cpu.map(|cost| cost.compute);
            let accelerated = self.classes.iter().filter_map(|class| {
                class.compute[u]?;
                Some(compute_load(&class.pieces, self.problem.costs.node(v, class.kind)?.compute))
            });
            accelerated.chain(cpu).reduce(f64::min).unwrap_or(0.0)
        };
        let times = self.units.of_node.iter().enumerate().map(|(v, unit)| unit.map_or(0.0, |u| least(u, v)));
        let graph = &self.problem.graph;
        paths::longest_from(graph, &topological::smallest_first(graph), &times.collect::<Vec<_>>())
    }
}

impl Class {
    /// The place of the piece of the load that weighs compute the most.
    pub fn place_of_compute(&self) -> usize {
        (0..self.pieces.len()).max_by(|&a, &b| self.pieces[a].compute.total_cmp(&self.pieces[b].compute)).unwrap_or(0)
    }

    /// The piece of the load that weighs compute the most.
    pub fn piece_of_compute(&self) -> Piece {
        self.pieces[self.place_of_compute()]
    }

    fn new(problem: &Problem, kind: DeviceKind, units: &Units, ports: &[Port]) -> Self {
        let costs = problem.costs.kind(kind);
        let cost = |v: &NodeId| costs.nodes[*v];
        let compute = |nodes: &Vec<NodeId>| nodes.iter().map(|v| cost(v).map(|cost| cost.compute)).sum();
        let bytes = |v: &NodeId| cost(v).filter(|_| !units.ignores_memory[*v]).map(|cost| cost.memory);
        let memory = |nodes: &Vec<NodeId>| nodes.iter().filter_map(bytes).sum();
        Self {
            kind,
            count: problem.device_count(kind),
            memory_limit: problem.memory_limit(kind),
            compute: units.members.iter().map(compute).collect(),
            memory: units.members.iter().map(memory).collect(),
            transfer: ports.iter().map(|port| port.transfer.map_or(0.0, |t| costs.transfers[t])).collect(),
            pieces: costs.pieces.clone(),
        }
    }
}

fn ports(problem: &Problem, units: &Units) -> Vec<Port> {
    let Problem { graph, costs, .. } = problem;
    let mut ports = Vec::new();
    for (unit, members) in units.members.iter().enumerate() {
        let outside = |&v: &NodeId| units.of_node[v] != Some(unit);
        for &node in members {
            let mut add = |transfer: Option<usize>, consumers: Vec<NodeId>| {
                let mut consuming: Vec<usize> = consumers.iter().filter_map(|&w| units.of_node[w]).collect();
                consuming.sort_unstable();
                consuming.dedup();
                if !consuming.is_empty() {
                    ports.push(Port { node, unit, transfer, consumers, units: consuming });
                }
            };
            let mut unreached: Vec<NodeId> =
                graph.successors(node).iter().map(|&w| w as usize).filter(outside).collect();
            for t in costs.transfers_from(node) {
                let transfer = &costs.transfers[t];
                unreached.retain(|&w| !transfer.reaches(w));
                add(Some(t), transfer.consumers.iter().copied().filter(outside).collect());
            }
            add(None, unreached);
        }
    }
    ports
}
