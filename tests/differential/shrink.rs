//! Smaller cases with the same fault.

use dagsplit::instance::{Instance, Node, validate};
use dagsplit::problem::{CostKind, MemoryModel, Scope};

use super::generator::Case;

/// Takes steps to smaller cases that still `fail`, until none does.
pub fn shrink(mut case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    while let Some(smaller) = smaller(&case).into_iter().find(|smaller| is_valid(smaller) && fails(smaller)) {
        case = smaller;
    }
    case
}

fn is_valid(case: &Case) -> bool {
    validate(&case.instance).is_ok() && case.spec.validate(&case.instance).is_ok()
}

/// Every case that is one step smaller, the largest steps first.
fn smaller(case: &Case) -> Vec<Case> {
    let nodes = (0..case.instance.nodes.len()).map(|v| without_node(case, v));
    let edges = (0..case.instance.edges.len()).map(|e| changed(case, |case| _ = case.instance.edges.remove(e)));
    let options = [
        changed(case, |case| case.spec.replication = None),
        changed(case, |case| case.spec.interconnect = None),
        changed(case, |case| case.spec.memory = MemoryModel::Additive),
        changed(case, |case| case.spec.cost = CostKind::Additive),
        changed(case, |case| case.instance.platform.cpus = case.instance.platform.cpus.saturating_sub(1)),
    ];
    let classes = (0..case.instance.platform.accelerators.len()).flat_map(|class| {
        let fewer = changed(case, |case| {
            let count = &mut case.instance.platform.accelerators[class].count;
            *count = count.saturating_sub(1);
        });
        [fewer, changed(case, |case| case.instance.platform.accelerators[class].memory = None)]
    });
    let count = numbers(&mut case.instance.clone()).len();
    let zeros = (0..count).map(|i| changed(case, |case| *numbers(&mut case.instance)[i] = 0.0));
    let ones = (0..count).map(|i| {
        changed(case, |case| {
            let number = &mut *numbers(&mut case.instance)[i];
            *number = if *number == 0.0 { 0.0 } else { 1.0 };
        })
    });
    let all = nodes.chain(edges).chain(options).chain(classes).chain(zeros).chain(ones);
    all.filter(|smaller| smaller != case).collect()
}

fn changed(case: &Case, change: impl FnOnce(&mut Case)) -> Case {
    let mut case = case.clone();
    change(&mut case);
    case.spec.platform = case.instance.platform.clone();
    case
}

fn without_node(case: &Case, v: usize) -> Case {
    changed(case, |case| {
        let id = case.instance.nodes.remove(v).id;
        case.instance.edges.retain(|edge| edge.source != id && edge.target != id);
        if let Scope::Linearized(line) = &mut case.spec.scope {
            line.retain(|&u| u != v);
            line.iter_mut().filter(|u| **u > v).for_each(|u| *u -= 1);
        }
    })
}

/// All costs and sizes of the nodes.
fn numbers(instance: &mut Instance) -> Vec<&mut f64> {
    fn of_node(node: &mut Node) -> Vec<&mut f64> {
        let times = node.accelerator_times.iter_mut().flatten().chain(&mut node.cpu_time);
        times
            .chain([&mut node.transfer_time, &mut node.memory, &mut node.parameter_bytes])
            .chain(&mut node.output_bytes)
            .collect()
    }
    instance.nodes.iter_mut().flat_map(of_node).collect()
}
