//! Several chunks of a pipeline on each device, all of which have one tensor and one data degree: split as chunks without options
//! are, by the least that options take, which no split is below; then options are chosen for each device, and the places where
//! stages begin are moved as long as that gains something.

mod choice;
mod places;

use super::model::Model;
use super::plain::{Devices, Plain};
use super::shape::Shape;
use super::{Splitter, room};
use crate::cost::{NodeCost, OptionCost, StageBytes, StageCosts};
use crate::preprocess::Reduced;
use crate::problem::{Chunks, Degrees, Problem, Scope, Solution, most_bytes};
use crate::search::{Race, SearchContext, Stats};
use crate::solve::{BoundSource, LowerBound, Outcome, Run, SolveError};
use places::Places;

/// Sums of the same numbers in another order differ by less than this part of themselves.
const ROUNDING: f64 = 1e-12;

/// The best split of `problem`, whose devices hold several chunks and have one degree of each kind, that comes of the splits of
/// problems without options, which `split` finds; of those whose stages are as even as there, if that is asked for. The bound is
/// that of the least that options take.
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
    let infeasible = |stats| Ok(Run { outcome: Outcome::Infeasible, stats });
    let largest = room::least(&asked.model, chunks, (asked.shape, asked.data), cx);
    if largest.is_infinite() {
        return infeasible(Stats::default());
    }
    race.raise(asked.least_step(largest) * (1.0 - ROUNDING), BoundSource::Work);
    // What a problem without options says; its split is repaired.
    let solved = |problem: &Problem, gap: f64, race: &mut Race<Solution, BoundSource>| {
        let mut part = cx.part(cx.remaining().map(|left| left / 2)).silent();
        (part.threads, part.gap) = (cx.threads, gap);
        let run = split(problem, &mut part)?;
        if let Some(found) = run.outcome.solution() {
            Places::of(&asked, found).improve(is_even, race);
        }
        Ok::<Run, SolveError>(run)
    };
    let raise = |run: &Run, race: &mut Race<Solution, BoundSource>| {
        run.outcome.bound().map(|bound| race.raise(bound.value * (1.0 - ROUNDING), bound.source))
    };
    let least = asked.of_the_least();
    let mut run = solved(&least, cx.gap.max(NEAR), &mut race)?;
    raise(&run, &mut race);
    if run.outcome != Outcome::Infeasible && !race.is_done() {
        solved(&asked.of_the_leanest(), cx.gap.max(NEAR), &mut race)?;
    }
    // Where nothing is computed again the first is the problem itself, and worth more effort.
    if !race.is_done() && race.is_within(NEAR) {
        run = solved(&least, cx.gap, &mut race)?;
        raise(&run, &mut race);
    }
    let Run { outcome, stats } = run;
    if outcome == Outcome::Infeasible {
        return infeasible(stats);
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

    /// The problem of the least of each amount over a node's options: no split is below it.
    fn of_the_least(&self) -> Problem {
        let shape = &self.model.shapes[self.shape];
        let node = |v: usize| {
            let least = shape.units[v].unwrap_or_else(|| unreachable!("every node has an option"));
            self.node(least.compute, least.parameters, least.memory.lasting)
        };
        let least = |edge: usize| shape.exchanged[edge].into_iter().fold(f64::INFINITY, f64::min);
        let nodes = (0..self.problem.node_count()).map(node);
        self.without_options(nodes, least, shape.least_working())
    }

    /// The problem of the options that keep the least of each microbatch in flight: its splits are some of this one.
    fn of_the_leanest(&self) -> Problem {
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
        let nodes = chosen.iter().map(|o| self.node(o.compute, o.parameters, self.costs.bytes(o)));
        let most = |edge: usize| {
            let ends = [self.costs.edges[edge].source, self.costs.edges[edge].target];
            ends.map(|v| chosen[v].exchanged_for(edge)).into_iter().fold(0.0, f64::max)
        };
        self.without_options(nodes, most, chosen.iter().map(|option| option.working).fold(0.0, f64::max))
    }

    /// What a node costs, and what of its memory is kept for each microbatch.
    fn node(&self, compute: f64, parameters: f64, bytes: StageBytes) -> (NodeCost, f64) {
        let kept = bytes.per_microbatch;
        (NodeCost::new(self.time(compute, 0.0, parameters), (bytes.of(0, self.data) + kept).max(kept)), kept)
    }

    /// The problem of these nodes, whose edges exchange so much, on devices that need room for `working` bytes besides.
    fn without_options(
        &self,
        nodes: impl Iterator<Item = (NodeCost, f64)>,
        exchanged: impl Fn(usize) -> f64,
        working: f64,
    ) -> Problem {
        let (nodes, kept) = nodes.map(|(node, kept)| (Some(node), kept)).unzip();
        let edge = |edge: usize| self.time(0.0, self.costs.edges[edge].bytes + exchanged(edge), 0.0);
        let edges = (0..self.costs.edges.len()).map(edge).collect();
        let class = self.model.shapes[self.shape].class;
        let of_class = self.problem.spec.platform.accelerators[class].memory;
        let memory = of_class.map(|bytes| (most_bytes(bytes) - working).max(0.0));
        let devices = Devices { class, count: self.devices, memory, data: self.data };
        Plain { nodes, kept, edges }.problem(self.problem, self.costs, &devices)
    }

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
