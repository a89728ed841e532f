//! The configuration program (Gilmore and Gomory 1961): whether fractions of configurations of blocks hold all copies.
//!
//! Its dual asks for a value of each stage's copy under which all blocks together can hold less than the copies are worth:
//! then no mapping keeps the target, which is checked without the program. It is solved over the configurations known so far.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::groups::{Groups, bits};
use super::pricing::{Offer, Offers};
use crate::solve::SearchContext;

/// What one block holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The kind of the block.
    pub kind: usize,
    /// Groups, as often as it holds them.
    pub groups: Vec<usize>,
    /// By stage: how many copies that makes.
    pub copies: Vec<usize>,
    /// The least that the slowest copy takes.
    pub load: f64,
}

impl Configuration {
    /// How often it holds a group.
    pub fn count(&self, group: usize) -> usize {
        self.groups.iter().filter(|&&held| held == group).count()
    }
}

/// Blocks of one kind about which the same is decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The kind.
    pub kind: usize,
    /// How many blocks.
    pub blocks: usize,
    /// Groups that each of them holds, beside others.
    pub held: Vec<usize>,
}

impl Slot {
    /// Blocks about which nothing is decided.
    pub fn new(kind: usize, blocks: usize) -> Self {
        Self { kind, blocks, held: Vec::new() }
    }

    /// How often a group is held at least.
    pub fn count(&self, group: usize) -> usize {
        self.held.iter().filter(|&&held| held == group).count()
    }

    fn allows(&self, configuration: &Configuration) -> bool {
        configuration.kind == self.kind
            && self.held.iter().all(|&group| configuration.count(group) >= self.count(group))
    }
}

/// What is to be held.
#[derive(Debug, Clone)]
pub struct Demand {
    /// No copy may take longer.
    pub limit: f64,
    /// By stage: how many copies.
    pub copies: Vec<usize>,
    /// All blocks.
    pub slots: Vec<Slot>,
    /// Whether some of it is decided, so that it refutes nothing.
    pub is_partial: bool,
}

impl Demand {
    /// How many copies are to be held.
    pub fn size(&self) -> usize {
        self.copies.iter().sum()
    }

    /// How many copies these configurations leave out.
    pub fn left_out(&self, configurations: &[Taken]) -> f64 {
        let left_out = |(stage, &copies): (usize, &usize)| {
            let held: f64 =
                configurations.iter().map(|taken| taken.weight * taken.configuration.copies[stage] as f64).sum();
            (copies as f64 - held).max(0.0)
        };
        self.copies.iter().enumerate().map(left_out).sum()
    }

    /// The slot and the group of which these configurations have the most beyond what is decided.
    pub fn next(&self, configurations: &[Taken]) -> Option<(usize, usize)> {
        let mut more: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for Taken { weight, slot, configuration } in configurations {
            let mut groups = configuration.groups.clone();
            groups.dedup();
            for group in groups {
                let free = configuration.count(group).saturating_sub(self.slots[*slot].count(group));
                if free > 0 {
                    *more.entry((*slot, group)).or_default() += weight * free as f64;
                }
            }
        }
        more.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(next, _)| next)
    }

    /// Decides that one block of a slot holds a group more.
    pub fn hold(&mut self, slot: usize, group: usize) {
        let mut one = Slot { blocks: 1, ..self.slots[slot].clone() };
        one.held.push(group);
        self.slots[slot].blocks -= 1;
        self.slots.push(one);
    }
}

/// How often a configuration is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// So often, or a fraction.
    pub weight: f64,
    /// In blocks of this slot.
    pub slot: usize,
    /// The configuration.
    pub configuration: Configuration,
}

/// What is known of a demand.
#[derive(Debug, Clone, PartialEq)]
pub enum Covered {
    /// Not even fractions of configurations hold it.
    Refuted,
    /// That is not refuted. These hold the most of it.
    Open(Vec<Taken>),
    /// A limit came first.
    Unknown,
}

/// Room for rounding in comparisons of values.
const MARGIN: f64 = 1e-9;

/// What a configuration has to be worth beyond its block to be new: more than the program's own tolerance.
const NEWS: f64 = 1e-6;

/// How many rounds of new configurations a program gets.
const ROUNDS: usize = 200;

/// The configuration program with the configurations known so far.
pub struct Program<'g> {
    groups: &'g Groups,
    stages: usize,
    /// The configurations known so far.
    pub known: Vec<Configuration>,
}

impl<'g> Program<'g> {
    /// The program with these configurations, of groups that may take another time by now.
    pub fn new(groups: &'g Groups, stages: usize, mut known: Vec<Configuration>) -> Self {
        for configuration in &mut known {
            let loads = &groups.kinds[configuration.kind].loads;
            configuration.load = configuration.groups.iter().map(|&group| loads[group]).fold(0.0, f64::max);
        }
        Self { groups, stages, known }
    }

    /// Whether fractions of configurations hold what is demanded.
    pub fn cover(&mut self, demand: &Demand, cx: &SearchContext) -> Covered {
        let Some(mut dual) = Dual::new(demand, self.fitting(demand)) else { return Covered::Unknown };
        for _ in 0..ROUNDS {
            if cx.should_stop() {
                return Covered::Unknown;
            }
            if dual.solution.objective() > -MARGIN {
                return self.weights(demand).map_or(Covered::Unknown, Covered::Open);
            }
            let values = dual.values();
            let worth: f64 = values.iter().zip(&demand.copies).map(|(value, &copies)| value * copies as f64).sum();
            let Some(best) = self.best(demand, &values, cx) else { return Covered::Unknown };
            let most: f64 = best.iter().map(|best| best.most * demand.slots[best.slot].blocks as f64).sum();
            if !demand.is_partial && most < worth * (1.0 - MARGIN) {
                return Covered::Refuted;
            }
            let mut has_grown = false;
            for Best { slot, value, configuration, .. } in best {
                if value > dual.block_value(slot) + NEWS {
                    has_grown = true;
                    match dual.add(slot, &configuration) {
                        Some(next) => dual = next,
                        None => return Covered::Unknown,
                    }
                    if !self.known.contains(&configuration) {
                        self.known.push(configuration);
                    }
                }
            }
            if !has_grown {
                return self.weights(demand).map_or(Covered::Unknown, Covered::Open);
            }
        }
        Covered::Unknown
    }

    /// The configurations known so far that may be in blocks of a slot, with it.
    fn fitting<'a>(&'a self, demand: &'a Demand) -> impl Iterator<Item = (usize, &'a Configuration)> {
        let holds_too_many = |configuration: &Configuration| {
            configuration.copies.iter().zip(&demand.copies).any(|(held, most)| held > most)
        };
        let fits = move |slot: &Slot, configuration: &Configuration| slot.blocks > 0 && slot.allows(configuration);
        self.known
            .iter()
            .filter(move |configuration| configuration.load <= demand.limit && !holds_too_many(configuration))
            .flat_map(move |configuration| {
                let slots = demand.slots.iter().enumerate().filter(move |(_, slot)| fits(slot, configuration));
                slots.map(move |(slot, _)| (slot, configuration))
            })
    }

    /// By slot with blocks: its best configuration. `None` where a limit came first.
    fn best(&self, demand: &Demand, values: &[f64], cx: &SearchContext) -> Option<Vec<Best>> {
        let worth = |&group: &u64| bits(group).map(|stage| values[stage]).sum::<f64>();
        let worth: Vec<f64> = self.groups.members.iter().map(worth).collect();
        let slots = (0..demand.slots.len()).filter(|&slot| demand.slots[slot].blocks > 0);
        slots.map(|slot| (!cx.should_stop()).then(|| self.best_of(slot, demand, &worth))).collect()
    }

    fn best_of(&self, number: usize, demand: &Demand, worth: &[f64]) -> Best {
        let (slot, members) = (&demand.slots[number], &self.groups.members);
        let kind = &self.groups.kinds[slot.kind];
        let (mut left, mut size) = (demand.copies.clone(), kind.size());
        for stage in slot.held.iter().flat_map(|&group| bits(members[group])) {
            left[stage] = left[stage].saturating_sub(1);
            size = size.saturating_sub(1);
        }
        let is_open = |group: &usize| kind.loads[*group] <= demand.limit && worth[*group] > 0.0;
        let offer = |group: usize| Offer { group, members: members[group], worth: worth[group] };
        let offers = Offers::new(left, (0..members.len()).filter(is_open).map(offer));
        let (most, best) = offers.best(size);
        let held: f64 = slot.held.iter().map(|&group| worth[group]).sum();
        let value = held + best.iter().map(|offer| offer.worth).sum::<f64>();
        let mut groups: Vec<usize> = best.iter().map(|offer| offer.group).chain(slot.held.iter().copied()).collect();
        groups.sort_unstable();
        let mut copies = vec![0; self.stages];
        groups.iter().flat_map(|&group| bits(members[group])).for_each(|stage| copies[stage] += 1);
        let load = groups.iter().map(|&group| kind.loads[group]).fold(0.0, f64::max);
        Best {
            slot: number,
            most: most + held,
            value,
            configuration: Configuration { kind: slot.kind, groups, copies, load },
        }
    }

    /// How many of each known configuration hold the most of what is demanded; `None` on numerical failure.
    fn weights(&self, demand: &Demand) -> Option<Vec<Taken>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let fittings: Vec<(usize, &Configuration)> = self.fitting(demand).collect();
        let weights: Vec<Variable> = fittings.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect();
        for (stage, &copies) in demand.copies.iter().enumerate().filter(|(_, copies)| **copies > 0) {
            let missing = problem.add_var(1.0, (0.0, f64::INFINITY));
            let held = fittings.iter().zip(&weights).filter(|((_, configuration), _)| configuration.copies[stage] > 0);
            let held = held
                .map(|((_, configuration), &weight)| (weight, configuration.copies[stage] as f64))
                .chain([(missing, 1.0)]);
            problem.add_constraint(held.collect::<Vec<_>>(), ComparisonOp::Ge, copies as f64);
        }
        for (number, slot) in demand.slots.iter().enumerate().filter(|(_, slot)| slot.blocks > 0) {
            let used = fittings.iter().zip(&weights).filter(|((slot, _), _)| *slot == number);
            let used: Vec<_> = used.map(|(_, &weight)| (weight, 1.0)).collect();
            problem.add_constraint(used, ComparisonOp::Le, slot.blocks as f64);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        let taken = fittings.into_iter().zip(&weights).map(|((slot, configuration), &weight)| Taken {
            weight: solution.var_value(weight),
            slot,
            configuration: configuration.clone(),
        });
        Some(taken.filter(|taken| taken.weight > MARGIN).collect())
    }
}

/// The best configuration found for a slot.
struct Best {
    slot: usize,
    /// No configuration is worth more.
    most: f64,
    /// What this one is worth.
    value: f64,
    configuration: Configuration,
}

/// The dual over the configurations known so far.
struct Dual {
    blocks: Vec<Variable>,
    stages: Vec<Variable>,
    solution: Solution,
}

impl Dual {
    fn new<'a>(demand: &Demand, configurations: impl Iterator<Item = (usize, &'a Configuration)>) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let blocks: Vec<Variable> =
            demand.slots.iter().map(|slot| problem.add_var(slot.blocks as f64, (0.0, f64::INFINITY))).collect();
        let stages: Vec<Variable> =
            demand.copies.iter().map(|&count| problem.add_var(-(count as f64), (0.0, 1.0))).collect();
        for (slot, configuration) in configurations {
            problem.add_constraint(terms(blocks[slot], &stages, configuration), ComparisonOp::Ge, 0.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { blocks, stages, solution })
    }

    fn add(self, slot: usize, configuration: &Configuration) -> Option<Self> {
        let terms = terms(self.blocks[slot], &self.stages, configuration);
        let solution = self.solution.add_constraint(terms, ComparisonOp::Ge, 0.0).ok()?.into_solution().ok()?;
        Some(Self { solution, ..self })
    }

    /// What a copy of each stage is worth.
    fn values(&self) -> Vec<f64> {
        self.stages.iter().map(|&stage| self.solution.var_value(stage).max(0.0)).collect()
    }

    fn block_value(&self, slot: usize) -> f64 {
        self.solution.var_value(self.blocks[slot])
    }
}

/// A block is worth as much as each of its configurations.
fn terms(block: Variable, stages: &[Variable], configuration: &Configuration) -> Vec<(Variable, f64)> {
    let held = configuration.copies.iter().zip(stages).filter(|(copies, _)| **copies > 0);
    held.map(|(&copies, &stage)| (stage, -(copies as f64))).chain([(block, 1.0)]).collect()
}
