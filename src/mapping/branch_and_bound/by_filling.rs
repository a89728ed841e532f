//! Bounds and mappings by filling blocks.

use super::Proof;
use crate::mapping::filling::Filler;

/// For every decision, deciding about rings prices so many groups of stages.
const RINGS: u64 = 1 << 9;

/// Rings are first decided about with the effort of a decision for every device, or for every so many where blocks are
/// uneven, of which that says too little.
const UNEVEN_RINGS: u64 = 4;

/// How many tries in a row may be for nothing when blocks are filled.
const FILLING: u64 = 30;

/// A filling that takes so many times as long as the best mapping has groups of pipelines too far apart, and so will others.
const HOPELESS: f64 = 3.0;

/// Targets of fillings lie above the bound by this part of it, and then by twice as much each time, up to all of it.
const FIRST_STEP: f64 = 1e-3;

/// Filling of the coarsest blocks.
pub(super) struct Filling<'p> {
    filler: Filler<'p>,
    /// Whether filling blocks, and deciding about rings, may yet better anything.
    fills: bool,
    decides_rings: bool,
}

impl<const W: usize> Proof<'_, W> {
    /// Bounds the time by filling the coarsest blocks, and fills them for the first time.
    pub(super) fn start_filling(&mut self) {
        let Some(partition) = self.knowledge.partitions.first() else { return };
        let Some(mut filler) = Filler::new(self.knowledge.model.problem, &partition.devices(), self.race.cx.seed)
        else {
            return;
        };
        self.raise(filler.bound(self.bound(), self.objective(), self.race.cx));
        let devices = self.knowledge.model.devices() as u64;
        let decisions = if filler.is_even { devices } else { devices / UNEVEN_RINGS };
        self.filling = Some(Filling { filler, fills: true, decides_rings: true });
        self.tell("filling");
        self.decide_rings(decisions);
        self.fill();
    }

    /// Says which rings lie in which blocks, with the effort of so many decisions; only once where blocks are uneven.
    pub(super) fn decide_rings(&mut self, decisions: u64) {
        let (objective, bound, is_done) = (self.objective(), self.bound(), self.is_done());
        let Some(filling) = self.filling.as_mut().filter(|filling| filling.decides_rings && !is_done) else { return };
        let filler = &mut filling.filler;
        let (bound, mapping) = filler.decide_rings(bound, objective, decisions.saturating_mul(RINGS), self.race.cx);
        filling.decides_rings = filler.is_even;
        self.knowledge.nodes += std::mem::take(&mut filler.nodes);
        mapping.iter().for_each(|mapping| self.offer(mapping));
        self.raise(bound);
        self.tell("filling");
    }

    /// Fills blocks under targets from the bound on, ever farther apart; for the last time where it betters nothing.
    pub(super) fn fill(&mut self) {
        let Some(mut filling) = self.filling.take_if(|filling| filling.fills) else { return };
        let (before, mut step) = (self.objective(), 0.0);
        while !self.is_done() && step < 1.0 && self.bound() * (1.0 + step) < self.better() {
            let target = self.bound() * (1.0 + step);
            if let Some(mapping) = filling.filler.mapping(target, FILLING, self.race.cx) {
                if self.knowledge.model.problem.objective(&mapping) > HOPELESS * self.objective() {
                    break;
                }
                self.repair(&mapping, target);
            }
            self.tell("filling");
            step = FIRST_STEP.max(2.0 * step);
        }
        self.knowledge.nodes += std::mem::take(&mut filling.filler.nodes);
        filling.fills = self.objective() < before;
        self.filling = Some(filling);
    }
}
