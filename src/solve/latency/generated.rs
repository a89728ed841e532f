//! Problems for the tests of the passes.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::instance::{AcceleratorClass, Edge, Instance, Node, Platform};
use crate::problem::{Objective, Problem, ProblemSpec};
use crate::solve::brute_force::BruteForce;
use crate::solve::{SearchContext, Solver};

/// Problems with the seeds that they come from; those that name no device for some class are left out.
pub(super) fn problems(count: usize) -> impl Iterator<Item = (u64, Problem)> {
    (0..).filter_map(|seed| Some((seed, problem(seed)?))).take(count)
}

/// The least latency by brute force; `None` where there is no split.
pub(super) fn least_latency(problem: &Problem) -> Option<f64> {
    let run = BruteForce.solve(problem, &mut SearchContext::new()).unwrap();
    run.outcome.solution().and_then(|split| split.objective)
}

/// Blocks of parallel nodes with a cut after each, of whole times, with few accelerators and little memory.
///
/// Some nodes run on one kind of device alone. Some have a companion of their colour that feeds them and waits for
/// nothing: their class contracts, and leaves the cuts before it as they are. Now and then two nodes share a colour.
fn problem(seed: u64) -> Option<Problem> {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let companions = rng.random_range(0..3);
    let count = 7 - companions;
    let mut edges = Vec::new();
    let (mut cut, mut open) = (None, Vec::new());
    for target in 0..count {
        let joins = !open.is_empty() && rng.random_bool(0.4);
        let sources = if joins { std::mem::take(&mut open) } else { cut.into_iter().collect() };
        edges.extend(sources.into_iter().map(|source| Edge { source, target }));
        match joins {
            true => cut = Some(target),
            false => open.push(target),
        }
    }
    let mut nodes: Vec<Node> = (0..count).map(|id| node(rng, id, 30)).collect();
    for id in count..7 {
        let target = rng.random_range(0..count);
        edges.push(Edge { source: id, target });
        nodes.push(Node { color_class: Some(target), ..node(rng, id, 200) });
        nodes[target as usize].color_class = Some(target);
    }
    if rng.random_bool(0.2) {
        let (a, b) = (rng.random_range(0..7), rng.random_range(0..7));
        (nodes[a].color_class, nodes[b].color_class) = (Some(7), Some(7));
    }
    let memory = rng.random_bool(0.7).then(|| rng.random_range(2..9) as f64);
    let platform = Platform::uniform(rng.random_range(0..=2), memory, 1);
    let instance = Instance { platform, nodes, edges, ..Instance::default() };
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
    Problem::new(&instance, spec).ok()
}

/// A graph of many ideals, with transfers, up to two classes of accelerators, and little memory.
pub(super) fn wide(rng: &mut SmallRng, count: u64) -> Problem {
    let classes = if rng.random_bool(0.3) { 2 } else { 1 };
    let mut node = |id| Node {
        accelerator_times: (0..classes).map(|_| rng.random_bool(0.9).then(|| rng.random_range(0..6) as f64)).collect(),
        cpu_time: Some(rng.random_range(0..30) as f64),
        memory: rng.random_range(0..4) as f64,
        transfer_time: rng.random_range(0..4) as f64,
        ..Node::new(id)
    };
    let nodes = (0..count).map(&mut node).collect();
    let pairs = (0..count).flat_map(|target| (target.saturating_sub(4)..target).map(move |source| (source, target)));
    let edges = pairs.filter(|_| rng.random_bool(0.4)).map(|(source, target)| Edge { source, target }).collect();
    let mut platform = Platform::uniform(2, rng.random_bool(0.7).then(|| rng.random_range(2..14) as f64), 1);
    if classes == 2 {
        platform.accelerators.push(AcceleratorClass { count: 1, ..platform.accelerators[0].clone() });
    }
    let instance = Instance { platform, nodes, edges, ..Instance::default() };
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
    Problem::new(&instance, spec).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A node that takes less than `most` on the CPU.
fn node(rng: &mut SmallRng, id: u64, most: u32) -> Node {
    let (on_accelerators, on_cpu) = match rng.random_range(0..10) {
        0 => (false, true),
        1 | 2 => (true, false),
        _ => (true, true),
    };
    Node {
        accelerator_times: vec![on_accelerators.then(|| rng.random_range(0..6) as f64)],
        cpu_time: on_cpu.then(|| rng.random_range(0..most) as f64),
        memory: rng.random_range(0..4) as f64,
        transfer_time: rng.random_range(0..6) as f64,
        ..Node::new(id)
    }
}
