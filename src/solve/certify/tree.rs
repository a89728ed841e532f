//! Branch and price: a target refuted, or a split found below it.

use super::assignment::{Assignment, Setting};
use super::branching::{Branching, Fractions};
use super::covering::{Center, Decision, Generation, Query, Verdict};
use crate::solve::SearchContext;

/// How a search of the tree ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// No split is below the target.
    Refuted,
    /// A split below the target.
    Found(Assignment),
    /// A limit came first.
    Limit,
    /// Part of the tree could not be decided, by numerical failure or for its width.
    Undecided,
}

/// Searches the splits below `target` depth first, in at most `max_nodes` nodes beyond the root, which is open. A split
/// below `upper` ends the search too.
pub fn search(
    generation: &mut Generation,
    (target, upper): (f64, f64),
    center: &Center,
    max_nodes: usize,
    cx: &SearchContext,
) -> Ending {
    let mut stack: Vec<Vec<Decision>> = vec![Vec::new()];
    let mut is_complete = true;
    let mut nodes = 0;
    while let Some(decisions) = stack.pop() {
        if cx.should_stop() || nodes > max_nodes {
            return Ending::Limit;
        }
        if nodes > 0 {
            let Some(mut pricers) = generation.devices.pricers(&decisions, cx) else {
                is_complete = false;
                continue;
            };
            let query = Query { target, decisions: &decisions, max_rounds: usize::MAX };
            if generation.refute(query, &mut pricers, &mut center.clone(), &mut || true) == Verdict::Refuted {
                nodes += 1;
                continue;
            }
        }
        nodes += 1;
        let columns = generation.pool.below(target, &decisions);
        let Some(fractions) = Fractions::new(generation.devices, &columns) else {
            is_complete = false;
            continue;
        };
        let setting = generation.devices.setting();
        if let Some(split) = as_assignment(setting, &fractions.disjoint(generation.devices))
            && setting.objective(&split).is_some_and(|value| value < upper)
        {
            return Ending::Found(split);
        }
        match fractions.branching(generation.devices) {
            Branching::Decide(first, second) => {
                for decision in [second, first] {
                    stack.push(decisions.iter().copied().chain([decision]).collect());
                }
            }
            Branching::Split(_) | Branching::Nothing => is_complete = false,
        }
    }
    if is_complete { Ending::Refuted } else { Ending::Undecided }
}

/// The split that gives each set of units a device of its kind; `None` where it leaves a unit out.
pub fn as_assignment(setting: &Setting, sets: &[(usize, Vec<usize>)]) -> Option<Assignment> {
    let mut device_of = vec![None; setting.unit_count()];
    let mut free: Vec<bool> = vec![true; setting.device_count()];
    for (kind, units) in sets {
        let device = (0..setting.device_count()).find(|&d| free[d] && setting.kind_of[d] == *kind)?;
        free[device] = false;
        units.iter().for_each(|&u| device_of[u] = Some(device as u32));
    }
    Some(Assignment { device_of: device_of.into_iter().collect::<Option<_>>()? })
}
