//! When each subgraph runs under the latency objective, and what the split's latency is.

use std::collections::BTreeMap;

use super::contiguity::{Order, escaping_path};
use super::loads::{self, Load};
use super::split::{Split, Subgraphs};
use super::{DeadlockStep, Part, Violation, subgraphs};
use dagsplit_model::graph::{CycleError, Graph, topological};
use dagsplit_model::problem::{DeviceAssignment, DeviceKind};

/// A subgraph of an accelerator that runs as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledSubgraph {
    /// Ids of its nodes, as in the instance's file.
    pub nodes: Vec<u64>,
    /// When it starts, in the instance's time unit: its producers are ready and its accelerator is free.
    pub start: f64,
    /// When it has taken its load; its outputs are ready.
    pub finish: f64,
}

/// When everything runs.
pub(super) struct Schedule {
    /// The subgraphs of each device, in their order; none for CPUs.
    pub subgraphs: Vec<Vec<ScheduledSubgraph>>,
    /// The work of each device, summed over its subgraphs or nodes.
    pub loads: Vec<Load>,
    /// When each device starts its first and finishes its last work; `None` where it has none.
    pub spans: Vec<Option<(f64, f64)>>,
    /// When the last work of all is finished.
    pub latency: f64,
}

/// Runs the split, with at most `allowed` subgraphs on each accelerator.
pub(super) fn run(split: &Split, allowed: usize) -> Result<Schedule, Vec<Violation>> {
    let subgraphs = subgraphs::of_devices(split, allowed)?;
    let jobs = Jobs::new(split, &subgraphs);
    let waits = match Graph::new(jobs.parts.len(), &jobs.waits()) {
        Ok(waits) => waits,
        Err(CycleError(cycle)) => return Err(not_runnable(split, &subgraphs, &jobs, &cycle)),
    };
    let (part_loads, durations) = jobs.durations();
    let mut finish = vec![0.0f64; durations.len()];
    let mut start = finish.clone();
    for job in topological::smallest_first(&waits) {
        start[job] = waits.predecessors(job).iter().map(|&earlier| finish[earlier as usize]).fold(0.0, f64::max);
        finish[job] = start[job] + durations[job];
    }
    let mut schedule = Schedule {
        subgraphs: vec![Vec::new(); split.devices.len()],
        loads: vec![Load::default(); split.devices.len()],
        spans: vec![None; split.devices.len()],
        latency: finish.iter().copied().fold(0.0, f64::max),
    };
    part_loads.iter().for_each(|&(device, load)| schedule.loads[device] = schedule.loads[device].plus(load));
    for (job, part) in jobs.parts.iter().enumerate() {
        let device = match *part {
            Job::Subgraph { device, position } => {
                let nodes = subgraphs[device][position].iter().map(|&v| split.id(v)).collect();
                let scheduled = ScheduledSubgraph { nodes, start: start[job], finish: finish[job] };
                schedule.subgraphs[device].push(scheduled);
                device
            }
            Job::CpuNode(v) => split.device_of[v],
        };
        let span = schedule.spans[device].get_or_insert((start[job], finish[job]));
        *span = (span.0.min(start[job]), span.1.max(finish[job]));
    }
    Ok(schedule)
}

/// What runs as a whole.
#[derive(Clone, Copy)]
enum Job {
    Subgraph { device: usize, position: usize },
    CpuNode(usize),
}

struct Jobs<'a> {
    split: &'a Split<'a>,
    /// The subgraphs, device by device, then the nodes on CPUs.
    parts: Vec<Job>,
    job_of: Vec<usize>,
}

impl<'a> Jobs<'a> {
    fn new(split: &'a Split<'a>, subgraphs: &[Subgraphs]) -> Self {
        let mut parts = Vec::new();
        let mut job_of = vec![None; split.device_of.len()];
        for (device, subgraphs) in subgraphs.iter().enumerate() {
            for (position, nodes) in subgraphs.iter().enumerate() {
                nodes.iter().for_each(|&v| job_of[v] = Some(parts.len()));
                parts.push(Job::Subgraph { device, position });
            }
        }
        let mut job = |(v, job): (usize, Option<usize>)| {
            job.unwrap_or_else(|| {
                parts.push(Job::CpuNode(v));
                parts.len() - 1
            })
        };
        let job_of = job_of.into_iter().enumerate().map(&mut job).collect();
        Self { split, parts, job_of }
    }

    /// Which job waits for which: for its producers, and for the subgraph before it on its accelerator.
    fn waits(&self) -> Vec<(usize, usize)> {
        let data = self.split.edges.iter().map(|&(u, v)| (self.job_of[u], self.job_of[v])).filter(|(a, b)| a != b);
        let turns = (1..self.parts.len()).filter(|&job| match (self.parts[job - 1], self.parts[job]) {
            (Job::Subgraph { device: before, .. }, Job::Subgraph { device, .. }) => before == device,
            _ => false,
        });
        data.chain(turns.map(|job| (job - 1, job))).collect()
    }

    /// The work of each subgraph and of each CPU with its device, and the time of each job.
    ///
    /// Subgraphs cost what devices of their own would.
    fn durations(&self) -> (Vec<(usize, Load)>, Vec<f64>) {
        let split = self.split;
        let subgraphs = self.parts.iter().filter_map(|part| match *part {
            Job::Subgraph { device, .. } => Some(device),
            Job::CpuNode(_) => None,
        });
        let owners: Vec<usize> = subgraphs.chain(0..split.devices.len()).collect();
        let first_cpu = owners.len() - split.devices.len();
        let devices: Vec<DeviceAssignment> =
            owners.iter().map(|&d| DeviceAssignment::new(split.devices[d].kind, Vec::new())).collect();
        let device_of = self.job_of.iter().zip(&split.device_of).map(|(&job, &device)| match self.parts[job] {
            Job::Subgraph { .. } => job,
            Job::CpuNode(_) => first_cpu + device,
        });
        let apart = Split {
            devices: &devices,
            device_of: device_of.collect(),
            edges: split.edges.clone(),
            index: Default::default(),
            ..*split
        };
        let loads = loads::of_devices(&apart);
        let durations = self.parts.iter().enumerate().map(|(job, part)| match *part {
            Job::Subgraph { .. } => loads[job].together,
            Job::CpuNode(v) => split.time(v, DeviceKind::Cpu).unwrap_or(0.0),
        });
        let durations = durations.collect();
        (owners.into_iter().zip(loads).collect(), durations)
    }
}

/// Why subgraphs that wait for each other in a `cycle` of jobs cannot run: those that are not contiguous by
/// themselves, else the cycle.
fn not_runnable(split: &Split, subgraphs: &[Subgraphs], jobs: &Jobs, cycle: &[usize]) -> Vec<Violation> {
    let mut successors = vec![Vec::new(); split.device_of.len()];
    split.edges.iter().for_each(|&(u, v)| successors[u].push(v));
    let order = Order { nodes: (0..successors.len()).collect(), successors };
    let mut found = Vec::new();
    for (device, subgraphs) in subgraphs.iter().enumerate() {
        for (subgraph, nodes) in subgraphs.iter().enumerate() {
            let mut inside = vec![false; split.device_of.len()];
            nodes.iter().for_each(|&v| inside[v] = true);
            if let Some(path) = escaping_path(&order, &|v| inside[v]) {
                let path = path.into_iter().map(|v| split.id(v)).collect();
                found.push(Violation::NotContiguous { device, subgraph, path });
            }
        }
    }
    if found.is_empty() { vec![deadlock(split, jobs, cycle)] } else { found }
}

fn deadlock(split: &Split, jobs: &Jobs, cycle: &[usize]) -> Violation {
    let mut witnesses: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for &(u, v) in &split.edges {
        witnesses.entry((jobs.job_of[u], jobs.job_of[v])).or_insert((split.id(u), split.id(v)));
    }
    let step = |(i, &job): (usize, &usize)| DeadlockStep {
        part: match jobs.parts[job] {
            Job::Subgraph { device, position } => Part::Subgraph(device, position),
            Job::CpuNode(v) => Part::CpuNode(split.id(v)),
        },
        edge: witnesses.get(&(job, cycle[(i + 1) % cycle.len()])).copied(),
    };
    Violation::Deadlock { steps: cycle.iter().enumerate().map(step).collect() }
}
