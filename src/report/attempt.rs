//! One run of one method, with what the verifier says of its split.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::method::MethodRecord;
use super::record::MEMORY_LIMIT_REACHED;
use super::trace::Trace;
use crate::checked::checked;
use crate::cost::CostModel;
use crate::instance::Instance;
use crate::mapping::{ClaimedMapping, Mapper, MappingOutcome, MappingProblem, MappingRun};
use crate::problem::Problem;
use crate::solve::{SearchContext, SolveError, Solver, Stats};
use crate::verify::mapping::{MappingViolation, VerifiedMapping, check};
use crate::verify::{Verified, Violation};

/// What one method did.
pub struct Attempt {
    /// How it ended.
    pub record: MethodRecord,
    /// What it counted.
    pub stats: Stats,
    /// Its split, where there is one.
    pub verified: Option<Verified>,
    /// What was known when.
    pub trace: Trace,
    /// What is wrong with its split, where the verifier rejects it: nothing else of the run counts.
    pub violations: Vec<Violation>,
    /// Whether that is the fault of a program of the user's, and no bug.
    pub is_program: bool,
}

impl Attempt {
    /// Solves the `problem` of an instance, whose costs are those of `model` where that is not the model of profiled
    /// instances, and has the split verified.
    ///
    /// # Errors
    /// The solver's faults.
    pub fn of(
        solver: &dyn Solver,
        instance: &Instance,
        problem: &Problem,
        model: Option<&dyn CostModel>,
        context: SearchContext,
    ) -> Result<Self, SolveError> {
        let started = Instant::now();
        let trace = Arc::new(Mutex::new(Trace::default()));
        let told = Arc::clone(&trace);
        let mut context = context.with_report(move |progress| {
            let mut trace = told.lock().unwrap_or_else(PoisonError::into_inner);
            trace.tell(started.elapsed().as_secs_f64(), progress.incumbent, progress.bound);
        });
        let mut run = solver.solve(problem, &mut context)?;
        if solver.is_program() {
            // Whatever a program claims is not known.
            run.outcome = run.outcome.without_proof();
        }
        note_memory(&mut run.stats, &context);
        drop(context);
        let seconds = started.elapsed().as_secs_f64();
        let checked = run.outcome.solution().map(|split| checked(instance, &problem.spec, model, split));
        let (verified, violations) = match checked.transpose() {
            Ok(verified) => (verified, Vec::new()),
            Err(violations) => (None, violations),
        };
        let record = if violations.is_empty() {
            MethodRecord::new(solver.name(), &problem.spec.scope, &run, verified.as_ref(), seconds)
        } else {
            MethodRecord::rejected(solver.name(), &problem.spec.scope, seconds)
        };
        let mut trace = std::mem::take(&mut *trace.lock().unwrap_or_else(PoisonError::into_inner));
        trace.tell(seconds, record.objective, record.lower_bound);
        Ok(Self { record, stats: run.stats, verified, violations, trace, is_program: solver.is_program() })
    }
}

/// What one mapper did.
pub struct MappingAttempt {
    /// How it ended.
    pub record: MethodRecord,
    /// What it counted.
    pub stats: Stats,
    /// Its mapping, where there is one.
    pub verified: Option<VerifiedMapping>,
    /// What the mapper says of that mapping.
    pub claim: Option<ClaimedMapping>,
}

impl MappingAttempt {
    /// Runs the mapper that `spec` names, and has the mapping verified.
    ///
    /// # Errors
    /// What is wrong with the mapping: a bug.
    pub fn of(
        spec: &str,
        mapper: &dyn Mapper,
        problem: &MappingProblem,
        context: SearchContext,
    ) -> Result<Self, Vec<MappingViolation>> {
        let started = Instant::now();
        let mut run = match problem.memory_shortage() {
            Some(_) => MappingRun { outcome: MappingOutcome::Infeasible, stats: Stats::default() },
            None => mapper.map(problem, &context),
        };
        note_memory(&mut run.stats, &context);
        drop(context);
        let seconds = started.elapsed().as_secs_f64();
        let claim = run.outcome.solution().map(|mapping| ClaimedMapping::new(problem, mapping));
        let verified = claim.as_ref().map(|claim| check(problem, claim)).transpose()?;
        let record = MethodRecord::of_mapping(spec, &run, verified.as_ref(), seconds);
        Ok(Self { record, stats: run.stats, verified, claim })
    }
}

fn note_memory(stats: &mut Stats, context: &SearchContext) {
    if context.was_short_of_memory() {
        stats.set(MEMORY_LIMIT_REACHED, 1.0);
    }
}
