//! Splits made by people, or by other programs, from their files.

use std::path::PathBuf;

use bytesize::ByteSize;

use super::placement::{Blocks, Evaluator};
use super::{latency_bound, outcome, refuse_recomputation, supports_latency, supports_loads, work_bound};
use crate::formats::read_split_of;
use crate::preprocess::Unordered;
use crate::problem::{DeviceKind, Objective, Problem, Solution, fits};
use crate::solve::certify::{Assignment, Setting};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Takes the split from a file in the published shape, and computes its objective.
///
/// Backward nodes that the file does not list join their colour class, as the published splits of training graphs need.
/// A split that does not count is an error that says why: nodes that are missing, unknown or listed twice, parted colour
/// classes, nodes that their device cannot run or has no memory for, the scope. (`dagsplit verify` lists everything
/// that is wrong with a split.) For the latency each device's nodes are one subgraph. Splits with replicas, or that state
/// subgraphs, are refused. O(n + m).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expert {
    /// The split file.
    pub file: Option<PathBuf>,
}

/// Why an expert's split cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpertError {
    /// No file is given.
    #[error("expert needs a split file; give it as expert:file=PATH")]
    NoFile,
    /// The file cannot be read or is no split.
    #[error("{0}")]
    Unreadable(String),
    /// The split does not count.
    #[error("{}: the split does not count: {reason}", file.display())]
    Invalid {
        /// The split file.
        file: PathBuf,
        /// What is wrong with the split.
        reason: String,
    },
}

impl Solver for Expert {
    fn name(&self) -> &str {
        "expert"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_recomputation(self.name(), problem)?;
        match problem.spec.objective {
            Objective::Latency { .. } => supports_latency(self.name(), problem),
            _ => supports_loads(self.name(), problem),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let file = self.file.as_ref().ok_or(ExpertError::NoFile)?;
        let split = read_split_of(file, problem).map_err(|error| ExpertError::Unreadable(error.to_string()))?;
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let solution = taken(&setting, &split)
            .map_err(|reason| SolveError::from(ExpertError::Invalid { file: file.clone(), reason }))?;
        let bound = match problem.spec.objective {
            Objective::Latency { .. } => latency_bound(problem, cx),
            _ => work_bound(&unordered),
        };
        Ok(Run { outcome: outcome(Some(solution), bound), stats: Stats::default() })
    }
}

/// The split as a solution with its objective, or why it does not count.
fn taken(setting: &Setting, split: &Solution) -> Result<Solution, String> {
    let devices = placed(setting.problem, split)?;
    let assignment = setting
        .assignment(devices.iter().map(|(kind, nodes)| (*kind, nodes.as_slice())))
        .ok_or("it parts a colour class, or has more devices of a kind than there are")?;
    if let Objective::Latency { .. } = setting.problem.spec.objective {
        return timed(setting, &assignment, &devices);
    }
    match setting.objective(&assignment) {
        Some(_) => Ok(setting.to_solution(&assignment)),
        None => Err(obstacle(setting, &assignment)),
    }
}

/// The split with its latency, or why it has none.
fn timed(setting: &Setting, split: &Assignment, devices: &[(DeviceKind, Vec<usize>)]) -> Result<Solution, String> {
    let blocks = Blocks::new(setting.problem);
    let can_run = split.device_of.iter().enumerate().all(|(u, &d)| setting.kind(d as usize).times[u].is_some());
    let places = blocks.places(devices).filter(|_| can_run).ok_or_else(|| obstacle(setting, split))?;
    match Evaluator::new(&blocks).value(&places) {
        None => Err("its devices wait for each other; `dagsplit verify` cuts them into subgraphs".into()),
        Some(value) if value.overload > 0.0 => Err(obstacle(setting, split)),
        Some(value) => Ok(blocks.solution(&places, value.latency)),
    }
}

/// The nodes of each device by index, each node once.
fn placed(problem: &Problem, split: &Solution) -> Result<Vec<(DeviceKind, Vec<usize>)>, String> {
    let index = problem.index_of_ids();
    let mut is_placed = vec![false; problem.node_count()];
    let mut devices = Vec::with_capacity(split.devices.len());
    for device in &split.devices {
        if device.replicas != 1 {
            return Err("a stage has replicas; `dagsplit verify` takes such splits".into());
        }
        if !device.subgraphs.is_empty() {
            return Err("a device states subgraphs; `dagsplit verify` takes such splits".into());
        }
        let mut nodes = Vec::with_capacity(device.nodes.len());
        for id in &device.nodes {
            let &v = index.get(id).ok_or_else(|| format!("the graph has no node {id}"))?;
            if std::mem::replace(&mut is_placed[v], true) {
                return Err(format!("node {id} is listed twice"));
            }
            nodes.push(v);
        }
        devices.push((device.kind, nodes));
    }
    match is_placed.iter().position(|placed| !placed) {
        Some(v) => Err(format!("node {} is on no device", problem.ids[v])),
        None => Ok(devices),
    }
}

/// What keeps a split of whole colour classes from counting.
fn obstacle(setting: &Setting, split: &Assignment) -> String {
    let memory = setting.memory(split);
    for (u, &device) in split.device_of.iter().enumerate() {
        if setting.kind(device as usize).times[u].is_none() {
            let node = setting.problem.ids[setting.unordered.units.members[u][0]];
            return format!("device {} cannot run node {node} or one of its colour class", device + 1);
        }
    }
    let limits = (0..setting.device_count()).filter_map(|d| Some((d, setting.kind(d).memory_limit?)));
    let overfull = limits.filter(|&(d, limit)| !fits(memory[d], Some(limit)));
    let overfull: Vec<String> = overfull
        .map(|(d, limit)| {
            let bytes = |bytes: f64| ByteSize::b(bytes as u64);
            format!("accelerator {} needs {} of its {}", d + 1, bytes(memory[d]), bytes(limit))
        })
        .collect();
    if overfull.is_empty() {
        let scope = setting.problem.spec.scope.name();
        format!("it is not in the scope `{scope}`; ask for the scope `arbitrary`")
    } else {
        overfull.join("; ")
    }
}
