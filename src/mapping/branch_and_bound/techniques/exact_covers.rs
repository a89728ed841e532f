//! Mappings by exact covers of the devices.

use super::super::{LEAST_STEP, Proof};
use crate::search::Verdict;

/// A decision takes about as long as so many steps of covers for each device.
const STEPS: u64 = 64;

impl<const W: usize> Proof<'_, W> {
    /// Searches among the exact covers of the devices by pipelines for one that reaches the bound, with the effort of so
    /// many decisions.
    pub(in super::super) fn cover_with_rings(&mut self, decisions: u64) {
        let target = self.bound() * (1.0 + LEAST_STEP);
        let effort = decisions.saturating_mul(STEPS * self.knowledge.model.devices() as u64);
        let Some(rings) = &mut self.rings else { return };
        let verdict = rings.search(target, effort, self.race.cx);
        self.knowledge.nodes += std::mem::take(&mut rings.nodes);
        match verdict {
            Verdict::Refuted => self.raise(self.next_time(target)),
            Verdict::Found(mapping) => self.offer(&mapping),
            Verdict::Unknown => (),
        }
        self.tell("covering");
    }
}
