//! Immutable directed acyclic graphs with dense node indices, and what the solvers ask of them.

pub mod biconnected;
mod node_set;
pub mod order_graph;
pub mod paths;
mod precedence;
pub mod reachability;
pub mod topological;
pub mod tree_decomposition;

pub use node_set::{NodeSet, Ones, is_subset, ones};
pub use precedence::Precedence;
pub use tree_decomposition::TreeDecomposition;

use petgraph::graph::DiGraph;

/// Dense index of a node: `0..graph.node_count()`.
pub type NodeId = usize;

/// Compressed adjacency: the neighbours of `v` are `targets[offsets[v]..offsets[v + 1]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Csr {
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl Csr {
    /// Builds the rows of `n` nodes from `(row, value)` pairs; each row is sorted and without repeats.
    pub fn new(n: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut sorted: Vec<(u32, u32)> = pairs.into_iter().map(|(r, t)| (r as u32, t as u32)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut offsets = vec![0u32; n + 1];
        for &(r, _) in &sorted {
            offsets[r as usize + 1] += 1;
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        Self { offsets, targets: sorted.into_iter().map(|(_, t)| t).collect() }
    }

    /// Row `v`, ascending.
    #[inline]
    pub fn row(&self, v: usize) -> &[u32] {
        &self.targets[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all rows hold together.
    pub fn entry_count(&self) -> usize {
        self.targets.len()
    }
}

/// An immutable DAG: [`petgraph`] for algorithms, compressed adjacency both ways for hot loops.
#[derive(Debug, Clone)]
pub struct Graph {
    petgraph: DiGraph<(), ()>,
    successors: Csr,
    predecessors: Csr,
}

/// The edges given to [`Graph::new`] hold a cycle; the nodes on it, in order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the graph has a cycle through nodes {0:?}")]
pub struct CycleError(pub Vec<NodeId>);

impl Graph {
    /// A graph of `n` nodes; parallel edges are merged. O(n + m log m).
    ///
    /// # Errors
    /// [`CycleError`] names a shortest cycle through one node when the edges are not acyclic.
    pub fn new(n: usize, edges: &[(NodeId, NodeId)]) -> Result<Self, CycleError> {
        let successors = Csr::new(n, edges.iter().copied());
        let predecessors = Csr::new(n, edges.iter().map(|&(u, v)| (v, u)));
        let mut petgraph = DiGraph::with_capacity(n, successors.entry_count());
        for _ in 0..n {
            petgraph.add_node(());
        }
        for u in 0..n {
            for &v in successors.row(u) {
                petgraph.add_edge((u as u32).into(), v.into(), ());
            }
        }
        let graph = Self { petgraph, successors, predecessors };
        match topological::find_cycle(&graph) {
            Some(cycle) => Err(CycleError(cycle)),
            None => Ok(graph),
        }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.successors.len()
    }

    /// How many distinct edges there are.
    pub fn edge_count(&self) -> usize {
        self.successors.entry_count()
    }

    /// Consumers of `v`, ascending.
    #[inline]
    pub fn successors(&self, v: NodeId) -> &[u32] {
        self.successors.row(v)
    }

    /// Producers that `v` consumes, ascending.
    #[inline]
    pub fn predecessors(&self, v: NodeId) -> &[u32] {
        self.predecessors.row(v)
    }

    /// Every edge, by source, then target.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        (0..self.node_count()).flat_map(|u| self.successors(u).iter().map(move |&v| (u, v as usize)))
    }

    /// The same graph for petgraph's algorithms.
    pub fn as_petgraph(&self) -> &DiGraph<(), ()> {
        &self.petgraph
    }
}
