//! Contiguity by the variables z (Tarnawski 2020, section 4).

use good_lp::{constraint, variable};

use super::builder::Builder;
use crate::graph::order_graph::OrderGraph;

impl Builder<'_> {
    /// Keeps the set of device `i` convex in `order`: no path leaves it and returns.
    ///
    /// z_{v,i} is 1 where v or something below it is on i: z_{v,i} ≥ x_{v,i}, and z_{v,i} ≤ z_{u,i} along each edge
    /// (u, v). Where u is on i and v is not, z_{v,i} ≤ x_{v,i} − x_{u,i} + 1 makes it 0: nothing below v is on i.
    pub fn make_convex(&mut self, i: usize, order: &OrderGraph) {
        let layout = self.layout;
        let device = &layout.devices.list[i].name;
        let labels: Vec<String> = order.nodes.iter().map(|&v| format!("v{}", layout.problem.ids[v])).collect();
        let x: Vec<_> = order.group_of.iter().map(|&unit| self.x[unit][i]).collect();
        let mut z = Vec::with_capacity(order.node_count);
        for (node, label) in labels.iter().enumerate() {
            let below = self.model.variable(format!("z_{label}_{device}"), variable().min(0).max(1));
            self.model.row(format!("below_{label}_{device}"), constraint!(below >= x[node]));
            z.push(below);
        }
        for &(u, v) in &order.edges {
            let edge = format!("{}_{}_{device}", labels[u], labels[v]);
            self.model.row(format!("path_{edge}"), constraint!(z[v] <= z[u]));
            if order.group_of[u] != order.group_of[v] {
                self.model.row(format!("left_{edge}"), constraint!(z[v] <= x[v] - x[u] + 1));
            }
        }
    }
}
