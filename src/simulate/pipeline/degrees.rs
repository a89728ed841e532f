//! The pipelines of a split into stages of one data degree, whose nodes run in options.

use super::{Communication, Links, Pipeline};
use crate::cost::StageCosts;
use crate::mapping::{Counted, Device, Mapping, MappingProblem, OfOptions, StageCost, StageGraph, Topology};
use crate::problem::{DeviceKind, Problem};
use crate::simulate::error::SimulateError;
use crate::verify::Verified;

impl Pipeline {
    /// The pipelines of a verified split of `problem`, which chooses degrees: one for each replica of the stages, whose devices
    /// together are one that computes a microbatch as the nodes' options say. Between any two there is a link of the bandwidth of
    /// a device, which holds all chunks of its, and the copies of a stage are joined in a ring, which moves half of what PipeDream's planner counts
    /// ([`Degrees`](crate::problem::Degrees)). In `inference` all that options and edges state is for the forward pass.
    /// O(options + edges + copies²).
    ///
    /// # Errors
    /// [`SimulateError::UnequalDegrees`] where stages have several data degrees.
    ///
    /// # Panics
    /// If `problem` does not choose degrees.
    pub fn of_degrees(
        problem: &Problem,
        split: &Verified,
        links: Links,
        is_inference: bool,
    ) -> Result<Self, SimulateError> {
        let Some(costs): Option<&StageCosts> = problem.costs.stages.as_ref() else { panic!("no degrees are chosen") };
        let used = || split.devices().iter().filter(|device| !device.nodes().is_empty());
        let replicas = used().next().map_or(1, |stage| stage.replicas());
        if let Some(other) = used().map(|stage| stage.replicas()).find(|&other| other != replicas) {
            return Err(SimulateError::UnequalDegrees { one: replicas, other });
        }
        let how = OfOptions { bandwidth: costs.bandwidth, replicas, is_inference };
        let stages = StageGraph::of_options(problem, costs, &split.to_solution(), how);
        let holder = if problem.spec.chunks.is_some() { "device" } else { "stage" };
        let copy = |(place, kind, replica): (usize, DeviceKind, usize)| {
            let of_replicas = format!("{holder} {place}, replica {replica}");
            let name = if replicas > 1 { of_replicas } else { format!("{holder} {place}") };
            Device { memory: problem.memory_limit(kind), ..Device::new(name) }
        };
        let stage = |(stage, kind): (usize, DeviceKind)| (0..replicas).map(move |replica| (stage, kind, replica));
        let devices: Vec<Device> = used().map(|stage| stage.kind()).enumerate().flat_map(stage).map(copy).collect();
        let homes = problem.spec.homes(used().count());
        let copies = |home: usize| home * replicas..(home + 1) * replicas;
        let mapping = Mapping { devices: homes.into_iter().flat_map(copies).collect() };
        let topology = Topology::new("equal links", "degrees", devices, |_, _| costs.bandwidth);
        let cost = StageCost::additive(Counted::Both);
        Self::of_mapping(&MappingProblem { stages, replicas, topology, cost }, &mapping, Communication::from(links))
    }
}
