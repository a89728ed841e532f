//! One solve in a process of its own, so that time and peak memory are of it alone.
//!
//! The benchmark starts itself again with the task in an environment variable; the child answers on standard output.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dagsplit::formats::{PipeDreamOptions, ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::{IdealDp, LinearizedDp};
use dagsplit::solve::{Run, SearchContext, Solver};
use dagsplit::verify;
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::machine;

/// Where the task is found by the child.
const TASK: &str = "DAGSPLIT_BENCH_TASK";

/// A child that holds more than this is ended: the machine is not ours alone.
const MEMORY_LIMIT: u64 = 8 << 30;

/// Proofs that take longer, in seconds, are made again with two threads.
const LONG: f64 = 1.0;

/// How many runs the speed of threads is judged by.
const RUNS: usize = 3;

/// How many times its time limit a child may take before it is ended.
const PATIENCE: f64 = 3.0;

/// What to solve.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Source {
    /// A generated workload of about this many nodes.
    Generated(Family, usize),
    /// A workload in any format that can be read.
    File(PathBuf),
    /// A profile of PipeDream with the `Input` and `__getitem__` nodes that its optimizer drops.
    WholeProfile(PathBuf),
}

/// How to solve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// The ideal DP.
    Dp,
    /// Linearized DP over this many orders.
    Dpl(usize),
}

/// One measurement to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The workload.
    pub source: Source,
    /// The solver.
    pub method: Method,
    /// How many accelerators there are, where it is not what the workload says.
    pub accelerators: Option<usize>,
    /// How many threads the solver may use.
    pub threads: usize,
    /// Its time limit in seconds.
    pub time_limit: f64,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    /// Nodes of the workload.
    pub nodes: usize,
    /// `optimal`, `feasible`, `infeasible`, `unknown`; or `stopped` where the child had to be ended.
    pub status: String,
    /// The verified objective of the split.
    pub objective: Option<f64>,
    /// The lower bound.
    pub bound: Option<f64>,
    /// Seconds from the instance to the split.
    pub solve_seconds: f64,
    /// Seconds of the whole process, reading or generating the workload and verifying the split included.
    pub wall_seconds: f64,
    /// Peak memory of the process in bytes, where the system tells it.
    pub peak_bytes: Option<u64>,
    /// What the solver says of itself.
    pub stats: Vec<(String, f64)>,
}

impl Measurement {
    /// How far the objective may be above the optimum, relative to itself.
    pub fn gap(&self) -> Option<f64> {
        let (objective, bound) = (self.objective?, self.bound?);
        Some(if objective > 0.0 { ((objective - bound) / objective).max(0.0) } else { 0.0 })
    }

    /// A figure of the solver's own by name.
    pub fn stat(&self, name: &str) -> Option<f64> {
        self.stats.iter().find(|(known, _)| known == name).map(|&(_, value)| value)
    }

    /// Whether the split is proven to be optimal.
    pub fn is_proven(&self) -> bool {
        self.status == "optimal"
    }
}

impl Task {
    /// Makes the measurement in a child process.
    pub fn measure(&self) -> Result<Measurement> {
        let start = Instant::now();
        let output = Command::new(std::env::current_exe()?).env(TASK, serde_json::to_string(self)?).output()?;
        let wall_seconds = start.elapsed().as_secs_f64();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{self:?} failed: {} {errors}", output.status);
        let measurement: Measurement = serde_json::from_slice(&output.stdout)?;
        Ok(Measurement { wall_seconds, ..measurement })
    }

    /// How many times as fast two threads prove what took one over a second: `single` is the measurement of this task.
    /// By the fastest of some runs with either, as the machine is shared.
    ///
    /// `None` for shorter runs, and for those that a limit ended: they take as long with any number of threads.
    pub fn speedup(&self, single: &Measurement) -> Result<Option<f64>> {
        if !single.is_proven() || single.solve_seconds < LONG {
            return Ok(None);
        }
        Ok(self.fastest(1)?.zip(self.fastest(2)?).map(|(single, double)| single / double))
    }

    /// The seconds of the fastest of [`RUNS`] proofs with so many threads; `None` where one ends without a proof.
    fn fastest(&self, threads: usize) -> Result<Option<f64>> {
        let task = Self { threads, ..self.clone() };
        let runs = (0..RUNS).map(|_| task.measure()).collect::<Result<Vec<_>>>()?;
        let seconds = runs.iter().map(|run| run.solve_seconds).reduce(f64::min);
        Ok(seconds.filter(|_| runs.iter().all(Measurement::is_proven)))
    }

    fn instance(&self) -> Result<Instance> {
        let mut instance = match &self.source {
            Source::Generated(family, nodes) => family.instance(*nodes),
            Source::File(path) => read_instance(path, &ReadOptions::default())?,
            Source::WholeProfile(path) => read_instance(path, &whole_profile())?,
        };
        if let Some(count) = self.accelerators {
            instance.platform.accelerators[0].count = count;
        }
        Ok(instance)
    }

    fn solve(&self, problem: &Problem) -> Result<Run> {
        let mut context = SearchContext::new().with_time_limit(Duration::from_secs_f64(self.time_limit));
        context.threads = self.threads;
        Ok(match self.method {
            Method::Dp => IdealDp::default().solve(problem, &mut context),
            Method::Dpl(orders) => LinearizedDp { orders }.solve(problem, &mut context),
        }?)
    }

    fn run(&self) -> Result<Measurement> {
        let instance = self.instance()?;
        self.watch(instance.nodes.len());
        let spec = ProblemSpec::of(&instance);
        let start = Instant::now();
        let problem = Problem::new(&instance, spec.clone())?;
        let run = self.solve(&problem)?;
        let solve_seconds = start.elapsed().as_secs_f64();
        let verified = run.outcome.solution().map(|split| verify::check(&instance, &spec, split)).transpose();
        let verified = verified.map_err(|violations| anyhow::anyhow!("the split is wrong: {violations:?}"))?;
        Ok(Measurement {
            nodes: instance.nodes.len(),
            status: run.outcome.status().to_string(),
            objective: verified.map(|split| split.objective()),
            bound: run.outcome.bound().map(|bound| bound.value),
            solve_seconds,
            wall_seconds: 0.0,
            peak_bytes: machine::memory("VmHWM"),
            stats: run.stats.figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        })
    }

    /// Ends the process, with an answer, once it holds too much or takes too long.
    fn watch(&self, nodes: usize) {
        let patience = self.time_limit * PATIENCE;
        let start = Instant::now();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let solve_seconds = start.elapsed().as_secs_f64();
                if solve_seconds > patience || machine::memory("VmRSS").is_some_and(|held| held > MEMORY_LIMIT) {
                    let answer = Measurement {
                        nodes,
                        status: "stopped".to_owned(),
                        objective: None,
                        bound: None,
                        solve_seconds,
                        wall_seconds: 0.0,
                        peak_bytes: machine::memory("VmHWM"),
                        stats: Vec::new(),
                    };
                    println!("{}", serde_json::to_string(&answer).unwrap_or_default());
                    std::process::exit(0);
                }
            }
        });
    }
}

fn whole_profile() -> ReadOptions {
    let pipedream = PipeDreamOptions { keep_inputs: true, ..PipeDreamOptions::default() };
    ReadOptions { pipedream, ..ReadOptions::default() }
}

/// In a child: makes the measurement that it was started for. Elsewhere: `false`.
pub fn is_child() -> Result<bool> {
    let Some(task) = std::env::var_os(TASK) else { return Ok(false) };
    let task: Task = serde_json::from_str(task.to_str().context("the task is not UTF-8")?)?;
    println!("{}", serde_json::to_string(&task.run()?)?);
    Ok(true)
}
