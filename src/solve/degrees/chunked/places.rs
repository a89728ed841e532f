//! Where stages begin, moved as long as that gains something.

use rustc_hash::FxHashMap;

use super::choice::{Best, Choice, best_choice};
use super::{Asked, ROUNDING};
use crate::cost::OptionCost;
use crate::graph::topological;
use crate::problem::{DeviceAssignment, DeviceKind, Solution, first_together};
use crate::search::{Race, SearchContext, Stopped};
use crate::solve::BoundSource;
use crate::solve::degrees::shape::Memory;

/// What the places of stages are rated by: the step, the sum of squares of the devices' times, which tells how uneven they are, and
/// what is less of what counts last.
type Rating = [f64; 3];

/// What counts last.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// The bytes of all devices: less of them leaves room for the next moves.
    Bytes,
    /// How uneven the stages are, by the sum of squares of their units: the formula of a step does not see it, and pipelines whose
    /// stages are even wait for less.
    Stages,
}

/// What a device takes for a microbatch, and its bytes at the peak; infinite where no options fit.
#[derive(Clone, Copy)]
struct Taken {
    time: f64,
    bytes: f64,
}

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
    /// What devices take whose stages begin and end there.
    known: FxHashMap<(usize, Vec<usize>), Taken>,
}

/// What a device holds in the best options.
struct Held {
    taken: Taken,
    /// Its nodes, chunk by chunk, each with the index of its option.
    chunks: Vec<Vec<(usize, usize)>>,
}

impl<'a> Places<'a> {
    /// Those of a split whose devices state chunks.
    pub fn of(asked: &'a Asked<'a>, split: &Solution) -> Self {
        let index = asked.problem.index_of_ids();
        let devices = split.devices.len();
        let homes = asked.chunks.homes(devices);
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
        let first = first_together(&homes);
        Self { asked, order, place, begins, homes, stages, first, known: FxHashMap::default() }
    }

    /// Offers the split in the best options for it, and what comes of moving the places where its stages begin.
    pub fn improve(mut self, is_even: bool, race: &mut Race<Solution, BoundSource>) {
        let devices = 0..self.stages.len();
        let all: Result<Vec<Taken>, Stopped> = devices.map(|device| self.taken(device, race.cx)).collect();
        let Ok(mut all) = all else { return };
        // Of splits of one step the last one counts, which is the most even.
        let mut best = self.split(race.cx);
        for last in [Last::Bytes, Last::Stages].into_iter().filter(|last| !is_even || *last == Last::Stages) {
            while self.moved(&mut all, last, race.cx) == Ok(true) {}
            if let Some((objective, split)) = self.split(race.cx) {
                best = best.filter(|&(known, _)| known < objective * (1.0 - ROUNDING)).or(Some((objective, split)));
            }
        }
        if let Some((objective, split)) = best {
            race.offer(objective, split);
            race.report("chunks with options");
        }
    }

    /// How good places are whose devices take so much.
    fn rating(&self, all: &[Taken], last: Last) -> Rating {
        let times: Vec<f64> = all.iter().map(|taken| taken.time).collect();
        let last = match last {
            Last::Bytes => all.iter().map(|taken| taken.bytes).sum(),
            Last::Stages => self.begins.windows(2).map(|ends| ((ends[1] - ends[0]) as f64).powi(2)).sum(),
        };
        [self.asked.step(&times), times.iter().map(|time| time * time).sum(), last]
    }

    /// What a device takes.
    ///
    /// # Errors
    /// A limit came first.
    fn taken(&mut self, device: usize, cx: &SearchContext) -> Result<Taken, Stopped> {
        let ends = self.stages[device].iter().flat_map(|&stage| [self.begins[stage], self.begins[stage + 1]]);
        let key = (device, ends.collect());
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let none = Taken { time: f64::INFINITY, bytes: f64::INFINITY };
        let taken = self.held(device, cx)?.map_or(none, |held| held.taken);
        self.known.insert(key, taken);
        Ok(taken)
    }

    /// Moves the places where some stages in a row begin by one unit wherever that makes the rating better; whether it did. O(stages²)
    /// moves.
    ///
    /// # Errors
    /// A limit came first.
    fn moved(&mut self, all: &mut Vec<Taken>, last: Last, cx: &SearchContext) -> Result<bool, Stopped> {
        let begun = self.rating(all, last);
        let (mut best, count) = (begun, self.homes.len());
        for (first, end) in (1..count).flat_map(|first| (first..count).map(move |end| (first, end))) {
            for is_up in [false, true] {
                if cx.should_stop() {
                    return Err(Stopped);
                }
                if !self.shift(first, end, is_up) {
                    continue;
                }
                let mut now = all.clone();
                for stage in first - 1..=end {
                    now[self.homes[stage]] = self.taken(self.homes[stage], cx)?;
                }
                let rating = self.rating(&now, last);
                if is_less(rating, best) {
                    (best, *all) = (rating, now);
                } else {
                    self.shift(first, end, !is_up);
                }
            }
        }
        Ok(is_less(best, begun))
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
        let Some(Best { value, bytes, options }) = best_choice(&choices, &moments, (limit, asked.data), cx)? else {
            return Ok(None);
        };
        let mut chunks = vec![Vec::new(); asked.chunks.count];
        nodes.iter().zip(options).for_each(|(&(chunk, v), option)| chunks[chunk].push((v, option)));
        Ok(Some(Held { taken: Taken { time: value + asked.time(0.0, moved, 0.0), bytes }, chunks }))
    }

    /// The stage that holds what is at a place of the order.
    fn stage_at(&self, place: usize) -> usize {
        self.begins.partition_point(|&begin| begin <= place) - 1
    }

    /// The split in the best options, with its step; `None` where some device has none that fit, or a limit came first.
    fn split(&self, cx: &SearchContext) -> Option<(f64, Solution)> {
        let (problem, costs) = (self.asked.problem, self.asked.costs);
        let shape = &self.asked.model.shapes[self.asked.shape];
        let (mut times, mut devices) = (Vec::new(), Vec::new());
        for device in 0..self.stages.len() {
            let Held { taken, chunks } = self.held(device, cx).ok()??;
            times.push(taken.time);
            let id = |&(v, _): &(usize, usize)| problem.ids[v];
            devices.push(DeviceAssignment {
                replicas: self.asked.data,
                tensor_degree: shape.tensor,
                options: chunks.iter().flatten().map(|&(v, option)| costs.options[v][option].name.clone()).collect(),
                chunks: chunks.iter().map(|chunk| chunk.iter().map(id).collect()).collect(),
                ..DeviceAssignment::new(DeviceKind::Accelerator(shape.class), chunks.iter().flatten().map(id).collect())
            });
        }
        let objective = self.asked.step(&times);
        Some((objective, Solution { devices, objective: Some(objective) }))
    }
}

/// Whether a rating is better than another by more than rounding.
fn is_less(one: Rating, other: Rating) -> bool {
    let is_below = |a: f64, b: f64| a < b - ROUNDING * b.abs() || a.is_finite() && b.is_infinite();
    let differs = one.into_iter().zip(other).find(|&(a, b)| is_below(a, b) || is_below(b, a));
    differs.is_some_and(|(a, b)| is_below(a, b))
}
