//! Several chunks of a pipeline on each device, all of which have one tensor and one data degree: split as chunks without options
//! are, by the least that options take, which no split is below; then options are chosen for each device, and the places where
//! stages begin are moved as long as that gains something.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Splitter;
use super::knapsack::{self, Item};
use super::model::Model;
use super::room;
use super::shape::{Memory, Shape};
use crate::cost::{
    Costs, KindCost, MemoryLaw, NodeCost, OptionCost, Piece, StageBytes, StageCosts, Synchronisation, Transfer,
};
use crate::graph::topological;
use crate::preprocess::Reduced;
use crate::problem::{Chunks, Degrees, DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Scope, Solution};
use crate::search::{Race, SearchContext, Stats, Stopped};
use crate::solve::{BoundSource, LowerBound, Outcome, Run, SolveError};

/// Sums of the same numbers in another order differ by less than this part of themselves.
const ROUNDING: f64 = 1e-12;

/// What the places of stages are rated by: the step, and how uneven the devices' times are.
type Rating = (f64, f64);

/// The best split of `problem`, whose devices hold several chunks and have one degree of each kind, that comes of the splits of
/// problems without options, which `split` finds. The bound is that of the least that options take.
pub(super) fn search(
    problem: &Problem,
    chunks: Chunks,
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
    let largest = room::least(&asked.model, chunks, (asked.shape, asked.data));
    if largest.is_infinite() {
        return Ok(Run { outcome: Outcome::Infeasible, stats });
    }
    race.raise(asked.step_of(largest) * (1.0 - ROUNDING), BoundSource::Work);
    // The least that options take makes the bound, and options of the least memory make a split wherever there is one.
    for (which, amounts) in [asked.least(), asked.leanest()].into_iter().enumerate() {
        if race.is_done() {
            break;
        }
        let mut part = cx.part(cx.remaining().map(|left| left / 2)).silent();
        part.threads = cx.threads;
        let run = split(&asked.without_options(&amounts), &mut part)?;
        if which == 0 {
            stats = run.stats;
            if run.outcome == Outcome::Infeasible {
                return Ok(Run { outcome: Outcome::Infeasible, stats });
            }
            if let Some(bound) = run.outcome.bound() {
                race.raise(bound.value * (1.0 - ROUNDING), bound.source);
            }
        }
        if let Some(found) = run.outcome.solution() {
            asked.improve(found, &mut race);
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

/// What each node takes where no options are chosen.
struct Amounts {
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
    fn least(&self) -> Amounts {
        let shape = &self.model.shapes[self.shape];
        let node = |v: usize| {
            let least = shape.units[v].unwrap_or_else(|| unreachable!("every node has an option"));
            self.node(least.compute, least.parameters, least.memory.lasting)
        };
        let working = shape.units.iter().flatten().map(|least| least.memory.working).fold(f64::INFINITY, f64::min);
        let least = |edge: usize| shape.exchanged[edge].into_iter().fold(f64::INFINITY, f64::min);
        let edge = |edge: usize| self.time(0.0, self.costs.edges[edge].bytes + least(edge), 0.0);
        Amounts {
            nodes: (0..self.problem.node_count()).map(node).collect(),
            working: if working.is_finite() { working } else { 0.0 },
            edges: (0..self.costs.edges.len()).map(edge).collect(),
        }
    }

    /// What the options take that keep the least of each microbatch in flight.
    fn leanest(&self) -> Amounts {
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
        Amounts {
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
    fn without_options(&self, amounts: &Amounts) -> Problem {
        let Amounts { nodes, working, edges } = amounts;
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
            of.memory = of.memory.map(|bytes| (bytes - working).max(0.0));
        }
        let mut kinds = vec![accelerator; spec.platform.accelerators.len()];
        kinds.push(cpu);
        let transfers = self.costs.edges.iter().map(|edge| Transfer::new(edge.source, vec![edge.target])).collect();
        let costs = Costs::new(kinds, transfers, MemoryLaw::default(), Synchronisation::Added);
        Problem { costs: Arc::new(costs), spec, ..self.problem.clone() }
    }

    /// Offers the split in the best options for it, and what comes of moving the places where its stages begin.
    fn improve(&self, split: &Solution, race: &mut Race<Solution, BoundSource>) {
        let mut places = Places::of(self, split);
        let mut best = places.rating(race.cx);
        loop {
            if let Some(split) = best.filter(|rating| rating.0.is_finite()).and_then(|_| places.split(race.cx)) {
                race.offer(split.objective.unwrap_or(f64::INFINITY), split);
                race.report("chunks with options");
            }
            if race.is_done() {
                return;
            }
            match places.moved(best, race.cx) {
                Some(better) => best = Some(better),
                None => return,
            }
        }
    }
}

/// Nodes in an order that every edge follows, and where in it stages begin.
struct Places<'a> {
    asked: &'a Asked<'a>,
    /// The units in their order, and where each stage begins among them; all of them after the last.
    order: Vec<usize>,
    begins: Vec<usize>,
    /// The device of each stage.
    homes: Vec<usize>,
    /// What devices take whose stages begin and end there; `None` where no options fit.
    known: FxHashMap<(usize, Vec<usize>), Option<f64>>,
}

/// What a device holds in the best options.
struct Held {
    time: f64,
    /// Its nodes, chunk by chunk, each with the index of its option.
    chunks: Vec<Vec<(usize, usize)>>,
}

impl<'a> Places<'a> {
    /// Those of a split whose devices state chunks.
    fn of(asked: &'a Asked<'a>, split: &Solution) -> Self {
        let index = asked.problem.index_of_ids();
        let devices = split.devices.len();
        let homes = ProblemSpec { chunks: Some(asked.chunks), ..ProblemSpec::default() }.homes(devices);
        let mut held: Vec<_> = split.devices.iter().map(|device| device.chunks.iter()).collect();
        let mut stage_of = vec![0; asked.problem.node_count()];
        for (stage, &home) in homes.iter().enumerate() {
            held[home].next().into_iter().flatten().for_each(|id| stage_of[index[id]] = stage);
        }
        let mut order = topological::smallest_first(&asked.units.order);
        let stage = |unit: usize| stage_of[asked.units.members[unit][0]];
        order.sort_by_key(|&unit| stage(unit));
        let begins = (0..=homes.len()).map(|s| order.partition_point(|&unit| stage(unit) < s)).collect();
        Self { asked, order, begins, homes, known: FxHashMap::default() }
    }

    fn devices(&self) -> usize {
        self.homes.len() / self.asked.chunks.count
    }

    /// The step, and the sum of squares of the devices' times; `None` where a limit came first. Infinite where options do not fit.
    fn rating(&mut self, cx: &SearchContext) -> Option<Rating> {
        let times =
            (0..self.devices()).map(|device| self.time(device, cx)).collect::<Result<Vec<f64>, Stopped>>().ok()?;
        Some((self.asked.step(&times), times.iter().map(|time| time * time).sum()))
    }

    /// What a device takes for a microbatch; infinite where no options fit.
    fn time(&mut self, device: usize, cx: &SearchContext) -> Result<f64, Stopped> {
        let stages = (0..self.homes.len()).filter(|&stage| self.homes[stage] == device);
        let key = (device, stages.flat_map(|stage| [self.begins[stage], self.begins[stage + 1]]).collect());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.unwrap_or(f64::INFINITY));
        }
        let time = self.held(device, cx)?.map(|held| held.time);
        self.known.insert(key, time);
        Ok(time.unwrap_or(f64::INFINITY))
    }

    /// Moves the places where some stages in a row begin by one unit, so that the rating becomes the best of all such moves; its
    /// rating, if that is better.
    fn moved(&mut self, known: Option<Rating>, cx: &SearchContext) -> Option<Rating> {
        let known = known?;
        let (mut best, mut to) = (known, None);
        let inner = 1..self.homes.len();
        for first in inner.clone() {
            for last in first..self.homes.len() {
                for up in [false, true] {
                    if cx.should_stop() {
                        return None;
                    }
                    let before = self.begins.clone();
                    self.begins[first..=last].iter_mut().for_each(|begin| if up { *begin += 1 } else { *begin -= 1 });
                    if self.begins.is_sorted_by(|a, b| a < b) {
                        let rating = self.rating(cx)?;
                        if is_less(rating, best) {
                            (best, to) = (rating, Some(self.begins.clone()));
                        }
                    }
                    self.begins = before;
                }
            }
        }
        self.begins = to?;
        Some(best)
    }

    /// The best options of what a device holds, `None` where none fit.
    ///
    /// # Errors
    /// A limit came first.
    fn held(&self, device: usize, cx: &SearchContext) -> Result<Option<Held>, Stopped> {
        let asked = self.asked;
        let place = self.places();
        let mut nodes: Vec<(usize, usize)> = Vec::new();
        let stages = (0..self.homes.len()).filter(|&stage| self.homes[stage] == device);
        for (chunk, stage) in stages.enumerate() {
            let units = &self.order[self.begins[stage]..self.begins[stage + 1]];
            nodes.extend(units.iter().flat_map(|&unit| &asked.units.members[unit]).map(|&v| (chunk, v)));
        }
        let mut moved = 0.0;
        let mut choices = Vec::with_capacity(nodes.len());
        for &(chunk, v) in &nodes {
            let cut: Vec<usize> = asked.edges_at[v]
                .iter()
                .filter(|(_, other)| place[*other] != place[v])
                .map(|&(edge, _)| edge)
                .collect();
            moved += cut.iter().map(|&edge| asked.costs.edges[edge].bytes).sum::<f64>();
            let choice = |(index, option): (usize, &OptionCost)| {
                let exchanged = cut.iter().map(|&edge| option.exchanged_for(edge)).sum();
                let memory = Memory { lasting: asked.costs.bytes(option), working: option.working };
                Choice { chunk, index, value: asked.time(option.compute, exchanged, option.parameters), memory }
            };
            choices.push(asked.options(v).map(choice).collect::<Vec<Choice>>());
        }
        let moments = asked.chunks.in_flight(device, self.devices(), asked.microbatches);
        let limit = asked.model.shapes[asked.shape].memory;
        let Some((value, chosen)) = best_choice(&choices, &moments, (limit, asked.data), cx)? else { return Ok(None) };
        let mut chunks = vec![Vec::new(); asked.chunks.count];
        nodes.iter().zip(chosen).for_each(|(&(chunk, v), option)| chunks[chunk].push((v, option)));
        Ok(Some(Held { time: value + asked.time(0.0, moved, 0.0), chunks }))
    }

    /// For each node the first of the stages that follow one another on its device, between which nothing moves.
    fn places(&self) -> Vec<usize> {
        let mut place = vec![0; self.asked.problem.node_count()];
        let mut first = 0;
        for stage in 0..self.homes.len() {
            if stage > 0 && self.homes[stage] != self.homes[stage - 1] {
                first = stage;
            }
            let units = &self.order[self.begins[stage]..self.begins[stage + 1]];
            units.iter().flat_map(|&unit| &self.asked.units.members[unit]).for_each(|&v| place[v] = first);
        }
        place
    }

    /// The split in the best options; `None` where some device has none that fit, or a limit came first.
    fn split(&self, cx: &SearchContext) -> Option<Solution> {
        let (problem, costs) = (self.asked.problem, self.asked.costs);
        let shape = &self.asked.model.shapes[self.asked.shape];
        let (mut times, mut devices) = (Vec::new(), Vec::new());
        for device in 0..self.devices() {
            let Held { time, chunks } = self.held(device, cx).ok()??;
            times.push(time);
            let id = |&(v, _): &(usize, usize)| problem.ids[v];
            devices.push(DeviceAssignment {
                replicas: self.asked.data,
                tensor_degree: shape.tensor,
                options: chunks.iter().flatten().map(|&(v, option)| costs.options[v][option].name.clone()).collect(),
                chunks: chunks.iter().map(|chunk| chunk.iter().map(id).collect()).collect(),
                ..DeviceAssignment::new(DeviceKind::Accelerator(shape.class), chunks.iter().flatten().map(id).collect())
            });
        }
        Some(Solution { devices, objective: Some(self.asked.step(&times)) })
    }
}

/// What no device takes less than at most: a time of a replica for a microbatch that the largest of no split of `problem` is below;
/// infinite where no split has the memory.
pub(super) fn least_largest(problem: &Problem, chunks: Chunks) -> Option<f64> {
    let model =
        Model::new(problem, problem.costs.stages.as_ref()?, (0..problem.node_count()).map(|v| vec![v]).collect());
    let (shape, data) = of_one_of_each(problem, &model)?;
    Some(room::least(&model, chunks, (shape, data)))
}

/// The shape that all devices have, by its index, and their data degree; `None` where some node has no option of that shape.
fn of_one_of_each(problem: &Problem, model: &Model) -> Option<(usize, usize)> {
    let [tensor, data] = problem.spec.degrees.as_ref().map_or([1; 2], Degrees::one_of_each);
    let is_asked = |shape: &Shape| shape.tensor == tensor && shape.units.iter().all(Option::is_some);
    Some((model.shapes.iter().position(is_asked)?, data))
}

impl Asked<'_> {
    /// What no step is below where no largest time of a device is below this one.
    fn step_of(&self, largest: f64) -> f64 {
        let shape = &self.model.shapes[self.shape];
        let work: f64 = shape.units.iter().flatten().map(|unit| self.time(unit.compute, 0.0, unit.parameters)).sum();
        let parts = self.chunks.parts() as f64;
        (work.max(largest) + (parts * self.microbatches as f64 - 1.0) * largest) / parts
    }

    /// The step of devices that take so long for a microbatch.
    fn step(&self, times: &[f64]) -> f64 {
        let parts = self.chunks.parts() as f64;
        let largest = times.iter().copied().fold(0.0, f64::max);
        (times.iter().sum::<f64>() + (parts * self.microbatches as f64 - 1.0) * largest) / parts
    }
}

/// Whether a rating is better than another by more than rounding.
fn is_less(one: Rating, other: Rating) -> bool {
    let is_below = |a: f64, b: f64| a < b - ROUNDING * b.abs() || a.is_finite() && b.is_infinite();
    is_below(one.0, other.0) || !is_below(other.0, one.0) && is_below(one.1, other.1)
}

/// An option of a node on a device.
#[derive(Clone, Copy)]
struct Choice {
    chunk: usize,
    /// Its index among those of the node.
    index: usize,
    value: f64,
    memory: Memory,
}

/// The least value of one choice of each node that fits at all moments, and the options that have it. At each moment it is a
/// knapsack, and the choice for the one that leaves the least room mostly fits at the others; where it does not, one counts that has
/// what each chunk has in flight at most.
///
/// # Errors
/// A limit came first.
fn best_choice(
    choices: &[Vec<Choice>],
    moments: &[Vec<usize>],
    (limit, data): (f64, usize),
    cx: &SearchContext,
) -> Result<Option<(f64, Vec<usize>)>, Stopped> {
    let bytes = |choice: &Choice, moment: &[usize]| choice.memory.lasting.of(moment[choice.chunk], data);
    let mut workings: Vec<f64> = choices.iter().flatten().map(|choice| choice.memory.working).collect();
    workings.sort_by(f64::total_cmp);
    workings.dedup();
    let most = moments
        .iter()
        .skip(1)
        .fold(moments[0].clone(), |most, moment| most.iter().zip(moment).map(|(a, b)| *a.max(b)).collect());
    let mut best: Option<(f64, Vec<usize>)> = None;
    for working in workings.into_iter().filter(|&working| working <= limit) {
        let with_less: Vec<Vec<Choice>> =
            choices.iter().map(|all| all.iter().copied().filter(|c| c.memory.working <= working).collect()).collect();
        let fits = |chosen: &[usize]| {
            let of_moment = |moment: &Vec<usize>| {
                with_less.iter().zip(chosen).map(|(all, &item)| bytes(&all[item], moment)).sum::<f64>()
            };
            moments.iter().all(|moment| of_moment(moment) <= limit - working)
        };
        let cutoff = best.as_ref().map_or(f64::INFINITY, |(value, _)| *value);
        // The first choice that fits at all of them is the least of those within the one it was made for.
        for moment in moments.iter().chain([&most]) {
            let item = |choice: &Choice| Item { value: choice.value, weight: bytes(choice, moment) };
            let classes: Vec<Vec<Item>> = with_less.iter().map(|all| all.iter().map(item).collect()).collect();
            let answer = knapsack::solve(&classes, limit - working, cutoff, true, cx)?;
            if answer.choice.is_empty() != classes.is_empty() || !answer.bounds.upper.is_finite() {
                continue;
            }
            if fits(&answer.choice) {
                if best.as_ref().is_none_or(|(value, _)| answer.bounds.upper < *value) {
                    let options = answer.choice.iter().zip(&with_less).map(|(&item, all)| all[item].index).collect();
                    best = Some((answer.bounds.upper, options));
                }
                break;
            }
        }
    }
    Ok(best)
}
