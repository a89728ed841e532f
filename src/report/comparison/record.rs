//! What is kept of a run: what was asked, what came of it, and what it ran on.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::ProblemSpec;
use crate::registry::StepSettings;
use crate::report::InstanceRecord;
use crate::report::method::MethodRecord;
use crate::report::trace::Trace;
use crate::solve::Status;

/// Version of [`Record`]: it changes when a field changes its meaning or goes.
pub const COMPARE_SCHEMA: &str = "dagsplit-compare/1";

/// When a run has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds that the method may take.
    pub time_limit: Option<f64>,
    /// The relative gap at which it may stop.
    pub gap: f64,
    /// How many threads it may use.
    pub threads: usize,
    /// Bytes that it may use, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// Whether a proof of the optimum is sought and checked afterwards, for which there is the same time again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certify: bool,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The workload.
    pub instance: InstanceRecord,
    /// Devices, objective, scope and cost.
    pub problem: ProblemSpec,
    /// The cost model, where it is not that of profiled workloads: its name, or the hash of costs given as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<String>,
    /// The method's spec string.
    pub method: String,
    /// Seed of everything random, where the spec string gives none.
    pub seed: u64,
    /// When it has to stop.
    pub limits: Limits,
}

impl Trial {
    /// Whether `other` asks for the same; a workload is known by its content, not by its name.
    pub fn equals(&self, other: &Self) -> bool {
        self.instance.hash == other.instance.hash
            && (&self.problem, &self.costs) == (&other.problem, &other.costs)
            && self.method == other.method
            && (self.seed, self.limits) == (other.seed, other.limits)
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// How it ended.
    pub status: Status,
    /// The objective value, recomputed by the verifier in the method's process.
    pub objective: Option<f64>,
    /// The method's own lower bound.
    pub lower_bound: Option<f64>,
    /// Seconds that the method took.
    pub seconds: Option<f64>,
    /// Seconds that its process took, reading the file and verifying the split included.
    pub process_seconds: f64,
    /// Seconds that its process, with all that it started and waited for, spent on processors, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The most memory that its process held, in bytes, where the system tells it.
    pub peak_bytes: Option<u64>,
    /// Whether the independent verifier has passed the split.
    pub verified: bool,
    /// Why there is no result.
    pub message: Option<String>,
    /// What the method tells of itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stats: BTreeMap<String, f64>,
    /// The split: its devices, as a run's record has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Value>,
    /// What the method knew when.
    #[serde(default, skip_serializing_if = "Trace::is_empty")]
    pub trace: Trace,
    /// The best candidate of a plan, as a plan's record has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}

impl Ending {
    /// A run without a result.
    pub fn without_result(status: Status, message: String) -> Self {
        Self {
            status,
            objective: None,
            lower_bound: None,
            seconds: None,
            process_seconds: 0.0,
            cpu_seconds: None,
            peak_bytes: None,
            verified: false,
            message: Some(message),
            stats: BTreeMap::new(),
            devices: Vec::new(),
            trace: Trace::default(),
            plan: None,
        }
    }
}

/// What `dagsplit solve --json` and `plan --json` answer, as far as a comparison needs it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Answer {
    status: Status,
    objective: Option<f64>,
    lower_bound: Option<f64>,
    seconds: f64,
    verified: bool,
    #[serde(default)]
    stats: BTreeMap<String, f64>,
    #[serde(default)]
    devices: Vec<Value>,
    #[serde(default)]
    trace: Trace,
    #[serde(default)]
    candidates: Vec<Value>,
}

impl Answer {
    /// The ending of a run that answered so; an objective that the verifier has not passed counts for nothing.
    pub fn into_ending(self) -> Ending {
        if self.objective.is_some() && !self.verified {
            return Ending::without_result(Status::Crashed, "it answered with a split that was not verified".into());
        }
        Ending {
            status: self.status,
            objective: self.objective,
            lower_bound: self.lower_bound,
            seconds: Some(self.seconds),
            process_seconds: self.seconds,
            cpu_seconds: None,
            peak_bytes: None,
            verified: self.verified,
            message: None,
            stats: self.stats,
            devices: self.devices,
            trace: self.trace,
            plan: self.candidates.into_iter().find(|candidate| candidate["status"] == "best"),
        }
    }
}

/// The machine that a run was made on, without its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model; its architecture where the system does not tell.
    pub cpu: String,
    /// Cores that this process may use; 0 where the system does not tell.
    pub cores: usize,
    /// The operating system.
    pub system: String,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
        Self {
            cpu: model.map_or(std::env::consts::ARCH, |(_, model)| model).trim().into(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            system: std::env::consts::OS.into(),
        }
    }
}

/// Versions of the programs that worked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Of dagsplit.
    pub dagsplit: String,
    /// Of HiGHS, where it is built in.
    pub highs: Option<String>,
    /// The hash of the program, where it was chosen: builds of one version may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Versions {
    /// Those of this program.
    pub fn of_this_program() -> Self {
        #[cfg(feature = "highs")]
        let highs = Some(crate::solve::ip::highs::version());
        #[cfg(not(feature = "highs"))]
        let highs = None;
        Self { dagsplit: env!("CARGO_PKG_VERSION").into(), highs, program: None }
    }

    /// Those that a program tells, whose hash is `program`; it may tell none.
    pub fn told(text: &str, program: String) -> Self {
        let told = text.trim().strip_prefix("dagsplit ").unwrap_or("unknown");
        let (dagsplit, highs) = told.split_once(HIGHS).map_or((told, None), |(own, highs)| (own, Some(highs.into())));
        Self { dagsplit: dagsplit.into(), highs, program: Some(program) }
    }
}

/// What stands between the two versions where they are told.
const HIGHS: &str = " with HiGHS ";

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.dagsplit)?;
        self.highs.iter().try_for_each(|highs| write!(f, "{HIGHS}{highs}"))
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The workload's file, as it was given.
    pub file: String,
    /// What was asked.
    #[serde(flatten)]
    pub trial: Trial,
    /// The steps of the method with all their parameters, those left to their defaults included.
    pub steps: Vec<StepSettings>,
    /// What came of it.
    #[serde(flatten)]
    pub ending: Ending,
    /// The command line that does it again.
    pub command: Vec<String>,
    /// What it ran on.
    pub machine: Machine,
    /// What worked.
    pub versions: Versions,
}

impl Record {
    /// The record of an equal trial, whose workload may be another file.
    #[must_use]
    pub fn of(self, file: String, trial: Trial, command: Vec<String>) -> Self {
        Self { file, trial, command, ..self }
    }

    /// What the record claims, in the terms of a run of several methods.
    pub fn claim(&self) -> MethodRecord {
        let Ending { status, objective, lower_bound, .. } = &self.ending;
        MethodRecord {
            method: self.trial.method.clone(),
            scope: Some(self.trial.problem.scope.name()),
            status: *status,
            objective: *objective,
            lower_bound: *lower_bound,
            gap: None,
            seconds: self.seconds(),
        }
    }

    /// Seconds of the method; of its process where it told none.
    pub fn seconds(&self) -> f64 {
        self.ending.seconds.unwrap_or(self.ending.process_seconds)
    }

    /// Whether it proved what there is to know: the optimum, or that there is no split.
    pub fn is_proven(&self) -> bool {
        self.ending.status.is_proven() || self.ending.status == Status::Infeasible
    }

    /// Whether both are about one workload, problem and cost model, but for the scope.
    pub fn is_comparable(&self, other: &Self) -> bool {
        let (a, b) = (&self.trial, &other.trial);
        let in_scope_of_b = || ProblemSpec { scope: b.problem.scope.clone(), ..a.problem.clone() };
        (&a.instance.hash, &a.costs) == (&b.instance.hash, &b.costs) && in_scope_of_b() == b.problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_told() {
        for highs in [None, Some("1.11.0".to_owned())] {
            let told = Versions { highs, program: Some("00ff".into()), ..Versions::of_this_program() };
            assert_eq!(Versions::told(&format!("dagsplit {told}\n"), "00ff".into()), told);
        }
        assert_eq!(Versions::told("", "00ff".into()).dagsplit, "unknown");
    }
}
