//! All sets that earn nearly the most: walks along a line that look ahead.
//!
//! A pass back along the line tells what each partial set can still earn with the cells of load that are left. A walk forward
//! then goes only where that is enough, with loads and memory as they are: few ways lead nowhere, and cells hide no set.

use super::ROOM;
use super::grains::Grains;
use super::line::LinePricer;
use super::prospects::Prospects;
use super::rows::{LOAD, MEMORY};
use super::sweep::{Arc, Sweep};
use crate::solve::SearchContext;

/// A set of much profit.
#[derive(Debug, Clone, PartialEq)]
pub struct NearbySet {
    /// The units, as they come along the line.
    pub units: Vec<usize>,
    /// Their profit.
    pub profit: f64,
    /// Their load.
    pub load: f64,
}

/// The sets under a target, by what they may earn.
pub struct Nearby<'a> {
    sweep: &'a Sweep<2>,
    profit: &'a [f64],
    grains: Grains,
    /// The most load and memory, and the most cells of load.
    most: [f64; 2],
    capacity: usize,
    prospects: Prospects,
    /// Where arcs lead to, by step and the state before.
    onward: Vec<Vec<Vec<(usize, &'a Arc<2>)>>>,
}

/// A partial set.
#[derive(Clone, Copy)]
struct Way {
    step: usize,
    state: usize,
    cells: usize,
    used: [f64; 2],
    gain: i32,
    /// Whether the last step put its variable inside.
    is_inside: bool,
}

impl LinePricer {
    /// The sets under `target`; `None` where profits cannot be counted, or look ahead over more entries than is usual.
    pub fn nearby<'a>(&'a self, profit: &'a [f64], target: f64) -> Option<Nearby<'a>> {
        let capacity = self.capacity(target);
        let grains = Grains::new(&self.sweep, profit)?;
        let states: usize = self.sweep.steps.iter().map(|step| step.states.len()).sum();
        if states.saturating_mul(capacity[LOAD]) > MOST_ENTRIES {
            return None;
        }
        let prospects = self.sweep.prospects(capacity, |step, arc| grains.gain(step, arc));
        let memory = self.memory.map_or(f64::INFINITY, |memory| memory * ROOM);
        let onward = onward(&self.sweep);
        let most = [target * ROOM, memory];
        Some(Nearby { sweep: &self.sweep, profit, grains, most, capacity: capacity[LOAD], prospects, onward })
    }
}

impl Nearby<'_> {
    /// Visits all sets of at least this profit, some of them more than once; `None` where that takes more partial ones than are
    /// `left`, `visit` wants no more, or `cx` says to stop.
    pub fn earning(
        &mut self,
        least: f64,
        left: &mut usize,
        cx: &SearchContext,
        visit: &mut dyn FnMut(NearbySet) -> bool,
    ) -> Option<()> {
        self.prospects.least = self.grains.least(least);
        let mut inside = vec![false; self.sweep.steps.len()];
        let mut stack = vec![Way { step: 0, state: 0, cells: 0, used: [0.0; 2], gain: 0, is_inside: false }];
        while let Some(way) = stack.pop() {
            *left = left.checked_sub(1)?;
            if left.is_multiple_of(WAYS_PER_LOOK) && cx.should_stop() {
                return None;
            }
            if way.step > 0 {
                inside[way.step - 1] = way.is_inside;
            }
            let Some(onward) = self.onward.get(way.step) else {
                let set = self.set(&inside, way.used[LOAD]);
                if set.profit >= least && !visit(set) {
                    return None;
                }
                continue;
            };
            for &(state, arc) in &onward[way.state] {
                let next = Way {
                    step: way.step + 1,
                    state,
                    cells: way.cells.saturating_add(arc.cells[LOAD]),
                    used: [LOAD, MEMORY].map(|role| way.used[role] + arc.used[role]),
                    gain: way.gain + self.grains.gain(way.step, arc),
                    is_inside: arc.is_inside(),
                };
                let fits = next.used[LOAD] <= self.most[LOAD]
                    && next.used[MEMORY] <= self.most[MEMORY]
                    && next.cells <= self.capacity;
                if fits && self.prospects.are_good((way.step, state), next.cells, next.gain) {
                    stack.push(next);
                }
            }
        }
        Some(())
    }

    fn set(&self, inside: &[bool], load: f64) -> NearbySet {
        let count = self.profit.len();
        let steps = self.sweep.steps.iter().zip(inside).filter(|(step, inside)| **inside && step.variable < count);
        let units: Vec<usize> = steps.map(|(step, _)| step.variable).collect();
        NearbySet { profit: units.iter().map(|&u| self.profit[u]).sum(), units, load }
    }
}

fn onward(sweep: &Sweep<2>) -> Vec<Vec<Vec<(usize, &Arc<2>)>>> {
    let before = std::iter::once(1).chain(sweep.steps.iter().map(|step| step.states.len()));
    let leads = sweep.steps.iter().zip(before).map(|(step, count)| {
        let mut of_state = vec![Vec::new(); count];
        for (to, arcs) in step.states.iter().enumerate() {
            arcs.iter().for_each(|arc| of_state[arc.from].push((to, arc)));
        }
        of_state
    });
    leads.collect()
}

/// Partial sets from one look at the clock to the next.
const WAYS_PER_LOOK: usize = 1 << 16;

/// The most entries of the look ahead, of four bytes each.
const MOST_ENTRIES: usize = 1 << 25;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::preprocess::Unordered;
    use crate::problem::fits;
    use crate::solve::certify::assignment::{Assignment, Setting};
    use crate::solve::certify::covering::Devices;
    use crate::solve::certify::samples::{instances, limit_memory, problem, sets};

    proptest! {
        /// For each kind of device, with a memory limit and without, and with profits below zero.
        #[test]
        fn walks_find_all_sets_that_earn_enough(
            mut instance in instances(),
            is_convex: bool,
            profit in vec(-9..=9i32, 6),
            target in 1..30u32,
            least in -5..20i32,
            limit in prop_oneof![Just(None), (3..30u32).prop_map(Some)],
        ) {
            limit_memory(&mut instance, limit.map(f64::from));
            let problem = problem(&instance, is_convex);
            let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &cx).unwrap();
            let (count, target, least) = (setting.unit_count(), f64::from(target), f64::from(least));
            let profit: Vec<f64> = profit.into_iter().take(count).map(f64::from).collect();
            let earned = |units: &[usize]| units.iter().map(|&u| profit[u]).sum::<f64>();
            for (kind, line) in devices.lines(&[], &cx).into_iter().flatten().enumerate() {
                let costs = &unordered.units.kinds[kind];
                let is_set = |units: &[usize]| {
                    let device_of = (0..count).map(|u| u32::from(!units.contains(&u))).collect();
                    let bytes = units.iter().map(|&u| costs.memory[u]).sum();
                    units.iter().all(|&u| costs.times[u].is_some())
                        && setting.is_convex(&Assignment { device_of }, 0)
                        && fits(bytes, costs.memory_limit)
                };
                let all = sets(count).filter(|units| is_set(units) && earned(units) >= least);
                let all: Vec<Vec<usize>> = all.filter(|units| devices.load(kind, units) <= target * ROOM).collect();
                let Some(mut nearby) = line.nearby(&profit, target) else { continue };
                let mut found = Vec::new();
                let mut visit = |set| {
                    found.push(set);
                    true
                };
                prop_assert_eq!(nearby.earning(least, &mut 1_000_000, &cx, &mut visit), Some(()));
                for set in &found {
                    let units: Vec<usize> = (0..count).filter(|u| set.units.contains(u)).collect();
                    prop_assert!(all.contains(&units), "{:?} is none", set);
                    prop_assert!(set.profit == earned(&units) && set.load >= devices.load(kind, &units) - 1e-9);
                }
                let is_found = |units: &&Vec<usize>| {
                    let exact = devices.load(kind, units);
                    found.iter().any(|set| {
                        units.len() == set.units.len()
                            && set.units.iter().all(|u| units.contains(u))
                            && (set.load - exact).abs() <= 1e-9 * exact
                    })
                };
                prop_assert_eq!(all.iter().find(|units| !is_found(units)), None);
                if !found.is_empty() {
                    prop_assert_eq!(nearby.earning(least, &mut 1, &cx, &mut |_| true), None);
                    prop_assert_eq!(nearby.earning(least, &mut 1_000_000, &cx, &mut |_| false), None);
                }
            }
        }
    }
}
