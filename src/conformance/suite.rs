//! The suite: which cases, which laws, under which limits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::{Deserialize, Serialize};

use super::Law;
use super::chunks::of_one_class;
use super::families::{FAMILIES, Family, LARGE, large};
use super::options::with_options;
use super::partitioner::{Case, Partitioner};
use super::report::{Collector, Finding, Report};
use super::shrink::Shrinking;
use super::trial::{Trial, Tried};
use crate::cost::CostModel;
use crate::instance::Instance;
use crate::problem::{Degrees, Objective, ProblemSpec, Scope};
use crate::solve::{Guarantee, Solver};

/// How many of the cases are larger than what can be enumerated: every fifth.
const LARGER: usize = 5;

/// How many cases there are for each graph of some hundred nodes.
const CASES_PER_LARGE_ONE: u32 = 10;

/// Microbatches of a batch, for partitioners that choose degrees: with several divisors.
const MICROBATCHES: usize = 4;

/// What a partitioner is to be tried on.
///
/// Case after case it draws an instance from each family in turn, tries the partitioner and judges its answers. For each
/// law that is broken it then looks for a small instance that breaks the law.
#[derive(Debug, Clone)]
pub struct Suite {
    /// How many cases are tried, besides one of some hundred nodes for every ten of them.
    pub cases: u32,
    /// Equal seeds give equal cases; the partitioner is given it, too.
    pub seed: u64,
    /// Where the instances come from.
    pub families: Vec<Family>,
    /// What is asked of the instances, in turn; the platform is always that of the instance.
    pub requests: Vec<ProblemSpec>,
    /// Laws that the partitioner is not held to.
    pub waived: BTreeSet<Law>,
    /// Whether the objective value does not depend on the numbers of nodes. Exact methods promise it.
    pub promises_renumbering: bool,
    /// The most colour groups of a small instance, whose optimum is found by looking at every split.
    pub small: usize,
    /// The most colour groups of a larger instance, whose optimum other exact methods find.
    pub larger: usize,
    /// The time that the partitioner may take for a case.
    pub time_limit: Duration,
    /// The time that it may take for a graph of some hundred nodes.
    pub short_time_limit: Duration,
    /// The time beyond a limit after which it counts as broken.
    pub grace: Duration,
    /// Where [`check`](Self::check) writes instances that break a law.
    pub failures: PathBuf,
    /// What splits cost, where that is not what profiled instances do. Programs know these alone, and take no case then.
    pub costs: Option<Arc<dyn CostModel>>,
}

impl Default for Suite {
    /// 140 cases of every family, asked for the throughput in every scope, for GPipe's and for the latency.
    fn default() -> Self {
        let throughput = |scope| ProblemSpec { scope, ..ProblemSpec::default() };
        let other = |objective| ProblemSpec { objective, ..ProblemSpec::default() };
        Self {
            cases: 140,
            seed: 0,
            families: FAMILIES.to_vec(),
            requests: vec![
                throughput(Scope::Acyclic),
                throughput(Scope::Convex),
                throughput(Scope::Arbitrary),
                other(Objective::GPipe),
                other(Objective::Latency { subgraphs: 1 }),
            ],
            waived: BTreeSet::new(),
            promises_renumbering: false,
            small: 6,
            larger: 14,
            time_limit: Duration::from_secs(10),
            short_time_limit: Duration::from_millis(500),
            grace: Duration::from_secs(2),
            failures: PathBuf::from("conform-failures"),
            costs: None,
        }
    }
}

impl Suite {
    /// Runs the suite on a solver. If that breaks a law, the instances are written to the directory
    /// [`failures`](Self::failures).
    ///
    /// # Panics
    /// A law is broken, or the solver took no case at all: the message is the report.
    pub fn check(&self, solver: &dyn Solver) {
        let mut report = self.run(solver);
        if !report.passed {
            let note = report.save(&self.failures).err().map_or_else(String::new, |error| format!("\n{error}"));
            panic!("{report}{note}");
        }
    }

    /// Runs the suite on a solver.
    pub fn run(&self, solver: &dyn Solver) -> Report {
        self.run_until(&solver, &Arc::default(), |_| ())
    }

    /// Runs the suite on a solver or a program until it is done or `stop` is set, and tells `watch` how many cases it has
    /// behind it. A partitioner that broke the law [`Limits`](Law::Limits) is given no more cases.
    pub fn run_until(
        &self,
        partitioner: &dyn Partitioner,
        stop: &Arc<AtomicBool>,
        mut watch: impl FnMut(u32),
    ) -> Report {
        let session = self.session(partitioner, stop);
        let try_next = |place: Place| {
            let tried = session.try_case(place);
            watch(place.index + 1);
            (place, tried)
        };
        session.report(self.places().take_while(|_| !stop.load(Ordering::Relaxed)).map(try_next))
    }

    /// The partitioner before the suite, case by case: for runs in parts.
    pub fn session<'a>(&'a self, partitioner: &'a dyn Partitioner, stop: &'a Arc<AtomicBool>) -> Session<'a> {
        let (trial, requests) = (self.trial(partitioner, stop), self.requests_taken(partitioner));
        Session { suite: self, trial, requests, started: Instant::now() }
    }

    /// The cases in their order: after every tenth one there is one of some hundred nodes.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.cases).flat_map(|index| {
            let has_large = (index + 1) % CASES_PER_LARGE_ONE == 0;
            [(true, false), (has_large, true)]
                .into_iter()
                .filter_map(move |(is_there, is_large)| is_there.then_some(Place { index, is_large }))
        })
    }

    fn case(&self, instance: Instance, request: &ProblemSpec) -> Case {
        let instance = match (&request.degrees, request.chunks) {
            (Some(_), _) => with_options(&instance),
            (None, Some(_)) => of_one_class(&instance),
            (None, None) => instance,
        };
        Case { costs: self.costs.clone(), ..Case::new(instance, request) }
    }

    /// The requests of which the partitioner takes some case; all where it takes none, so that it can say why.
    fn requests_taken(&self, partitioner: &dyn Partitioner) -> Vec<ProblemSpec> {
        let takes = |request: &&ProblemSpec| {
            let first_of_each = 0..self.families.len() as u32;
            let mut drawn = first_of_each.filter_map(|index| self.draw(index, std::slice::from_ref(*request)));
            drawn.any(|drawn| drawn.case.problem().is_some_and(|problem| partitioner.supports(&problem).is_ok()))
        };
        let with_degrees = |request: &ProblemSpec| {
            let microbatches = request.objective.microbatches().unwrap_or(MICROBATCHES);
            let asks_anyway = request.degrees.is_some() || !partitioner.chooses_degrees();
            (!asks_anyway).then(|| ProblemSpec { degrees: Some(Degrees::any(microbatches)), ..request.clone() })
        };
        let asked = |request: &ProblemSpec| [Some(request.clone()), with_degrees(request)].into_iter().flatten();
        let asked: Vec<ProblemSpec> = self.requests.iter().flat_map(asked).collect();
        let taken: Vec<ProblemSpec> = asked.iter().filter(takes).cloned().collect();
        if taken.is_empty() { asked } else { taken }
    }

    /// The case of this index: families and requests go round.
    fn draw(&self, index: u32, requests: &[ProblemSpec]) -> Option<Drawn> {
        let at = index as usize;
        let family = self.families.get(at.checked_rem(self.families.len())?)?;
        let round = at / self.families.len();
        let request = requests.get((at % self.families.len() + round).checked_rem(requests.len())?)?;
        let is_larger = (at + round) % LARGER == LARGER - 1;
        let strategy = family.instances(if is_larger { self.larger } else { self.small }.max(1));
        let tree = strategy.new_tree(&mut self.runner(index)).ok()?;
        Some(Drawn { family: family.name, case: self.case(tree.current(), request) })
    }

    /// Randomness that depends on the seed and the index alone.
    fn runner(&self, index: u32) -> TestRunner {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..12].copy_from_slice(&index.to_le_bytes());
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    /// A graph of some hundred nodes. What its optimum is nobody says.
    fn draw_large(&self, index: u32, requests: &[ProblemSpec]) -> Option<Drawn> {
        let request = (index as usize).checked_rem(requests.len()).map(|at| &requests[at])?;
        Some(Drawn { family: LARGE, case: self.case(large(self.seed.wrapping_add(index.into())), request) })
    }

    fn trial<'a>(&self, partitioner: &'a dyn Partitioner, stop: &'a Arc<AtomicBool>) -> Trial<'a> {
        let is_exact = partitioner.guarantee() == Guarantee::Exact;
        let concerns = |law: &Law| match law {
            Law::Readable => partitioner.is_program(),
            Law::Cancellation => !partitioner.is_program(),
            Law::Proof => is_exact,
            Law::Renumbering => is_exact || self.promises_renumbering,
            _ => true,
        };
        let is_held_to = |law: &Law| concerns(law) && !self.waived.contains(law);
        Trial {
            partitioner,
            laws: Law::ALL.into_iter().filter(is_held_to).collect(),
            seed: self.seed,
            time_limit: self.time_limit,
            grace: self.grace,
            with_reference: true,
            stop,
        }
    }
}

/// Which case of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Its number, from 0.
    pub index: u32,
    /// Whether it is the graph of some hundred nodes that comes after the case of this number.
    pub is_large: bool,
}

/// What came of a case, as it can be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TriedCase(Tried);

impl TriedCase {
    /// Whether the partitioner broke a law.
    pub fn broke(&self, law: Law) -> bool {
        matches!(&self.0, Tried::Judged(judged) if judged.breaches.iter().any(|breach| breach.law == law))
    }
}

/// A partitioner before a suite.
pub struct Session<'a> {
    suite: &'a Suite,
    trial: Trial<'a>,
    requests: Vec<ProblemSpec>,
    started: Instant,
}

impl<'a> Session<'a> {
    /// Tries the case at a place. It depends on nothing else.
    pub fn try_case(&self, place: Place) -> TriedCase {
        TriedCase(self.drawn(place).map_or(Tried::Nothing, |drawn| self.trial_of(place).run(&drawn.case)))
    }

    /// The report of what came of cases, which are tried or read one after another, up to the first one that breaks
    /// the law [`Limits`](Law::Limits). For each law the first case that breaks it is made small.
    pub fn report(&self, tried: impl IntoIterator<Item = (Place, TriedCase)>) -> Report {
        let mut collector = Collector::new(self.trial.partitioner.name(), self.suite.seed, &self.trial.laws);
        let mut tried = tried.into_iter();
        while !collector.has_found(Law::Limits) {
            let Some((place, TriedCase(tried))) = tried.next() else { break };
            self.collect(place, tried, &mut collector);
        }
        collector.report(self.started.elapsed())
    }

    /// Counts what came of a case, and makes it small for each law that it is the first to break.
    fn collect(&self, place: Place, tried: Tried, collector: &mut Collector) {
        let judged = match tried {
            Tried::Nothing => return,
            Tried::Refused(reason) => return collector.refuse(&reason),
            Tried::Judged(judged) => judged,
        };
        let Some(drawn) = self.drawn(place) else { return };
        collector.add(drawn.family, &judged);
        for breach in judged.breaches {
            if collector.has_found(breach.law) {
                continue;
            }
            let (case, breach) = Shrinking::new(&self.trial_of(place), drawn.case.clone(), breach).smallest();
            collector.find(Finding::new(breach, drawn.family, case));
        }
    }

    fn drawn(&self, place: Place) -> Option<Drawn> {
        match place.is_large {
            true => self.suite.draw_large(place.index / CASES_PER_LARGE_ONE, &self.requests),
            false => self.suite.draw(place.index, &self.requests),
        }
    }

    /// The conditions of a case: large ones are tried once, under the short limit.
    fn trial_of(&self, place: Place) -> Trial<'a> {
        if !place.is_large {
            return self.trial.clone();
        }
        let once = |law: &Law| !matches!(law, Law::Deterministic | Law::Renumbering);
        let laws = self.trial.laws.iter().copied().filter(once);
        Trial { time_limit: self.suite.short_time_limit, with_reference: false, ..self.trial.with_laws(laws) }
    }
}

/// A case, and where it comes from.
struct Drawn {
    family: &'static str,
    case: Case,
}
