//! Bounds and mappings by configurations of blocks.

use super::super::Proof;
use crate::mapping::block_configuration::BlockConfiguration;

/// For every decision, deciding about rings prices so many groups of stages.
const RINGS: u64 = 1 << 9;

/// Rings are first decided about with the effort of a decision for every device, or for every so many where blocks are
/// uneven, of which that says too little.
const UNEVEN_RINGS: u64 = 4;

/// How many tries in a row may be for nothing when blocks are filled.
const PATIENCE: u64 = 30;

/// A configuration that takes so many times as long as the best mapping has groups of pipelines too far apart, and so will others.
const HOPELESS: f64 = 3.0;

/// Targets of configurations lie above the bound by this part of it, and then by twice as much each time, up to all of it.
const FIRST_STEP: f64 = 1e-3;

/// Configurations of the coarsest blocks.
pub struct Configurations<'p> {
    blocks: BlockConfiguration<'p>,
    /// Whether filling blocks, and deciding about rings, may yet better anything.
    fills: bool,
    decides_rings: bool,
}

impl<const W: usize> Proof<'_, W> {
    /// Bounds the time by configurations of the coarsest blocks, and fills them for the first time.
    pub(in super::super) fn start_configurations(&mut self) {
        let Some(partition) = self.knowledge.partitions.first() else { return };
        let Some(mut blocks) =
            BlockConfiguration::new(self.knowledge.model.problem, &partition.devices(), self.race.cx.seed)
        else {
            return;
        };
        self.raise(blocks.bound(self.bound(), self.objective(), self.race.cx));
        let devices = self.knowledge.model.devices() as u64;
        let decisions = if blocks.is_even { devices } else { devices / UNEVEN_RINGS };
        self.configurations = Some(Configurations { blocks, fills: true, decides_rings: true });
        self.tell("configuring");
        self.decide_rings(decisions);
        self.fill();
    }

    /// Says which rings lie in which blocks, with the effort of so many decisions; only once where blocks are uneven.
    pub(in super::super) fn decide_rings(&mut self, decisions: u64) {
        let (objective, bound, is_done) = (self.objective(), self.bound(), self.is_done());
        let Some(configurations) =
            self.configurations.as_mut().filter(|configurations| configurations.decides_rings && !is_done)
        else {
            return;
        };
        let blocks = &mut configurations.blocks;
        let (bound, mapping) = blocks.decide_rings(bound, objective, decisions.saturating_mul(RINGS), self.race.cx);
        configurations.decides_rings = blocks.is_even;
        self.knowledge.nodes += std::mem::take(&mut blocks.nodes);
        mapping.iter().for_each(|mapping| self.offer(mapping));
        self.raise(bound);
        self.tell("configuring");
    }

    /// Fills blocks under targets from the bound on, ever farther apart; for the last time where it betters nothing.
    pub(in super::super) fn fill(&mut self) {
        let Some(mut configurations) = self.configurations.take_if(|configurations| configurations.fills) else {
            return;
        };
        let (before, mut step) = (self.objective(), 0.0);
        while !self.is_done() && step < 1.0 && self.bound() * (1.0 + step) < self.better() {
            let target = self.bound() * (1.0 + step);
            if let Some(mapping) = configurations.blocks.mapping(target, PATIENCE, self.race.cx) {
                if self.knowledge.model.problem.objective(&mapping) > HOPELESS * self.objective() {
                    break;
                }
                self.repair(&mapping, target);
            }
            self.tell("configuring");
            step = FIRST_STEP.max(2.0 * step);
        }
        self.knowledge.nodes += std::mem::take(&mut configurations.blocks.nodes);
        configurations.fills = self.objective() < before;
        self.configurations = Some(configurations);
    }
}
