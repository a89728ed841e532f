//! Configurations of blocks: bounds and mappings for topologies of nodes.
//!
//! Where links between blocks of devices depend on the blocks alone, what a copy takes depends on its block and on which
//! of its neighbours are in it. So a mapping gives each block a configuration: groups of stages of one pipeline
//! ([`groups`]). Whether fractions of configurations hold all copies is a linear program with a row for each stage and block,
//! solved by column generation, where pricing is a knapsack ([`program`]); where they do not, the target is refuted. So few
//! rows leave few blocks in fractions. These are decided one after the other, and the groups are joined to pipelines
//! ([`joining`]). Where that fails, some blocks are emptied and filled anew (Shaw 1998, large neighbourhood search). Unlike
//! in [`super::zone_packing`], the program leaves it open which groups make a pipeline, which costs little and is much faster.
//! Blocks that are not even inside count at their fastest links, so that bounds hold for any.

mod co_location;
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
use program::{Configuration, Covered, Demand, Program, Slot, Taken};

/// A configuration is taken so often as the program takes it, up to this part of one.
const WHOLE: f64 = 1e-6;

/// How many blocks are emptied and filled anew at once where copies are left over, and the part of all that may be: the
/// program fills most others as it did before.
const EMPTIED: usize = 8;
const PART: usize = 3;

/// Configurations of the blocks of a problem.
pub struct BlockConfiguration<'a> {
    problem: &'a MappingProblem,
    groups: Groups,
    /// Configurations from programs so far.
    known: Vec<Configuration>,
    rng: Xoshiro256PlusPlus,
    /// Whether all links inside each block are alike.
    pub is_even: bool,
    /// Programs solved so far.
    pub nodes: u64,
}

impl<'a> BlockConfiguration<'a> {
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
            match self.solve(&self.demand(times[middle]), cx) {
                Covered::Refuted => refuted = middle + 1,
                Covered::Open(_) | Covered::Unknown => open = middle,
            }
        }
        match refuted {
            0 => low,
            _ => times.get(refuted).copied().unwrap_or(high) * (1.0 - 2.0 * ROUNDING),
        }
    }

    fn demand(&self, target: f64) -> Demand {
        Demand {
            limit: target * (1.0 + ROUNDING),
            copies: vec![self.problem.replicas; self.problem.stages.stages.len()],
            slots: (0..self.groups.kinds.len())
                .map(|kind| Slot::new(kind, self.groups.kinds[kind].blocks.len()))
                .collect(),
            is_partial: false,
        }
    }

    fn solve(&mut self, demand: &Demand, cx: &SearchContext) -> Covered {
        self.nodes += 1;
        let mut program = Program::new(&self.groups, demand.copies.len(), std::mem::take(&mut self.known));
        let covered = program.cover(demand, cx);
        self.known = program.known;
        covered
    }

    /// A mapping most of whose copies are within a target; `None` where there is none. Some blocks are emptied and filled
    /// anew until all copies are in whole pipelines, that has helped for the last time so many tries ago, or a limit comes.
    pub fn mapping(&mut self, target: f64, patience: u64, cx: &SearchContext) -> Option<Mapping> {
        let mut construction =
            Construction { left: Demand { is_partial: true, ..self.demand(target) }, held: Vec::new() };
        self.dive(&mut construction, cx);
        let (mut loose, mut groups) = self.loose(&construction);
        let mut tries = 0;
        while loose > 0 && tries < patience && !cx.should_stop() {
            tries += 1;
            let mut other = construction.clone();
            self.empty(&mut other, &groups);
            self.dive(&mut other, cx);
            let (next, next_groups) = self.loose(&other);
            if next < loose {
                tries = 0;
            }
            if next <= loose {
                (construction, loose, groups) = (other, next, next_groups);
            }
        }
        self.join(&construction)
    }

    /// Empties some blocks at random, every other one with groups of `loose`.
    fn empty(&mut self, construction: &mut Construction, loose: &[usize]) {
        for index in 0..EMPTIED.min(construction.held.len().div_ceil(PART)) {
            let (start, count) = (self.rng.random_range(0..construction.held.len()), construction.held.len());
            let is_loose =
                |configuration: &Configuration| configuration.groups.iter().any(|group| loose.contains(group));
            let with_loose = (start..count).chain(0..start).find(|&held| is_loose(&construction.held[held]));
            let configuration = construction.held.swap_remove(with_loose.filter(|_| index % 2 == 1).unwrap_or(start));
            // The slots in which nothing is decided are the first ones, by kind.
            construction.left.slots[configuration.kind].blocks += 1;
            construction.left.copies.iter_mut().zip(&configuration.copies).for_each(|(left, held)| *left += held);
        }
    }

    /// How many copies are in no whole pipeline, and the groups that are in none.
    fn loose(&self, construction: &Construction) -> (usize, Vec<usize>) {
        let members = &self.groups.members;
        let mut counts = BTreeMap::new();
        for &group in construction.held.iter().flat_map(|configuration| &configuration.groups) {
            *counts.entry(members[group]).or_default() += 1;
        }
        let stages = construction.left.copies.len();
        let joined = joining::pipelines(joining::all(stages), &mut counts).len();
        let loose = (0..members.len()).filter(|&group| counts.contains_key(&members[group])).collect();
        ((self.problem.replicas - joined) * stages, loose)
    }

    /// Fills the blocks that are left as the program likes best: whole configurations where it takes such, and else one group
    /// more.
    fn dive(&mut self, construction: &mut Construction, cx: &SearchContext) {
        while construction.left.size() > 0 {
            let Covered::Open(configurations) = self.solve(&construction.left, cx) else { return };
            if construction.take_whole(&configurations) {
                continue;
            }
            let Some((slot, group)) = construction.left.next(&configurations) else { return };
            construction.left.hold(slot, group);
        }
    }

    fn join(&self, construction: &Construction) -> Option<Mapping> {
        let mut joining = Joining::new(self.problem);
        let mut used = vec![0; self.groups.kinds.len()];
        for configuration in &construction.held {
            let block = &self.groups.kinds[configuration.kind].blocks[used[configuration.kind]];
            used[configuration.kind] += 1;
            let mut devices = block.iter().copied();
            for &group in &configuration.groups {
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

/// Some blocks' configurations, and what they leave.
#[derive(Debug, Clone)]
struct Construction {
    left: Demand,
    held: Vec<Configuration>,
}

impl Construction {
    /// Fills blocks as often as these configurations are taken whole, as far as there are blocks and copies. Whether there are.
    fn take_whole(&mut self, configurations: &[Taken]) -> bool {
        let before = self.left.size();
        for Taken { weight, slot, configuration } in configurations {
            for _ in 0..(weight + WHOLE) as usize {
                let has_copies = configuration.copies.iter().zip(&self.left.copies).all(|(held, left)| held <= left);
                if self.left.slots[*slot].blocks > 0 && has_copies {
                    self.left.slots[*slot].blocks -= 1;
                    self.left.copies.iter_mut().zip(&configuration.copies).for_each(|(left, held)| *left -= held);
                    self.held.push(configuration.clone());
                }
            }
        }
        self.left.size() < before
    }
}
