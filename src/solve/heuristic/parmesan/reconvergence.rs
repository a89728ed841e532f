//! Where branches of a network meet: the reconverging operators (Parmesan 2024, section IV-C).

use std::collections::VecDeque;

use petgraph::algo::articulation_points::articulation_points;
use petgraph::graph::UnGraph;

use crate::problem::Problem;

/// Units and the edges between them, whatever their direction.
pub struct Neighbourhood {
    /// For each unit those that it shares an edge with, ascending.
    pub of: Vec<Vec<usize>>,
    /// For each unit how many edges lie between it and the nearest reconverging unit; the number of units where none
    /// can be reached.
    pub distance: Vec<usize>,
}

impl Neighbourhood {
    /// The neighbourhood of the units of `problem`, of which node v lies in `unit_of[v]`. O(n + m log m).
    ///
    /// A unit reconverges where the graph falls apart without it and several edges enter or leave it in one pass.
    pub fn new(problem: &Problem, unit_of: &[usize], units: usize) -> Self {
        let mut of = vec![Vec::new(); units];
        let mut consumers = vec![Vec::new(); units];
        let mut producers = vec![Vec::new(); units];
        for (a, b) in problem.graph.edges() {
            let (u, v) = (unit_of[a], unit_of[b]);
            if u == v {
                continue;
            }
            of[u].push(v);
            of[v].push(u);
            if !problem.backward[a] && !problem.backward[b] {
                consumers[u].push(v);
                producers[v].push(u);
            }
        }
        [&mut of, &mut consumers, &mut producers].into_iter().flatten().for_each(|units| {
            units.sort_unstable();
            units.dedup();
        });
        let mut graph = UnGraph::<(), ()>::with_capacity(units, 0);
        (0..units).for_each(|_| _ = graph.add_node(()));
        for (u, neighbours) in of.iter().enumerate() {
            neighbours
                .iter()
                .filter(|&&v| u < v)
                .for_each(|&v| _ = graph.add_edge((u as u32).into(), (v as u32).into(), ()));
        }
        let mut meets: Vec<usize> = articulation_points(&graph).into_iter().map(|u| u.index()).collect();
        meets.retain(|&u| consumers[u].len() > 1 || producers[u].len() > 1);
        let distance = distances(&of, meets);
        Self { of, distance }
    }
}

/// The number of edges from the nearest of `sources` to each unit.
fn distances(of: &[Vec<usize>], sources: Vec<usize>) -> Vec<usize> {
    let mut distance = vec![of.len(); of.len()];
    sources.iter().for_each(|&u| distance[u] = 0);
    let mut queue = VecDeque::from(sources);
    while let Some(u) = queue.pop_front() {
        for &v in &of[u] {
            if distance[v] == of.len() && distance[u] + 1 < of.len() {
                distance[v] = distance[u] + 1;
                queue.push_back(v);
            }
        }
    }
    distance
}
