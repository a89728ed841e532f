//! An instance as the undirected graph with integer weights that METIS and Scotch read.
//!
//! A vertex weighs its time on the first accelerator class that can run it, else on a CPU; an edge weighs its
//! producer's transfer time. Edges lose their direction, and those given twice count once. When all times are
//! whole and their sums small they are kept; else all are multiplied by one factor, so that the larger of the
//! two sums becomes 10⁹ (which 32-bit builds of both programs can add up), and rounded. Edges weigh at least 1,
//! as both programs ask for. Vertices are numbered in the order of the instance's nodes.

use std::collections::{BTreeSet, HashMap};

use crate::instance::{Instance, Node};

/// The largest sum of weights: both programs may be built with 32-bit integers.
const MAX_SUM: f64 = 1e9;

/// An undirected graph with integer weights.
pub struct Undirected {
    /// What times were multiplied by.
    pub scale: f64,
    /// Weight of each vertex.
    pub weights: Vec<u64>,
    /// Neighbours of each vertex, ascending, with the edge's weight.
    pub neighbours: Vec<Vec<(usize, u64)>>,
    /// How many edges there are.
    pub edge_count: usize,
}

impl Undirected {
    /// The graph of a valid instance.
    pub fn of_instance(instance: &Instance) -> Self {
        let index: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let edges: BTreeSet<(usize, usize)> = instance
            .edges
            .iter()
            .filter_map(|edge| Some((*index.get(&edge.source)?, *index.get(&edge.target)?)))
            .collect();
        let times: Vec<f64> = instance.nodes.iter().map(time).collect();
        let transfers: Vec<_> = edges.iter().map(|&(u, v)| (u, v, instance.nodes[u].transfer_time)).collect();
        Self::new(&times, &transfers)
    }

    /// The graph of vertices with these times, and of edges between two of them, each pair given once, with these.
    pub fn new(times: &[f64], edges: &[(usize, usize, f64)]) -> Self {
        let transfers: Vec<f64> = edges.iter().map(|&(_, _, transfer)| transfer).collect();
        let scale = scale(times, &transfers);
        let mut neighbours = vec![Vec::new(); times.len()];
        for &(u, v, transfer) in edges {
            let weight = rounded(transfer * scale).max(1);
            neighbours[u].push((v, weight));
            neighbours[v].push((u, weight));
        }
        neighbours.iter_mut().for_each(|row: &mut Vec<_>| row.sort_unstable());
        let weights = times.iter().map(|t| rounded(t * scale)).collect();
        Self { scale, weights, neighbours, edge_count: edges.len() }
    }
}

fn time(node: &Node) -> f64 {
    node.accelerator_times.iter().flatten().next().copied().or(node.cpu_time).unwrap_or_default()
}

fn rounded(weight: f64) -> u64 {
    weight.round() as u64
}

fn scale(times: &[f64], transfers: &[f64]) -> f64 {
    let sum = times.iter().sum::<f64>().max(transfers.iter().sum());
    let whole = times.iter().chain(transfers).all(|x| x.fract() == 0.0);
    let factor = MAX_SUM / sum;
    if sum == 0.0 || (whole && sum <= MAX_SUM) || !factor.is_finite() { 1.0 } else { factor }
}
