//! The filling program: whether fractions of fillings of blocks hold all copies.
//!
//! Its dual asks for a value of each stage's copy under which all blocks together can hold less than the copies are worth:
//! then no mapping keeps the target, which is checked without the program. It is solved over the fillings known so far.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::groups::{Groups, bits};
use crate::solve::SearchContext;

/// What one block holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// The kind of the block.
    pub kind: usize,
    /// Groups, as often as it holds them.
    pub groups: Vec<usize>,
    /// By stage: how many copies that makes.
    pub copies: Vec<usize>,
    /// The least that the slowest copy takes.
    pub load: f64,
}

/// What is to be held.
#[derive(Debug, Clone)]
pub struct Order {
    /// No copy may take longer.
    pub limit: f64,
    /// By stage: how many copies.
    pub copies: Vec<usize>,
    /// By kind: how many blocks.
    pub blocks: Vec<usize>,
    /// Whether no filling may hold more copies than that, which refutes nothing: then as many copies as possible are held.
    pub is_strict: bool,
}

/// What is known of an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// Not even fractions of fillings hold it.
    Refuted,
    /// So many of these fillings do.
    Open(Vec<(f64, Filling)>),
    /// A limit came first.
    Unknown,
}

/// Room for rounding in comparisons of values.
const MARGIN: f64 = 1e-9;

/// What a filling has to be worth beyond its block to be new: more than the program's own tolerance.
const NEWS: f64 = 1e-6;

/// How many rounds of new fillings a program gets.
const ROUNDS: usize = 200;

/// The filling program with the fillings known so far.
pub struct Program<'g> {
    groups: &'g Groups,
    stages: usize,
    /// The fillings known so far.
    pub known: Vec<Filling>,
}

impl<'g> Program<'g> {
    /// The program with these fillings, of groups that may take another time by now.
    pub fn new(groups: &'g Groups, stages: usize, mut known: Vec<Filling>) -> Self {
        for filling in &mut known {
            let loads = &groups.kinds[filling.kind].loads;
            filling.load = filling.groups.iter().map(|&group| loads[group]).fold(0.0, f64::max);
        }
        Self { groups, stages, known }
    }

    /// Whether fractions of fillings hold what is ordered.
    pub fn fill(&mut self, order: &Order, cx: &SearchContext) -> Filled {
        let Some(mut dual) = Dual::new(order, self.fitting(order)) else { return Filled::Unknown };
        for _ in 0..ROUNDS {
            if cx.should_stop() {
                return Filled::Unknown;
            }
            if dual.solution.objective() > -MARGIN {
                return self.weights(order).map_or(Filled::Unknown, Filled::Open);
            }
            let values = dual.values();
            let worth: f64 = values.iter().zip(&order.copies).map(|(value, &copies)| value * copies as f64).sum();
            let fillings = self.best(order, &values);
            let held: f64 = fillings.iter().map(|(value, filling)| value * order.blocks[filling.kind] as f64).sum();
            if !order.is_strict && held < worth * (1.0 - MARGIN) {
                return Filled::Refuted;
            }
            let mut has_grown = false;
            for (value, filling) in fillings {
                if value > dual.block_value(filling.kind) + NEWS {
                    has_grown = true;
                    match dual.add(&filling) {
                        Some(next) => dual = next,
                        None => return Filled::Unknown,
                    }
                    self.known.push(filling);
                }
            }
            if !has_grown {
                return self.weights(order).map_or(Filled::Unknown, Filled::Open);
            }
        }
        Filled::Unknown
    }

    fn fitting<'a>(&'a self, order: &'a Order) -> impl Iterator<Item = &'a Filling> {
        let holds_too_many =
            |filling: &Filling| filling.copies.iter().zip(&order.copies).any(|(held, most)| held > most);
        self.known.iter().filter(move |filling| {
            filling.load <= order.limit
                && order.blocks[filling.kind] > 0
                && !(order.is_strict && holds_too_many(filling))
        })
    }

    /// By kind: the filling worth the most. O(groups · kinds + Σ size²).
    fn best(&self, order: &Order, values: &[f64]) -> Vec<(f64, Filling)> {
        let worth = |&group: &u64| bits(group).map(|stage| values[stage]).sum::<f64>();
        let worth: Vec<f64> = self.groups.members.iter().map(worth).collect();
        let kinds = (0..self.groups.kinds.len()).filter(|&kind| order.blocks[kind] > 0);
        kinds.map(|kind| self.best_of(kind, order, &worth)).collect()
    }

    fn best_of(&self, number: usize, order: &Order, worth: &[f64]) -> (f64, Filling) {
        let (kind, members) = (&self.groups.kinds[number], &self.groups.members);
        let largest = kind.size().min(self.stages);
        // By number of stages: the group worth the most.
        let mut best: Vec<Option<usize>> = vec![None; largest + 1];
        for (group, &load) in kind.loads.iter().enumerate() {
            let is_left = || bits(members[group]).all(|stage| order.copies[stage] > 0);
            if load <= order.limit && worth[group] > 0.0 && (!order.is_strict || is_left()) {
                let best = &mut best[members[group].count_ones() as usize];
                if best.is_none_or(|known| worth[group] > worth[known]) {
                    *best = Some(group);
                }
            }
        }
        let best: Vec<(usize, usize)> =
            best.into_iter().enumerate().filter_map(|(stages, group)| Some((stages, group?))).collect();
        // By number of devices: what they hold at best, and the group among it that was put there last.
        let mut held = vec![(0.0f64, None); kind.size() + 1];
        for devices in 1..=kind.size() {
            held[devices] = (held[devices - 1].0, None);
            for &(stages, group) in best.iter().take_while(|(stages, _)| *stages <= devices) {
                let value = held[devices - stages].0 + worth[group];
                let is_left = || {
                    let mut left = order.copies.clone();
                    let before = way(&held, members, devices - stages).chain([group]);
                    before.flat_map(|group| bits(members[group])).all(|stage| {
                        left[stage] = left[stage].wrapping_sub(1);
                        left[stage] != usize::MAX
                    })
                };
                if value > held[devices].0 && (!order.is_strict || is_left()) {
                    held[devices] = (value, Some(group));
                }
            }
        }
        let mut filling = Filling { kind: number, groups: Vec::new(), copies: vec![0; self.stages], load: 0.0 };
        for group in way(&held, members, kind.size()) {
            filling.groups.push(group);
            filling.load = filling.load.max(kind.loads[group]);
            bits(members[group]).for_each(|stage| filling.copies[stage] += 1);
        }
        (held[kind.size()].0, filling)
    }

    /// How many of each known filling hold the most of what is ordered; `None` on numerical failure.
    fn weights(&self, order: &Order) -> Option<Vec<(f64, Filling)>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let fittings: Vec<&Filling> = self.fitting(order).collect();
        let weights: Vec<Variable> = fittings.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect();
        for (stage, &copies) in order.copies.iter().enumerate().filter(|(_, copies)| **copies > 0) {
            let missing = problem.add_var(1.0, (0.0, f64::INFINITY));
            let held = fittings.iter().zip(&weights).filter(|(filling, _)| filling.copies[stage] > 0);
            let held = held.map(|(filling, &weight)| (weight, filling.copies[stage] as f64)).chain([(missing, 1.0)]);
            problem.add_constraint(held.collect::<Vec<_>>(), ComparisonOp::Ge, copies as f64);
        }
        for (kind, &blocks) in order.blocks.iter().enumerate().filter(|(_, blocks)| **blocks > 0) {
            let used = fittings.iter().zip(&weights).filter(|(filling, _)| filling.kind == kind);
            let used: Vec<_> = used.map(|(_, &weight)| (weight, 1.0)).collect();
            problem.add_constraint(used, ComparisonOp::Le, blocks as f64);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        let taken = fittings.into_iter().zip(&weights).map(|(filling, &weight)| (solution.var_value(weight), filling));
        Some(taken.filter(|(weight, _)| *weight > MARGIN).map(|(weight, filling)| (weight, filling.clone())).collect())
    }
}

/// The groups that make up the most that so many devices hold.
fn way(held: &[(f64, Option<usize>)], members: &[u64], mut devices: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        while devices > 0 {
            match held[devices].1 {
                Some(group) => {
                    devices -= members[group].count_ones() as usize;
                    return Some(group);
                }
                None => devices -= 1,
            }
        }
        None
    })
}

/// The dual over the fillings known so far.
struct Dual {
    blocks: Vec<Variable>,
    stages: Vec<Variable>,
    solution: Solution,
}

impl Dual {
    fn new<'a>(order: &Order, fillings: impl Iterator<Item = &'a Filling>) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let blocks: Vec<Variable> =
            order.blocks.iter().map(|&count| problem.add_var(count as f64, (0.0, f64::INFINITY))).collect();
        let stages: Vec<Variable> =
            order.copies.iter().map(|&count| problem.add_var(-(count as f64), (0.0, 1.0))).collect();
        for filling in fillings {
            problem.add_constraint(terms(&blocks, &stages, filling), ComparisonOp::Ge, 0.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { blocks, stages, solution })
    }

    fn add(self, filling: &Filling) -> Option<Self> {
        let terms = terms(&self.blocks, &self.stages, filling);
        let solution = self.solution.add_constraint(terms, ComparisonOp::Ge, 0.0).ok()?.into_solution().ok()?;
        Some(Self { solution, ..self })
    }

    /// What a copy of each stage is worth.
    fn values(&self) -> Vec<f64> {
        self.stages.iter().map(|&stage| self.solution.var_value(stage).max(0.0)).collect()
    }

    fn block_value(&self, kind: usize) -> f64 {
        self.solution.var_value(self.blocks[kind])
    }
}

/// A block is worth as much as each of its fillings.
fn terms(blocks: &[Variable], stages: &[Variable], filling: &Filling) -> Vec<(Variable, f64)> {
    let held = filling.copies.iter().zip(stages).filter(|(copies, _)| **copies > 0);
    held.map(|(&copies, &stage)| (stage, -(copies as f64))).chain([(blocks[filling.kind], 1.0)]).collect()
}
