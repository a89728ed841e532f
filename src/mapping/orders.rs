//! Copies and devices in orders that come to mind, and the mappings that put the ones on the others.

use super::local::UNPLACED;
use super::{Mapping, MappingProblem};

/// The copies stage by stage.
pub fn by_stage(problem: &MappingProblem) -> Vec<usize> {
    (0..problem.copies()).collect()
}

/// The copies pipeline by pipeline.
pub fn by_pipeline(problem: &MappingProblem) -> Vec<usize> {
    let stages = problem.stages.stages.len();
    (0..problem.copies()).map(|i| i % stages * problem.replicas + i / stages).collect()
}

/// The copies in this order, each on the first of the free `devices` that has the memory; `None` where one finds none.
pub fn first_fit(problem: &MappingProblem, copies: &[usize], devices: &[usize]) -> Option<Mapping> {
    let mut free = devices.to_vec();
    let mut placed = vec![UNPLACED; copies.len()];
    // The devices are taken from the end, which costs nothing where the last one fits.
    free.reverse();
    for &copy in copies {
        let position = free.iter().rposition(|&device| problem.fits(copy / problem.replicas, device))?;
        placed[copy] = free.remove(position);
    }
    Some(Mapping { devices: placed })
}

/// Replicas of a stage next to each other, and pipelines next to each other, along the devices' numbers and along a path
/// that goes on to the nearest device each time. Rings lead along them and back at the end, or go there by every other
/// place and come back by the others, so that no link of theirs is long.
pub fn seeds(problem: &MappingProblem) -> Vec<Mapping> {
    let orders = [(0..problem.topology.len()).collect(), nearest_next(problem)];
    let replicas: [Vec<usize>; 2] = [(0..problem.replicas).collect(), there_and_back(problem.replicas)];
    let mut mappings = Vec::new();
    for devices in &orders {
        for copies in [by_stage(problem), by_pipeline(problem)] {
            for replicas in &replicas {
                let along = |copy: &usize| copy - copy % replicas.len() + replicas[copy % replicas.len()];
                mappings.extend(first_fit(problem, &copies.iter().map(along).collect::<Vec<_>>(), devices));
            }
        }
    }
    mappings
}

/// The places of a ring along a line, none of whose links is longer than two.
fn there_and_back(count: usize) -> Vec<usize> {
    (0..count).map(|place| if place % 2 == 0 { place / 2 } else { count - 1 - place / 2 }).collect()
}

/// The devices along a path that goes on to the nearest device each time.
pub fn nearest_next(problem: &MappingProblem) -> Vec<usize> {
    let topology = &problem.topology;
    let mut order: Vec<usize> = Vec::new();
    let mut rest: Vec<usize> = (0..topology.len()).collect();
    while !rest.is_empty() {
        let last = order.last().copied().unwrap_or(rest[0]);
        let time = |device: usize| topology.message_time(last, device, 1.0);
        let nearest = (0..rest.len()).min_by(|&a, &b| time(rest[a]).total_cmp(&time(rest[b])));
        order.extend(nearest.map(|index| rest.remove(index)));
    }
    order
}
