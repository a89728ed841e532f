//! Putting graphs, passes, colours, costs and devices together.

use crate::instance::{Edge, Instance, Node, Platform};
use proptest::sample::Index;

use super::backward::{BackwardPlan, add_backward_pass};
use super::costs::NodeCosts;
use super::dag::Dag;

/// The instance of these parts.
pub(super) fn build(
    mut dag: Dag,
    plan: Option<BackwardPlan>,
    shares: &[(Index, Index)],
    costs: &[NodeCosts],
    (mut platform, is_tight): (Platform, bool),
) -> Instance {
    let forward = dag.nodes;
    let mut colors = vec![None; forward];
    if let Some(mut plan) = plan {
        // There are costs for two nodes of each group.
        plan.orphans = plan.orphans.min(costs.len() / 2 - forward);
        add_backward_pass(&mut dag, &plan, &mut colors);
    }
    for (a, b) in shares {
        share_color(&mut colors, a.index(forward), b.index(forward));
    }
    // Ids fall as indices rise, so that no one can confuse the two.
    let id = |v: usize| (costs.len().max(100) - v) as u64;
    let node = |v: usize| Node {
        accelerator_times: costs[v].accelerator_times[..platform.accelerators.len()]
            .iter()
            .map(|time| time.map(exact))
            .collect(),
        cpu_time: costs[v].cpu_time.map(exact),
        memory: exact(costs[v].memory),
        transfer_time: exact(costs[v].transfer_time),
        output_bytes: Some(exact(costs[v].output_bytes)),
        parameter_bytes: exact(costs[v].parameter_bytes),
        backward: v >= forward,
        color_class: colors[v],
        ..Node::new(id(v))
    };
    let mut nodes: Vec<Node> = (0..dag.nodes).map(node).collect();
    make_runnable(&mut nodes);
    if is_tight {
        tighten_memory(&mut platform, &nodes);
    }
    Instance {
        nodes,
        edges: dag.edges.iter().map(|&(u, v)| Edge { source: id(u), target: id(v) }).collect(),
        platform,
        ..Instance::default()
    }
}

/// A cost, far below 2⁵³.
fn exact(cost: u64) -> f64 {
    cost as f64
}

/// Adds to each accelerator's memory what an equal share of all nodes needs.
fn tighten_memory(platform: &mut Platform, nodes: &[Node]) {
    let needed: f64 = nodes.iter().map(|node| node.memory).sum();
    let count: usize = platform.accelerators.iter().map(|class| class.count).sum();
    for memory in platform.accelerators.iter_mut().filter_map(|class| class.memory.as_mut()) {
        *memory += (needed / count.max(1) as f64).ceil();
    }
}

/// Gives CPU times to the nodes of each colour class that no kind of device could run as a whole.
fn make_runnable(nodes: &mut [Node]) {
    let runs = |node: &Node, kind: usize| node.accelerator_times.get(kind).copied().unwrap_or(node.cpu_time).is_some();
    for v in 0..nodes.len() {
        let color = nodes[v].color_class;
        let group: Vec<usize> =
            (0..nodes.len()).filter(|&w| w == v || color.is_some() && nodes[w].color_class == color).collect();
        let kinds = 0..=nodes[v].accelerator_times.len();
        if !kinds.into_iter().any(|kind| group.iter().all(|&w| runs(&nodes[w], kind))) {
            group.iter().for_each(|&w| *nodes[w].cpu_time.get_or_insert(0.0) += 1.0);
        }
    }
}

/// Gives the classes of two forward nodes one colour: layers that share weights.
fn share_color(colors: &mut [Option<u64>], a: usize, b: usize) {
    if a == b {
        return;
    }
    let color = colors[a].unwrap_or(50);
    let merged = colors[b];
    for (v, other) in colors.iter_mut().enumerate() {
        if v == a || v == b || (merged.is_some() && *other == merged) {
            *other = Some(color);
        }
    }
}
