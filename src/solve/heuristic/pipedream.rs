//! PipeDream's optimizer: branchings are contracted until a path is left, which is split optimally.

use petgraph::unionfind::UnionFind;

use super::{outcome, unsupported, work_bound};
use crate::graph::biconnected;
use crate::graph::order_graph::Groups;
use crate::preprocess::Unordered;
use crate::problem::{Objective, Problem, Scope};
use crate::solve::Clustering;
use crate::solve::LinearizedDp;
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported};

/// Contracts each branching of a layer graph to one node, up to the node where its branches meet again.
///
/// As in the program of Tarnawski 2020: colour classes are contracted in each pass, and the biconnected components of
/// the edges are found, without regard to their direction; the nodes at which the edges of one component begin are joined.
/// So the node at which branches meet begins what follows. What is left of the forward graph is mostly a path.
///
/// Inputs and broadcasts would tie the graph together: edges from a node without compute time that nothing feeds, or
/// that feeds more than `broadcast` others, are left out. PipeDream's own optimizer drops the inputs; the program of
/// Tarnawski 2020 names such nodes of its graphs by their ids, and this rule finds the same ones. O(n + m log m).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branchings {
    /// The most consumers of a node without compute time that count as branches.
    pub broadcast: usize,
}

impl Default for Branchings {
    fn default() -> Self {
        Self { broadcast: 4 }
    }
}

impl Branchings {
    /// The cluster of each node.
    pub fn of(&self, problem: &Problem) -> Vec<usize> {
        let groups = Groups::new(&problem.color_class);
        // The two passes of a class, side by side.
        let vertex = |v: usize| 2 * groups.of_node[v] + usize::from(problem.backward[v]);
        let n = 2 * groups.len();
        let mut edges: Vec<(usize, usize)> = problem.graph.edges().map(|(u, v)| (vertex(u), vertex(v))).collect();
        edges.retain(|(u, v)| u != v);
        edges.sort_unstable();
        edges.dedup();
        let (mut consumers, mut is_fed, mut computes) = (vec![0; n], vec![false; n], vec![false; n]);
        for &(u, v) in &edges {
            consumers[u] += 1;
            is_fed[v] = true;
        }
        (0..problem.node_count()).for_each(|v| computes[vertex(v)] |= takes_time(problem, v));
        edges.retain(|&(u, _)| computes[u] || is_fed[u] && consumers[u] <= self.broadcast);
        let component = biconnected::components(n, &edges);
        let mut joined = UnionFind::new(n);
        let mut first_tail = vec![None; edges.len()];
        for (&(u, _), &component) in edges.iter().zip(&component) {
            joined.union(u, *first_tail[component].get_or_insert(u));
        }
        (0..problem.node_count()).map(|v| joined.find(vertex(v))).collect()
    }
}

/// Whether some kind of device takes time for node `v`.
fn takes_time(problem: &Problem, v: usize) -> bool {
    problem.device_kinds().iter().any(|&kind| problem.costs.node(v, kind).is_some_and(|cost| cost.compute > 0.0))
}

impl Clustering for Branchings {
    fn clusters(&self, problem: &Problem, _cx: &mut SearchContext) -> Result<Vec<usize>, SolveError> {
        Ok(self.of(problem))
    }
}

/// PipeDream's optimizer (Narayanan et al. 2019, section 3.1; as a baseline in Tarnawski 2020, section 6).
///
/// It contracts [`Branchings`] and splits the path that is left by linearized DP, with replicas and servers where the
/// problem has them. Optimal for the path: PipeDream's own levels of bandwidth are solved one after another, ours at
/// once. Where no path is left, several topological orders are tried. Loads are those of the problem, so that results
/// compare; PipeDream's own are closest to [`CostKind::Duplex`](crate::problem::CostKind::Duplex).
/// The splits are acyclic, and count in every wider scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipeDream {
    /// What is contracted.
    pub branchings: Branchings,
    /// How many orders to try where no path is left; at least 1.
    pub orders: usize,
}

impl Default for PipeDream {
    fn default() -> Self {
        Self { branchings: Branchings::default(), orders: 16 }
    }
}

impl PipeDream {
    fn splitter(&self) -> LinearizedDp {
        LinearizedDp { orders: self.orders }
    }
}

impl Solver for PipeDream {
    fn name(&self) -> &str {
        "pipedream"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        match (&problem.spec.objective, &problem.spec.scope) {
            (Objective::Latency { .. }, _) => Err(unsupported(self.name(), "it minimises loads, not latency")),
            (_, Scope::Linearized(_)) => {
                Err(unsupported(self.name(), "it does not take one given order; ask for the scope `acyclic`"))
            }
            _ => {
                let supported = self.splitter().supports(&acyclic(problem.clone()));
                supported.map_err(|Unsupported { reason, .. }| Unsupported { solver: self.name().into(), reason })
            }
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let path = acyclic(problem.clustered(&self.branchings.of(problem)));
        let Run { outcome: of_path, stats } = self.splitter().solve(&path, cx)?;
        let bound = work_bound(&Unordered::new(problem));
        Ok(Run { outcome: outcome(of_path.solution().cloned(), bound), stats })
    }
}

fn acyclic(mut problem: Problem) -> Problem {
    problem.spec.scope = Scope::Acyclic;
    problem
}
