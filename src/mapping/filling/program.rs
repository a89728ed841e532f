//! The filling program: whether fractions of fillings of blocks hold all copies.
//!
//! Its dual asks for a value of each stage's copy under which all blocks together can hold less than the copies are worth:
//! then no mapping keeps the target, which is checked without the program. It is solved over the fillings known so far.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::groups::{Groups, bits};
use super::pricing::{Offer, Offers};
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

impl Filling {
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

    fn allows(&self, filling: &Filling) -> bool {
        filling.kind == self.kind && self.held.iter().all(|&group| filling.count(group) >= self.count(group))
    }
}

/// What is to be held.
#[derive(Debug, Clone)]
pub struct Order {
    /// No copy may take longer.
    pub limit: f64,
    /// By stage: how many copies.
    pub copies: Vec<usize>,
    /// All blocks.
    pub slots: Vec<Slot>,
    /// Whether some of it is decided, so that it refutes nothing.
    pub is_partial: bool,
}

impl Order {
    /// How many copies are to be held.
    pub fn size(&self) -> usize {
        self.copies.iter().sum()
    }

    /// How many copies these fillings leave out.
    pub fn left_out(&self, fillings: &[Taken]) -> f64 {
        let left_out = |(stage, &copies): (usize, &usize)| {
            let held: f64 = fillings.iter().map(|taken| taken.weight * taken.filling.copies[stage] as f64).sum();
            (copies as f64 - held).max(0.0)
        };
        self.copies.iter().enumerate().map(left_out).sum()
    }

    /// The slot and the group of which these fillings have the most beyond what is decided.
    pub fn next(&self, fillings: &[Taken]) -> Option<(usize, usize)> {
        let mut more: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for Taken { weight, slot, filling } in fillings {
            let mut groups = filling.groups.clone();
            groups.dedup();
            for group in groups {
                let free = filling.count(group).saturating_sub(self.slots[*slot].count(group));
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

/// How often a filling is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// So often, or a fraction.
    pub weight: f64,
    /// In blocks of this slot.
    pub slot: usize,
    /// The filling.
    pub filling: Filling,
}

/// What is known of an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// Not even fractions of fillings hold it.
    Refuted,
    /// That is not refuted. These hold the most of it.
    Open(Vec<Taken>),
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
            let Some(best) = self.best(order, &values, cx) else { return Filled::Unknown };
            let most: f64 = best.iter().map(|best| best.most * order.slots[best.slot].blocks as f64).sum();
            if !order.is_partial && most < worth * (1.0 - MARGIN) {
                return Filled::Refuted;
            }
            let mut has_grown = false;
            for Best { slot, value, filling, .. } in best {
                if value > dual.block_value(slot) + NEWS {
                    has_grown = true;
                    match dual.add(slot, &filling) {
                        Some(next) => dual = next,
                        None => return Filled::Unknown,
                    }
                    if !self.known.contains(&filling) {
                        self.known.push(filling);
                    }
                }
            }
            if !has_grown {
                return self.weights(order).map_or(Filled::Unknown, Filled::Open);
            }
        }
        Filled::Unknown
    }

    /// The fillings known so far that may be in blocks of a slot, with it.
    fn fitting<'a>(&'a self, order: &'a Order) -> impl Iterator<Item = (usize, &'a Filling)> {
        let holds_too_many =
            |filling: &Filling| filling.copies.iter().zip(&order.copies).any(|(held, most)| held > most);
        let fits = move |slot: &Slot, filling: &Filling| slot.blocks > 0 && slot.allows(filling);
        self.known.iter().filter(move |filling| filling.load <= order.limit && !holds_too_many(filling)).flat_map(
            move |filling| {
                let slots = order.slots.iter().enumerate().filter(move |(_, slot)| fits(slot, filling));
                slots.map(move |(slot, _)| (slot, filling))
            },
        )
    }

    /// By slot with blocks: its best filling. `None` where a limit came first.
    fn best(&self, order: &Order, values: &[f64], cx: &SearchContext) -> Option<Vec<Best>> {
        let worth = |&group: &u64| bits(group).map(|stage| values[stage]).sum::<f64>();
        let worth: Vec<f64> = self.groups.members.iter().map(worth).collect();
        let slots = (0..order.slots.len()).filter(|&slot| order.slots[slot].blocks > 0);
        slots.map(|slot| (!cx.should_stop()).then(|| self.best_of(slot, order, &worth))).collect()
    }

    fn best_of(&self, number: usize, order: &Order, worth: &[f64]) -> Best {
        let (slot, members) = (&order.slots[number], &self.groups.members);
        let kind = &self.groups.kinds[slot.kind];
        let (mut left, mut size) = (order.copies.clone(), kind.size());
        for stage in slot.held.iter().flat_map(|&group| bits(members[group])) {
            left[stage] = left[stage].saturating_sub(1);
            size = size.saturating_sub(1);
        }
        let is_open = |group: &usize| kind.loads[*group] <= order.limit && worth[*group] > 0.0;
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
        Best { slot: number, most: most + held, value, filling: Filling { kind: slot.kind, groups, copies, load } }
    }

    /// How many of each known filling hold the most of what is ordered; `None` on numerical failure.
    fn weights(&self, order: &Order) -> Option<Vec<Taken>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let fittings: Vec<(usize, &Filling)> = self.fitting(order).collect();
        let weights: Vec<Variable> = fittings.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect();
        for (stage, &copies) in order.copies.iter().enumerate().filter(|(_, copies)| **copies > 0) {
            let missing = problem.add_var(1.0, (0.0, f64::INFINITY));
            let held = fittings.iter().zip(&weights).filter(|((_, filling), _)| filling.copies[stage] > 0);
            let held =
                held.map(|((_, filling), &weight)| (weight, filling.copies[stage] as f64)).chain([(missing, 1.0)]);
            problem.add_constraint(held.collect::<Vec<_>>(), ComparisonOp::Ge, copies as f64);
        }
        for (number, slot) in order.slots.iter().enumerate().filter(|(_, slot)| slot.blocks > 0) {
            let used = fittings.iter().zip(&weights).filter(|((slot, _), _)| *slot == number);
            let used: Vec<_> = used.map(|(_, &weight)| (weight, 1.0)).collect();
            problem.add_constraint(used, ComparisonOp::Le, slot.blocks as f64);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        let taken = fittings.into_iter().zip(&weights).map(|((slot, filling), &weight)| Taken {
            weight: solution.var_value(weight),
            slot,
            filling: filling.clone(),
        });
        Some(taken.filter(|taken| taken.weight > MARGIN).collect())
    }
}

/// The best filling found for a slot.
struct Best {
    slot: usize,
    /// No filling is worth more.
    most: f64,
    /// What this one is worth.
    value: f64,
    filling: Filling,
}

/// The dual over the fillings known so far.
struct Dual {
    blocks: Vec<Variable>,
    stages: Vec<Variable>,
    solution: Solution,
}

impl Dual {
    fn new<'a>(order: &Order, fillings: impl Iterator<Item = (usize, &'a Filling)>) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let blocks: Vec<Variable> =
            order.slots.iter().map(|slot| problem.add_var(slot.blocks as f64, (0.0, f64::INFINITY))).collect();
        let stages: Vec<Variable> =
            order.copies.iter().map(|&count| problem.add_var(-(count as f64), (0.0, 1.0))).collect();
        for (slot, filling) in fillings {
            problem.add_constraint(terms(blocks[slot], &stages, filling), ComparisonOp::Ge, 0.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { blocks, stages, solution })
    }

    fn add(self, slot: usize, filling: &Filling) -> Option<Self> {
        let terms = terms(self.blocks[slot], &self.stages, filling);
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

/// A block is worth as much as each of its fillings.
fn terms(block: Variable, stages: &[Variable], filling: &Filling) -> Vec<(Variable, f64)> {
    let held = filling.copies.iter().zip(stages).filter(|(copies, _)| **copies > 0);
    held.map(|(&copies, &stage)| (stage, -(copies as f64))).chain([(block, 1.0)]).collect()
}
