//! Questions of several chunks on each device: instances for them, and what is known of small ones.

use super::options::time;
use super::partitioner::Case;
use crate::graph::order_graph::Groups;
use crate::instance::{Instance, Node, Platform};
use crate::problem::{Chunks, DeviceAssignment, Problem, Solution};

/// An instance on its accelerators of the first class alone, which can run every node.
pub(super) fn of_one_class(instance: &Instance) -> Instance {
    let classes = instance.platform.accelerators.iter().take(1).cloned().collect();
    let platform = Platform { accelerators: classes, cpus: 0, ..instance.platform.clone() };
    let node = |node: &Node| Node { accelerator_times: vec![Some(time(node))], ..node.clone() };
    Instance { platform, nodes: instance.nodes.iter().map(node).collect(), ..instance.clone() }
}

/// The least that the verifier says of any way to put the colour groups into chunks on some of the devices, if there is one.
/// O(stages^groups).
pub(super) fn best(case: &Case, problem: &Problem, chunks: Chunks) -> Option<f64> {
    let groups = Groups::new(&problem.color_class).members;
    let most = problem.device_kinds().first().map_or(0, |&kind| problem.device_count(kind));
    let lengths = (1..=most).filter(|devices| chunks.count * devices <= groups.len());
    let values = lengths.flat_map(|devices| {
        let stages = chunks.count * devices;
        let value = |code: usize| {
            let stage_of: Vec<usize> = (0..groups.len()).map(|g| code / stages.pow(g as u32) % stages).collect();
            let is_filled = (0..stages).all(|stage| stage_of.contains(&stage));
            let split = is_filled.then(|| split(problem, &groups, &stage_of, chunks, devices))?;
            case.verify(&split).ok().map(|verified| verified.objective())
        };
        (0..stages.pow(groups.len() as u32)).filter_map(value).collect::<Vec<f64>>()
    });
    values.min_by(f64::total_cmp)
}

/// The split with each group in its stage.
fn split(problem: &Problem, groups: &[Vec<usize>], stage_of: &[usize], chunks: Chunks, devices: usize) -> Solution {
    let mut held = vec![DeviceAssignment::new(problem.device_kinds()[0], Vec::new()); devices];
    for stage in 0..chunks.count * devices {
        let members = groups.iter().zip(stage_of).filter(|(_, of)| **of == stage).flat_map(|(members, _)| members);
        let nodes: Vec<u64> = members.map(|&v| problem.ids[v]).collect();
        let device = &mut held[chunks.device_of(stage, devices)];
        device.nodes.extend(&nodes);
        device.chunks.push(nodes);
    }
    Solution { devices: held, objective: None }
}
