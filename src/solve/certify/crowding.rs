//! Counting heavy units: the devices cannot hold them all where few of them fit together.
//!
//! [`bound`](crate::bound) counts the heaviest units too, with Lagrangian prices for how many of them a device holds.
//! Here each small group has a minimum cut of its own, which leaves no gap.

use super::assignment::Setting;
use crate::bound::Holder;

/// Groups of more units than this are not tried: there are too many of them.
const LARGEST_GROUP: usize = 3;

/// No more units than this are counted.
const MOST_COUNTED: usize = 20;

/// Whether no split has a load of at most `target`, by the number of heavy units that each device can hold.
///
/// `work` is the least time of each unit. Tries one unit more than some number for each device of the most numerous
/// kind. At most h³/6 minimum cuts for h units of each kind, fewer where a group fits.
pub fn refutes(setting: &Setting, work: &[f64], target: f64) -> bool {
    let units = &setting.unordered.units;
    let mut heaviest: Vec<usize> = (0..work.len()).collect();
    heaviest.sort_by(|&a, &b| work[b].total_cmp(&work[a]));
    let mut holders = Holder::all(setting.problem, units);
    let Some(devices) = units.kinds.iter().map(|kind| kind.count).max() else { return false };
    let sizes = (1..LARGEST_GROUP).map(|each| each.saturating_mul(devices).saturating_add(1));
    sizes.take_while(|&size| size <= heaviest.len().min(MOST_COUNTED)).any(|size| {
        let room = holders.iter_mut().try_fold(0, |room: usize, holder| {
            let most = most_together(holder, &heaviest[..size], target)?;
            Some(room.saturating_add(units.kinds[holder.kind].count.saturating_mul(most)))
        });
        room.is_some_and(|room| room < size)
    })
}

/// The most of these units that fit on a device together; `None` where a group of the largest size does.
fn most_together(holder: &mut Holder, units: &[usize], target: f64) -> Option<usize> {
    (0..LARGEST_GROUP).find(|&most| !any_group_fits(holder, units, &mut Vec::new(), most + 1, target))
}

/// Whether a device may hold `group` with `more` of these units.
fn any_group_fits(holder: &mut Holder, units: &[usize], group: &mut Vec<usize>, more: usize, target: f64) -> bool {
    if more == 0 {
        return !holder.cuts.iter_mut().any(|cuts| cuts.exceeds(group, target));
    }
    (0..units.len()).any(|i| {
        group.push(units[i]);
        let fits = any_group_fits(holder, &units[i + 1..], group, more - 1, target);
        group.pop();
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::super::covering::Devices;
    use super::super::samples;
    use super::*;
    use crate::preprocess::Unordered;
    use crate::solve::brute_force::BruteForce;
    use crate::solve::{SearchContext, Solver};

    #[test]
    fn no_target_that_a_split_keeps_is_refuted_and_some_others_are() {
        let mut refuted = 0;
        for instance in samples::drawn(samples::instances(), 300) {
            let problem = samples::problem(&instance, false);
            let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
            let setting = Setting::new(&problem, &unordered);
            let run = BruteForce.solve(&problem, &mut SearchContext::new()).unwrap();
            let optimum = run.outcome.solution().and_then(|split| split.objective);
            let (Some(optimum), Some(devices)) = (optimum, Devices::new(&setting, &cx)) else { continue };
            let work = devices.work();
            assert!(!refutes(&setting, &work, optimum), "{optimum} is refuted: {instance:?}");
            refuted += usize::from(refutes(&setting, &work, 0.99 * optimum));
        }
        assert!(refuted >= 10, "{refuted} targets below the optimum are refuted");
    }
}
