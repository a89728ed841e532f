//! Splits of a model without side heads, with these again.

use super::model::Model;
use super::trace::evaluated;
use crate::graph::order_graph::Groups;
use crate::graph::{NodeId, topological};
use crate::problem::{DeviceKind, Solution, fits};

/// Splits of `model` that put the nodes which `relaxed` lacks on a CPU, or to what feeds them as far as there is room: those
/// that are valid, each with its latency.
pub(super) fn add(model: &Model, relaxed: &Model, split: &Solution) -> Vec<Solution> {
    let problem = model.problem;
    let index = problem.index_of_ids();
    let accelerators: Vec<_> = split.devices.iter().filter(|device| device.kind != DeviceKind::Cpu).collect();
    let kinds: Vec<DeviceKind> = accelerators.iter().map(|device| device.kind).chain([DeviceKind::Cpu]).collect();
    let mut place = vec![accelerators.len(); problem.node_count()];
    for (d, device) in accelerators.iter().enumerate() {
        device.nodes.iter().for_each(|id| place[index[id]] = d);
    }
    let on_cpus = evaluated(problem, &kinds, &place);
    join(model, relaxed, &kinds, &mut place);
    [on_cpus, evaluated(problem, &kinds, &place)].into_iter().flatten().collect()
}

/// Gives each node that `relaxed` lacks the place of its colour, else that of a node that feeds it, where there is room.
fn join(model: &Model, relaxed: &Model, kinds: &[DeviceKind], place: &mut [usize]) {
    let problem = model.problem;
    let is_kept = |v: NodeId| relaxed.units.of_node[v].is_some() || model.units.of_node[v].is_none();
    let bytes = |v: NodeId, kind: DeviceKind| problem.costs.node(v, kind).map(|cost| cost.memory);
    let groups = Groups::new(&problem.color_class);
    let (mut held, mut placed) = (vec![0.0; kinds.len()], vec![false; problem.node_count()]);
    for v in 0..problem.node_count() {
        held[place[v]] += if is_kept(v) { bytes(v, kinds[place[v]]).unwrap_or(0.0) } else { 0.0 };
    }
    for v in topological::smallest_first(&problem.graph).into_iter().filter(|&v| !is_kept(v)) {
        let mate = groups.members[groups.of_node[v]].iter().find(|&&w| is_kept(w) || placed[w]);
        let mut before = problem.graph.predecessors(v).iter().map(|&u| place[u as usize]);
        let has_place = |d: &usize| {
            let limit = problem.memory_limit(kinds[*d]);
            bytes(v, kinds[*d]).is_some_and(|bytes| fits(held[*d] + bytes, limit))
        };
        let fed = before.rfind(has_place).unwrap_or(kinds.len() - 1);
        place[v] = mate.map_or(fed, |&w| place[w]);
        placed[v] = true;
        held[place[v]] += bytes(v, kinds[place[v]]).unwrap_or(0.0);
    }
}
