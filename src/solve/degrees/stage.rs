//! One stage: whether its nodes have options within a target and within memory, and which.

use rustc_hash::FxHashMap;

use super::knapsack::{self, Answer, Bounds, Item};
use super::model::{Model, Sums};
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
    /// The index of its tensor degree.
    pub tensor: usize,
    pub data: usize,
    /// Microbatches in flight.
    pub in_flight: usize,
}

/// What tells one question for options from another: sets, tensor degree, data degree, microbatches in flight.
type Key = (u32, u32, u32, u32, u32);

/// Questions beyond this many are asked anew.
const MOST_ANSWERS: usize = 2_000_000;

/// Chooses options, and remembers how good they can be.
pub struct Chooser<'a> {
    pub model: &'a Model<'a>,
    known: FxHashMap<Key, Bounds>,
}

impl Stage<'_> {
    fn contains(&self, unit: usize) -> bool {
        contains(self.with, unit) && !contains(self.without, unit)
    }

    /// Its units, ascending.
    pub fn units(&self) -> impl Iterator<Item = usize> {
        ones(self.with.iter().zip(self.without).map(|(with, without)| with & !without))
    }

    fn key(&self) -> Key {
        (self.sets.0, self.sets.1, self.tensor as u32, self.data as u32, self.in_flight as u32)
    }
}

impl<'a> Chooser<'a> {
    pub fn new(model: &'a Model<'a>) -> Self {
        Self { model, known: FxHashMap::default() }
    }

    /// Whether a stage with these sums, whose least time is within the target, has options within it that fit.
    ///
    /// # Errors
    /// A limit came first.
    pub fn is_within(&mut self, stage: &Stage, sums: &Sums, target: f64, cx: &SearchContext) -> Result<bool, Stopped> {
        if sums.least_bytes(stage.in_flight) > self.model.memory {
            return Ok(false);
        }
        if sums.is_simple && sums.fastest_bytes(stage.in_flight) <= self.model.memory {
            return Ok(true);
        }
        let key = stage.key();
        if let Some(known) = self.known.get(&key).and_then(|bounds| bounds.is_within(target)) {
            return Ok(known);
        }
        let (_, answer) = self.choose(stage, target, cx)?;
        if self.known.len() < MOST_ANSWERS || self.known.contains_key(&key) {
            self.known.insert(key, answer.bounds);
        }
        Ok(answer.bounds.is_within(target) == Some(true))
    }

    /// The options of a stage's units by their indices, and its time; `None` where none is within the target and fits.
    ///
    /// # Errors
    /// A limit came first.
    pub fn options(
        &self,
        stage: &Stage,
        target: f64,
        cx: &SearchContext,
    ) -> Result<Option<(f64, Vec<usize>)>, Stopped> {
        let (options, answer) = self.choose(stage, target, cx)?;
        let chosen = answer.choice.iter().zip(&options).map(|(&item, options)| options[item]);
        Ok((answer.bounds.is_within(target) == Some(true)).then(|| (answer.bounds.upper, chosen.collect())))
    }

    /// The knapsack of a stage, and the option that each of its items stands for.
    fn choose(&self, stage: &Stage, target: f64, cx: &SearchContext) -> Result<(Vec<Vec<usize>>, Answer), Stopped> {
        let model = self.model;
        let mut moved = 0.0;
        let (mut classes, mut options) = (Vec::new(), Vec::new());
        for unit in stage.units() {
            let cut = || model.incident[unit].iter().filter(|at| !stage.contains(at.other)).map(|at| at.edge);
            moved += cut().map(|edge| model.costs.edges[edge].bytes).sum::<f64>();
            let (mut items, mut indices) = (Vec::new(), Vec::new());
            for (index, option) in model.options(stage.tensor, unit) {
                let exchanged = cut().map(|edge| option.exchanged_for(edge)).sum();
                items.push(Item {
                    value: model.time(option.compute, exchanged, option.parameters, stage.data),
                    weight: option.memory_per_microbatch * stage.in_flight as f64 + option.memory,
                });
                indices.push(index);
            }
            classes.push(items);
            options.push(indices);
        }
        let base = model.time(0.0, moved, 0.0, stage.data);
        let Answer { bounds, choice } = knapsack::solve(&classes, model.memory, target - base, cx)?;
        let bounds = Bounds { lower: bounds.lower + base, upper: bounds.upper + base };
        Ok((options, Answer { bounds, choice }))
    }
}
