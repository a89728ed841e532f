//! Contraction of what no acyclic split can part: colour classes and strongly connected groups of them.

use petgraph::graph::DiGraph;

use super::Reduced;
use crate::graph::order_graph::Groups;
use crate::graph::{Graph, NodeId, topological};
use crate::problem::Problem;

/// Contracts the colour classes of `problem`, then the cycles among them. Units are in topological order.
pub(super) fn contract(problem: &Problem) -> Reduced {
    let groups = Groups::new(&problem.color_class);
    let order = problem.order_graph(&groups);
    let between: Vec<(usize, usize)> =
        order.edges.iter().map(|&(a, b)| (order.group_of[a], order.group_of[b])).filter(|&(a, b)| a != b).collect();
    let (component, count) = components(groups.members.len(), &between);
    let unit_of: Vec<usize> = groups.of_node.iter().map(|&g| component[g]).collect();
    let edges: Vec<(usize, usize)> =
        between.iter().map(|&(a, b)| (component[a], component[b])).filter(|&(a, b)| a != b).collect();
    let (unit_of, graph) = sorted(problem, &unit_of, count, &edges);
    Reduced::assemble(problem, &unit_of, count, graph)
}

/// The nodes that no split into atomic subgraphs can part: colour classes, and those that need each other's outputs,
/// in either pass. Units are numbered by their first node. O(n + m).
pub fn atomic_units(problem: &Problem) -> Groups {
    let groups = Groups::new(&problem.color_class);
    let between: Vec<(usize, usize)> =
        problem.graph.edges().map(|(a, b)| (groups.of_node[a], groups.of_node[b])).collect();
    let (component, _) = components(groups.len(), &between);
    let unit: Vec<Option<u64>> = groups.of_node.iter().map(|&g| Some(component[g] as u64)).collect();
    Groups::new(&unit)
}

/// Joins units that share a label, then the cycles among them.
pub(super) fn fuse(problem: &Problem, reduced: &Reduced, label: &[usize]) -> Reduced {
    let between: Vec<(usize, usize)> =
        reduced.order.edges().map(|(a, b)| (label[a], label[b])).filter(|&(a, b)| a != b).collect();
    let (component, count) = components(label.len(), &between);
    // Labels that stand for no unit have components of their own: number those that do.
    let mut index = vec![usize::MAX; count];
    let mut units = 0;
    for &l in label {
        if index[component[l]] == usize::MAX {
            index[component[l]] = units;
            units += 1;
        }
    }
    let mut unit_of = vec![0; problem.node_count()];
    for (u, nodes) in reduced.members.iter().enumerate() {
        nodes.iter().for_each(|&v| unit_of[v] = index[component[label[u]]]);
    }
    let edges: Vec<(usize, usize)> =
        between.iter().map(|&(a, b)| (index[component[a]], index[component[b]])).filter(|&(a, b)| a != b).collect();
    let (unit_of, graph) = sorted(problem, &unit_of, units, &edges);
    Reduced::assemble(problem, &unit_of, units, graph)
}

/// Strongly connected components: the component of each of `n` groups, and their number.
fn components(n: usize, edges: &[(usize, usize)]) -> (Vec<usize>, usize) {
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(n, edges.len());
    for _ in 0..n {
        graph.add_node(());
    }
    for &(a, b) in edges {
        graph.add_edge((a as u32).into(), (b as u32).into(), ());
    }
    let components = petgraph::algo::kosaraju_scc(&graph);
    let mut component = vec![0; n];
    for (i, nodes) in components.iter().enumerate() {
        nodes.iter().for_each(|v| component[v.index()] = i);
    }
    (component, components.len())
}

/// Renumbers units so that every order edge ascends; ties go to the unit of the earliest original node.
pub(super) fn sorted(
    problem: &Problem,
    unit_of: &[usize],
    count: usize,
    edges: &[(usize, usize)],
) -> (Vec<usize>, Graph) {
    let mut first: Vec<NodeId> = vec![problem.node_count(); count];
    for (v, &u) in unit_of.iter().enumerate().rev() {
        first[u] = v;
    }
    let graph = acyclic(count, edges);
    let mut rank = vec![0; count];
    for (i, u) in topological::by_priority(&graph, |u| first[u]).into_iter().enumerate() {
        rank[u] = i;
    }
    let renumbered: Vec<(usize, usize)> = edges.iter().map(|&(a, b)| (rank[a], rank[b])).collect();
    (unit_of.iter().map(|&u| rank[u]).collect(), acyclic(count, &renumbered))
}

fn acyclic(n: usize, edges: &[(usize, usize)]) -> Graph {
    Graph::new(n, edges).unwrap_or_else(|e| unreachable!("fused units are acyclic: {e}"))
}
