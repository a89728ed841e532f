//! The problem on units for splits whose devices need no order.

use super::Reduced;
use crate::graph::Graph;
use crate::graph::order_graph::{Groups, OrderGraph};
use crate::problem::{Problem, Scope};

/// A problem on units for the scopes [`Arbitrary`](Scope::Arbitrary) and [`Convex`](Scope::Convex): the colour
/// classes, with the hypergraph of communication between them. Units are numbered as in [`Groups`].
#[derive(Debug, Clone)]
pub struct Unordered {
    /// Units, nets and costs. Its order of units is empty: no edge says which device comes first.
    pub units: Reduced,
    /// What each device's set has to be convex in, where the scope asks for it; its groups are the units.
    pub order: Option<OrderGraph>,
}

impl Unordered {
    /// Contracts the colour classes of `problem`, whose scope says whether sets have to be convex.
    pub fn new(problem: &Problem) -> Self {
        let groups = Groups::new(&problem.color_class);
        let no_order = Graph::new(groups.len(), &[]).unwrap_or_else(|e| unreachable!("no edges, no cycle: {e}"));
        let units = Reduced::assemble(problem, &groups.of_node, groups.len(), no_order);
        let order = (problem.spec.scope != Scope::Arbitrary).then(|| problem.order_graph(&groups));
        Self { units, order }
    }

    /// The units of splits into successive ideals, each set of them convex in their order.
    pub fn in_order(units: Reduced) -> Self {
        let order = OrderGraph {
            node_count: units.unit_count(),
            edges: units.order.edges().collect(),
            group_of: (0..units.unit_count()).collect(),
            nodes: units.members.iter().map(|nodes| nodes[0]).collect(),
        };
        Self { units, order: Some(order) }
    }
}
