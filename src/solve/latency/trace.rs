//! From the labels of a pass to the split.

use super::labels::Used;
use super::lattice::Lattice;
use super::model::Model;
use crate::cost::{Terms, max_of_pieces};
use crate::graph::NodeId;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};
use crate::solve::objective::{Held, all_fit, objective};

/// What one device runs at once: a subgraph of an accelerator, or a unit on the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The index of the accelerator's class in the model; `None` is the CPU.
    pub class: Option<usize>,
    /// The units, ascending.
    pub units: Vec<usize>,
}

/// The nodes that an accelerator runs, with its class in the model.
pub(super) type NodeBlock = (usize, Vec<NodeId>);

/// The blocks between the ideals of a path, which ascend, each with the accelerators used before it or after it.
pub(super) fn blocks(model: &Model, lattice: &Lattice, path: &[(usize, Used)]) -> Vec<Block> {
    let block = |pair: &[(usize, Used)]| {
        let [(from, before), (to, after)] = [pair[0], pair[1]];
        let class = (0..model.classes.len()).find(|&class| before.of(class) != after.of(class));
        Block { class, units: lattice.difference(to, from) }
    };
    path.windows(2).map(block).collect()
}

/// The split that runs these blocks, which come in an order in which they can run: each accelerator's on a device of its
/// own, and everything else on one CPU.
pub(super) fn solution(model: &Model, blocks: &[Block]) -> Solution {
    let problem = model.problem;
    let mut on_cpu = vec![true; problem.node_count()];
    let mut devices = Vec::new();
    for block in blocks {
        let Some(class) = block.class else { continue };
        let mut nodes: Vec<usize> = block.units.iter().flat_map(|&u| model.units.members[u].iter().copied()).collect();
        nodes.sort_unstable();
        nodes.iter().for_each(|&v| on_cpu[v] = false);
        devices.push(assignment(problem, model.classes[class].kind, &nodes));
    }
    let rest: Vec<usize> = (0..problem.node_count()).filter(|&v| on_cpu[v]).collect();
    if !rest.is_empty() {
        devices.push(assignment(problem, DeviceKind::Cpu, &rest));
    }
    Solution { devices, objective: Some(latency(model, blocks)) }
}

/// The split whose accelerators run these blocks, and a CPU the rest; `None` where it is none.
pub(super) fn of_nodes(model: &Model, blocks: &[NodeBlock]) -> Option<Solution> {
    let mut place = vec![blocks.len(); model.problem.node_count()];
    for (d, (_, nodes)) in blocks.iter().enumerate() {
        nodes.iter().for_each(|&v| place[v] = d);
    }
    let kinds = blocks.iter().map(|&(class, _)| model.classes[class].kind).chain([DeviceKind::Cpu]);
    evaluated(model.problem, &kinds.collect::<Vec<_>>(), &place)
}

/// The split with each node at its place, and its latency; `None` where it is none.
pub(super) fn evaluated(problem: &Problem, kinds: &[DeviceKind], place: &[usize]) -> Option<Solution> {
    let mut nodes = vec![Vec::new(); kinds.len()];
    place.iter().enumerate().for_each(|(v, &d)| nodes[d].push(v));
    let held: Vec<Held> = kinds.iter().zip(&nodes).map(|(&kind, nodes)| Held::new(kind, vec![nodes.clone()])).collect();
    let is_whole = |group: &Vec<NodeId>| group.iter().all(|&v| place[v] == place[group[0]]);
    let devices = kinds.iter().zip(&nodes).filter(|(_, nodes)| !nodes.is_empty());
    let devices = devices.map(|(&kind, nodes)| assignment(problem, kind, nodes)).collect();
    let split = Solution { devices, objective: Some(objective(problem, &held)?) };
    let has_cpu = problem.spec.platform.cpus > 0 || nodes[kinds.len() - 1].is_empty();
    let is_valid = has_cpu && all_fit(problem, &held) && Groups::new(&problem.color_class).members.iter().all(is_whole);
    is_valid.then_some(split)
}

/// The blocks that run everything on one CPU, where it can.
pub(super) fn all_on_cpu(model: &Model) -> Option<Vec<Block>> {
    let blocks: Vec<Block> = (0..model.unit_count()).map(|u| Block { class: None, units: vec![u] }).collect();
    let can_run = model.problem.spec.platform.cpus > 0 && model.cpu.iter().all(Option::is_some);
    can_run.then_some(blocks)
}

/// When the last of these blocks ends.
fn latency(model: &Model, blocks: &[Block]) -> f64 {
    let mut ready = vec![0.0; model.ports.len()];
    let mut end = 0.0f64;
    for block in blocks {
        let last = match block.class {
            Some(class) => run_on_accelerator(model, class, &block.units, &mut ready),
            None => block.units.iter().map(|&u| run_on_cpu(model, u, &mut ready)).fold(0.0, f64::max),
        };
        end = end.max(last);
    }
    end
}

/// Runs a unit on the CPU; when its last node ends.
fn run_on_cpu(model: &Model, unit: usize, ready: &mut [f64]) -> f64 {
    let Some(run) = &model.cpu[unit] else { return 0.0 };
    let output = |(earliest, waits): (&f64, &Vec<(u32, f64)>)| {
        waits.iter().map(|&(p, time)| ready[p as usize] + time).fold(*earliest, f64::max)
    };
    let times: Vec<f64> = run.earliest.iter().zip(&run.waits).map(output).collect();
    model.outputs.row(unit).iter().zip(&times).for_each(|(&p, &time)| ready[p as usize] = time);
    times.last().copied().unwrap_or(0.0)
}

/// Runs a set of units on an accelerator; when it ends.
fn run_on_accelerator(model: &Model, class: usize, units: &[usize], ready: &mut [f64]) -> f64 {
    let end = inputs(model, units).into_iter().map(|p| ready[p]).fold(0.0, f64::max) + duration(model, class, units);
    outputs(model, units).for_each(|p| ready[p] = end);
    end
}

/// What a set of units takes on an accelerator.
pub(super) fn duration(model: &Model, class: usize, units: &[usize]) -> f64 {
    let costs = &model.classes[class];
    let leaves = |p: &usize| model.ports[*p].units.iter().any(|u| units.binary_search(u).is_err());
    let terms = Terms {
        compute: units.iter().filter_map(|&u| costs.compute[u]).sum(),
        comm_in: inputs(model, units).into_iter().map(|p| costs.transfer[p]).sum(),
        comm_out: outputs(model, units).filter(leaves).map(|p| costs.transfer[p]).sum(),
    };
    max_of_pieces(&costs.pieces, &terms)
}

/// The ports that a set of units consumes, ascending.
fn inputs(model: &Model, units: &[usize]) -> Vec<usize> {
    let mut inputs: Vec<usize> = units.iter().flat_map(|&u| model.inputs.row(u)).map(|&p| p as usize).collect();
    inputs.retain(|&p| units.binary_search(&model.ports[p].unit).is_err());
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

fn outputs<'a>(model: &'a Model, units: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    units.iter().flat_map(|&u| model.outputs.row(u)).map(|&p| p as usize)
}

fn assignment(problem: &Problem, kind: DeviceKind, nodes: &[usize]) -> DeviceAssignment {
    DeviceAssignment::new(kind, nodes.iter().map(|&v| problem.ids[v]).collect())
}
