//! All pipelines within a target.

use super::plan::{Plan, Step};
use crate::solve::SearchContext;

/// Pipelines by the devices they use.
#[derive(Debug, Clone, Default)]
pub struct Pipelines {
    /// Devices of each as bits, no two alike.
    pub sets: Vec<u128>,
    /// By pipeline and stage: its device.
    places: Vec<Vec<usize>>,
}

impl Pipelines {
    /// The most devices that there are bits for.
    pub const MOST_DEVICES: usize = 128;

    /// So many devices, at least one, as bits.
    pub fn all_devices(devices: usize) -> u128 {
        u128::MAX >> (Self::MOST_DEVICES - devices)
    }

    /// The pipelines of `plan` whose copies all take at most `limit`, one for each set of devices; `None` where a limit or
    /// the end of the effort comes first. Exponential in the number of stages at worst.
    pub fn within(plan: &Plan, limit: f64, effort: &mut u64, cx: &SearchContext) -> Option<Self> {
        let mut walk = Walk { plan, limit, effort, cx, way: Vec::new(), found: Vec::new() };
        walk.extend(0, &[])?;
        let mut found = walk.found;
        found.sort_unstable_by_key(|(set, _)| *set);
        found.dedup_by_key(|(set, _)| *set);
        let (sets, places) = found.into_iter().unzip();
        Some(Self { sets, places })
    }

    /// By stage: where the pipeline on this set of devices has it.
    pub fn on(&self, set: u128) -> Option<&[usize]> {
        self.sets.binary_search(&set).ok().map(|index| &self.places[index][..])
    }
}

/// The most pipelines that are kept.
const MOST: usize = 1 << 19;

/// So many devices tried are a step.
const TRIED: u64 = 8;

/// Steps between two looks at the clock.
const PATIENCE: u64 = 1 << 14;

/// A stage that waits for neighbours: its device, and the time that is left beyond the least that they cost.
type Open = (usize, f64);

/// Depth-first search for pipelines.
struct Walk<'a> {
    plan: &'a Plan,
    limit: f64,
    effort: &'a mut u64,
    cx: &'a SearchContext,
    /// The devices of the first stages, in the order of the plan.
    way: Vec<usize>,
    found: Vec<(u128, Vec<usize>)>,
}

impl Walk<'_> {
    /// Goes on from `self.way`; `None` where a limit came first.
    fn extend(&mut self, used: u128, open: &[Open]) -> Option<()> {
        let Some(step) = self.plan.steps.get(self.way.len()) else {
            self.found.push((used, self.places()));
            return (self.found.len() <= MOST).then_some(());
        };
        self.charge((step.base.len() as u64).div_ceil(TRIED))?;
        for device in (0..step.base.len()).filter(|device| used >> device & 1 == 0) {
            let Some(open) = self.placed(step, device, open) else { continue };
            self.way.push(device);
            self.extend(used | 1 << device, &open)?;
            self.way.pop();
        }
        Some(())
    }

    fn charge(&mut self, tries: u64) -> Option<()> {
        let before = *self.effort;
        *self.effort = before.checked_sub(tries)?;
        let is_due = before / PATIENCE != *self.effort / PATIENCE;
        (!is_due || !self.cx.should_stop()).then_some(())
    }

    /// The stages that wait once that of `step` is on `device`; `None` where one of them takes too long.
    fn placed(&self, step: &Step, device: usize, open: &[Open]) -> Option<Vec<Open>> {
        let mut here = self.limit - step.base[device];
        for tie in &step.ties {
            let (other, left) = open[tie.slot];
            here -= tie.here.cost(device, other);
            if here < 0.0 || left < tie.there.cost(other, device) {
                return None;
            }
        }
        if here < 0.0 {
            return None;
        }
        let spent = |slot: usize| {
            let tie = step.ties.iter().find(|tie| tie.slot == slot);
            tie.map_or(0.0, |tie| tie.there.cost(open[slot].0, device))
        };
        let kept = step.kept.iter().map(|&slot| (open[slot].0, open[slot].1 - spent(slot)));
        Some(kept.chain(step.waits.then_some((device, here))).collect())
    }

    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.way.len()];
        for (step, &device) in self.plan.steps.iter().zip(&self.way) {
            places[step.stage] = device;
        }
        places
    }
}
