//! Backward passes: mirrored nodes, orphans, and edges that oppose the mirrored order.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::dag::Dag;

/// How a backward pass is added to a forward graph.
#[derive(Debug, Clone)]
pub(super) struct BackwardPlan {
    /// Which forward nodes have a backward partner of their colour.
    mirrored: Vec<bool>,
    /// Which partners consume the output of their forward node; those of sinks always do.
    saves: Vec<bool>,
    /// Whether the partners have the forward edges, reversed.
    mirrored_edges: bool,
    /// Backward nodes without forward partner.
    pub orphans: usize,
    /// Whether the orphans share a colour.
    orphans_share: bool,
    /// Further edges between backward nodes, taken where they close no cycle.
    extra: Vec<(Index, Index)>,
    /// Further edges from forward to backward nodes.
    feeds: Vec<(Index, Index)>,
}

/// Plans for forward graphs of at most `max` nodes.
pub(super) fn backward_plans(max: usize) -> impl Strategy<Value = BackwardPlan> {
    (
        vec(prop::bool::weighted(0.8), max),
        vec(any::<bool>(), max),
        prop::bool::weighted(0.7),
        0..=2usize,
        any::<bool>(),
        vec(any::<(Index, Index)>(), 0..=max),
        vec(any::<(Index, Index)>(), 0..=2),
    )
        .prop_map(|(mirrored, saves, mirrored_edges, orphans, orphans_share, extra, feeds)| BackwardPlan {
            mirrored,
            saves,
            mirrored_edges,
            orphans,
            orphans_share,
            extra,
            feeds,
        })
}

/// Adds the nodes and edges of a backward pass, with the colours that join it to the forward pass.
pub(super) fn add_backward_pass(dag: &mut Dag, plan: &BackwardPlan, colors: &mut Vec<Option<u64>>) {
    let forward = dag.nodes;
    let forward_edges = dag.edges.clone();
    let mut partner = vec![None; forward];
    for v in (0..forward).filter(|&v| plan.mirrored[v]) {
        let color = Some(v as u64);
        partner[v] = Some(dag.nodes);
        (colors[v], dag.nodes) = (color, dag.nodes + 1);
        colors.push(color);
    }
    for (v, partner) in partner.iter().enumerate() {
        let is_sink = !forward_edges.iter().any(|&(source, _)| source == v);
        if let Some(mirror) = partner.filter(|_| plan.saves[v] || is_sink) {
            dag.edges.push((v, mirror));
        }
    }
    for &(u, v) in forward_edges.iter().filter(|_| plan.mirrored_edges) {
        if let (Some(u), Some(v)) = (partner[u], partner[v]) {
            dag.edges.push((v, u));
        }
    }
    colors.extend(vec![plan.orphans_share.then_some(forward as u64); plan.orphans]);
    dag.nodes += plan.orphans;
    let backward = dag.nodes - forward;
    if backward == 0 {
        return;
    }
    for (u, v) in &plan.extra {
        dag.add(forward + u.index(backward), forward + v.index(backward));
    }
    for (u, v) in &plan.feeds {
        dag.add(u.index(forward), forward + v.index(backward));
    }
}
