//! From the best label back to the split.

use super::model::Model;
use super::search::Pass;
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};

/// What one device runs at once: a subgraph of an accelerator, or a unit on the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The index of the accelerator's class in the model; `None` is the CPU.
    pub class: Option<usize>,
    /// The units, ascending.
    pub units: Vec<usize>,
}

/// The blocks that lead to a label of the full ideal, in order.
pub(super) fn blocks(pass: &Pass, label: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut state, mut label) = (pass.lattice.len() - 1, label);
    while state != 0 {
        let ideal = state;
        let used = pass.labels(state).used(label);
        let mut origin = pass.labels(state).origin(label);
        while origin.state as usize >= pass.lattice.len() {
            origin = pass.labels(origin.state as usize).origin(origin.label as usize);
        }
        (state, label) = (origin.state as usize, origin.label as usize);
        let before = pass.labels(state).used(label);
        let class = (0..pass.model.classes.len()).find(|&class| used.of(class) > before.of(class));
        blocks.push(Block { class, units: pass.lattice.difference(ideal, state) });
    }
    blocks.reverse();
    blocks
}

/// The split that runs these blocks on devices of their own, and everything else on one CPU.
pub(super) fn solution(pass: &Pass, blocks: &[Block], objective: f64) -> Solution {
    let (model, problem) = (pass.model, pass.model.problem);
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
    Solution { devices, objective: Some(objective) }
}

/// The split that runs everything on one CPU, where it can.
pub(super) fn all_on_cpu(model: &Model) -> Option<Solution> {
    let mut ready = vec![0.0; model.ports.len()];
    let mut end = 0.0f64;
    for (unit, run) in model.cpu.iter().enumerate() {
        let run = run.as_ref()?;
        let output = |(earliest, waits): (&f64, &Vec<(u32, f64)>)| {
            waits.iter().map(|&(p, time)| ready[p as usize] + time).fold(*earliest, f64::max)
        };
        let times: Vec<f64> = run.earliest.iter().zip(&run.waits).map(output).collect();
        model.outputs.row(unit).iter().zip(&times).for_each(|(&p, &time)| ready[p as usize] = time);
        end = times.last().copied().unwrap_or(0.0).max(end);
    }
    let nodes: Vec<usize> = (0..model.problem.node_count()).collect();
    let devices = vec![assignment(model.problem, DeviceKind::Cpu, &nodes)];
    (model.problem.spec.platform.cpus > 0).then_some(Solution { devices, objective: Some(end) })
}

fn assignment(problem: &Problem, kind: DeviceKind, nodes: &[usize]) -> DeviceAssignment {
    DeviceAssignment::new(kind, nodes.iter().map(|&v| problem.ids[v]).collect())
}
