//! Filling blocks: bounds and mappings for topologies of nodes.
//!
//! Where links between blocks of devices depend on the blocks alone, what a copy takes depends on its block and on which
//! of its neighbours are in it. So a mapping is a filling of each block with groups of stages of one pipeline
//! ([`groups`]). Whether fractions of fillings hold all copies is a linear program with a row for each stage and block,
//! solved by column generation, where pricing is a knapsack ([`program`]); where they do not, the target is refuted. So few
//! rows leave few blocks in fractions. These are decided one after the other, and the groups are joined to pipelines
//! ([`joining`]). Where that fails, some blocks are emptied and filled anew (Shaw 1998, large neighbourhood search). Unlike
//! in [`super::zone_packing`], the program leaves it open which groups make a pipeline, which costs little and is much faster.
//! Blocks that are not even inside count at their fastest links, so that bounds hold for any.

mod bonds;
mod groups;
mod joining;
mod pricing;
mod program;
mod rings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Mapping, MappingProblem, ROUNDING, Topology};
use crate::solve::SearchContext;
use groups::Groups;
use joining::Joining;
use program::{Filled, Filling, Order, Program, Slot, Taken};

/// A filling is taken so often as the program takes it, up to this part of one.
const WHOLE: f64 = 1e-6;

/// How many blocks are emptied and filled anew at once where copies are left over, and the part of all that may be: the
/// program fills most others as it did before.
const EMPTIED: usize = 8;
const PART: usize = 3;

/// Fillings of the blocks of a problem.
pub struct Filler<'a> {
    problem: &'a MappingProblem,
    groups: Groups,
    /// Fillings from programs so far.
    known: Vec<Filling>,
    rng: Xoshiro256PlusPlus,
    /// Whether all links inside each block are alike.
    pub is_even: bool,
    /// Programs solved so far.
    pub nodes: u64,
}

impl<'a> Filler<'a> {
    /// `None` where messages do not count, or where there are too many groups.
    pub fn new(problem: &'a MappingProblem, blocks: &[Vec<usize>], seed: u64) -> Option<Self> {
        if !problem.cost.counted.messages() {
            return None;
        }
        let (groups, rng) = (Groups::new(problem, blocks)?, Xoshiro256PlusPlus::seed_from_u64(seed));
        let is_even = blocks.iter().all(|block| is_even(&problem.topology, block));
        Some(Self { problem, groups, known: Vec::new(), rng, is_even, nodes: 0 })
    }

    /// A time between `low` and `high` below which there is no mapping, if there is none below `low`: the least that no
    /// program refutes, as far as limits allow.
    pub fn bound(&mut self, low: f64, high: f64, cx: &SearchContext) -> f64 {
        // Only what some group takes makes a difference.
        let mut times: Vec<f64> = self.groups.kinds.iter().flat_map(|kind| kind.loads.iter().copied()).collect();
        times.retain(|&time| low < time && time < high);
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
        let (mut refuted, mut open) = (0, times.len());
        while refuted < open && !cx.should_stop() {
            let middle = refuted.midpoint(open);
            match self.solve(&self.order(times[middle]), cx) {
                Filled::Refuted => refuted = middle + 1,
                Filled::Open(_) | Filled::Unknown => open = middle,
            }
        }
        match refuted {
            0 => low,
            _ => times.get(refuted).copied().unwrap_or(high) * (1.0 - 2.0 * ROUNDING),
        }
    }

    fn order(&self, target: f64) -> Order {
        Order {
            limit: target * (1.0 + ROUNDING),
            copies: vec![self.problem.replicas; self.problem.stages.stages.len()],
            slots: (0..self.groups.kinds.len())
                .map(|kind| Slot::new(kind, self.groups.kinds[kind].blocks.len()))
                .collect(),
            is_partial: false,
        }
    }

    fn solve(&mut self, order: &Order, cx: &SearchContext) -> Filled {
        self.nodes += 1;
        let mut program = Program::new(&self.groups, order.copies.len(), std::mem::take(&mut self.known));
        let filled = program.fill(order, cx);
        self.known = program.known;
        filled
    }

    /// A mapping most of whose copies are within a target; `None` where there is none. Some blocks are emptied and filled
    /// anew until all copies are in whole pipelines, that has helped for the last time so many tries ago, or a limit comes.
    pub fn mapping(&mut self, target: f64, patience: u64, cx: &SearchContext) -> Option<Mapping> {
        let mut draft = Draft { left: Order { is_partial: true, ..self.order(target) }, held: Vec::new() };
        self.dive(&mut draft, cx);
        let (mut loose, mut groups) = self.loose(&draft);
        let mut tries = 0;
        while loose > 0 && tries < patience && !cx.should_stop() {
            tries += 1;
            let mut other = draft.clone();
            self.empty(&mut other, &groups);
            self.dive(&mut other, cx);
            let (next, next_groups) = self.loose(&other);
            if next < loose {
                tries = 0;
            }
            if next <= loose {
                (draft, loose, groups) = (other, next, next_groups);
            }
        }
        self.join(&draft)
    }

    /// Empties some blocks at random, every other one with groups of `loose`.
    fn empty(&mut self, draft: &mut Draft, loose: &[usize]) {
        for index in 0..EMPTIED.min(draft.held.len().div_ceil(PART)) {
            let (start, count) = (self.rng.random_range(0..draft.held.len()), draft.held.len());
            let is_loose = |filling: &Filling| filling.groups.iter().any(|group| loose.contains(group));
            let with_loose = (start..count).chain(0..start).find(|&held| is_loose(&draft.held[held]));
            let filling = draft.held.swap_remove(with_loose.filter(|_| index % 2 == 1).unwrap_or(start));
            // The slots in which nothing is decided are the first ones, by kind.
            draft.left.slots[filling.kind].blocks += 1;
            draft.left.copies.iter_mut().zip(&filling.copies).for_each(|(left, held)| *left += held);
        }
    }

    /// How many copies are in no whole pipeline, and the groups that are in none.
    fn loose(&self, draft: &Draft) -> (usize, Vec<usize>) {
        let members = &self.groups.members;
        let mut counts = BTreeMap::new();
        for &group in draft.held.iter().flat_map(|filling| &filling.groups) {
            *counts.entry(members[group]).or_default() += 1;
        }
        let stages = draft.left.copies.len();
        let joined = joining::pipelines(joining::all(stages), &mut counts).len();
        let loose = (0..members.len()).filter(|&group| counts.contains_key(&members[group])).collect();
        ((self.problem.replicas - joined) * stages, loose)
    }

    /// Fills the blocks that are left as the program likes best: whole fillings where it takes such, and else one group
    /// more.
    fn dive(&mut self, draft: &mut Draft, cx: &SearchContext) {
        while draft.left.size() > 0 {
            let Filled::Open(fillings) = self.solve(&draft.left, cx) else { return };
            if draft.take_whole(&fillings) {
                continue;
            }
            let Some((slot, group)) = draft.left.next(&fillings) else { return };
            draft.left.hold(slot, group);
        }
    }

    fn join(&self, draft: &Draft) -> Option<Mapping> {
        let mut joining = Joining::new(self.problem);
        let mut used = vec![0; self.groups.kinds.len()];
        for filling in &draft.held {
            let block = &self.groups.kinds[filling.kind].blocks[used[filling.kind]];
            used[filling.kind] += 1;
            let mut devices = block.iter().copied();
            for &group in &filling.groups {
                let members = self.groups.members[group];
                let devices: Vec<usize> = devices.by_ref().take(members.count_ones() as usize).collect();
                joining.add(members, &devices);
            }
        }
        joining.mapping()
    }
}

/// Whether all links inside a block are alike.
fn is_even(topology: &Topology, block: &[usize]) -> bool {
    let link = |a: usize, b: usize| (topology.bandwidth(a, b), topology.latency(a, b));
    let mut links = block.iter().flat_map(|&a| block.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
    let first = links.next();
    links.all(|(a, b)| first.is_none_or(|(c, d)| link(a, b) == link(c, d)))
}

/// Some blocks' fillings, and what they leave.
#[derive(Debug, Clone)]
struct Draft {
    left: Order,
    held: Vec<Filling>,
}

impl Draft {
    /// Fills blocks as often as these fillings are taken whole, as far as there are blocks and copies. Whether there are.
    fn take_whole(&mut self, fillings: &[Taken]) -> bool {
        let before = self.left.size();
        for Taken { weight, slot, filling } in fillings {
            for _ in 0..(weight + WHOLE) as usize {
                let has_copies = filling.copies.iter().zip(&self.left.copies).all(|(held, left)| held <= left);
                if self.left.slots[*slot].blocks > 0 && has_copies {
                    self.left.slots[*slot].blocks -= 1;
                    self.left.copies.iter_mut().zip(&filling.copies).for_each(|(left, held)| *left -= held);
                    self.held.push(filling.clone());
                }
            }
        }
        self.left.size() < before
    }
}
