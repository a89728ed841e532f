//! One stage: whether its nodes have options within a target and within memory, and which.

use rustc_hash::FxHashMap;

use super::front::Found;
use super::knapsack::{self, Answer, Bounds, Item};
use super::model::{Incident, Model, Sums};
use super::relaxation::Relaxed;
use super::shape::Memory;
use crate::cost::OptionCost;
use crate::graph::ones;
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::loads::contains;

/// A set of units between two ideals, with degrees.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    /// The sets behind it without and with its units, by their numbers, and as words of bit sets.
    pub sets: (u32, u32),
    pub without: &'a [u64],
    pub with: &'a [u64],
    /// The index of its shape.
    pub shape: usize,
    pub data: usize,
    /// Microbatches in flight.
    pub in_flight: usize,
}

/// What tells one question for options from another: sets, shape, data degree, microbatches in flight.
type Key = (u32, u32, u32, u32, u32);

/// Questions beyond this many are asked anew.
const MOST_ANSWERS: usize = 2_000_000;

/// Chooses options, and remembers how good they can be.
pub struct Chooser<'a> {
    pub model: &'a Model<'a>,
    known: FxHashMap<Key, Bounds>,
    relaxed: Option<Relaxed<'a>>,
    /// Whether a stage is given the least time that the relaxation leaves it, as long as that is open.
    pub is_lenient: bool,
}

impl Stage<'_> {
    fn contains(&self, unit: usize) -> bool {
        contains(self.with, unit) && !contains(self.without, unit)
    }

    /// Its units, ascending.
    pub fn units(&self) -> impl Iterator<Item = usize> {
        ones(self.with.iter().zip(self.without).map(|(with, without)| with & !without))
    }

    /// It as a stage of a split: with its time, and the options of its nodes, unit by unit.
    pub fn found(&self, model: &Model, (time, options): (f64, Vec<usize>)) -> Found {
        let nodes = self.units().flat_map(|unit| model.members[unit].iter().copied());
        let mut nodes: Vec<(usize, usize)> = nodes.zip(options).collect();
        nodes.sort_unstable();
        Found { nodes, shape: self.shape, data: self.data, time }
    }

    fn key(&self) -> Key {
        (self.sets.0, self.sets.1, self.shape as u32, self.data as u32, self.in_flight as u32)
    }
}

impl<'a> Chooser<'a> {
    /// For stages between sets that have so many nodes of each kind, if that is known: it is lenient at first then, which saves a
    /// search for each stage.
    pub fn new(model: &'a Model<'a>, counts: Option<&'a [u32]>) -> Self {
        let relaxed = counts.map(|counts| Relaxed::new(model, counts));
        Self { model, known: FxHashMap::default(), is_lenient: relaxed.is_some(), relaxed }
    }

    /// A time of a stage with these sums for which it has options that fit, if one is within the cutoff: for a step the
    /// least. One that is lenient may say so of less.
    ///
    /// # Errors
    /// A limit came first.
    pub fn time(
        &mut self,
        stage: &Stage,
        sums: &Sums,
        cutoff: f64,
        cx: &SearchContext,
    ) -> Result<Option<f64>, Stopped> {
        let model = self.model;
        let shape = &model.shapes[stage.shape];
        let fits = |memory: &Memory| memory.bytes(stage.in_flight, stage.data) <= shape.memory;
        if !fits(&sums.least) {
            return Ok(None);
        }
        if sums.is_simple && fits(&sums.fastest) {
            return Ok(Some(model.least_time(sums, stage.data)).filter(|&time| time <= cutoff));
        }
        if let Some(relaxed) = &mut self.relaxed {
            let moved = model.time(0.0, sums.moved.max(0.0), 0.0, stage.data);
            let bounds = relaxed.bounds(stage.sets, (stage.shape, stage.data, stage.in_flight), moved);
            let (has_options, is_alike) = (bounds.upper.is_finite(), shape.exchanges_alike);
            if bounds.lower.is_infinite() || bounds.lower > cutoff {
                return Ok(None);
            }
            if has_options && is_alike && bounds.upper <= cutoff && (!model.is_step || bounds.meet()) {
                return Ok(Some(bounds.upper));
            }
            if has_options && self.is_lenient {
                return Ok(Some(bounds.lower));
            }
        }
        let key = stage.key();
        let tells = |bounds: &Bounds| match bounds.is_within(cutoff) {
            Some(true) => !model.is_step || bounds.meet(),
            is_within => is_within.is_some(),
        };
        let bounds = match self.known.get(&key).copied().filter(tells) {
            Some(bounds) => bounds,
            None => {
                let (bounds, _) = self.choose(stage, cutoff, model.is_step, cx)?;
                if self.known.len() < MOST_ANSWERS || self.known.contains_key(&key) {
                    self.known.insert(key, bounds);
                }
                bounds
            }
        };
        Ok((bounds.is_within(cutoff) == Some(true)).then_some(bounds.upper))
    }

    /// The options of a stage's nodes, unit by unit, by their indices, and its time, for a stage that has such as fit:
    /// within the cutoff, but for the rounding of what told so.
    ///
    /// # Errors
    /// A limit came first, or what told that they fit was rounded.
    pub fn options(&self, stage: &Stage, cutoff: f64, cx: &SearchContext) -> Result<(f64, Vec<usize>), Stopped> {
        let (bounds, chosen) = self.choose(stage, cutoff, false, cx)?;
        if bounds.is_within(cutoff) != Some(true) {
            return self.least(stage, cx)?.ok_or(Stopped);
        }
        Ok((bounds.upper, chosen))
    }

    /// The least time of a stage and the options that take it, unit by unit, by their indices; `None` where none fit.
    ///
    /// # Errors
    /// A limit came first.
    pub fn least(&self, stage: &Stage, cx: &SearchContext) -> Result<Option<(f64, Vec<usize>)>, Stopped> {
        let (bounds, chosen) = self.choose(stage, f64::INFINITY, true, cx)?;
        Ok(bounds.upper.is_finite().then_some((bounds.upper, chosen)))
    }

    /// What is known of the least time of a stage, and the options that take the upper bound. Of each working memory
    /// that its nodes may have, those with less make a knapsack in what it leaves.
    fn choose(
        &self,
        stage: &Stage,
        cutoff: f64,
        least: bool,
        cx: &SearchContext,
    ) -> Result<(Bounds, Vec<usize>), Stopped> {
        let memory = self.model.shapes[stage.shape].memory;
        let (base, choices) = self.choices(stage);
        let mut workings: Vec<f64> = choices.iter().flatten().map(|choice| choice.working).collect();
        let leanest = |all: &Vec<Choice>| all.iter().map(|choice| choice.working).fold(f64::INFINITY, f64::min);
        let needed = choices.iter().map(leanest).fold(0.0, f64::max);
        workings.retain(|&working| needed <= working && working <= memory);
        workings.sort_by(f64::total_cmp);
        workings.dedup();
        let (mut best, mut chosen) = (Bounds::INFEASIBLE, Vec::new());
        for working in workings {
            if !least && best.is_within(cutoff) == Some(true) {
                // How good the others are is left open.
                best.lower = 0.0;
                break;
            }
            let with_less = |all: &Vec<Choice>| all.iter().copied().filter(|c| c.working <= working).collect();
            let choices: Vec<Vec<Choice>> = choices.iter().map(with_less).collect();
            let classes: Vec<Vec<Item>> =
                choices.iter().map(|all| all.iter().map(|choice| choice.item).collect()).collect();
            let most = cutoff.min(best.upper) - base;
            let Answer { bounds, choice } = knapsack::solve(&classes, memory - working, most, least, cx)?;
            if bounds.upper + base < best.upper {
                chosen = choice.iter().zip(&choices).map(|(&item, all)| all[item].option).collect();
            }
            best = best.or(&Bounds { lower: bounds.lower + base, upper: bounds.upper + base });
        }
        Ok((best, chosen))
    }

    /// What a stage takes whatever its options are, and those of each of its nodes, unit by unit.
    fn choices(&self, stage: &Stage) -> (f64, Vec<Vec<Choice>>) {
        let model = self.model;
        let mut moved = 0.0;
        let mut choices = Vec::new();
        for (unit, &v) in stage.units().flat_map(|unit| model.members[unit].iter().map(move |v| (unit, v))) {
            let is_cut = |at: &&Incident| at.node == v && !stage.contains(at.other);
            let cut = || model.incident[unit].iter().filter(is_cut).map(|at| at.edge);
            moved += cut().map(|edge| model.costs.edges[edge].bytes).sum::<f64>();
            let choice = |(index, option): (usize, &OptionCost)| {
                let exchanged = cut().map(|edge| option.exchanged_for(edge)).sum();
                let item = Item {
                    value: model.time(option.compute, exchanged, option.parameters, stage.data),
                    weight: model.costs.bytes(option).of(stage.in_flight, stage.data),
                };
                Choice { item, option: index, working: option.working }
            };
            choices.push(model.options(stage.shape, v).map(choice).collect());
        }
        (model.time(0.0, moved, 0.0, stage.data), choices)
    }
}

/// An option of a node.
#[derive(Clone, Copy)]
struct Choice {
    item: Item,
    /// Its index among those of the node.
    option: usize,
    working: f64,
}
