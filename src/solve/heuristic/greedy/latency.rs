//! The published baseline for the latency: accelerators are filled one after another.

use super::super::placement::{Blocks, Evaluator, Place};
use super::super::{latency_bound, outcome};
use crate::graph::order_graph::Groups;
use crate::preprocess::atomic_units;
use crate::problem::Problem;
use crate::solve::{Run, SearchContext, Stats};

/// The greedy filling along the published order.
pub(super) fn solve(problem: &Problem, cx: &SearchContext) -> Run {
    let blocks = Blocks::new(problem);
    let places = fill(problem, &blocks, |ready| ready.len() - 1);
    let found = places.and_then(|places| {
        let value = Evaluator::new(&blocks).value(&places).filter(|value| value.overload == 0.0)?;
        Some(blocks.solution(&places, value.latency))
    });
    Run { outcome: outcome(found, latency_bound(problem, cx)), stats: Stats::default() }
}

/// Fills accelerators in a topological order that takes the unit at position `pick` of those that are ready, the
/// newest last. `None` where neither an accelerator nor the CPU can take some unit.
pub fn fill(problem: &Problem, blocks: &Blocks, mut pick: impl FnMut(&[usize]) -> usize) -> Option<Vec<Place>> {
    let units = atomic_units(problem);
    let mut places = vec![Place::Cpu; problem.node_count()];
    let (mut held, mut block) = (None, 0);
    for unit in topological_order(problem, &units, &mut pick) {
        let nodes = &units.members[unit];
        // The bytes that the accelerator then holds.
        let takes = |held: Option<f64>, block: usize| {
            let may_run = block < blocks.len() && blocks.can_run(nodes, Place::Block(block));
            may_run.then(|| blocks.with(held.unwrap_or(0.0), nodes, block)).flatten()
        };
        if takes(held, block).is_none() && held.is_some() {
            held = None;
            block += blocks.per_accelerator;
        }
        if let Some(bytes) = takes(held, block) {
            nodes.iter().for_each(|&v| places[v] = Place::Block(block));
            held = Some(bytes);
        } else if !blocks.can_run(nodes, Place::Cpu) {
            return None;
        }
    }
    Some(places)
}

fn topological_order(problem: &Problem, units: &Groups, pick: &mut impl FnMut(&[usize]) -> usize) -> Vec<usize> {
    let mut consumers = vec![Vec::new(); units.len()];
    let mut missing = vec![0; units.len()];
    for &(u, v) in &problem.edges {
        let (from, to) = (units.of_node[u], units.of_node[v]);
        if from != to {
            consumers[from].push(to);
            missing[to] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..units.len()).rev().filter(|&unit| missing[unit] == 0).collect();
    let mut order = Vec::with_capacity(units.len());
    while !ready.is_empty() {
        let unit = ready.remove(pick(&ready));
        order.push(unit);
        for &consumer in &consumers[unit] {
            missing[consumer] -= 1;
            if missing[consumer] == 0 {
                ready.push(consumer);
            }
        }
    }
    order
}
