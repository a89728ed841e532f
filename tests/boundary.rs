//! The frontier automaton, the Pareto fronts on it and the boundary relaxation against plain enumeration of ideals.

mod common;
mod reference;

use std::collections::HashSet;

use common::{InstanceOptions, config};
use dagsplit::internals::bound;
use dagsplit::internals::dp::Setting;
use dagsplit::internals::dp::chain_cuts::ChainCutRelaxation;
use dagsplit::internals::dp::coarse_to_fine::CoarseToFine;
use dagsplit::internals::dp::frontier::{FORBIDDEN, Frontier};
use dagsplit::internals::dp::guide::Guide;
use dagsplit::internals::dp::pareto_fronts::{Label, pareto};
use dagsplit::internals::dp::relaxation::{Front, Ratio, Relaxation};
use dagsplit::internals::dp::stage::{Bounds, Ideals, Potential, Variants};
use dagsplit::internals::dp::suffixes::{Fronts, Suffixes};
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::SearchContext;
use proptest::prelude::*;
use reference::{Mask, acyclic_problems, banded, best_on_units, ideals};

fn has(set: Mask, u: u32) -> bool {
    set >> u & 1 == 1
}

fn cuts(reduced: &Reduced, ideal: Mask, e: usize) -> bool {
    let pins = &reduced.nets[e].pins;
    pins.iter().any(|&u| has(ideal, u) != has(ideal, pins[0]))
}

/// Lower value under the potential above and upper value under the one below, from their definition.
fn label(reduced: &Reduced, below: &Potential, above: &Potential, ideal: Mask) -> Label {
    let weight = |of: &Potential| {
        let units = (0..reduced.unit_count()).filter(|&u| has(ideal, u as u32));
        units.fold(0.0, |sum, u| sum + of.weight[u])
    };
    let charges = |of: &[f64]| (0..of.len()).filter(|&e| cuts(reduced, ideal, e)).fold(0.0, |sum, e| sum + of[e]);
    Label { x: weight(above) - charges(&above.lower), y: weight(below) + charges(&below.upper) }
}

/// The ideals that the automaton accepts, each with the nets it says are cut.
fn accepted(reduced: &Reduced, frontier: &Frontier) -> Vec<(Mask, Vec<usize>)> {
    let mut paths: Vec<(u32, Mask, Vec<usize>)> = vec![(0, 0, vec![])];
    for (layer, &unit) in frontier.layers.iter().zip(&frontier.order) {
        let mut next = Vec::new();
        for (state, ideal, cut) in paths {
            for (into, transition) in layer.transitions[state as usize].iter().enumerate() {
                if transition.next == FORBIDDEN {
                    continue;
                }
                let row = reduced.nets_of.row(unit).iter().enumerate();
                let new = row.filter(|&(i, _)| transition.cut >> i & 1 == 1).map(|(_, &e)| e as usize);
                let cut = cut.iter().copied().chain(new).collect();
                next.push((transition.next, ideal | (into as Mask) << unit, cut));
            }
        }
        paths = next;
    }
    paths.into_iter().map(|(_, ideal, cut)| (ideal, cut)).collect()
}

/// Bounds, and the fronts of one potential after another.
struct Fronted {
    bounds: Bounds,
    fronts: Vec<Option<Fronts>>,
}

impl Fronted {
    /// As the solver makes them: no fronts where no net is charged.
    fn new(setting: &Setting, frontier: &Frontier, bound: usize, upper: f64) -> Self {
        Self::with_fronts(setting, frontier, (bound, upper), |b, a| b.is_charged() || a.is_charged())
    }

    fn with_fronts(
        setting: &Setting,
        frontier: &Frontier,
        (bound, upper): (usize, f64),
        has_front: impl Fn(&Potential, &Potential) -> bool,
    ) -> Self {
        let precedence = setting.reduced.precedence().unwrap();
        let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
        let bounds = builder.all(&setting.stages, upper, bound);
        let fronts = |(b, a): (&Potential, &Potential)| {
            has_front(b, a).then(|| {
                Suffixes::new(setting.reduced, frontier, (b, a), None)
                    .fronts(usize::MAX, false, &SearchContext::new())
                    .unwrap()
            })
        };
        let all = &bounds.potentials;
        let fronts = all.iter().flat_map(|b| all.iter().map(move |a| (b, a))).map(fronts).collect();
        Self { bounds, fronts }
    }

    fn relaxation<'a>(&'a self, setting: &'a Setting) -> Relaxation<'a> {
        let n = self.bounds.potentials.len();
        let front = |i: usize| match &self.fronts[i] {
            Some(fronts) => Front::Labels(fronts.root()),
            None => Front::Ratio(Ratio::new(&self.bounds.potentials[i / n], &self.bounds.potentials[i % n])),
        };
        let fronts = (0..n * n).map(front).collect();
        Relaxation::new(&setting.stages, &self.bounds, &setting.consumption, fronts, &vec![0.0; n])
    }
}

/// Each finer relaxation, built within the windows of a coarser one, must admit the optimum as well.
fn check_grids(setting: &Setting, frontier: &Frontier, optimum: f64) -> Result<(), TestCaseError> {
    let precedence = setting.reduced.precedence().unwrap();
    let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
    let upper = 1.25 * optimum;
    let exact = builder.all(&setting.stages, upper, 0);
    let mut windows = None;
    for grid in [Some(8.0), Some(2.0), Some(0.5), None] {
        let guide = Guide::new(setting, frontier, &exact, grid, windows, usize::MAX, &SearchContext::new()).unwrap();
        let relaxation = guide.relaxation(setting);
        prop_assert!(relaxation.is_feasible(optimum), "grid {grid:?}");
        windows = Some(guide.true_windows(&relaxation, &relaxation.windows(upper)));
    }
    Ok(())
}

/// Whatever the grids leave out, the last one must prove what the exact relaxation does. It may prove more
/// where only the ratio of two weights is known, as that of rounded weights can be the narrower one; but no more than
/// with the front of each pair.
fn check_coarse_to_fine(setting: &Setting, frontier: &Frontier, bound: usize, upper: f64) -> Result<(), TestCaseError> {
    let least = |fronted: &Fronted| fronted.relaxation(setting).least_target(0.0, upper, &SearchContext::new());
    let exact = Fronted::new(setting, frontier, bound, upper);
    let low = least(&exact);
    let most = least(&Fronted::with_fronts(setting, frontier, (bound, upper), |_, _| true));
    let cx = SearchContext::new();
    let mut grids = CoarseToFine::new(setting, frontier, exact.bounds.clone(), upper, usize::MAX);
    for reach in [0.0, 0.5 * (low + upper), upper] {
        grids.coarsen(reach);
        let mut bound = 0.0;
        while let Some(low) = grids.refine(bound, upper, reach, &cx) {
            bound = f64::max(bound, low);
        }
        let last = grids.top().unwrap().relaxation(setting);
        let proven = last.least_target(0.0, grids.reach(), &cx);
        prop_assert!(proven >= low * (1.0 - 1e-9), "{proven} for {low} up to {reach}");
        prop_assert!(proven <= most * (1.0 + 1e-9), "{proven} above {most} up to {reach}");
        prop_assert!(grids.reach() >= reach && grids.reach() >= low);
    }
    Ok(())
}

/// The relaxation by chain cuts must admit the optimum, whatever labels are joined.
fn check_chain_cuts(setting: &Setting, frontier: &Frontier, bound: usize, optimum: f64) -> Result<(), TestCaseError> {
    let precedence = setting.reduced.precedence().unwrap();
    let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
    let bounds = builder.charging_all(&setting.stages, bound);
    for grain in [0.0, 1.5] {
        let cx = SearchContext::new();
        let relaxation = ChainCutRelaxation::new(setting, frontier, &precedence, &bounds, grain, &cx).ok().unwrap();
        prop_assert!(relaxation.is_feasible(optimum), "chain cuts under bound {bound}, grain {grain}");
    }
    Ok(())
}

/// The relaxation under each linear bound must admit the optimum.
fn check_bounds(problem: &Problem, reduced: &Reduced, optimum: f64) -> Result<(), TestCaseError> {
    let setting = Setting::new(problem, reduced);
    let frontier = Frontier::smallest(reduced, usize::MAX, &SearchContext::new()).unwrap();
    for bound in 0..Variants::bounds(reduced) {
        check_chain_cuts(&setting, &frontier, bound, optimum)?;
        for upper in [optimum, 1.5 * optimum, setting.ceiling] {
            let tables = Fronted::new(&setting, &frontier, bound, upper);
            let relaxation = tables.relaxation(&setting);
            prop_assert!(relaxation.is_feasible(optimum), "bound {bound} for targets up to {upper}");
            prop_assert!(
                relaxation.least_target(0.0, setting.ceiling, &SearchContext::new()) <= optimum * (1.0 + 1e-12)
            );
            check_coarse_to_fine(&setting, &frontier, bound, upper)?;
        }
    }
    check_grids(&setting, &frontier, optimum)?;
    prop_assert!(bound::work(reduced) <= optimum && optimum <= setting.ceiling);
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn the_automaton_accepts_each_ideal_once_and_knows_its_cuts(
        (instance, spec) in acyclic_problems(9, InstanceOptions::ALL),
    ) {
        let problem = Problem::new(&instance, spec).unwrap();
        let reduced = Reduced::contracted_only(&problem);
        let frontier = Frontier::smallest(&reduced, usize::MAX, &SearchContext::new()).unwrap();
        let expected: HashSet<Mask> = ideals(&reduced.order).into_iter().collect();
        let accepted = accepted(&reduced, &frontier);
        prop_assert_eq!(accepted.len(), expected.len());
        prop_assert_eq!(frontier.ideal_count(), expected.len() as f64);
        for (ideal, mut cut) in accepted {
            prop_assert!(expected.contains(&ideal));
            cut.sort_unstable();
            let real: Vec<usize> = (0..reduced.nets.len()).filter(|&e| cuts(&reduced, ideal, e)).collect();
            prop_assert_eq!(cut, real);
        }
    }

    #[test]
    fn the_automaton_counts_the_ideals_of_longer_graphs((instance, spec) in banded(60)) {
        let problem = Problem::new(&instance, spec).unwrap();
        let reduced = Reduced::new(&problem);
        let frontier = Frontier::smallest(&reduced, usize::MAX, &SearchContext::new()).unwrap();
        prop_assert_eq!(frontier.ideal_count(), ideals(&reduced.order).len() as f64);
        let states = frontier.state_count();
        prop_assert!(Frontier::new(&reduced, frontier.order.clone(), states + 1, &SearchContext::new()).is_ok());
        prop_assert!(Frontier::new(&reduced, frontier.order, states - 1, &SearchContext::new()).is_err());
    }

    // Weights of units that a kind cannot run are no integers, and thirds are not exact: both are left out.
    #[test]
    fn fronts_hold_the_best_of_all_ideals(
        (instance, spec) in acyclic_problems(8, InstanceOptions { unsupported: false, ..InstanceOptions::ALL }),
    ) {
        let replication = spec.replication.filter(|r| r.max_replicas < 3);
        let problem = Problem::new(&instance, ProblemSpec { replication, ..spec }).unwrap();
        let reduced = Reduced::new(&problem);
        let setting = Setting::new(&problem, &reduced);
        let frontier = Frontier::smallest(&reduced, usize::MAX, &SearchContext::new()).unwrap();
        let all = ideals(&reduced.order);
        for bound in 0..Variants::bounds(&reduced).min(3) {
            let Fronted { bounds: Bounds { potentials, .. }, fronts } =
                Fronted::new(&setting, &frontier, bound, setting.ceiling);
            for (i, fronts) in fronts.iter().enumerate() {
                let (below, above) = (&potentials[i / potentials.len()], &potentials[i % potentials.len()]);
                let labels = all.iter().map(|&ideal| label(&reduced, below, above, ideal)).collect();
                if let Some(fronts) = fronts {
                    prop_assert_eq!(fronts.root(), pareto(labels));
                }
            }
        }
    }

    #[test]
    fn the_relaxation_is_never_above_the_optimum((instance, spec) in acyclic_problems(7, InstanceOptions::ALL)) {
        let problem = Problem::new(&instance, spec).unwrap();
        let reduced = Reduced::new(&problem);
        if let Some(optimum) = best_on_units(&problem, &reduced, &ideals(&reduced.order)) {
            check_bounds(&problem, &reduced, optimum)?;
            check_bounds(&problem, &reduced.below(&problem, optimum * (1.0 + 1e-12)), optimum)?;
        }
    }
}
