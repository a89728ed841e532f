//! The bundle method along lines.

use super::target::largest_refuted;
use crate::solve::bundle::{Bundle, Offer, Prices, rounding};
use crate::solve::certify::pricing::LinePricer;

/// A search for profits that refute `target`, from `profit` on, over devices so many of each kind, which lines price.
pub fn along<'a>(
    counts: &'a [usize],
    lines: &'a mut [LinePricer],
    target: f64,
    (work, profit): (&[f64], &[f64]),
) -> Bundle<'a> {
    let prices: Prices = Box::new(move |profit| {
        let offer = |line: &mut LinePricer| {
            let priced = line.price(profit, target);
            Offer { most: priced.upper, sets: priced.sets.into_iter().rev().map(|set| set.units).collect() }
        };
        lines.iter_mut().map(offer).collect()
    });
    Bundle::new(counts, prices, work, profit)
}

/// Nearly the largest target between `low` and `high` that these profits refute by themselves; `low` where there is none.
pub fn refuted_by(counts: &[usize], lines: &mut [LinePricer], profit: &[f64], range: (f64, f64)) -> f64 {
    let total: f64 = profit.iter().sum();
    let margin = rounding(profit);
    largest_refuted(range, TARGET_STEPS, |target| {
        let earned = lines.iter_mut().zip(counts).map(|(line, &count)| line.price(profit, target).upper * count as f64);
        Some(total / (earned.sum::<f64>() + margin))
    })
}

/// Steps of the search for the target that profits refute.
const TARGET_STEPS: usize = 6;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::solve::SearchContext;
    use crate::solve::bundle::Verdict;
    use crate::solve::certify::assignment::{Assignment, Setting};
    use crate::solve::certify::covering::Devices;
    use crate::solve::certify::samples::{instances, problem, sets, splits};

    /// F by enumeration.
    fn surplus(setting: &Setting, devices: &Devices, profit: &[f64], target: f64) -> f64 {
        let most = |kind: usize| {
            let times = &setting.unordered.units.kinds[kind].times;
            let is_set = |units: &Vec<usize>| {
                let device_of = (0..profit.len()).map(|u| u32::from(!units.contains(&u))).collect();
                units.iter().all(|&u| times[u].is_some()) && setting.is_convex(&Assignment { device_of }, 0)
            };
            let fitting = sets(profit.len()).filter(|set| is_set(set) && devices.load(kind, set) <= target);
            fitting.map(|units| units.iter().map(|&u| profit[u]).sum()).fold(0.0, f64::max)
        };
        let earned = devices.counts.iter().enumerate().map(|(kind, &count)| count as f64 * most(kind));
        profit.iter().sum::<f64>() - earned.sum::<f64>()
    }

    /// The least objective by enumeration.
    fn optimum(setting: &Setting) -> f64 {
        splits(setting).filter_map(|split| setting.objective(&split)).fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn what_is_refuted_is_below_all_splits(
            instance in instances(),
            is_convex: bool,
            profit in vec(prop_oneof![-9..=9i32, 0..=9i32], 6),
            part in 0.5..1.2f64,
        ) {
            let problem = problem(&instance, is_convex);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
            let profit: Vec<f64> = profit.into_iter().take(setting.unit_count()).map(f64::from).collect();
            let Some(mut lines) = devices.lines(&[], &SearchContext::new()) else { return Ok(()) };
            let optimum = optimum(&setting);
            // Huge devices are beyond a line.
            let target = (optimum * part).min(1e4);
            let mut bundle = along(&devices.counts, &mut lines, target, (&devices.work(), &profit));
            let is_below = |bundle: &Bundle| bundle.surplus() <= surplus(&setting, &devices, bundle.center(), target);
            prop_assert!(is_below(&bundle), "{} at {:?}", bundle.surplus(), bundle.center());
            let verdict = bundle.ascend(40, &mut || (), &SearchContext::new());
            prop_assert!(is_below(&bundle), "{} at {:?}", bundle.surplus(), bundle.center());
            prop_assert!(verdict != Verdict::Refuted || target < optimum, "{target} is refuted, {optimum} is optimal");
            let center = bundle.center().to_vec();
            drop(bundle);
            for profit in [center, profit] {
                let shown = refuted_by(&devices.counts, &mut lines, &profit, (0.0, 2.0 * target));
                prop_assert!(shown <= optimum, "{shown} is refuted, {optimum} is optimal");
            }
        }
    }

    #[test]
    fn profits_that_cancel_refute_nothing() {
        let node = |id| Node { accelerator_times: vec![Some(1.0)], ..Node::new(id) };
        let instance = Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: (0..2).map(node).collect(),
            ..Instance::default()
        };
        let problem = problem(&instance, false);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let mut lines = devices.lines(&[], &SearchContext::new()).unwrap();
        for profit in [[0.0, 0.0], [1.0, -1.0], [-1.0, -1.0], [1.0, f64::NAN], [1.0 + 1e-15, -1.0]] {
            let mut bundle = along(&devices.counts, &mut lines, 2.0, (&[1.0; 2], &profit));
            assert!(!bundle.refutes(), "{profit:?}");
            assert_ne!(bundle.ascend(20, &mut || (), &SearchContext::new()), Verdict::Refuted, "{profit:?}");
            drop(bundle);
            assert_eq!(refuted_by(&devices.counts, &mut lines, &profit, (0.0, 2.0)), 0.0, "{profit:?}");
        }
    }
}
