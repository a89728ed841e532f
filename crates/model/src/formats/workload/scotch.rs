//! Scotch source graphs (`.grf`, version 0): vertices and arcs, base 0 and weight flags `011`, then one line per
//! vertex with its weight, its degree, and for each neighbour the edge's weight and the neighbour.

use std::fmt::Write;

use super::undirected::Undirected;

/// The text of `graph`.
pub fn write(graph: &Undirected) -> String {
    let mut out = format!("0\n{} {}\n0 011\n", graph.weights.len(), 2 * graph.edge_count);
    for (weight, neighbours) in graph.weights.iter().zip(&graph.neighbours) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{weight} {}", neighbours.len());
        for (neighbour, edge_weight) in neighbours {
            let _ = write!(out, " {edge_weight} {neighbour}");
        }
        out.push('\n');
    }
    out
}
