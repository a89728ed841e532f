//! Searches among the mappings that symmetries take to themselves.
//!
//! Of a group action's few pipelines each stage takes a device of an orbit of its own. There are far fewer of these mappings than
//! of all, and propagation sees what annealing cannot: which devices the stages with many neighbours have to have. Where
//! rings count as well, they are first allowed the time of one kind of link, and then led through the pipelines found.

use super::super::classes::Classes;
use super::super::search::{BranchingOrder, DepthFirstSearch, Knowledge};
use super::super::{LEAST_STEP, Proof};
use crate::mapping::group_action::GroupAction;
use crate::mapping::ring_order::RingOrder;
use crate::mapping::{Mapping, MappingProblem};
use crate::search::{SearchContext, Verdict};
use crate::small_set::Set;

/// Actions that place more than so many times the fewest copies are left out.
const MOST_PLACED: usize = 4;

/// How many kinds of links are tried for rings, the fastest first.
const KINDS: usize = 4;

/// Decisions of the first search of each action.
const FIRST: u64 = 100;

/// The part of the objective to which the least target that is not refuted at once is found.
const PRECISION: f64 = 1e-4;

/// The actions of a problem, and what is known of their mappings.
pub struct GroupActions<'p> {
    all: Vec<GroupAction<'p>>,
    /// Where rings count.
    orders: Option<RingOrder<'p>>,
    allowances: Vec<Allowance>,
    /// Decisions of the latest searches.
    decisions: u64,
}

/// Times that rings are allowed.
struct Allowance {
    /// By stage.
    rings: Vec<f64>,
    /// By action: none of its mappings is within this when rings take so long.
    refuted: Vec<f64>,
}

impl<'p> GroupActions<'p> {
    /// All that place few copies.
    pub fn new(problem: &'p MappingProblem, cx: &SearchContext) -> Self {
        let mut all = GroupAction::all(problem, |fewest| MOST_PLACED * fewest, cx);
        all.retain(|action| !action.is_snake());
        let orders = RingOrder::new(problem);
        let stages = problem.stages.stages.len();
        let allowed = match orders.is_some() && problem.cost.adds_all_reduce() {
            true => kinds(problem).into_iter().map(|other| ring_times(problem, other)).collect(),
            false => vec![vec![0.0; stages]],
        };
        let allowance = |rings| Allowance { rings, refuted: vec![0.0; all.len()] };
        let allowances = allowed.into_iter().map(allowance).collect();
        Self { all, orders, allowances, decisions: 0 }
    }

    /// Searches an action for a mapping within a target when rings take as long as they are allowed.
    fn search<const W: usize>(
        &mut self,
        knowledge: &mut Knowledge<W>,
        (index, kind): (usize, usize),
        target: f64,
        decisions: u64,
        cx: &SearchContext,
    ) -> Option<Mapping> {
        let (action, allowance, model) = (&self.all[index], &mut self.allowances[kind], knowledge.model);
        if target <= allowance.refuted[index] {
            return None;
        }
        let placed = action.placed();
        let quotient = MappingProblem { replicas: placed, ..model.problem.clone() };
        let model = model.quotient(&quotient, Classes::new(action.orbits()), &allowance.rings);
        let mut inside = Knowledge::none(&model);
        let search = DepthFirstSearch::new(&mut inside, target, decisions, BranchingOrder::Fresh, cx);
        // An image of a pipeline is as good as the pipeline itself.
        let stage = (0..model.stages.len()).max_by_key(|&stage| model.stages[stage].neighbours.len()).unwrap_or(0);
        let first = action.orbits().iter().copied().collect::<Set<W>>();
        let search = (stage * placed..(stage + 1) * placed).fold(search, |search, copy| search.within(copy, &first));
        let verdict = search.run();
        knowledge.nodes += inside.nodes;
        match verdict {
            Verdict::Found(mapping) => return Some(action.expanded(&mapping)),
            Verdict::Refuted => allowance.refuted[index] = target,
            Verdict::Unknown => (),
        }
        None
    }
}

/// The devices at the other end of the fastest links of the first one, one of each kind.
fn kinds(problem: &MappingProblem) -> Vec<usize> {
    let time = |other: usize| problem.topology.message_time(0, other, 1.0);
    let mut others: Vec<usize> = (1..problem.topology.len()).collect();
    others.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
    others.dedup_by(|a, b| time(*a) == time(*b));
    others.truncate(KINDS);
    others
}

/// By stage: the time of a ring whose slowest link is that from the first device to another.
fn ring_times(problem: &MappingProblem, other: usize) -> Vec<f64> {
    (0..problem.stages.stages.len()).map(|stage| problem.all_reduce_time(stage, 0, other)).collect()
}

impl<'p, const W: usize> Proof<'p, W> {
    /// Searches all actions by about so many decisions, first for a mapping that reaches the bound, then for a better one.
    pub(in super::super) fn search_orbits(&mut self, decisions: u64) {
        let problem = self.knowledge.model.problem;
        let mut actions = self.actions.take().unwrap_or_else(|| GroupActions::new(problem, self.race.cx));
        let searches = 2 * actions.all.len() * actions.allowances.len();
        let decisions = decisions / searches.max(1) as u64;
        // The first searches find what is easy to find, and of later ones those that are no longer find nothing else.
        let decisions = if actions.decisions == 0 { FIRST } else { decisions };
        if decisions < 2 * actions.decisions {
            self.actions = Some(actions);
            return;
        }
        actions.decisions = decisions;
        for reaches in [true, false] {
            for kind in 0..actions.allowances.len() {
                let least = if reaches { self.least_target(&mut actions, kind) } else { f64::INFINITY };
                for index in 0..actions.all.len() {
                    let target = least.min(self.better());
                    self.search_action(&mut actions, (index, kind), target, decisions);
                }
            }
        }
        self.actions = Some(actions);
    }

    /// Searches one action for a mapping within a target, with one of the times that rings are allowed.
    fn search_action(&mut self, actions: &mut GroupActions<'p>, at: (usize, usize), target: f64, decisions: u64) {
        if self.is_done() {
            return;
        }
        let found = actions.search(&mut self.knowledge, at, target, decisions, self.race.cx);
        let ordered = found.and_then(|mapping| match &actions.orders {
            Some(orders) => orders.best(&mapping, self.bound(), self.better()),
            None => Some(mapping),
        });
        ordered.iter().for_each(|mapping| self.offer(mapping));
        self.tell("searching orbits");
    }

    /// The least target that is not refuted without a decision when rings take so long, as the first action says it.
    fn least_target(&mut self, actions: &mut GroupActions<'p>, kind: usize) -> f64 {
        let (mut low, mut high) = (self.bound() * (1.0 + LEAST_STEP), self.better());
        if self.is_done() || actions.all.is_empty() {
            return high;
        }
        let mut is_refuted = |target: f64| {
            actions.search(&mut self.knowledge, (0, kind), target, 0, self.race.cx);
            actions.allowances[kind].refuted[0] >= target
        };
        if !is_refuted(low) {
            return low;
        }
        while high - low > PRECISION * high {
            let target = f64::midpoint(low, high);
            *(if is_refuted(target) { &mut low } else { &mut high }) = target;
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::super::super::model::Model;
    use super::*;
    use crate::mapping::samples::{grid, is_mapping, torus};
    use crate::mapping::{Counted, Message, Stage, StageCost, StageGraph};

    /// Stages that send messages to any others, as many copies as a small grid has devices.
    fn problem(seed: u64) -> MappingProblem {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (stages, replicas) = [(4, 2), (2, 4), (3, 2)][rng.random_range(0..3)];
        let columns = stages * replicas / 2;
        let topology = if rng.random_bool(0.5) { grid(2, columns) } else { torus(2, columns) };
        let stage = |rng: &mut Xoshiro256PlusPlus| Stage { forward: rng.random_range(1..9).into(), ..Stage::default() };
        let mut messages = Vec::new();
        for (source, target) in (0..stages).flat_map(|a| (0..stages).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            if rng.random_bool(0.5) {
                messages.push(Message { source, target, bytes: rng.random_range(1..9).into() });
            }
        }
        let stages = (0..stages).map(|_| stage(&mut rng)).collect();
        let stages = StageGraph { name: "random".into(), stages, messages };
        MappingProblem { stages, replicas, topology, cost: StageCost::additive(Counted::Messages) }
    }

    /// The least objective with `missing` more copies on devices of other orbits.
    fn least(action: &GroupAction, devices: &mut Vec<usize>, missing: usize) -> f64 {
        if missing == 0 {
            return action.objective(&Mapping { devices: devices.clone() });
        }
        let mut best = f64::INFINITY;
        for device in 0..action.orbits().len() {
            if devices.iter().all(|&other| action.orbits()[other] != action.orbits()[device]) {
                devices.push(device);
                best = best.min(least(action, devices, missing - 1));
                devices.pop();
            }
        }
        best
    }

    #[test]
    fn actions_are_searched_to_their_optimum() {
        let (cx, mut looked) = (SearchContext::new(), 0);
        for seed in 0..60 {
            let problem = problem(seed);
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let mut knowledge = Knowledge::none(&model);
            let mut actions = GroupActions::new(&problem, &cx);
            for index in 0..actions.all.len() {
                let action = &actions.all[index];
                let copies = problem.stages.stages.len() * action.placed();
                let optimum = least(action, &mut Vec::new(), copies);
                let found = actions.search(&mut knowledge, (index, 0), optimum, 10_000, &cx);
                let mapping = found.unwrap_or_else(|| panic!("no mapping of seed {seed}"));
                assert!(is_mapping(&problem, &mapping));
                assert_eq!(problem.objective(&mapping), optimum, "seed {seed}");
                let target = optimum * (1.0 - 1e-9);
                assert_eq!(actions.search(&mut knowledge, (index, 0), target, 10_000, &cx), None, "seed {seed}");
                assert_eq!(actions.allowances[0].refuted[index], target);
                looked += 1;
            }
        }
        assert!(looked > 100, "{looked} actions");
    }

    #[test]
    fn rings_are_allowed_the_time_of_one_kind_of_link() {
        let cx = SearchContext::new();
        let mut found = 0;
        for seed in 0..40 {
            let mut problem = problem(seed);
            problem.cost = StageCost::additive(Counted::Both);
            let stages = problem.stages.stages.iter_mut().enumerate();
            stages.for_each(|(index, stage)| stage.parameter_bytes = 4.0 * index as f64);
            let mut actions = GroupActions::new(&problem, &cx);
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let mut knowledge = Knowledge::none(&model);
            let loads = MappingProblem { cost: StageCost::additive(Counted::Messages), ..problem.clone() };
            for (index, kind) in (0..actions.all.len()).flat_map(|index| [(index, 0), (index, 1)]) {
                let target = 60.0;
                let mapping = actions.search(&mut knowledge, (index, kind), target, 10_000, &cx);
                let times = mapping.iter().flat_map(|mapping| loads.times(mapping)).enumerate();
                let allowed = |copy: usize| actions.allowances[kind].rings[copy / problem.replicas];
                assert!(times.into_iter().all(|(copy, time)| time + allowed(copy) <= target * (1.0 + 1e-9)));
                found += usize::from(mapping.is_some());
            }
        }
        assert!(found > 50, "{found} found");
    }
}
