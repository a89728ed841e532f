//! The units and the devices of a problem.

use rustc_hash::FxHashMap;

use super::Model;
use super::bound::Completion;
use super::model::Part;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Scope, Sharding, Solution};
use crate::solve::{BoundSource, LowerBound, Outcome, found};

/// A problem as a [`Model`]: its colour classes are the units, its devices one by one the parts.
///
/// Devices are numbered kind by kind, in the order of [`Problem::device_kinds`], and so server by server.
pub struct Shards<'a> {
    problem: &'a Problem,
    groups: Groups,
    devices: Vec<Device>,
    /// What placing units on devices costs.
    pub model: Model,
}

#[derive(Debug, Clone, Copy)]
struct Device {
    kind: DeviceKind,
    server: Option<usize>,
}

impl<'a> Shards<'a> {
    /// The units and devices of `problem`; without costs where it asks for another objective.
    /// O((n + devices) · kinds + m + devices²).
    pub fn new(problem: &'a Problem) -> Self {
        let groups = Groups::new(&problem.color_class);
        let kinds = problem.device_kinds();
        let devices = devices(problem, &kinds);
        let cost = match problem.spec.objective {
            Objective::Sharding(cost) => cost,
            _ => Sharding { variance: 0.0, edge: 0.0, ..Sharding::default() },
        };
        let part = |device: &Device| Part {
            kind: kinds.iter().position(|&kind| kind == device.kind).unwrap_or(0),
            limit: problem.memory_limit(device.kind),
        };
        let between = problem.spec.interconnect.map(|interconnect| interconnect.between_factor);
        let price = |a: usize, b: usize| match (between, devices[a].server, devices[b].server) {
            (None, ..) => cost.edge,
            (Some(_), Some(a), Some(b)) if a == b => cost.edge,
            (Some(factor), ..) => cost.edge * factor,
        };
        let need = |kind: DeviceKind, group: &Vec<usize>| {
            group.iter().map(|&v| problem.costs.node(v, kind).map(|cost| cost.memory)).sum()
        };
        let needs = kinds.iter().map(|&kind| groups.members.iter().map(|group| need(kind, group)).collect()).collect();
        let weight = |group: &Vec<usize>| group.iter().map(|&v| problem.shard_weights[v]).sum();
        let weights = groups.members.iter().map(weight).collect();
        let parts = devices.iter().map(part).collect();
        let model = Model::new(weights, links(problem, &groups), cost.variance, price, parts, needs);
        Self { problem, groups, devices, model }
    }

    /// For each device the server it sits in; a device outside all servers has one to itself, and without servers all
    /// devices share one.
    pub(super) fn sites(&self) -> Vec<usize> {
        let first_free = self.devices.iter().filter_map(|device| device.server).max().map_or(0, |last| last + 1);
        let has_servers = self.problem.spec.interconnect.is_some();
        let site = |(d, device): (usize, &Device)| match device.server {
            Some(server) => server,
            None if has_servers => first_free + d,
            None => 0,
        };
        self.devices.iter().enumerate().map(site).collect()
    }

    /// Accelerators per server, where servers hold all devices.
    pub(crate) fn server_size(&self) -> Option<usize> {
        let size = self.problem.spec.interconnect.map(|interconnect| interconnect.server_size);
        size.filter(|_| self.devices.iter().all(|device| device.server.is_some()))
    }

    /// What is known after a search without proof that found `part_of` at most.
    pub(crate) fn outcome(&self, part_of: Option<&[u32]>) -> Outcome {
        let value = Completion::of_all(&self.model, &self.sites());
        let bound = LowerBound { value, scope: Scope::Arbitrary, source: BoundSource::Spreading };
        match part_of {
            Some(part_of) => found(self.solution(part_of), bound),
            None => Outcome::Unknown { bound: Some(bound) },
        }
    }

    /// The split of a placement, with its cost.
    pub fn solution(&self, part_of: &[u32]) -> Solution {
        let mut nodes = vec![Vec::new(); self.devices.len()];
        for (v, &unit) in self.groups.of_node.iter().enumerate() {
            nodes[part_of[unit] as usize].push(self.problem.ids[v]);
        }
        let used = self.devices.iter().zip(nodes).filter(|(_, nodes)| !nodes.is_empty());
        let devices = used.map(|(device, nodes)| DeviceAssignment {
            server: device.server,
            ..DeviceAssignment::new(device.kind, nodes)
        });
        Solution { devices: devices.collect(), objective: Some(self.model.cost(part_of)) }
    }
}

fn devices(problem: &Problem, kinds: &[DeviceKind]) -> Vec<Device> {
    let size = problem.spec.interconnect.map(|interconnect| interconnect.server_size);
    let all = kinds.iter().flat_map(|&kind| std::iter::repeat_n(kind, problem.device_count(kind)));
    // CPUs come last, so that an accelerator's position says which server it sits in.
    let server = |i: usize, kind: DeviceKind| size.filter(|_| kind != DeviceKind::Cpu).map(|size| i / size);
    all.enumerate().map(|(i, kind)| Device { kind, server: server(i, kind) }).collect()
}

/// The units that each unit shares edges with, ascending.
fn links(problem: &Problem, groups: &Groups) -> Vec<Vec<(u32, f64)>> {
    let mut edges: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    for (u, v) in problem.graph.edges() {
        let (a, b) = (groups.of_node[u], groups.of_node[v]);
        if a != b {
            *edges.entry((a, b)).or_default() += 1.0;
            *edges.entry((b, a)).or_default() += 1.0;
        }
    }
    let mut links = vec![Vec::new(); groups.len()];
    edges.into_iter().for_each(|((a, b), count)| links[a].push((b as u32, count)));
    links.iter_mut().for_each(|row: &mut Vec<(u32, f64)>| row.sort_unstable_by_key(|&(b, _)| b));
    links
}
