//! Several chunks of a pipeline on each device, all of which have one tensor and one data degree: split as chunks without options
//! are, by the least that options take, which no split is below; then options are chosen for each device, and the places where
//! stages begin are moved as long as that gains something.

mod choice;
mod places;

use std::sync::Arc;

use super::model::Model;
use super::shape::Shape;
use super::{Splitter, room};
use crate::cost::{
    Costs, KindCost, MemoryLaw, NodeCost, OptionCost, Piece, StageBytes, StageCosts, Synchronisation, Transfer,
};
use crate::preprocess::Reduced;
use crate::problem::{Chunks, Degrees, Objective, Problem, ProblemSpec, Scope, most_bytes};
use crate::search::{Race, SearchContext, Stats};
use crate::solve::{BoundSource, LowerBound, Outcome, Run, SolveError};
use places::Places;

/// Sums of the same numbers in another order differ by less than this part of themselves.
const ROUNDING: f64 = 1e-12;

/// The best split of `problem`, whose devices hold several chunks and have one degree of each kind, that comes of the splits of
/// problems without options, which `split` finds; of those whose stages are as even as there, if that is asked for. The bound is that of the least that options take.
pub fn in_chunks(
    problem: &Problem,
    (chunks, is_even): (Chunks, bool),
    cx: &SearchContext,
    split: Splitter,
) -> Result<Run, SolveError> {
    let Some(costs) = &problem.costs.stages else { unreachable!("problems that ask for degrees have options") };
    let units = Reduced::contracted_only(problem);
    let model = Model::new(problem, costs, (0..problem.node_count()).map(|v| vec![v]).collect());
    let mut race = Race::new(0.0, BoundSource::Work, cx);
    let Some(asked) = Asked::new(problem, chunks, (&units, costs), model) else {
        return Ok(Run { outcome: Outcome::Infeasible, stats: Stats::default() });
    };
    let mut stats = Stats::default();
    let largest = room::least(&asked.model, chunks, (asked.shape, asked.data), cx);
    if largest.is_infinite() {
        return Ok(Run { outcome: Outcome::Infeasible, stats });
    }
    race.raise(asked.least_step(largest) * (1.0 - ROUNDING), BoundSource::Work);
    let (least, leanest) = (asked.without_options(&asked.least()), asked.without_options(&asked.leanest()));
    // The least that options take makes the bound, and options of the least memory make a split wherever there is one. Where nothing
    // is computed again the first is the problem itself, and worth more effort.
    for (which, problem) in [&least, &leanest, &least].into_iter().enumerate() {
        if race.is_done() || which == 2 && !race.is_within(NEAR) {
            break;
        }
        let mut part = cx.part(cx.remaining().map(|left| left / 2)).silent();
        part.threads = cx.threads;
        part.gap = if which == 2 { cx.gap } else { cx.gap.max(NEAR) };
        let run = split(problem, &mut part)?;
        if which != 1 {
            stats = run.stats;
            if run.outcome == Outcome::Infeasible {
                return Ok(Run { outcome: Outcome::Infeasible, stats });
            }
            if let Some(bound) = run.outcome.bound() {
                race.raise(bound.value * (1.0 - ROUNDING), bound.source);
            }
        }
        if let Some(found) = run.outcome.solution() {
            Places::of(&asked, found).improve(is_even, &mut race);
        }
    }
    let (best, value, source) = race.finish();
    let bound = LowerBound { value, scope: Scope::Acyclic, source };
    let outcome = match best {
        Some((objective, split)) => Outcome::found(split, objective, bound),
        None => Outcome::Unknown { bound: Some(bound) },
    };
    Ok(Run { outcome, stats })
}

/// So near to each other are bound and split of a problem without options at first.
const NEAR: f64 = 1e-3;

/// What each node takes where no options are chosen.
struct Plain {
    nodes: Vec<(NodeCost, f64)>,
    /// Bytes that each device has to have room for besides.
    working: f64,
    /// Time to move each edge's data onto or off a device.
    edges: Vec<f64>,
}

/// What is asked.
struct Asked<'a> {
    problem: &'a Problem,
    chunks: Chunks,
    units: &'a Reduced,
    costs: &'a StageCosts,
    model: Model<'a>,
    /// The index of the shape that all devices have.
    shape: usize,
    data: usize,
    /// How many places there are, and how many microbatches pass through each.
    devices: usize,
    microbatches: usize,
    /// The edges at each node, with the nodes at their other ends.
    edges_at: Vec<Vec<(usize, usize)>>,
}

impl<'a> Asked<'a> {
    /// `None` where some node has no option of the degree that is asked for.
    fn new(
        problem: &'a Problem,
        chunks: Chunks,
        (units, costs): (&'a Reduced, &'a StageCosts),
        model: Model<'a>,
    ) -> Option<Self> {
        let (shape, data) = of_one_of_each(problem, &model)?;
        let mut edges_at = vec![Vec::new(); problem.node_count()];
        for (e, edge) in costs.edges.iter().enumerate() {
            edges_at[edge.source].push((e, edge.target));
            edges_at[edge.target].push((e, edge.source));
        }
        let devices = model.devices / (model.shapes[shape].tensor * data);
        let microbatches = costs.microbatches / data;
        Some(Self { problem, chunks, units, costs, model, shape, data, devices, microbatches, edges_at })
    }

    fn options(&self, v: usize) -> impl Iterator<Item = (usize, &'a OptionCost)> {
        self.model.options(self.shape, v)
    }

    /// What a replica takes for a microbatch that computes, moves in one direction and synchronises so much.
    fn time(&self, compute: f64, moved: f64, parameters: f64) -> f64 {
        self.data as f64 * self.model.time(compute, moved, parameters, self.data)
    }

    /// The least of each amount over a node's options: no device takes less.
    fn least(&self) -> Plain {
        let shape = &self.model.shapes[self.shape];
        let node = |v: usize| {
            let least = shape.units[v].unwrap_or_else(|| unreachable!("every node has an option"));
            self.node(least.compute, least.parameters, least.memory.lasting)
        };
        let working = shape.units.iter().flatten().map(|least| least.memory.working).fold(f64::INFINITY, f64::min);
        let least = |edge: usize| shape.exchanged[edge].into_iter().fold(f64::INFINITY, f64::min);
        let edge = |edge: usize| self.time(0.0, self.costs.edges[edge].bytes + least(edge), 0.0);
        Plain {
            nodes: (0..self.problem.node_count()).map(node).collect(),
            working: if working.is_finite() { working } else { 0.0 },
            edges: (0..self.costs.edges.len()).map(edge).collect(),
        }
    }

    /// What the options take that keep the least of each microbatch in flight.
    fn leanest(&self) -> Plain {
        let key = |option: &OptionCost| {
            let bytes = self.costs.bytes(option);
            (bytes.per_microbatch, bytes.of(0, self.data) + option.working, option.compute)
        };
        let leanest = |v: usize| {
            let lean = self
                .options(v)
                .map(|(_, option)| option)
                .min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
            lean.unwrap_or_else(|| unreachable!("every node has an option"))
        };
        let chosen: Vec<&OptionCost> = (0..self.problem.node_count()).map(leanest).collect();
        let edge = |(e, edge): (usize, &crate::cost::EdgeCost)| {
            let exchanged = [edge.source, edge.target].map(|v| chosen[v].exchanged_for(e));
            self.time(0.0, edge.bytes + exchanged.into_iter().fold(0.0, f64::max), 0.0)
        };
        Plain {
            nodes: chosen.iter().map(|o| self.node(o.compute, o.parameters, self.costs.bytes(o))).collect(),
            working: chosen.iter().map(|option| option.working).fold(0.0, f64::max),
            edges: self.costs.edges.iter().enumerate().map(edge).collect(),
        }
    }

    fn node(&self, compute: f64, parameters: f64, bytes: StageBytes) -> (NodeCost, f64) {
        let kept = bytes.per_microbatch;
        (NodeCost::new(self.time(compute, 0.0, parameters), (bytes.of(0, self.data) + kept).max(kept)), kept)
    }

    /// The problem without options whose nodes and edges take these amounts.
    fn without_options(&self, amounts: &Plain) -> Problem {
        let Plain { nodes, working, edges } = amounts;
        let costs = nodes.iter().map(|(cost, _)| Some(*cost)).collect();
        let accelerator = KindCost::new(costs, edges.clone(), vec![Piece::ADDITIVE]);
        let accelerator = accelerator.in_flight(nodes.iter().map(|(_, kept)| *kept).collect());
        let cpu = KindCost::new(vec![None; nodes.len()], vec![0.0; edges.len()], vec![Piece::COMPUTE]);
        let mut spec = ProblemSpec {
            degrees: None,
            objective: Objective::Step { microbatches: self.microbatches },
            ..self.problem.spec.clone()
        };
        let class = self.model.shapes[self.shape].class;
        for (index, of) in spec.platform.accelerators.iter_mut().enumerate() {
            of.count = if index == class { self.devices } else { 0 };
            of.memory = of.memory.map(|bytes| (most_bytes(bytes) - working).max(0.0));
        }
        let mut kinds = vec![accelerator; spec.platform.accelerators.len()];
        kinds.push(cpu);
        let transfers = self.costs.edges.iter().map(|edge| Transfer::new(edge.source, vec![edge.target])).collect();
        let costs = Costs::new(kinds, transfers, MemoryLaw::default(), Synchronisation::Added);
        Problem { costs: Arc::new(costs), spec, ..self.problem.clone() }
    }
}

/// What no device takes less than at most: a time of a replica for a microbatch that the largest of no split of `problem` is below;
/// infinite where no split has the memory.
pub fn least_in_chunks(problem: &Problem, chunks: Chunks, cx: &SearchContext) -> Option<f64> {
    let model =
        Model::new(problem, problem.costs.stages.as_ref()?, (0..problem.node_count()).map(|v| vec![v]).collect());
    let (shape, data) = of_one_of_each(problem, &model)?;
    Some(room::least(&model, chunks, (shape, data), cx))
}

/// The shape that all devices have, by its index, and their data degree; `None` where some node has no option of that shape.
fn of_one_of_each(problem: &Problem, model: &Model) -> Option<(usize, usize)> {
    let [tensor, data] = problem.spec.degrees.as_ref().map_or([1; 2], Degrees::one_of_each);
    let is_asked = |shape: &Shape| shape.tensor == tensor && shape.units.iter().all(Option::is_some);
    Some((model.shapes.iter().position(is_asked)?, data))
}

impl Asked<'_> {
    /// What no step is below where no largest time of a device is below this one.
    fn least_step(&self, largest: f64) -> f64 {
        let shape = &self.model.shapes[self.shape];
        let work: f64 = shape.units.iter().flatten().map(|unit| self.time(unit.compute, 0.0, unit.parameters)).sum();
        self.step_of(work.max(largest), largest)
    }

    /// The step of devices that take so long for a microbatch.
    fn step(&self, times: &[f64]) -> f64 {
        self.step_of(times.iter().sum(), times.iter().copied().fold(0.0, f64::max))
    }

    /// The step of devices whose times add up to `sum`.
    fn step_of(&self, sum: f64, largest: f64) -> f64 {
        let parts = self.chunks.parts() as f64;
        (sum + (parts * self.microbatches as f64 - 1.0) * largest) / parts
    }
}
