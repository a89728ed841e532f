//! METIS graph files: `vertices edges 011`, then one line per vertex with its weight and its neighbours, counted
//! from 1, each with the edge's weight. A comment gives the factor from times to weights.

use std::fmt::Write;

use super::undirected::Undirected;

/// The text of `graph`.
pub fn write(graph: &Undirected) -> String {
    let mut out = format!("% weights are times multiplied by {}\n", graph.scale);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{} {} 011", graph.weights.len(), graph.edge_count);
    for (weight, neighbours) in graph.weights.iter().zip(&graph.neighbours) {
        let _ = write!(out, "{weight}");
        for (neighbour, edge_weight) in neighbours {
            let _ = write!(out, " {} {edge_weight}", neighbour + 1);
        }
        out.push('\n');
    }
    out
}
