//! The best splits of topological orders into intervals (Tarnawski 2020, section 5.1.2).

use rayon::prelude::*;

use super::chain::differences;
use super::chain::{Bits, IdealChain};
use super::grouping::{Flat, Grouping};
use super::linear::{Chain, Line};
use super::loads::{Value, objective};
use super::orders;
use super::pareto_fronts::{Label, pareto};
use super::relaxation::{Front, Relaxation};
use super::stage::{Bounds, Ideals, Variants};
use super::{Incumbent, Setting};
use crate::bound;
use crate::search::{Race, SearchContext, Stopped};

/// The best split over `count` orders; stops early once it meets `bound`, or `patience` orders bring nothing better.
pub fn best_of_orders(
    setting: &Setting,
    count: usize,
    patience: usize,
    bound: f64,
    cx: &SearchContext,
) -> Option<Incumbent> {
    let flat = Flat::new(setting);
    let flat = flat.as_ref().map(Flat::settings);
    let mut best: Option<Incumbent> = None;
    let (mut tried, mut last_better) = (0, 0);
    while tried < count && tried - last_better <= patience && (tried == 0 || !cx.should_stop()) {
        let upper = best.as_ref().map_or(f64::INFINITY, Incumbent::objective);
        if upper <= bound {
            break;
        }
        // Fixed batches, so that the answer does not depend on the number of threads. The first order is alone: others
        // are mostly passed over once there is a split.
        let batch = tried..count.min(if tried == 0 { 1 } else { tried + BATCH });
        let found: Vec<Option<Incumbent>> = batch
            .clone()
            .into_par_iter()
            .filter(|&i| i == 0 || !cx.should_stop())
            .map(|i| orders::numbered(setting.reduced, i, cx.seed, cx))
            .map(|order| best_split(setting, flat.as_ref(), &order, upper, cx))
            .collect();
        for split in found.into_iter().flatten() {
            if best.as_ref().is_none_or(|b| split.objective() < b.objective()) {
                best = Some(split);
                last_better = batch.start;
            }
        }
        tried = batch.end;
    }
    best
}

/// Offers the best split over a few orders where none is known.
pub fn offer_first<O>(setting: &Setting, race: &mut Race<Incumbent, O>) {
    if race.objective().is_none()
        && let Some(first) = best_of_orders(setting, FEW_ORDERS, FEW_ORDERS, race.bound(), race.cx)
    {
        race.offer(first.objective(), first);
    }
}

/// Orders for a first split that others better.
const FEW_ORDERS: usize = 4;

/// The best split of `order` into intervals with an objective below `upper`. Where there are servers, `flat` prices
/// their nets, and the intervals are the best of some. `None` also where a limit comes first.
pub fn best_split(
    setting: &Setting,
    flat: Option<&[Setting; 2]>,
    order: &[usize],
    upper: f64,
    cx: &SearchContext,
) -> Option<Incumbent> {
    match flat {
        Some(flat) => best_grouping(setting, flat, order, upper, cx),
        None => best_intervals(setting, order, upper, cx),
    }
}

/// Positions put into fronts between two looks at the limits.
const PATIENCE: usize = 1 << 18;

/// How many orders share one incumbent.
const BATCH: usize = 4;

/// The best split of `order` into intervals with an objective below `upper`, exact for the order. `None` where there is
/// none, or a limit comes first.
///
/// O(n · nets open at a position) for the relaxation of the order, then the DP on the boundaries that it admits,
/// mostly a fraction of a percent of the positions.
pub fn best_intervals(setting: &Setting, order: &[usize], upper: f64, cx: &SearchContext) -> Option<Incumbent> {
    let (value, chain) = best_chain(setting, order, upper, cx).ok()??;
    Some(Incumbent { value, stages: differences(setting.reduced, &ideals(order, &chain)) })
}

/// The best grouping into servers of the chains that `order` gives under three simple prices of its nets.
fn best_grouping(
    setting: &Setting,
    flat: &[Setting; 2],
    order: &[usize],
    upper: f64,
    cx: &SearchContext,
) -> Option<Incumbent> {
    let grouping = Grouping { loads: &setting.loads, stages: &setting.stages, consumption: &setting.consumption };
    let group = |priced: &Setting| {
        let (_, chain) = best_chain(priced, order, upper, cx).ok()??;
        grouping.best(ideals(order, &chain).into_iter().map(|(ideal, s)| (ideal, priced.stages[s])).collect())
    };
    let grouped = std::iter::once(setting).chain(flat).filter_map(group);
    let (value, chain) = grouped.min_by(|(a, _), (b, _)| objective(*a).total_cmp(&objective(*b)))?;
    Some(Incumbent { value, stages: differences(setting.reduced, &chain) })
}

/// The best chain of intervals of `order` by the loads that a [`Line`] knows.
fn best_chain(
    setting: &Setting,
    order: &[usize],
    upper: f64,
    cx: &SearchContext,
) -> Result<Option<(Value, Chain)>, Stopped> {
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
    let line = Line::new(&setting.loads, &setting.stages, &setting.consumption, order, cx)?;
    let builder = Variants::new(setting.problem, setting.reduced, Ideals::Prefixes(&position), setting.ceiling);
    let upper = upper.min(setting.ceiling);
    let most_load = setting.loads.most_load(upper);
    let bounds = builder.all(&setting.stages, most_load, Variants::bounds(setting.reduced) - 1);
    let fronts = line_fronts(&line, &bounds, order.len(), cx)?;
    let fronts = fronts.iter().map(|front| Front::Labels(front)).collect();
    let relaxation =
        Relaxation::new(&setting.stages, &bounds, &setting.consumption, fronts, &vec![0.0; bounds.potentials.len()]);
    if !relaxation.is_feasible(most_load) {
        return Ok(None);
    }
    let low = relaxation.least_target(0.0, most_load, cx);
    let low = bound::least_objective(setting.problem, setting.reduced, low);
    // Just above its bound, where the optimum mostly lies, the relaxation admits few boundaries.
    let mut target = 0.0;
    for widening in [1.002, 1.02, 1.1, 1.5, 4.0, f64::INFINITY] {
        if target >= upper {
            break;
        }
        target = (low * widening).min(upper);
        if let Some(found) =
            line.solve(target, &relaxation, &relaxation.windows(setting.loads.most_load(target)), cx)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The Pareto front of each pair of potentials over the prefixes.
fn line_fronts(line: &Line, bounds: &Bounds, n: usize, cx: &SearchContext) -> Result<Vec<Vec<Label>>, Stopped> {
    let values: Vec<(Vec<f64>, Vec<f64>)> = bounds.potentials.iter().map(|p| line.boundary_values(p)).collect();
    let mut fronts = Vec::with_capacity(values.len() * values.len());
    let mut work = 0;
    for below in &values {
        for above in &values {
            work += n;
            if work >= PATIENCE {
                work = 0;
                if cx.should_stop() {
                    return Err(Stopped);
                }
            }
            fronts.push(pareto((0..=n).map(|i| Label { x: above.0[i], y: below.1[i] }).collect()));
        }
    }
    Ok(fronts)
}

/// The ideals after the stages of a chain of intervals.
pub(super) fn ideals(order: &[usize], chain: &Chain) -> IdealChain {
    let mut ideal: Bits = vec![0; order.len().div_ceil(64)].into();
    let mut from = 0;
    let after = |&(to, stage): &(usize, usize)| {
        order[from..to].iter().for_each(|&u| ideal[u / 64] |= 1 << (u % 64));
        from = to;
        (ideal.clone(), stage)
    };
    chain.iter().map(after).collect()
}
