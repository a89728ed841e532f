//! The stage graph of a split.

use std::collections::BTreeMap;

use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Message, Stage, StageGraph};
use crate::graph::{NodeId, NodeSet};
use crate::instance::validate::node_place;
use crate::instance::{Instance, Problems};
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};

impl StageGraph {
    /// The stages of a split of `problem`, which is that of `instance`: one for each device that holds nodes, in pipeline
    /// order. A stage computes and keeps what the problem's costs say of its nodes on their accelerator class, and sends
    /// each of their transfers once to every stage that needs it. Replicas that the split states are left aside.
    /// O(stages · (n + m) + m log m).
    ///
    /// # Errors
    /// Nodes that the split leaves out, that a CPU runs or an accelerator class that cannot, or whose output goes to another
    /// stage and has no size ([`Transfer::bytes`](crate::cost::Transfer::bytes)). And forward passes in which devices wait
    /// for each other: stages run one after another.
    pub fn of(instance: &Instance, problem: &Problem, split: &Solution) -> Result<Self, Problems> {
        let parts = parts(split);
        let part_of = part_of(instance, problem, &parts)?;
        let place = places(problem, &part_of, parts.len())?;
        let mut problems = Problems::default();
        let mut stages = vec![Stage::default(); parts.len()];
        let knows_parameters = instance.knows_parameters();
        let lasting = |v: NodeId, memory| instance.nodes[v].lasting(memory, knows_parameters);
        let mut members = vec![Vec::new(); parts.len()];
        part_of.iter().enumerate().for_each(|(v, &part)| members[part].push(v));
        for (part, (device, members)) in parts.iter().zip(members).enumerate() {
            let nodes = NodeSet::from_nodes(problem.node_count(), members);
            let stage = stage(problem, device.kind, &nodes, &lasting, &mut |v| {
                let cure = "put it on a device that has a time for it";
                problems.add(node_place(&instance.nodes[v]), format!("device {part} cannot run it"), cure);
            });
            stages[place[part]] = Stage { name: format!("stage {}", place[part]), ..stage };
        }
        let stage_of: Vec<usize> = part_of.iter().map(|&part| place[part]).collect();
        let messages = messages(problem, &stage_of, &mut |v| {
            let cure = "state its `output_bytes`, or the platform's `bandwidth`";
            problems.add(node_place(&instance.nodes[v]), "its output goes to another stage and has no size", cure);
        });
        problems.into_result()?;
        Ok(Self { name: instance.metadata.name.clone().unwrap_or_default(), stages, messages })
    }

    /// The stage of [`Self::of`] that holds each node, by the nodes' indices. O(n + m log m).
    ///
    /// # Errors
    /// Nodes that the split leaves out, that a CPU runs, and stages that wait for each other.
    pub fn stage_of_nodes(instance: &Instance, problem: &Problem, split: &Solution) -> Result<Vec<usize>, Problems> {
        let parts = parts(split);
        let part_of = part_of(instance, problem, &parts)?;
        let place = places(problem, &part_of, parts.len())?;
        Ok(part_of.into_iter().map(|part| place[part]).collect())
    }
}

/// The devices that hold nodes.
fn parts(split: &Solution) -> Vec<&DeviceAssignment> {
    split.devices.iter().filter(|device| !device.nodes.is_empty()).collect()
}

/// The part of each node.
fn part_of(instance: &Instance, problem: &Problem, parts: &[&DeviceAssignment]) -> Result<Vec<usize>, Problems> {
    let mut problems = Problems::default();
    let index = problem.index_of_ids();
    let mut part_of = vec![None; problem.node_count()];
    for (part, device) in parts.iter().enumerate() {
        if device.kind == DeviceKind::Cpu {
            let cure = "map splits without CPUs, as of `dagsplit solve --cpus 0`";
            problems.add(format!("device {part}"), "it is a CPU, which no topology has", cure);
        }
        device.nodes.iter().filter_map(|id| index.get(id)).for_each(|&v| part_of[v] = Some(part));
    }
    for (node, _) in instance.nodes.iter().zip(&part_of).filter(|(_, part)| part.is_none()) {
        problems.add(node_place(node), "it is on no device", "give a whole split");
    }
    problems.into_result()?;
    Ok(part_of.into_iter().flatten().collect())
}

/// What a device of this kind computes and keeps for `nodes`, where so much `lasts` of a node's memory; those that it cannot run
/// are told.
fn stage(
    problem: &Problem,
    kind: DeviceKind,
    nodes: &NodeSet,
    lasts: &dyn Fn(NodeId, f64) -> f64,
    cannot_run: &mut dyn FnMut(NodeId),
) -> Stage {
    let memory = problem.costs.memory_of(&problem.graph, nodes, kind).unwrap_or_default();
    let (mut stage, mut lasting) = (Stage { memory, ..Stage::default() }, 0.0);
    for v in nodes.iter() {
        stage.parameter_bytes += problem.parameter_bytes[v];
        let Some(cost) = problem.costs.node(v, kind) else {
            cannot_run(v);
            continue;
        };
        let of_pass = if problem.backward[v] { &mut stage.backward } else { &mut stage.forward };
        *of_pass += cost.compute;
        lasting += lasts(v, cost.memory);
    }
    stage.lasting_bytes = Some(lasting);
    stage
}

/// The stage that each part is: its place in a topological order of the forward pass.
fn places(problem: &Problem, part_of: &[usize], parts: usize) -> Result<Vec<usize>, Problems> {
    let mut quotient = DiGraph::<(), ()>::new();
    // toposort puts later nodes first where it may, so they are added last to first.
    let nodes: Vec<NodeIndex> = (0..parts).map(|_| quotient.add_node(())).collect();
    let node_of = |part: usize| nodes[parts - 1 - part];
    for &(source, target) in problem.edges.iter().filter(|&&(u, v)| !problem.backward[u] && !problem.backward[v]) {
        if part_of[source] != part_of[target] {
            quotient.update_edge(node_of(part_of[source]), node_of(part_of[target]), ());
        }
    }
    let mut place: Vec<usize> = (0..parts).collect();
    let Ok(order) = toposort(&quotient, None) else {
        let mut problems = Problems::default();
        let cure = "map splits that are contiguous, as of `dagsplit solve`";
        problems.add("split", "devices wait for each other within the forward pass, as no stages do", cure);
        return Err(problems);
    };
    order.into_iter().enumerate().for_each(|(i, node)| place[parts - 1 - node.index()] = i);
    Ok(place)
}

/// Each transfer once to each other stage that needs it; nodes whose output has no size are told, once each.
fn messages(problem: &Problem, stage_of: &[usize], no_size: &mut dyn FnMut(NodeId)) -> Vec<Message> {
    let mut sent: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut told = None;
    for transfer in &problem.costs.transfers {
        let source = stage_of[transfer.source];
        let mut targets: Vec<usize> =
            transfer.consumers.iter().map(|&v| stage_of[v]).filter(|&s| s != source).collect();
        targets.sort_unstable();
        targets.dedup();
        match transfer.bytes {
            Some(bytes) => targets.iter().for_each(|&target| *sent.entry((source, target)).or_default() += bytes),
            None if targets.is_empty() || told == Some(transfer.source) => {}
            None => {
                told = Some(transfer.source);
                no_size(transfer.source);
            }
        }
    }
    sent.into_iter().map(|((source, target), bytes)| Message { source, target, bytes }).collect()
}
