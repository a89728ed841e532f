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

/// What a search of the tree may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most nodes beyond the root.
    pub nodes: usize,
    /// The most rounds of pricing.
    pub rounds: usize,
}

impl Budget {
    /// As much as it takes.
    pub const UNLIMITED: Self = Self { nodes: usize::MAX, rounds: usize::MAX };
}

/// Searches the splits below `target` depth first; the root is open. A split below `upper` ends the search too.
pub fn search(
    generation: &mut Generation,
    (target, upper): (f64, f64),
    center: &Center,
    budget: Budget,
    cx: &SearchContext,
) -> Ending {
    let before = generation.effort.rounds;
    let mut stack: Vec<Vec<Decision>> = vec![Vec::new()];
    let mut is_complete = true;
    let mut nodes = 0;
    while let Some(decisions) = stack.pop() {
        if cx.should_stop() || nodes > budget.nodes {
            return Ending::Limit;
        }
        if nodes > 0 {
            generation.effort.nodes += 1;
            let Some(mut pricers) = generation.devices.pricers(&decisions, cx) else {
                is_complete = false;
                continue;
            };
            let max_rounds = budget.rounds.saturating_sub(generation.effort.rounds - before);
            let query = Query { target, decisions: &decisions, max_rounds };
            match generation.refute(query, &mut pricers, &mut center.clone(), &mut || true) {
                Verdict::Refuted => {
                    nodes += 1;
                    continue;
                }
                Verdict::Limit => return Ending::Limit,
                Verdict::Open => {}
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

#[cfg(test)]
mod tests {
    use super::super::covering::{Devices, Verdict};
    use super::super::samples;
    use super::*;
    use crate::conformance::strategies::odd_cycles;
    use crate::instance::Instance;
    use crate::preprocess::Unordered;
    use crate::problem::Problem;
    use crate::solve::Solver;
    use crate::solve::brute_force::BruteForce;

    fn optimum(problem: &Problem) -> f64 {
        let run = BruteForce.solve(problem, &mut SearchContext::new()).unwrap();
        run.outcome.solution().and_then(|split| split.objective).expect("every node runs everywhere")
    }

    /// What the root says of a target, and the tree where the root leaves it open, with the nodes that took.
    fn settle(devices: &Devices, target: f64, upper: f64) -> (Ending, usize) {
        let cx = SearchContext::new();
        let mut generation = Generation::new(devices, &cx);
        let mut center = Center { profit: devices.work() };
        let query = Query { target, decisions: &[], max_rounds: usize::MAX };
        let mut pricers = devices.pricers(&[], &cx).expect("a narrow graph");
        if generation.refute(query, &mut pricers, &mut center, &mut || true) == Verdict::Refuted {
            return (Ending::Refuted, 0);
        }
        let ending = search(&mut generation, (target, upper), &center, Budget::UNLIMITED, &cx);
        (ending, generation.effort.nodes)
    }

    /// Whether splits are found and targets refuted as the optimum says; how many trees with branches found, refuted and
    /// decided nothing.
    fn check(instance: &Instance, is_convex: bool) -> [usize; 3] {
        let problem = samples::problem(instance, is_convex);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).expect("a narrow graph");
        let optimum = optimum(&problem);
        let mut trees = [0; 3];
        for part in [0.95, 0.9999, 1.0 - 1e-7, 1.0, 1.0001] {
            let target = optimum * part;
            let (ending, nodes) = settle(&devices, target, target * (1.0 + 1e-9));
            let kind = match &ending {
                Ending::Found(split) => {
                    let value = setting.objective(split).expect("what is found is valid");
                    assert!(optimum <= value && value < target * (1.0 + 1e-9), "{value} below {target}: {instance:?}");
                    0
                }
                Ending::Refuted => {
                    assert!(target < optimum, "{target} refuted, optimum {optimum}: {instance:?}");
                    1
                }
                Ending::Undecided => 2,
                Ending::Limit => unreachable!("there is none"),
            };
            trees[kind] += usize::from(nodes > 0);
        }
        trees
    }

    #[test]
    fn trees_find_and_refute_what_is_there_to_be_found_and_refuted() {
        let mut trees = [0; 3];
        let instances = [(2, 40), (3, 20)].map(|(triangles, count)| samples::drawn(odd_cycles(triangles), count));
        for (i, instance) in instances.into_iter().flatten().enumerate() {
            let more = check(&instance, i % 2 == 0);
            trees.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        assert!(trees[0] >= 30 && trees[1] >= 30 && trees[2] <= 5, "{trees:?} trees find, refute and decide nothing");
    }

    /// Where all of a cover is decided, and its split is not below what is asked for, that refutes no target.
    #[test]
    fn an_open_node_refutes_nothing() {
        for instance in samples::drawn(odd_cycles(2), 20) {
            let mut instance = instance;
            instance.platform.accelerators.iter_mut().zip([1, 0]).for_each(|(class, count)| class.count = count);
            let problem = samples::problem(&instance, false);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &SearchContext::new()).expect("a narrow graph");
            let optimum = optimum(&problem);
            assert_eq!(settle(&devices, 2.0 * optimum, 0.5 * optimum).0, Ending::Undecided);
        }
    }
}
