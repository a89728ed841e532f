//! Simulated annealing over the places of colour classes, for the latency.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::super::greedy::fill;
use super::super::placement::{Blocks, Evaluator, Place, Value};
use super::super::{is_good_enough, latency_bound, outcome};
use super::{BATCH, LocalSearch};
use crate::graph::order_graph::Groups;
use crate::graph::{NodeId, NodeSet};
use crate::problem::Problem;
use crate::solve::{Progress, Run, SearchContext, Stats, in_pool};

/// Nodes and edges that steps go over between two looks at the clock.
const PATIENCE: usize = 1 << 20;

/// Temperature at the start and at the end, relative to the first latency.
const TEMPERATURES: (f64, f64) = (0.1, 1e-5);

/// What a placement pays at first that exceeds a memory by as much as the whole graph occupies, in first latencies.
const PRICE: f64 = 1.0;

/// How much the price rises with each step above a memory, and falls with each other one.
const PRICE_STEP: f64 = 1.002;

/// The best placement of `restarts` annealings with `steps` moves each.
pub(super) fn solve(LocalSearch { restarts, steps, .. }: LocalSearch, problem: &Problem, cx: &SearchContext) -> Run {
    let bound = latency_bound(problem, cx);
    let blocks = Blocks::new(problem);
    let neighbourhood = Neighbourhood::new(problem, &blocks);
    let mut best: Option<Found> = None;
    let mut taken_steps = 0;
    let is_enough =
        |best: &Option<Found>| best.as_ref().is_some_and(|found| is_good_enough(found.latency, &bound, cx.gap));
    let mut tried = 0;
    while tried < restarts && !is_enough(&best) && (tried == 0 || !cx.should_stop()) {
        let batch = tried..restarts.min(tried + BATCH);
        tried = batch.end;
        let runs: Vec<(Option<Found>, usize)> =
            in_pool(cx, || batch.into_par_iter().map(|i| run(&neighbourhood, cx, i, steps)).collect());
        for (found, taken) in runs {
            taken_steps += taken;
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| found.latency < best.latency)
            {
                best = Some(found);
            }
        }
        let incumbent = best.as_ref().map(|found| found.latency);
        cx.report(&Progress { phase: "annealing", incumbent, bound: Some(bound.value) });
    }
    let mut stats = Stats::default();
    stats.set("restarts", tried as f64);
    stats.set("steps", taken_steps as f64);
    let solution = best.map(|found| blocks.solution(&found.places, found.latency));
    Run { outcome: outcome(solution, bound), stats }
}

/// One restart, and the steps it took; the first one is begun whatever the limits say.
fn run(neighbourhood: &Neighbourhood, cx: &SearchContext, restart: usize, steps: usize) -> (Option<Found>, usize) {
    match restart > 0 && cx.should_stop() {
        true => (None, 0),
        false => Annealing::new(neighbourhood, cx, restart).run(steps),
    }
}

/// A placement that fits.
struct Found {
    places: Vec<Place>,
    latency: f64,
}

/// What moves there are.
struct Neighbourhood<'a> {
    problem: &'a Problem,
    blocks: &'a Blocks<'a>,
    groups: Groups,
    memory: f64,
}

impl<'a> Neighbourhood<'a> {
    fn new(problem: &'a Problem, blocks: &'a Blocks<'a>) -> Self {
        Self { problem, blocks, groups: Groups::new(&problem.color_class), memory: blocks.memory() }
    }

    /// Everything where it can run: a greedy filling, or each class on some device.
    fn start(&self, rng: &mut Xoshiro256PlusPlus, restart: usize) -> Option<Vec<Place>> {
        let newest = |ready: &[usize]| ready.len() - 1;
        let filled = match restart {
            0 => fill(self.problem, self.blocks, newest),
            _ => fill(self.problem, self.blocks, |ready| {
                // Mostly depth-first: few edges are cut.
                if rng.random_bool(0.8) { newest(ready) } else { rng.random_range(0..ready.len()) }
            }),
        };
        filled.or_else(|| {
            let mut places = vec![Place::Cpu; self.problem.node_count()];
            for members in &self.groups.members {
                let choices = (0..self.blocks.len()).map(Place::Block).chain([Place::Cpu]);
                let choices: Vec<Place> = choices.filter(|&place| self.blocks.can_run(members, place)).collect();
                let place = *choices.get(rng.random_range(0..choices.len().max(1)))?;
                members.iter().for_each(|&v| places[v] = place);
            }
            Some(places)
        })
    }

    /// A random move: the nodes to place anew, with the place of each. Empty where the move cannot be.
    fn propose(&self, places: &[Place], rng: &mut Xoshiro256PlusPlus, moved: &mut Vec<(NodeId, Place)>) {
        moved.clear();
        let v = rng.random_range(0..places.len());
        if rng.random_bool(0.2) {
            let w = rng.random_range(0..places.len());
            let is_possible = self.groups.of_node[v] != self.groups.of_node[w]
                && self.send(places, &[v], places[w], rng, moved)
                && self.send(places, &[w], places[v], rng, moved);
            if !is_possible {
                moved.clear();
            }
            return;
        }
        let mut nodes = vec![v];
        if places[v] != Place::Cpu && rng.random_bool(0.3) {
            self.grow(places, rng.random_bool(0.5), rng.random_range(1..=places.len()), &mut nodes);
        }
        let target = self.target(places, &nodes, rng);
        if !self.send(places, &nodes, target, rng, moved) {
            moved.clear();
        }
    }

    /// Adds the way of `nodes` and their colour classes to `target`; `false` where not all of them can run there.
    fn send(
        &self,
        places: &[Place],
        nodes: &[NodeId],
        target: Place,
        rng: &mut Xoshiro256PlusPlus,
        moved: &mut Vec<(NodeId, Place)>,
    ) -> bool {
        let mut groups: Vec<usize> = nodes.iter().map(|&v| self.groups.of_node[v]).collect();
        groups.sort_unstable();
        groups.dedup();
        let members = || groups.iter().map(|&group| &self.groups.members[group]);
        if !members().all(|members| self.blocks.can_run(members, target)) {
            return false;
        }
        moved.extend(members().flatten().map(|&w| (w, self.place_with(places, (nodes[0], target), w, rng))));
        true
    }

    /// Where `w` goes when a node `v` of its colour class goes to `target`: along, if it is of the same pass, else to
    /// some subgraph of the same accelerator.
    fn place_with(
        &self,
        places: &[Place],
        (v, target): (NodeId, Place),
        w: NodeId,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Place {
        let Place::Block(block) = target else { return target };
        let q = self.blocks.per_accelerator;
        if q == 1 || self.problem.backward[w] == self.problem.backward[v] {
            return target;
        }
        match places[w] {
            Place::Block(current) if current / q == block / q && rng.random_bool(0.5) => places[w],
            // Backward nodes run after forward ones.
            _ if self.problem.backward[w] => Place::Block(rng.random_range(block..(block / q + 1) * q)),
            _ => Place::Block(rng.random_range(block / q * q..=block)),
        }
    }

    /// Adds what comes before (or after) the only node of `nodes` in its subgraph, up to `most` nodes.
    fn grow(&self, places: &[Place], before: bool, most: usize, nodes: &mut Vec<NodeId>) {
        let place = places[nodes[0]];
        let graph = &self.problem.graph;
        let mut reached = NodeSet::from_nodes(places.len(), nodes.iter().copied());
        let mut next = 0;
        while next < nodes.len() && nodes.len() < most {
            let v = nodes[next];
            next += 1;
            let around = if before { graph.predecessors(v) } else { graph.successors(v) };
            for &w in around {
                let w = w as usize;
                if places[w] == place && !reached.contains(w) {
                    reached.insert(w);
                    nodes.push(w);
                }
            }
        }
    }

    /// Where a neighbour of some node of `nodes` is, or anywhere.
    fn target(&self, places: &[Place], nodes: &[NodeId], rng: &mut Xoshiro256PlusPlus) -> Place {
        let graph = &self.problem.graph;
        let v = nodes[rng.random_range(0..nodes.len())];
        let (before, after) = (graph.predecessors(v), graph.successors(v));
        let degree = before.len() + after.len();
        if degree > 0 && rng.random_bool(0.7) {
            let i = rng.random_range(0..degree);
            let neighbour = if i < before.len() { before[i] } else { after[i - before.len()] };
            return places[neighbour as usize];
        }
        match rng.random_range(0..=self.blocks.len()) {
            0 => Place::Cpu,
            block => Place::Block(block - 1),
        }
    }
}

/// One restart.
struct Annealing<'a> {
    neighbourhood: &'a Neighbourhood<'a>,
    cx: &'a SearchContext,
    evaluator: Evaluator<'a>,
    rng: Xoshiro256PlusPlus,
    restart: usize,
}

impl<'a> Annealing<'a> {
    fn new(neighbourhood: &'a Neighbourhood<'a>, cx: &'a SearchContext, restart: usize) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed.wrapping_add(restart as u64));
        Self { neighbourhood, cx, evaluator: Evaluator::new(neighbourhood.blocks), rng, restart }
    }

    /// The best placement that fits, and the steps taken.
    fn run(mut self, steps: usize) -> (Option<Found>, usize) {
        let Some(mut places) = self.neighbourhood.start(&mut self.rng, self.restart) else { return (None, 0) };
        let mut value = self.evaluator.value(&places);
        let mut best: Option<Found> = None;
        keep_best(&mut best, value, &places);
        let scale = value.map_or_else(|| self.neighbourhood.blocks.scale(), |value| value.latency);
        let cooling = (TEMPERATURES.1 / TEMPERATURES.0).powf(1.0 / steps.max(1) as f64);
        let mut temperature = TEMPERATURES.0 * scale;
        let memory = self.neighbourhood.memory;
        let first_price = if memory > 0.0 { PRICE * scale / memory } else { 0.0 };
        let mut price = first_price;
        let (mut moved, mut old) = (Vec::new(), Vec::new());
        let patience = (PATIENCE / (places.len() + self.neighbourhood.problem.edges.len()).max(1)).clamp(1, 256);
        for step in 0..steps {
            if step % patience == patience - 1 && self.cx.should_stop() {
                return (best, step);
            }
            temperature *= cooling;
            let is_over = value.is_some_and(|value| value.overload > 0.0);
            price = (if is_over { price * PRICE_STEP } else { price / PRICE_STEP })
                .clamp(1e-3 * first_price, 1e3 * first_price);
            self.neighbourhood.propose(&places, &mut self.rng, &mut moved);
            if moved.iter().all(|&(v, place)| places[v] == place) {
                continue;
            }
            old.clear();
            old.extend(moved.iter().map(|&(v, _)| (v, places[v])));
            moved.iter().for_each(|&(v, place)| places[v] = place);
            let next = self.evaluator.value(&places);
            if self.accepts(value, next, temperature, price) {
                value = next;
                keep_best(&mut best, value, &places);
            } else {
                old.iter().for_each(|&(v, place)| places[v] = place);
            }
        }
        (best, steps)
    }

    /// Whether to go on from a placement worth `next` instead of one worth `value`. Those that cannot run are left, and
    /// never gone back to.
    fn accepts(&mut self, value: Option<Value>, next: Option<Value>, temperature: f64, price: f64) -> bool {
        let energy = |value: Value| value.latency + price * value.overload;
        match (value, next) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(value), Some(next)) => {
                let rise = energy(next) - energy(value);
                rise <= 0.0 || self.rng.random::<f64>() < (-rise / temperature).exp()
            }
        }
    }
}

fn keep_best(best: &mut Option<Found>, value: Option<Value>, places: &[Place]) {
    let Some(value) = value.filter(|value| value.overload == 0.0) else { return };
    if best.as_ref().is_none_or(|best| value.latency < best.latency) {
        *best = Some(Found { places: places.to_vec(), latency: value.latency });
    }
}
