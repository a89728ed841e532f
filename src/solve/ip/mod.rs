//! Integer programs, solved by HiGHS or written for other solvers.
//!
//! [`IntegerProgram`] asks HiGHS for the best split of [`Scope::Arbitrary`] or [`Scope::Convex`]. The program is that of
//! Tarnawski 2020 (sections 4 and 5.1.3), as published or strengthened; `docs/integer-programs.md` states both.
//! [`IntegerProgram::write`] writes it to a file, [`read_solution`] reads back what another solver made of it.

mod attended;
mod builder;
mod contiguity;
mod devices;
pub mod highs;
mod latency;
mod layout;
mod memory;
mod model;
mod search;
mod solution_file;
mod symmetry;
mod throughput;
mod wires;

pub use solution_file::{NotPlaced, read_solution};

use std::path::Path;

use super::heuristic::LocalSearch;
use super::linearized::LinearizedDp;
use super::objective::{all_fit, held, objective};
use super::{
    Guarantee, Outcome, Run, SearchContext, SolveError, Solver, Unsupported, refuse_recomputation, refuse_sharding,
};
use crate::problem::{Objective, Problem, Scope, Solution};
use crate::search::gap;
use layout::Layout;
use memory::MemoryRows;
use model::Model;

/// How the program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// As published: a pair of communication variables for each producer and accelerator, no bounds, no start.
    Published,
    /// With interchangeable devices numbered, producers of equal consumers merged, variables fixed that a known split
    /// rules out, and a start from a cheap method.
    #[default]
    Strong,
}

/// What is known of the optimum beforehand, in the instance's time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Bounds {
    /// No split is below.
    pub lower: Option<f64>,
    /// Splits above are of no interest.
    pub upper: Option<f64>,
    /// No device is given a unit, or data, that alone takes it longer.
    pub limit: Option<f64>,
}

/// The published form keeps placements that alone take up to this many times the value of a known split. Beyond it they
/// are worth more than the solver's tolerances: a part of 1e-9 of such a unit counts.
const HOPELESS: f64 = 1000.0;

/// The integer program of Tarnawski 2020, solved by HiGHS' branch and cut.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec, Scope};
/// use dagsplit::solve::{IntegerProgram, SearchContext, Solver, Status};
///
/// // 0 feeds 1 and 2, which feed 3: the two in the middle are cheap to move, so 0 and 3 share a device.
/// let node = |id, time, transfer_time| Node { accelerator_times: vec![Some(time)], transfer_time, ..Node::new(id) };
/// let edge = |source, target| Edge { source, target };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: vec![node(0, 2.0, 1.0), node(1, 4.0, 1.0), node(2, 4.0, 1.0), node(3, 2.0, 0.0)],
///     edges: vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)],
///     ..Instance::default()
/// };
/// let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
/// let run = IntegerProgram::strong().solve(&Problem::new(&instance, spec)?, &mut SearchContext::new())?;
/// assert_eq!((run.outcome.status(), run.outcome.solution().unwrap().objective), (Status::Optimal, Some(8.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntegerProgram {
    /// How the program is written.
    pub form: Form,
    /// A split to start from, which has to be valid. Without one the strong form takes that of a cheap method.
    pub start: Option<Solution>,
    /// A value that no split of the scope is below, in the instance's time unit.
    pub lower_bound: Option<f64>,
    /// Splits of this objective or more do not count.
    pub cutoff: Option<f64>,
}

impl IntegerProgram {
    /// The program as published.
    pub fn published() -> Self {
        Self { form: Form::Published, ..Self::default() }
    }

    /// The strengthened program.
    pub fn strong() -> Self {
        Self::default()
    }

    /// Writes the program for other solvers, with the times of the instance; the ending `.mps` or `.lp` gives the format.
    ///
    /// # Errors
    /// Where the program does not take `problem`, or the file cannot be written.
    pub fn write(&self, problem: &Problem, path: &Path, cx: &mut SearchContext) -> Result<(), SolveError> {
        self.takes(problem)?;
        let start = if self.starts_from_known() { self.known(problem, cx)? } else { None };
        let layout = Layout::new(problem);
        let bounds = self.bounds(start.as_ref(), None);
        let asked = Asked { layout: &layout, form: self.form, bounds, scale: 1.0, memory: MemoryRows::exact() };
        let (mut mip, names) = program(&asked).into_mip()?;
        names.give(&mut mip)?;
        Ok(mip.write_model(path)?)
    }

    /// A split, its objective filled in: the given one, or that of a cheap method. For loads that is the linearized DP,
    /// whose acyclic splits belong to every scope here; for the latency it may be far off, so that a short local search
    /// stands beside it. Each has a share of the time, so that the program has the rest.
    fn known(&self, problem: &Problem, cx: &SearchContext) -> Result<Option<Solution>, SolveError> {
        if let Some(split) = &self.start {
            return Ok(checked(problem, split.clone()));
        }
        let mut pipeline = problem.clone();
        pipeline.spec.scope = Scope::Acyclic;
        let mut known = Vec::new();
        if matches!(problem.spec.objective, Objective::Latency { .. }) {
            pipeline.spec.objective = Objective::Throughput;
            let search = LocalSearch { restarts: 1, steps: KNOWN_STEPS, ..LocalSearch::default() };
            known.extend(split_of(&search, problem, problem, cx)?);
        }
        known.extend(split_of(&LinearizedDp::default(), &pipeline, problem, cx)?);
        Ok(search::best(known))
    }

    /// Whether the search starts from a known split: the strong form from a cheap one, either from the given one.
    fn starts_from_known(&self) -> bool {
        self.form == Form::Strong || self.start.is_some()
    }

    /// The bounds of a program that starts from `start`, where the value of some split is `known`.
    fn bounds(&self, start: Option<&Solution>, known: Option<f64>) -> Bounds {
        let values = start.and_then(|split| split.objective).into_iter().chain(self.cutoff);
        let upper = values.min_by(f64::total_cmp);
        let limit = match self.form {
            Form::Published => known.map(|value| HOPELESS * value),
            Form::Strong => upper,
        };
        Bounds { lower: self.lower_bound, upper, limit }
    }
}

/// A method for a first split has one in so many parts of the time that is left.
const KNOWN_SHARE: u32 = 3;

/// Moves of the local search for a first latency.
const KNOWN_STEPS: usize = 20_000;

/// What `method` makes of `asked`, as a split of `problem`. What it tells of itself is about `asked`, and so is told
/// nobody.
fn split_of(
    method: &dyn Solver,
    asked: &Problem,
    problem: &Problem,
    cx: &SearchContext,
) -> Result<Option<Solution>, SolveError> {
    if method.takes(asked).is_err() {
        return Ok(None);
    }
    let mut part = cx.silent();
    if let Some(left) = cx.remaining() {
        part = part.with_time_limit(left / KNOWN_SHARE);
    }
    let run = method.solve(asked, &mut part)?;
    Ok(run.outcome.solution().and_then(|split| checked(problem, split.clone())))
}

/// The split with its objective by the cost model, or `None` where a device cannot hold its nodes.
fn checked(problem: &Problem, split: Solution) -> Option<Solution> {
    let held = held(problem, &split)?;
    let fits = all_fit(problem, &held);
    let objective = objective(problem, &held).filter(|_| fits)?;
    Some(Solution { objective: Some(objective), ..split })
}

/// What a program is about, and how it is written.
struct Asked<'a> {
    layout: &'a Layout<'a>,
    form: Form,
    bounds: Bounds,
    /// Times are the instance's divided by this.
    scale: f64,
    memory: MemoryRows,
}

/// The program for what its problem minimises.
fn program(asked: &Asked) -> Model {
    match asked.layout.problem.spec.objective {
        Objective::Latency { .. } => latency::formulate(asked).model,
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Sharding(_) => {
            throughput::formulate(asked).model
        }
    }
}

impl Solver for IntegerProgram {
    fn name(&self) -> &str {
        match self.form {
            Form::Published => "ip:published",
            Form::Strong => "ip:strong",
        }
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_sharding(self.name(), problem)?;
        refuse_recomputation(self.name(), problem)?;
        let spec = &problem.spec;
        let reason = if spec.replication.is_some() {
            "it does not replicate stages; use the ideal DP (dp) with --scope acyclic"
        } else if spec.interconnect.is_some() {
            "it knows one level of links; use the ideal DP (dp) with --scope acyclic"
        } else if matches!(spec.scope, Scope::Linearized(_)) {
            "it knows no linear order; use the linearized DP (dpl)"
        } else if spec.scope == Scope::Acyclic && !matches!(spec.objective, Objective::Latency { .. }) {
            "it needs --scope convex or arbitrary; use the ideal DP (dp) for acyclic splits"
        } else {
            return Ok(());
        };
        Err(Unsupported { solver: self.name().into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let known = self.known(problem, cx)?;
        let knows_none = known.is_none();
        let mut run = search::run(problem, self, known, cx)?;
        if let Some((split, _)) = open(&run, cx).filter(|_| knows_none) {
            // What it found says how large times are that matter.
            run = search::run(problem, self, Some(split.clone()), cx)?;
        }
        if let Some((split, _)) = open(&run, cx).filter(|(_, gap)| self.cutoff.is_none() && *gap <= NEAR) {
            // HiGHS' bound may lie a little below what it calls optimal, so it is asked for anything better.
            let cutoff = split.objective.map(|objective| objective * (1.0 - ROOM));
            let better = Self { start: Some(split.clone()), cutoff, ..self.clone() };
            let refuting = search::run(problem, &better, Some(split.clone()), cx)?;
            run = if open(&refuting, cx).is_none() { refuting } else { run };
        }
        Ok(run)
    }
}

/// What is asked for is better than a split by this part, which leaves room for the margin of a bound.
const ROOM: f64 = 4e-10;

/// A gap of no more than this is one that tolerances leave.
const NEAR: f64 = 1e-6;

/// The split of a run with its gap, infinite where no bound is known, where that is more than asked for and there is time
/// left.
fn open<'r>(run: &'r Run, cx: &SearchContext) -> Option<(&'r Solution, f64)> {
    let Outcome::Feasible { solution, bound } = &run.outcome else { return None };
    let gap = solution.objective.zip(bound.as_ref()).and_then(|(objective, bound)| gap(objective, bound.value));
    let gap = gap.unwrap_or(f64::INFINITY);
    (gap > cx.gap && !cx.should_stop()).then_some((solution, gap))
}
