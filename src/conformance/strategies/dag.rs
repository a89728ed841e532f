//! Forward graphs of several shapes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

use super::Shape;

/// An acyclic graph on nodes `0..nodes`.
#[derive(Debug, Clone, Default)]
pub(super) struct Dag {
    pub nodes: usize,
    pub edges: Vec<(usize, usize)>,
}

impl Dag {
    /// Adds an edge unless it closes a cycle or is there already.
    pub fn add(&mut self, source: usize, target: usize) {
        if !self.reaches(target, source) && !self.edges.contains(&(source, target)) {
            self.edges.push((source, target));
        }
    }

    /// Adds a chain of `length` nodes behind `start` and returns its last node.
    fn append_chain(&mut self, start: usize, length: usize) -> usize {
        let last = self.nodes + length - 1;
        self.edges.push((start, self.nodes));
        self.edges.extend((self.nodes..last).map(|v| (v, v + 1)));
        self.nodes = last + 1;
        last
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        from == to || self.edges.iter().any(|&(u, v)| u == from && self.reaches(v, to))
    }
}

/// Graphs of `shape` with at most `max` nodes.
pub(super) fn forward_graphs(shape: Shape, max: usize) -> BoxedStrategy<Dag> {
    match shape {
        Shape::Any => prop_oneof![chains(max), random_dags(max), layered(max), series_parallel(max), dnn(max)].boxed(),
        Shape::Chain => chains(max).boxed(),
        Shape::SeriesParallel => series_parallel(max).boxed(),
        Shape::Layered => layered(max).boxed(),
        Shape::Random => random_dags(max).boxed(),
        Shape::Dnn => dnn(max).boxed(),
    }
}

/// Mostly the larger half of the sizes.
fn sizes(max: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1..=max, 2 => max.div_ceil(2)..=max]
}

fn chains(max: usize) -> impl Strategy<Value = Dag> {
    sizes(max).prop_map(|nodes| Dag { nodes, edges: (1..nodes).map(|v| (v - 1, v)).collect() })
}

fn random_dags(max: usize) -> impl Strategy<Value = Dag> {
    (sizes(max), vec(any::<(Index, Index)>(), 0..=2 * max)).prop_map(|(nodes, pairs)| {
        let mut dag = Dag { nodes, edges: vec![] };
        pairs.iter().for_each(|(u, v)| dag.add(u.index(nodes), v.index(nodes)));
        dag
    })
}

/// Layers of up to three nodes; each node consumes some of the layer before it.
fn layered(max: usize) -> impl Strategy<Value = Dag> {
    vec((1..=3usize, any::<[[bool; 3]; 3]>()), 1..=max).prop_map(move |layers| {
        let mut dag = Dag::default();
        let mut previous = 0..0;
        for (width, links) in layers {
            let layer = dag.nodes..(dag.nodes + width).min(max);
            for (v, links) in layer.clone().zip(&links) {
                let mut sources: Vec<usize> =
                    previous.clone().zip(links).filter(|(_, l)| **l).map(|(u, _)| u).collect();
                if sources.is_empty() {
                    sources.extend(previous.clone().next());
                }
                dag.edges.extend(sources.into_iter().map(|u| (u, v)));
            }
            dag.nodes = layer.end;
            previous = layer;
        }
        dag
    })
}

/// Starts from one edge; each step puts a node into an edge or beside it.
fn series_parallel(max: usize) -> impl Strategy<Value = Dag> {
    vec(any::<(Index, bool)>(), 0..max.max(2) - 1).prop_map(move |steps| {
        if max < 2 {
            return Dag { nodes: 1, edges: vec![] };
        }
        let mut dag = Dag { nodes: 2, edges: vec![(0, 1)] };
        for (edge, parallel) in steps.into_iter().take(max - 2) {
            let chosen = edge.index(dag.edges.len());
            let (u, v) = dag.edges[chosen];
            if !parallel {
                dag.edges.remove(chosen);
            }
            dag.edges.extend([(u, dag.nodes), (dag.nodes, v)]);
            dag.nodes += 1;
        }
        dag
    })
}

/// Blocks of parallel branches that meet in one node, some with a shortcut beside them; some blocks also read the
/// output of an earlier block.
fn dnn(max: usize) -> impl Strategy<Value = Dag> {
    let block = (vec(1..=2usize, 1..=3), any::<bool>(), option::weighted(0.3, any::<Index>()));
    vec(block, 0..=max.div_ceil(3)).prop_map(move |blocks| {
        let mut dag = Dag { nodes: 1, edges: vec![] };
        let mut outputs = vec![0];
        for (branches, shortcut, skip) in blocks {
            let input = outputs[outputs.len() - 1];
            let size = branches.iter().sum::<usize>() + 1;
            if dag.nodes + size > max {
                break;
            }
            let output = dag.nodes + size - 1;
            let mut sources: Vec<usize> = branches.iter().map(|&length| dag.append_chain(input, length)).collect();
            sources.extend(shortcut.then_some(input));
            sources.extend(skip.map(|skip| *skip.get(&outputs)));
            sources.sort_unstable();
            sources.dedup();
            dag.edges.extend(sources.into_iter().map(|source| (source, output)));
            dag.nodes = output + 1;
            outputs.push(output);
        }
        dag
    })
}
