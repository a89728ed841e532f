//! The times that a copy may take at all.
//!
//! Where links have few different bandwidths, as by hops in a grid, few sums of compute and links exist. What lies above a
//! refuted target begins at the next of them.

use super::model::{Link, Model, StageRow};
use crate::mapping::ROUNDING;

/// The most different links of a relation for which times are told apart.
const MOST: usize = 32;

/// Sums looked at for one time before giving up.
const PATIENCE: usize = 20_000;

/// Times as sums of one term from each list, by stage and piece.
#[derive(Debug)]
pub struct Levels {
    sums: Vec<Vec<Vec<f64>>>,
}

impl Levels {
    /// The times of a model's copies; `None` where links differ too much.
    pub fn new<const W: usize>(model: &Model<W>) -> Option<Self> {
        let mut sums = Vec::new();
        for row in &model.stages {
            sums.extend(stage_sums(model, row)?);
        }
        Some(Self { sums })
    }

    /// A time below which, and above `refuted`, no copy's time lies: `refuted` itself where the next is hard to tell, and
    /// never more than `most`.
    pub fn next(&self, refuted: f64, most: f64) -> f64 {
        let mut least = most;
        for terms in &self.sums {
            let mut search = LeastSum {
                terms,
                least_rest: rests(terms, 0),
                most_rest: rests(terms, 1),
                refuted,
                least,
                patience: PATIENCE,
            };
            search.extend(0, 0.0);
            if search.patience == 0 {
                return refuted;
            }
            least = search.least;
        }
        refuted.max(least * (1.0 - ROUNDING))
    }
}

/// The sums of a stage: those of each piece with the all-reduce, or those and the all-reduce alone where it overlaps.
fn stage_sums<const W: usize>(model: &Model<W>, row: &StageRow<W>) -> Option<Vec<Vec<Vec<f64>>>> {
    let terms = |link: &Link| {
        let mut costs = model.relations[link.relation].distinct();
        costs.iter_mut().for_each(|cost| *cost *= link.scale);
        Some(costs).filter(|costs| costs.len() <= MOST)
    };
    let mut ring = Vec::new();
    if let Some(links) = &row.ring {
        ring = [terms(&links.next)?, terms(&links.previous)?].concat();
    }
    let mut sums = Vec::new();
    for piece in &row.pieces {
        let mut sum = vec![piece.compute.clone()];
        for (_, link) in &piece.links {
            sum.push(terms(link)?);
        }
        if !ring.is_empty() && model.adds_ring() {
            sum.push(ring.clone());
        }
        sums.push(sum);
    }
    if !ring.is_empty() && !model.adds_ring() {
        sums.push(vec![ring]);
    }
    for terms in sums.iter_mut().flatten() {
        terms.sort_by(f64::total_cmp);
        terms.dedup();
    }
    Some(sums)
}

/// By list: the sum of the first or last terms of this and all later lists.
fn rests(terms: &[Vec<f64>], end: usize) -> Vec<f64> {
    let mut rests = vec![0.0; terms.len() + 1];
    for index in (0..terms.len()).rev() {
        let term = if end == 0 { terms[index].first() } else { terms[index].last() };
        rests[index] = rests[index + 1] + term.copied().unwrap_or(0.0);
    }
    rests
}

/// A search for the least sum above what is refuted.
struct LeastSum<'a> {
    terms: &'a [Vec<f64>],
    least_rest: Vec<f64>,
    most_rest: Vec<f64>,
    refuted: f64,
    least: f64,
    patience: usize,
}

impl LeastSum<'_> {
    fn extend(&mut self, index: usize, sum: f64) {
        let Some(terms) = self.terms.get(index) else {
            // Sums up to the target and a margin for rounding are refuted.
            if sum > self.refuted * (1.0 + ROUNDING / 2.0) {
                self.least = self.least.min(sum);
            }
            return;
        };
        for &term in terms {
            if sum + term + self.least_rest[index + 1] >= self.least || self.patience == 0 {
                return;
            }
            if sum + term + self.most_rest[index + 1] > self.refuted {
                self.patience -= 1;
                self.extend(index + 1, sum + term);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Counted, Mapping, StageCost, samples};
    use crate::solve::SearchContext;

    #[test]
    fn no_copy_takes_a_time_between_a_level_and_the_next() {
        for seed in 0..200 {
            let mut problem = samples::problem(seed);
            problem
                .stages
                .stages
                .iter_mut()
                .zip(1..)
                .for_each(|(stage, bytes)| stage.parameter_bytes = f64::from(bytes));
            problem.cost =
                StageCost::additive([Counted::Both, Counted::AllReduce, Counted::Messages][seed as usize % 3]);
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let levels = Levels::new(&model).expect("there are few different links");
            let devices = problem.topology.len();
            for turn in 0..devices {
                let place = |copy: usize| {
                    if seed % 2 == 0 { (copy + turn) % devices } else { (turn + devices - copy) % devices }
                };
                let times = problem.times(&Mapping { devices: (0..problem.copies()).map(place).collect() });
                for time in times {
                    let below = levels.next(time * (1.0 - 1e-9), f64::MAX);
                    assert!((time * (1.0 - 1e-9)..=time).contains(&below), "seed {seed}: {below} for {time}");
                    assert!(levels.next(time, time) <= time * (1.0 + 1e-15));
                    assert!(levels.next(time, f64::MAX) >= time);
                }
            }
        }
    }
}
