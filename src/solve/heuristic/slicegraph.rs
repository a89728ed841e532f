//! SliceGraph: a genetic search over topological orders, each split optimally into intervals.

use rayon::prelude::*;

use crate::graph::topological;
use crate::preprocess::{Reduced, Unordered};
use crate::problem::Problem;
use crate::solve::dp::grouping::Flat;
use crate::solve::dp::linearized::best_split;
use crate::solve::dp::orders::{self, Random};
use crate::solve::dp::{self, Incumbent, Setting};
use crate::solve::heuristic::{is_good_enough, outcome, work_bound};
use crate::solve::{
    Guarantee, LowerBound, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported, in_pool,
};

/// SliceGraph of Archer, Fahrbach, Liu and Prabhu, "Practical Performance Guarantees for Pipelined DNN Inference" (ICML
/// 2024): linearized DP splits one topological order optimally into intervals, and a biased random-key genetic search
/// (Gonçalves and Resende 2011) finds good orders.
///
/// An individual is one key for each unit; its order always takes the ready unit of least key, and its fitness is the
/// objective of the order's best split. In each generation the elite stays, mutants are drawn anew, and every other
/// individual has an elite and another parent, taking each key from the elite one with probability `bias`. The first
/// generation holds the orders that [`LinearizedDp`](crate::solve::LinearizedDp) tries, so that the answer is no
/// worse than its own, as far as the population goes.
///
/// Individuals are split on all threads, with the same answer on any number. One generation is `population` runs of
/// linearized DP; those that cannot enter the elite end early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceGraph {
    /// Individuals of a generation; at least 2.
    pub population: usize,
    /// Generations after the first.
    pub generations: usize,
    /// The share of individuals that pass on unchanged, from 0 to 1; at least one does.
    pub elite: f64,
    /// The share of individuals drawn anew, from 0 to 1.
    pub mutants: f64,
    /// The probability that a key comes from the elite parent, from 0 to 1.
    pub bias: f64,
}

impl Default for SliceGraph {
    fn default() -> Self {
        Self { population: 64, generations: 64, elite: 0.2, mutants: 0.15, bias: 0.7 }
    }
}

impl Solver for SliceGraph {
    fn name(&self) -> &str {
        "slicegraph"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let keys = self.population.saturating_mul(problem.node_count());
        if keys > MOST_KEYS {
            let reason = format!(
                "population {} on {} nodes are more than {MOST_KEYS} keys; take a smaller population",
                self.population,
                problem.node_count()
            );
            return Err(Unsupported { solver: self.name().into(), reason });
        }
        dp::supports(self.name(), problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let cx = &*cx;
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        let bound = work_bound(&Unordered::new(problem));
        let mut evolution = Evolution::new(self, &setting, cx);
        in_pool(cx, || evolution.run(&bound));
        let stats = Stats::of([
            ("units", reduced.unit_count() as f64),
            ("orders", evolution.orders as f64),
            ("generations", evolution.generations as f64),
        ]);
        let solution = evolution.best.map(|split| setting.lift(&split, split.objective()));
        Ok(Run { outcome: outcome(solution, bound), stats })
    }
}

/// The most keys of a population, which take four bytes each.
const MOST_KEYS: usize = 50_000_000;

/// One key for each unit.
type Keys = Vec<u32>;

/// An individual: its keys, and the objective of its order where that could enter the elite.
struct Individual {
    keys: Keys,
    objective: Option<f64>,
}

/// A run of the genetic search.
struct Evolution<'a> {
    method: &'a SliceGraph,
    setting: &'a Setting<'a>,
    cx: &'a SearchContext,
    random: Random,
    /// The best first.
    population: Vec<Individual>,
    best: Option<Incumbent>,
    orders: usize,
    generations: usize,
}

impl<'a> Evolution<'a> {
    fn new(method: &'a SliceGraph, setting: &'a Setting<'a>, cx: &'a SearchContext) -> Self {
        let random = Random::new(cx.seed);
        Self { method, setting, cx, random, population: Vec::new(), best: None, orders: 0, generations: 0 }
    }

    fn run(&mut self, bound: &LowerBound) {
        let flat = Flat::new(self.setting);
        let flat = flat.as_ref().map(Flat::settings);
        // The first one is always split; no others are drawn once the time is up.
        let wanted = |&i: &usize| i == 0 || !self.cx.should_stop();
        let first = (0..self.size())
            .take_while(wanted)
            .map(|i| keys_of(&orders::numbered(self.setting.reduced, i, self.cx.seed, self.cx)));
        let mut newborn: Vec<Keys> = first.collect();
        for generation in 0..=self.method.generations {
            self.generations = generation;
            self.admit(newborn, flat.as_ref());
            let incumbent = self.best.as_ref().map(Incumbent::objective);
            self.cx.report(&Progress { phase: "generations", incumbent, bound: Some(bound.value) });
            let is_done = incumbent.is_some_and(|value| is_good_enough(value, bound, self.cx.gap));
            if is_done || self.cx.should_stop() {
                return;
            }
            newborn = self.offspring();
            self.population.truncate(self.elite());
        }
    }

    fn size(&self) -> usize {
        self.method.population.max(2)
    }

    /// How many individuals are elite; someone is not.
    fn elite(&self) -> usize {
        ((self.method.elite * self.size() as f64) as usize).clamp(1, self.size() - 1)
    }

    /// Splits the orders of `newborn` and ranks them among the population. Those no better than the whole elite of old
    /// need no objective: beyond it all are alike.
    fn admit(&mut self, newborn: Vec<Keys>, flat: Option<&[Setting; 2]>) {
        let worst = self.population.last().and_then(|last| last.objective);
        let upper = worst.filter(|_| !self.population.is_empty()).unwrap_or(f64::INFINITY);
        let (setting, cx) = (self.setting, self.cx);
        let split = |(i, keys): (usize, &Keys)| {
            if (i > 0 || self.best.is_some()) && cx.should_stop() {
                return None;
            }
            let order = topological::by_priority(&setting.reduced.order, |u| keys[u]);
            best_split(setting, flat, &order, upper, self.cx)
        };
        let splits: Vec<Option<Incumbent>> = newborn.par_iter().enumerate().map(split).collect();
        self.orders += newborn.len();
        for (keys, split) in newborn.into_iter().zip(splits) {
            self.population.push(Individual { keys, objective: split.as_ref().map(Incumbent::objective) });
            if let Some(split) = split
                && self.best.as_ref().is_none_or(|best| split.objective() < best.objective())
            {
                self.best = Some(split);
            }
        }
        let rank = |individual: &Individual| individual.objective.unwrap_or(f64::INFINITY);
        self.population.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    }

    /// Mutants, then children of the elite and others.
    fn offspring(&mut self) -> Vec<Keys> {
        let (size, elite, units) = (self.size(), self.elite(), self.setting.reduced.unit_count());
        let mutants = ((self.method.mutants * size as f64) as usize).min(size - elite);
        let mut newborn: Vec<Keys> = (0..mutants)
            .take_while(|_| !self.cx.should_stop())
            .map(|_| (0..units).map(|_| self.random.draw() as u32).collect())
            .collect();
        while newborn.len() < size - elite && !self.cx.should_stop() {
            let parents = [self.random.below(elite), elite + self.random.below(size - elite)];
            let key = |u: usize| {
                // 53 random bits make a number below 1.
                let is_elite = ((self.random.draw() >> 11) as f64) < self.method.bias * (1u64 << 53) as f64;
                self.population[parents[usize::from(!is_elite)]].keys[u]
            };
            newborn.push((0..units).map(key).collect());
        }
        newborn
    }
}

/// Keys that give `order`, evenly spaced.
fn keys_of(order: &[usize]) -> Keys {
    let step = u32::MAX / order.len().max(1) as u32;
    let mut keys = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &u)| keys[u] = i as u32 * step);
    keys
}
