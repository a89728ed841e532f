//! Bounds and mappings by packing pipelines.

use super::{LEAST_STEP, Proof};
use crate::mapping::packing::{Packer, Packing};
use crate::search::{SEARCH_TOLERANCE, SearchContext};

/// Packing is first used for a bound, with the effort of so many decisions.
const FIRST_BOUND: u64 = 300;

/// The same where no two devices are alike: there the bound is worth more than searches.
const UNLIKE_BOUND: u64 = 3000;

/// Covers come before.
const FIRST_COVER: u64 = 3000;

/// And then for a mapping, by each packer.
const FIRST_PACKING: u64 = 2000;

/// A decision takes about as long as so many labels of packing for each device.
pub(super) const LABELS: u64 = 64;

/// A way to look for a mapping within a target with part of an effort.
trait Pack<'p>: Fn(&mut Packer<'p>, f64, &mut u64, &SearchContext) -> Packing {}

impl<'p, F: Fn(&mut Packer<'p>, f64, &mut u64, &SearchContext) -> Packing> Pack<'p> for F {}

impl<'p, const W: usize> Proof<'p, W> {
    /// The most classes of one device each for which pipelines are packed, where there are no blocks, or blocks are classes as
    /// well: programs have a row for each.
    pub(super) const MOST_UNLIKE: usize = 128;

    /// Bounds the time by packing fractions of pipelines, and packs pipelines for the first time. Programs have targets from
    /// a `low` bound on, also where the bound is higher by now: the pipelines that come of them are of use later.
    pub(super) fn start_packing(&mut self) {
        let low = self.low.unwrap_or(self.bound());
        let has_blocks = self.has_blocks();
        let problem = self.knowledge.model.problem;
        let blocks = self.knowledge.partitions.first().map(|partition| partition.devices());
        self.packers = Packer::all(problem, blocks, Self::MOST_UNLIKE);
        self.pack(FIRST_COVER, Packer::can_cover, Packer::cover);
        let effort = self.packing_effort(if has_blocks { FIRST_BOUND } else { UNLIKE_BOUND });
        for mut packer in std::mem::take(&mut self.packers) {
            if !self.is_done() {
                packer.learn(&self.best());
                let bound = packer.bound(low, self.objective(), effort, self.cx);
                self.raise(bound);
                self.tell("packing");
            }
            self.packers.push(packer);
        }
        self.pack(FIRST_PACKING * self.packers.len() as u64, |_| true, Packer::search);
    }

    /// How many labels of packing are about as much effort as so many decisions.
    fn packing_effort(&self, decisions: u64) -> u64 {
        decisions.saturating_mul(LABELS * self.knowledge.model.devices() as u64)
    }

    /// Packs pipelines that cover all devices, with the effort of so many decisions.
    pub(super) fn pack_covers(&mut self, decisions: u64) {
        self.pack(decisions, Packer::can_cover, Packer::cover);
    }

    /// Packs fractions of pipelines until they are whole, with the effort of so many decisions.
    pub(super) fn pack_fractions(&mut self, decisions: u64) {
        self.pack(decisions, |_| true, Packer::search);
    }

    /// Bisects between bound and best mapping with those packers that can pack this way, with the effort of so many
    /// decisions, and tries to refute everything better than the best mapping.
    fn pack(&mut self, decisions: u64, can: impl Fn(&Packer<'p>) -> bool, search: impl Pack<'p>) {
        let mut packers = std::mem::take(&mut self.packers);
        let able = packers.iter().filter(|packer| can(packer)).count();
        let whole = self.packing_effort(decisions) / able.max(1) as u64;
        for packer in packers.iter_mut().filter(|packer| can(packer)) {
            self.pack_with(packer, whole, &search);
            self.knowledge.nodes += std::mem::take(&mut packer.nodes);
        }
        self.packers = packers;
    }

    fn pack_with(&mut self, packer: &mut Packer<'p>, whole: u64, search: &impl Pack<'p>) {
        self.narrow(whole, |proof, target, effort| search(packer, target, effort, proof.cx));
    }

    /// Bisects between bound and best mapping with a search for a mapping within a target that takes part of an effort, and
    /// tries to refute everything better than the best mapping.
    pub(super) fn narrow(&mut self, whole: u64, mut search: impl FnMut(&mut Self, f64, &mut u64) -> Packing) {
        let (mut low, mut crowded, mut effort) = (self.bound(), f64::INFINITY, whole);
        // What is left in the end is too little to find anything.
        while effort > whole / 10 && !self.is_done() {
            let high = self.objective().min(crowded);
            let is_last = high - low <= 1e-3 * high;
            if is_last && high == crowded {
                break;
            }
            let target = if is_last { high * (1.0 - SEARCH_TOLERANCE) } else { f64::midpoint(low, high) };
            match search(self, target, &mut effort) {
                Packing::Refuted => self.raise(target),
                Packing::Found(mapping) => self.offer(&mapping),
                Packing::Unknown(draft) => {
                    if let Some(draft) = draft {
                        self.repair(&draft, target);
                    }
                    // A draft may have become a mapping within the target.
                    if self.objective() > target {
                        low = target;
                    }
                }
                Packing::Crowded => crowded = target,
            }
            self.tell("packing");
            if is_last && self.objective() >= high {
                break;
            }
            low = low.max(self.bound());
        }
    }

    /// Packs stars of the stage with the most to send, with the effort of so many decisions.
    pub(super) fn pack_stars(&mut self, decisions: u64) {
        let Some(mut stars) = self.stars.take() else { return };
        let whole = self.packing_effort(decisions);
        self.narrow(whole, |proof, target, effort| stars.search(&mut proof.knowledge, target, effort, proof.cx));
        self.stars = Some(stars);
    }

    /// Searches among the exact covers of the devices by pipelines for one that reaches the bound, with the effort of so
    /// many decisions.
    pub(super) fn cover_with_rings(&mut self, decisions: u64) {
        let Some(mut rings) = self.rings.take().filter(|_| !self.is_done()) else { return };
        let (target, effort) = (self.bound() * (1.0 + LEAST_STEP), self.packing_effort(decisions));
        match rings.search(target, effort, self.cx) {
            Packing::Refuted => self.raise(self.next_time(target)),
            Packing::Found(mapping) => self.offer(&mapping),
            Packing::Unknown(_) | Packing::Crowded => (),
        }
        self.knowledge.nodes += std::mem::take(&mut rings.nodes);
        self.rings = Some(rings);
        self.tell("covering");
    }
}
