//! All pipelines within a target, where no two devices are alike.

use super::plan::{Plan, Step};
use super::pricing::Pattern;
use crate::solve::SearchContext;

/// Pipelines by the devices they use.
#[derive(Debug, Clone, Default)]
pub struct Pipelines {
    /// Devices of each as bits, no two alike.
    pub sets: Vec<u128>,
    /// How each places its stages.
    patterns: Vec<Pattern>,
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
        let (sets, patterns) = found.into_iter().unzip();
        Some(Self { sets, patterns })
    }

    /// The pipeline that uses this set of devices.
    pub fn pattern(&self, set: u128) -> Option<&Pattern> {
        self.sets.binary_search(&set).ok().map(|index| &self.patterns[index])
    }
}

/// The most pipelines that are kept.
const MOST: usize = 1 << 19;

/// So many devices tried take as long as a label of pricing.
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
    found: Vec<(u128, Pattern)>,
}

impl Walk<'_> {
    /// Goes on from `self.way`; `None` where a limit came first.
    fn extend(&mut self, used: u128, open: &[Open]) -> Option<()> {
        let Some(step) = self.plan.steps.get(self.way.len()) else {
            self.found.push((used, self.pattern()));
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

    fn pattern(&self) -> Pattern {
        let mut classes = vec![0; self.way.len()];
        for (step, &device) in self.plan.steps.iter().zip(&self.way) {
            classes[step.stage] = device;
        }
        Pattern { classes }
    }
}
