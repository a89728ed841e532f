//! Heuristics that choose no degrees: asked for a split into stages of one tensor and one data degree, as frameworks run them,
//! for each pair of degrees that there is.

use super::front::Found;
use super::model::Model;
use super::plain::{Devices, Plain};
use super::shape::Shape;
use super::stage::{Chooser, Stage};
use crate::cost::NodeCost;
use crate::graph::{Graph, topological};
use crate::preprocess::Reduced;
use crate::problem::{Problem, Solution};
use crate::search::{SearchContext, Stopped};

/// Degrees that all stages have.
#[derive(Debug, Clone, Copy)]
pub struct Equal {
    /// The index of the shape.
    shape: usize,
    data: usize,
    /// The most stages.
    stages: usize,
}

/// The pairs of degrees that every node has an option for and the devices of a class are enough for.
pub fn pairs(model: &Model) -> Vec<Equal> {
    let whole = model.shapes.iter().enumerate().filter(|(_, shape)| shape.units.iter().all(Option::is_some));
    let pair = |(shape, of): (usize, &Shape), data: usize| {
        let stages = (model.fleets[of.fleet].count / (of.tensor * data)).min(model.parts / data);
        (stages > 0).then_some(Equal { shape, data, stages })
    };
    let data_degrees = &model.costs.data_degrees;
    whole.flat_map(|shape| data_degrees.iter().filter_map(move |&data| pair(shape, data))).collect()
}

/// The problems without degrees whose splits may be good ones of this pair: every stage is a device.
///
/// A device takes what a replica does for a microbatch, in the options of the least time, and keeps the least that options do with
/// the fewest microbatches in flight that a stage may have; where that turns out to be too little, another problem has the most.
pub fn problems(problem: &Problem, nodes: &Model, pair: Equal) -> Vec<Problem> {
    let costs = nodes.costs;
    let in_flight = |stages: usize| {
        let parts = stages * pair.data;
        costs.in_flight.count(pair.data, parts, parts, costs.microbatches)
    };
    let shape = &nodes.shapes[pair.shape];
    let working = shape.units.iter().flatten().map(|least| least.memory.working);
    let lenient = ordinary(problem, nodes, pair, (in_flight(1), 0.0));
    let strict = || ordinary(problem, nodes, pair, (in_flight(pair.stages), working.fold(0.0, f64::max)));
    if shape.memory.is_infinite() { vec![lenient] } else { vec![lenient, strict()] }
}

/// The problem where so many microbatches are in flight and so much memory is for what works.
fn ordinary(problem: &Problem, nodes: &Model, pair: Equal, (in_flight, working): (usize, f64)) -> Problem {
    let (costs, shape) = (nodes.costs, &nodes.shapes[pair.shape]);
    let replicas = pair.data as f64;
    let node = |unit: usize| {
        let least = shape.units[unit]?;
        let compute = replicas * nodes.time(least.compute, 0.0, least.parameters, pair.data);
        Some(NodeCost::new(compute, least.memory.lasting.of(in_flight, pair.data).max(0.0)))
    };
    let transfer = |edge: usize| {
        let exchanged = shape.exchanged[edge].into_iter().fold(0.0, f64::max);
        replicas * nodes.time(0.0, costs.edges[edge].bytes + exchanged, 0.0, pair.data)
    };
    let nodes = (0..problem.node_count()).map(node).collect();
    let edges = (0..costs.edges.len()).map(transfer).collect();
    let of_class = problem.spec.platform.accelerators[shape.class].memory;
    let memory = of_class.map(|bytes| (bytes - working).max(0.0));
    let devices = Devices { class: shape.class, count: pair.stages, memory, data: pair.data };
    Plain { nodes, kept: Vec::new(), edges }.problem(problem, costs, &devices)
}

/// The stages of a split of such a problem, in pipeline order, each in the best options that fit at its place; `None` where the
/// split is none into successive ideals, or some stage has no such options.
///
/// # Errors
/// A limit came first.
pub fn stages(
    split: &Solution,
    problem: &Problem,
    units: &Reduced,
    model: &Model,
    pair: Equal,
    cx: &SearchContext,
) -> Result<Option<Vec<Found>>, Stopped> {
    let Some(sets) = successive(split, problem, units) else { return Ok(None) };
    let (chooser, costs) = (Chooser::new(model, None), model.costs);
    let all = sets.len() * pair.data;
    let mut without = vec![0; units.unit_count().div_ceil(64)];
    let mut found = Vec::with_capacity(sets.len());
    for (behind, set) in sets.iter().rev().enumerate() {
        let mut with = without.clone();
        set.iter().for_each(|&unit| with[unit / 64] |= 1 << (unit % 64));
        let in_flight = costs.in_flight.count(pair.data, (behind + 1) * pair.data, all, costs.microbatches);
        let Equal { shape, data, .. } = pair;
        let stage = Stage { sets: (0, 0), without: &without, with: &with, shape, data, in_flight };
        let Some(least) = chooser.least(&stage, cx)? else { return Ok(None) };
        found.push(stage.found(model, least));
        without = with;
    }
    found.reverse();
    Ok(Some(found))
}

/// The units on each device that has some, in an order that every edge follows; `None` where there is none.
fn successive(split: &Solution, problem: &Problem, units: &Reduced) -> Option<Vec<Vec<usize>>> {
    let mut device_of = vec![usize::MAX; problem.node_count()];
    let index = problem.index_of_ids();
    let used: Vec<&Vec<u64>> = split.devices.iter().map(|device| &device.nodes).filter(|ids| !ids.is_empty()).collect();
    for (device, ids) in used.iter().enumerate() {
        ids.iter().for_each(|id| device_of[index[id]] = device);
    }
    let device = |unit: usize| device_of[units.members[unit][0]];
    let between: Vec<(usize, usize)> =
        units.order.edges().map(|(u, v)| (device(u), device(v))).filter(|(a, b)| a != b).collect();
    let order = topological::smallest_first(&Graph::new(used.len(), &between).ok()?);
    let mut sets = vec![Vec::new(); used.len()];
    (0..units.unit_count()).for_each(|unit| sets[device(unit)].push(unit));
    Some(order.into_iter().map(|device| std::mem::take(&mut sets[device])).collect())
}
