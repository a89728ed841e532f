//! Node ids resolved: every node on one device.

use rustc_hash::FxHashMap;

use super::Violation;
use dagsplit_model::cost::Costs;
use dagsplit_model::graph::Graph;
use dagsplit_model::instance::{Instance, Problems, validate};
use dagsplit_model::problem::{DeviceAssignment, DeviceKind, ProblemSpec, Solution};

/// The subgraphs of one device in the order in which it runs them, as node indices; a CPU has none.
pub(super) type Subgraphs = Vec<Vec<usize>>;

/// A split that puts every node of a valid instance on one device of a known kind. Nodes are indexed in file order.
pub(super) struct Split<'a> {
    pub instance: &'a Instance,
    pub spec: &'a ProblemSpec,
    pub costs: &'a Costs,
    pub devices: &'a [DeviceAssignment],
    /// The position of each node by its id.
    pub index: FxHashMap<u64, usize>,
    /// The device of each node.
    pub device_of: Vec<usize>,
    /// Edges between node indices.
    pub edges: Vec<(usize, usize)>,
}

impl<'a> Split<'a> {
    /// Resolves the ids of `solution`, or says why it is no assignment of the instance's nodes to devices.
    pub fn resolve(
        instance: &'a Instance,
        spec: &'a ProblemSpec,
        costs: &'a Costs,
        solution: &'a Solution,
    ) -> Result<Self, Vec<Violation>> {
        let devices = &solution.devices[..];
        let index: FxHashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let mut violations = unknown_classes(spec, devices);
        let mut device_of = vec![None; instance.nodes.len()];
        for (device, &node) in held(devices) {
            match index.get(&node) {
                None => violations.push(Violation::UnknownNode { device, node }),
                Some(&v) => match device_of[v] {
                    None => device_of[v] = Some(device),
                    Some(first) => violations.push(Violation::DuplicatedNode { node, first, second: device }),
                },
            }
        }
        let homeless = instance.nodes.iter().zip(&device_of).filter(|(_, device)| device.is_none());
        violations.extend(homeless.map(|(node, _)| Violation::MissingNode { node: node.id }));
        if !violations.is_empty() {
            return Err(violations);
        }
        let edges = edges(instance, &index);
        let device_of: Vec<usize> = device_of.into_iter().flatten().collect();
        Ok(Self { instance, spec, costs, devices, index, device_of, edges })
    }

    /// The id of node `v`.
    pub fn id(&self, v: usize) -> u64 {
        self.instance.nodes[v].id
    }

    /// The devices that hold nodes, with their positions in the split.
    pub fn used(&self) -> impl Iterator<Item = (usize, &'a DeviceAssignment)> {
        self.devices.iter().enumerate().filter(|(_, device)| !device.nodes.is_empty())
    }

    /// The nodes of each accelerator, ascending; none for CPUs.
    pub fn on_accelerators(&self) -> Vec<Vec<usize>> {
        let mut held = vec![Vec::new(); self.devices.len()];
        for (v, &device) in self.device_of.iter().enumerate() {
            if self.devices[device].kind != DeviceKind::Cpu {
                held[device].push(v);
            }
        }
        held
    }

    /// The server of device `d` that counts: none for CPUs, and none where the interconnect has one level.
    pub fn server(&self, d: usize) -> Option<usize> {
        let device = &self.devices[d];
        device.server.filter(|_| self.spec.interconnect.is_some() && device.kind != DeviceKind::Cpu)
    }

    /// Time of node `v` on a device of `kind`; `None` where that kind cannot run it.
    pub fn time(&self, v: usize, kind: DeviceKind) -> Option<f64> {
        self.costs.kind(kind).nodes[v].map(|cost| cost.compute)
    }
}

/// Says what keeps an instance and a spec, and the costs of another model where there are any, from being a problem.
pub(super) fn validate_all(instance: &Instance, spec: &ProblemSpec, costs: Option<&Costs>) -> Result<(), Problems> {
    validate(instance)?;
    spec.validate(instance)?;
    let Some(costs) = costs else { return Ok(()) };
    let index = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    match Graph::new(instance.nodes.len(), &edges(instance, &index)) {
        Ok(graph) => costs.validate(&graph, spec),
        Err(cycle) => unreachable!("valid instances are acyclic: {cycle}"),
    }
}

fn edges(instance: &Instance, index: &FxHashMap<u64, usize>) -> Vec<(usize, usize)> {
    instance.edges.iter().map(|edge| (index[&edge.source], index[&edge.target])).collect()
}

fn held(devices: &[DeviceAssignment]) -> impl Iterator<Item = (usize, &u64)> {
    devices.iter().enumerate().flat_map(|(d, device)| device.nodes.iter().map(move |node| (d, node)))
}

fn unknown_classes(spec: &ProblemSpec, devices: &[DeviceAssignment]) -> Vec<Violation> {
    let classes = spec.platform.accelerators.len();
    let unknown = devices.iter().enumerate().filter_map(|(device, assignment)| match assignment.kind {
        DeviceKind::Accelerator(class) if class >= classes => Some(Violation::UnknownClass { device, class, classes }),
        _ => None,
    });
    unknown.collect()
}
