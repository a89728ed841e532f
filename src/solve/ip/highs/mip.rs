//! Integer programs: limits, a start, progress and interruption, and what is proven in the end.
//!
//! A cutoff belongs in the model, as a bound of the variable that is minimised: HiGHS' option `objective_bound` lets it
//! call a solution beyond that bound optimal.

use std::path::Path;
use std::time::Duration;

use good_lp::solvers::highs::HighsProblem;

use super::handle::{Fault, Handle, ModelStatus, OptionValue};
use crate::formats::write_atomically;
use crate::text;

/// The presolve rule left out, as a bit: enumeration of the solutions of rows of few binaries. With it HiGHS 1.15 finds
/// feasible programs infeasible (`tests/ip.rs` has one).
const ENUMERATION: i32 = 1 << 16;

/// How an integer program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MipStatus {
    /// The best solution is optimal up to the gap asked for.
    Optimal,
    /// No solution exists.
    Infeasible,
    /// The time was up.
    TimeLimit,
    /// The watcher ended the run.
    Interrupted,
    /// Another limit, or numerical trouble.
    Stopped,
}

/// When to stop, and how to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MipLimits {
    /// Time for the run.
    pub time: Option<Duration>,
    /// Relative gap between solution and bound at which to stop; 0 asks for a proof.
    pub gap: f64,
    /// Threads.
    pub threads: usize,
    /// Seed of the search's random choices.
    pub seed: u64,
}

impl Default for MipLimits {
    fn default() -> Self {
        Self { time: None, gap: 0.0, threads: 1, seed: 0 }
    }
}

/// What the search has, while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sighting {
    /// Objective of the best solution so far.
    pub incumbent: Option<f64>,
    /// What no solution is below.
    pub bound: Option<f64>,
}

/// What a run found and proved.
#[derive(Debug, Clone, PartialEq)]
pub struct MipResult {
    /// How it ended.
    pub status: MipStatus,
    /// The best solution: the value of each column.
    pub values: Option<Vec<f64>>,
    /// Its objective, as HiGHS computed it.
    pub objective: Option<f64>,
    /// What no solution is below, as HiGHS computed it: up to its tolerances.
    pub dual_bound: Option<f64>,
    /// Nodes of the search tree.
    pub nodes: i64,
}

/// An integer program to minimise.
pub struct Mip {
    handle: Handle,
}

impl Mip {
    /// Takes over a model that good_lp wrote. Columns are numbered as its variables.
    ///
    /// # Errors
    /// [`Fault`] where HiGHS refuses the model.
    pub fn new(model: HighsProblem) -> Result<Self, Fault> {
        let model =
            model.try_into_inner().map_err(|error| Fault { call: "Highs_passMip", detail: Some(error.to_string()) })?;
        Ok(Self { handle: Handle::of(model)? })
    }

    /// Reads a model from a file, `.mps` or `.lp`.
    ///
    /// # Errors
    /// [`Fault`] where the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let mut handle = Handle::empty()?;
        handle.read_model(path)?;
        Ok(Self { handle })
    }

    /// How many columns there are.
    pub fn column_count(&self) -> usize {
        self.handle.column_count()
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.handle.row_count()
    }

    /// Names the columns and rows, for the files that [`write_model`](Self::write_model) makes.
    ///
    /// # Errors
    /// [`Fault`] where a name cannot be one.
    pub fn set_names<'a>(
        &mut self,
        columns: impl IntoIterator<Item = &'a str>,
        rows: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Fault> {
        columns.into_iter().enumerate().try_for_each(|(c, name)| self.handle.name_column(c, name))?;
        rows.into_iter().enumerate().try_for_each(|(r, name)| self.handle.name_row(r, name))
    }

    /// Gives the search values of some columns to start from, the integers at least.
    ///
    /// # Errors
    /// [`Fault`] where a column does not exist.
    pub fn set_start(&mut self, values: &[(usize, f64)]) -> Result<(), Fault> {
        self.handle.set_start(values)
    }

    /// Writes the model for other solvers, whole or not at all; the ending `.mps` or `.lp` gives the format.
    ///
    /// # Errors
    /// [`Fault`] where the file cannot be written or its ending is another.
    pub fn write_model(&mut self, path: &Path) -> Result<(), Fault> {
        let unwritten = |error: std::io::Error| Fault {
            call: "Highs_writeModel",
            detail: Some(format!("{}: {error}", text::path(path))),
        };
        // HiGHS writes as it goes, so it writes elsewhere.
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let model = folder.path().join("model").with_extension(path.extension().unwrap_or_default());
        self.handle.write_model(&model)?;
        let contents = std::fs::read(&model).map_err(unwritten)?;
        write_atomically(path, &contents).map_err(unwritten)
    }

    /// Writes the solution of the last run in HiGHS' own format.
    ///
    /// # Errors
    /// [`Fault`] where the file cannot be written.
    pub fn write_solution(&mut self, path: &Path) -> Result<(), Fault> {
        self.handle.write_solution(path)
    }

    /// Searches. `watcher` is told of the search, perhaps from other threads, and answers whether to go on; a running
    /// linear program is finished first.
    ///
    /// # Errors
    /// [`Fault`] where HiGHS fails. Limits are a status.
    pub fn solve(
        &mut self,
        limits: &MipLimits,
        watcher: &(dyn Fn(&Sighting) -> bool + Sync),
    ) -> Result<MipResult, Fault> {
        self.set_limits(limits)?;
        let watch = |primal, dual| watcher(&Sighting { incumbent: finite(primal), bound: finite(dual) });
        let status = match self.handle.run(&watch)? {
            ModelStatus::Optimal => MipStatus::Optimal,
            ModelStatus::Infeasible => MipStatus::Infeasible,
            ModelStatus::TimeLimit => MipStatus::TimeLimit,
            ModelStatus::Interrupted => MipStatus::Interrupted,
            _ => MipStatus::Stopped,
        };
        let values = if self.handle.is_feasible()? { Some(self.handle.solution()?) } else { None };
        Ok(MipResult {
            status,
            values,
            objective: finite(self.handle.info(c"objective_function_value")?),
            dual_bound: finite(self.handle.info(c"mip_dual_bound")?),
            nodes: self.handle.count(c"mip_node_count")?,
        })
    }

    fn set_limits(&mut self, limits: &MipLimits) -> Result<(), Fault> {
        self.handle.set_threads(limits.threads)?;
        let time = limits.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
        let seed = (limits.seed % i32::MAX as u64) as i32;
        let options = [
            (c"time_limit", OptionValue::Double(time)),
            // HiGHS calls a solution optimal within 1e-4 unless told otherwise.
            (c"mip_rel_gap", OptionValue::Double(limits.gap)),
            (c"mip_abs_gap", OptionValue::Double(0.0)),
            (c"mip_feasibility_tolerance", OptionValue::Double(1e-9)),
            (c"primal_feasibility_tolerance", OptionValue::Double(1e-9)),
            (c"dual_feasibility_tolerance", OptionValue::Double(1e-9)),
            (c"random_seed", OptionValue::Int(seed)),
            (c"presolve_rule_off", OptionValue::Int(ENUMERATION)),
        ];
        options.into_iter().try_for_each(|(name, value)| self.handle.set_option(name, value))
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use good_lp::{Expression, SolverModel, constraint, variable, variables};

    use super::*;

    /// Times of jobs on two machines; the longer machine is minimised: 27 in all, so 14 at best.
    const TIMES: [f64; 5] = [9.0, 7.0, 5.0, 4.0, 2.0];

    fn two_machines(times: &[f64]) -> Mip {
        let mut vars = variables!();
        let longest = vars.add(variable().min(0));
        let on_first: Vec<_> = times.iter().map(|_| vars.add(variable().binary())).collect();
        let first: Expression = times.iter().zip(&on_first).map(|(&t, &x)| t * x).sum();
        let second: Expression = times.iter().zip(&on_first).map(|(&t, &x)| t * (1.0 - x)).sum();
        let model = vars.minimise(longest).using(good_lp::highs);
        Mip::new(model.with(constraint!(first <= longest)).with(constraint!(second <= longest))).unwrap()
    }

    #[test]
    fn the_optimum_comes_with_its_bound() {
        let events = AtomicUsize::new(0);
        let watcher = |_: &Sighting| events.fetch_add(1, Ordering::Relaxed) < usize::MAX;
        let result = two_machines(&TIMES).solve(&MipLimits::default(), &watcher).unwrap();
        assert_eq!(result.status, MipStatus::Optimal);
        assert!((result.values.unwrap()[0] - 14.0).abs() < 1e-6 && (result.dual_bound.unwrap() - 14.0).abs() < 1e-6);
        assert!(events.into_inner() > 0);
    }

    /// Numbers whose halves differ by tiny amounts take a long search.
    fn hard_times() -> Vec<f64> {
        (0..60u32).map(|i| f64::from(100_003 + i * i * 7919 % 65_537)).collect()
    }

    #[test]
    fn a_start_survives_an_interruption() {
        let times = hard_times();
        let mut mip = two_machines(&times);
        let start: Vec<(usize, f64)> = (0..times.len()).map(|i| (i + 1, f64::from(u8::from(i % 2 == 0)))).collect();
        mip.set_start(&start).unwrap();
        let result = mip.solve(&MipLimits::default(), &|_| false).unwrap();
        assert_eq!(result.status, MipStatus::Interrupted);
        let first: f64 = times.iter().step_by(2).sum();
        let longest = first.max(times.iter().sum::<f64>() - first);
        assert!(result.values.unwrap()[0] <= longest + 1e-6);
    }

    #[test]
    fn a_time_limit_is_told_from_other_ends() {
        let limits = MipLimits { time: Some(Duration::ZERO), ..MipLimits::default() };
        let result = two_machines(&hard_times()).solve(&limits, &|_| true).unwrap();
        assert_eq!(result.status, MipStatus::TimeLimit);
    }

    #[test]
    fn thread_counts_may_change_from_run_to_run() {
        for threads in [1, 2, 1] {
            let limits = MipLimits { threads, ..MipLimits::default() };
            assert_eq!(two_machines(&TIMES).solve(&limits, &|_| true).unwrap().status, MipStatus::Optimal);
        }
    }

    #[test]
    fn models_and_solutions_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut mip = two_machines(&TIMES);
        mip.set_names(["longest", "x0", "x1", "x2", "x3", "x4"], ["first", "second"]).unwrap();
        for name in ["model.mps", "model.lp"] {
            let path = folder.path().join(name);
            mip.write_model(&path).unwrap();
            assert!(std::fs::read_to_string(path).unwrap().contains("longest"));
        }
        mip.solve(&MipLimits::default(), &|_| true).unwrap();
        let path = folder.path().join("solution.sol");
        mip.write_solution(&path).unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("longest 14"));
        assert_eq!(mip.write_model(&folder.path().join("no/such/folder.mps")).unwrap_err().call, "Highs_writeModel");
    }
}
