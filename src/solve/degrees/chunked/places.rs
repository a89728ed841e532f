//! Where stages begin, moved as long as that gains something.

use rustc_hash::FxHashMap;

use super::choice::{Choice, best_choice};
use super::{Asked, ROUNDING};
use crate::cost::OptionCost;
use crate::graph::topological;
use crate::problem::{DeviceAssignment, DeviceKind, ProblemSpec, Solution};
use crate::search::{Race, SearchContext, Stopped};
use crate::solve::BoundSource;
use crate::solve::degrees::shape::Memory;

/// What the places of stages are rated by: the step, and the sum of squares of the devices' times, which tells how uneven they are.
type Rating = (f64, f64);

/// Nodes in an order that every edge follows, and where in it stages begin.
pub struct Places<'a> {
    asked: &'a Asked<'a>,
    /// The units in their order, and the place there of the unit of each node.
    order: Vec<usize>,
    place: Vec<usize>,
    /// Where each stage begins; the end after the last.
    begins: Vec<usize>,
    /// The device of each stage, and the stages of each device.
    homes: Vec<usize>,
    stages: Vec<Vec<usize>>,
    /// The first of the stages that follow one another on the device of each: nothing moves between these.
    first: Vec<usize>,
    /// What devices take whose stages begin and end there; infinite where no options fit.
    known: FxHashMap<(usize, Vec<usize>), f64>,
}

/// What a device holds in the best options.
struct Held {
    time: f64,
    /// Its nodes, chunk by chunk, each with the index of its option.
    chunks: Vec<Vec<(usize, usize)>>,
}

impl<'a> Places<'a> {
    /// Those of a split whose devices state chunks.
    pub fn of(asked: &'a Asked<'a>, split: &Solution) -> Self {
        let index = asked.problem.index_of_ids();
        let devices = split.devices.len();
        let homes = ProblemSpec { chunks: Some(asked.chunks), ..ProblemSpec::default() }.homes(devices);
        let mut stages = vec![Vec::new(); devices];
        homes.iter().enumerate().for_each(|(stage, &home)| stages[home].push(stage));
        let mut stage_of = vec![0; asked.problem.node_count()];
        for (device, held) in split.devices.iter().zip(&stages) {
            for (chunk, &stage) in device.chunks.iter().zip(held) {
                chunk.iter().for_each(|id| stage_of[index[id]] = stage);
            }
        }
        let mut order = topological::smallest_first(&asked.units.order);
        let stage = |unit: usize| stage_of[asked.units.members[unit][0]];
        order.sort_by_key(|&unit| stage(unit));
        let mut place = vec![0; stage_of.len()];
        for (at, &unit) in order.iter().enumerate() {
            asked.units.members[unit].iter().for_each(|&v| place[v] = at);
        }
        let begins = (0..=homes.len()).map(|s| order.partition_point(|&unit| stage(unit) < s)).collect();
        let mut first: Vec<usize> = (0..homes.len()).collect();
        for stage in (1..homes.len()).filter(|&stage| homes[stage] == homes[stage - 1]) {
            first[stage] = first[stage - 1];
        }
        Self { asked, order, place, begins, homes, stages, first, known: FxHashMap::default() }
    }

    /// Offers the split in the best options for it, and what comes of moving the places where its stages begin.
    pub fn improve(mut self, race: &mut Race<Solution, BoundSource>) {
        let devices = 0..self.stages.len();
        let times: Result<Vec<f64>, Stopped> = devices.map(|device| self.time(device, race.cx)).collect();
        let Ok(mut times) = times else { return };
        loop {
            if let Some(split) = self.split(race.cx) {
                race.offer(self.asked.step(&times), split);
                race.report("chunks with options");
            }
            match self.moved(&times, race.cx) {
                Ok(Some(better)) if !race.is_done() => times = better,
                _ => return,
            }
        }
    }

    /// The step and the unevenness of devices that take so long.
    fn rating(&self, times: &[f64]) -> Rating {
        (self.asked.step(times), times.iter().map(|time| time * time).sum())
    }

    /// What a device takes for a microbatch; infinite where no options fit.
    fn time(&mut self, device: usize, cx: &SearchContext) -> Result<f64, Stopped> {
        let ends = self.stages[device].iter().flat_map(|&stage| [self.begins[stage], self.begins[stage + 1]]);
        let key = (device, ends.collect());
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let time = self.held(device, cx)?.map_or(f64::INFINITY, |held| held.time);
        self.known.insert(key, time);
        Ok(time)
    }

    /// Moves the places where some stages in a row begin by one unit, so that the rating becomes the best of all such moves; the
    /// devices' times, if that is better. O(stages²) moves.
    ///
    /// # Errors
    /// A limit came first.
    fn moved(&mut self, times: &[f64], cx: &SearchContext) -> Result<Option<Vec<f64>>, Stopped> {
        let mut best = self.rating(times);
        let mut found = None;
        let count = self.homes.len();
        for (first, last) in (1..count).flat_map(|first| (first..count).map(move |last| (first, last))) {
            for is_up in [false, true] {
                if cx.should_stop() {
                    return Err(Stopped);
                }
                if !self.shift(first, last, is_up) {
                    continue;
                }
                let mut now = times.to_vec();
                for stage in first - 1..=last {
                    now[self.homes[stage]] = self.time(self.homes[stage], cx)?;
                }
                let rating = self.rating(&now);
                if is_less(rating, best) {
                    (best, found) = (rating, Some((now, self.begins.clone())));
                }
                self.shift(first, last, !is_up);
            }
        }
        Ok(found.map(|(times, begins)| {
            self.begins = begins;
            times
        }))
    }

    /// Moves where these stages begin by one unit, if no stage becomes empty; whether none does.
    fn shift(&mut self, first: usize, last: usize, is_up: bool) -> bool {
        let (one, other) = if is_up { (last, last + 1) } else { (first - 1, first) };
        if self.begins[one] + 1 == self.begins[other] {
            return false;
        }
        self.begins[first..=last].iter_mut().for_each(|begin| if is_up { *begin += 1 } else { *begin -= 1 });
        true
    }

    /// The best options of what a device holds, `None` where none fit.
    ///
    /// # Errors
    /// A limit came first.
    fn held(&self, device: usize, cx: &SearchContext) -> Result<Option<Held>, Stopped> {
        let asked = self.asked;
        let mut nodes: Vec<(usize, usize)> = Vec::new();
        for (chunk, &stage) in self.stages[device].iter().enumerate() {
            let units = &self.order[self.begins[stage]..self.begins[stage + 1]];
            nodes.extend(units.iter().flat_map(|&unit| &asked.units.members[unit]).map(|&v| (chunk, v)));
        }
        let mut moved = 0.0;
        let mut choices = Vec::with_capacity(nodes.len());
        for &(chunk, v) in &nodes {
            let own = self.first[self.stages[device][chunk]];
            let is_cut = |other: usize| self.first[self.stage_at(self.place[other])] != own;
            let cut: Vec<usize> =
                asked.edges_at[v].iter().filter(|(_, other)| is_cut(*other)).map(|&(edge, _)| edge).collect();
            moved += cut.iter().map(|&edge| asked.costs.edges[edge].bytes).sum::<f64>();
            let choice = |(index, option): (usize, &OptionCost)| {
                let exchanged = cut.iter().map(|&edge| option.exchanged_for(edge)).sum();
                let memory = Memory { lasting: asked.costs.bytes(option), working: option.working };
                Choice { chunk, index, value: asked.time(option.compute, exchanged, option.parameters), memory }
            };
            choices.push(asked.options(v).map(choice).collect::<Vec<Choice>>());
        }
        let moments = asked.chunks.in_flight(device, self.stages.len(), asked.microbatches);
        let limit = asked.model.shapes[asked.shape].memory;
        let Some((value, chosen)) = best_choice(&choices, &moments, (limit, asked.data), cx)? else { return Ok(None) };
        let mut chunks = vec![Vec::new(); asked.chunks.count];
        nodes.iter().zip(chosen).for_each(|(&(chunk, v), option)| chunks[chunk].push((v, option)));
        Ok(Some(Held { time: value + asked.time(0.0, moved, 0.0), chunks }))
    }

    /// The stage that holds what is at a place of the order.
    fn stage_at(&self, place: usize) -> usize {
        self.begins.partition_point(|&begin| begin <= place) - 1
    }

    /// The split in the best options; `None` where some device has none that fit, or a limit came first.
    fn split(&self, cx: &SearchContext) -> Option<Solution> {
        let (problem, costs) = (self.asked.problem, self.asked.costs);
        let shape = &self.asked.model.shapes[self.asked.shape];
        let (mut times, mut devices) = (Vec::new(), Vec::new());
        for device in 0..self.stages.len() {
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

/// Whether a rating is better than another by more than rounding.
fn is_less(one: Rating, other: Rating) -> bool {
    let is_below = |a: f64, b: f64| a < b - ROUNDING * b.abs() || a.is_finite() && b.is_infinite();
    is_below(one.0, other.0) || !is_below(other.0, one.0) && is_below(one.1, other.1)
}
