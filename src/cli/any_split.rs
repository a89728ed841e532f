//! Splits of any cost and scope, for verbs that take what others have made.

use std::path::Path;

use crate::formats::read_split;
use crate::instance::{PLAIN, Platform};
use crate::problem::{
    ChunkMemory, Chunks, ChunksInFlight, CostKind, Degrees, DeviceKind, InFlight, Objective, Placement, ProblemSpec,
    Replication, Scope, Solution, StageMemory,
};
use crate::text;
use crate::verify::{self, Verified, Violation};

use super::reading_args::Workload;
use super::{Exit, Failure, OrFail, listed};

/// A split and what it was verified for.
pub struct AnySplit {
    pub spec: ProblemSpec,
    pub verified: Verified,
}

/// Reads and verifies the split at `path` of a workload, as [`verified`] does.
pub fn read(
    path: &Path,
    workload: &Workload,
    cost: CostKind,
    sync_bandwidth: Option<f64>,
) -> Result<AnySplit, Failure> {
    let split = read_split(path, &workload.instance).or_fail(Exit::BadInput)?;
    verified(split, &text::path(path), workload, cost, sync_bandwidth)
}

/// Verifies a split of a workload, contiguous or not, under `cost`. It may have been made for more devices than the file
/// states, and the load that it claims may be meant of another cost: neither is held against it. Replicas all-reduce at
/// `sync_bandwidth`, by default the file's link bandwidth. Errors call it by `name`.
pub fn verified(
    split: Solution,
    name: &str,
    workload: &Workload,
    cost: CostKind,
    sync_bandwidth: Option<f64>,
) -> Result<AnySplit, Failure> {
    let split = if workload.instance.parallelism.is_none() { without_options(split) } else { split };
    let replicas = split.devices.iter().map(|device| device.replicas).max().unwrap_or(1);
    let spec = ProblemSpec {
        platform: with_devices(with_common_loads(workload.platform.clone()), &split),
        scope: Scope::Arbitrary,
        cost,
        replication: replication(replicas, sync_bandwidth.or(workload.instance.platform.bandwidth))?,
        ..ProblemSpec::default()
    };
    let unclaimed = Solution { objective: None, ..split };
    first_that_passes(with_chunks(spec, &unclaimed), &unclaimed, name, workload)
}

/// Verifies a split of a workload whose stages have degrees and are made for these. It may have been made for a step, whose stages
/// may be more than a batch has microbatches, and for more devices than the file states; a load that it claims is not held against it.
pub fn verified_with_degrees(
    split: Solution,
    name: &str,
    workload: &Workload,
    degrees: Degrees,
) -> Result<AnySplit, Failure> {
    let (unclaimed, microbatches) = (Solution { objective: None, ..split }, degrees.microbatches);
    let objective = match degrees.memory.in_flight {
        InFlight::Asynchronous => Objective::Throughput,
        _ => Objective::Step { microbatches },
    };
    let spec = ProblemSpec {
        platform: with_devices(with_common_loads(workload.platform.clone()), &unclaimed),
        scope: Scope::Acyclic,
        objective,
        degrees: Some(degrees),
        ..ProblemSpec::default()
    };
    spec.validate(&workload.instance).or_fail(Exit::Usage)?;
    first_that_passes(with_chunks(spec, &unclaimed), &unclaimed, name, workload)
}

/// A split as the first of these that it passes the verifier for, or what that says which finds the least wrong with it.
fn first_that_passes(
    specs: Vec<ProblemSpec>,
    split: &Solution,
    name: &str,
    workload: &Workload,
) -> Result<AnySplit, Failure> {
    let judged = |spec: ProblemSpec| {
        let verified = verify::check(&workload.instance, &spec, split)?;
        Ok(AnySplit { spec, verified })
    };
    let judged = specs.into_iter().map(judged);
    let fewer = |a: Vec<Violation>, b: Vec<Violation>| if b.len() < a.len() { b } else { a };
    let first = judged.reduce(|first, next| first.or_else(|found| next.map_err(|others| fewer(found, others))));
    first.unwrap_or_else(|| Err(Vec::new())).map_err(|violations: Vec<Violation>| {
        Failure::message(Exit::InvalidSplit, format!("{name}: the split is invalid:{}", listed(&violations)))
    })
}

/// What a split may be verified for: where devices state chunks, either placement of these. That the step has one
/// microbatch does not matter to loads; stages with degrees have theirs.
fn with_chunks(spec: ProblemSpec, split: &Solution) -> Vec<ProblemSpec> {
    let count = split.devices.iter().map(|device| device.chunks.len()).max().unwrap_or(0);
    if count == 0 {
        return vec![spec];
    }
    let mut platform = Platform { cpus: 0, ..spec.platform.clone() };
    for (index, class) in platform.accelerators.iter_mut().enumerate() {
        if split.devices.iter().all(|device| device.kind != DeviceKind::Accelerator(index)) {
            class.count = 0;
        }
    }
    let first = split.devices.iter().find(|device| !device.nodes.is_empty());
    let of_one = |degrees: Degrees| Degrees {
        tensor: first.map(|device| vec![device.tensor_degree]),
        data: first.map(|device| vec![device.replicas]),
        memory: StageMemory { in_flight: InFlight::default(), ..degrees.memory },
        ..degrees
    };
    let degrees = spec.degrees.clone().map(of_one);
    // Nothing is asked of what is in flight.
    let in_flight = ChunksInFlight::Constant(1);
    let memory = degrees.is_some().then_some(ChunkMemory { in_flight, training: None });
    let placed = |placement| ProblemSpec {
        platform: platform.clone(),
        scope: Scope::Acyclic,
        objective: Objective::Step { microbatches: degrees.as_ref().map_or(1, |degrees| degrees.microbatches) },
        chunks: Some(Chunks { memory, ..Chunks::new(count, placement) }),
        degrees: degrees.clone(),
        replication: None,
        ..spec.clone()
    };
    let fits = |placement: &Placement| *placement == Placement::Interleaved || count == 2;
    [Placement::Interleaved, Placement::VShape].into_iter().filter(fits).map(placed).collect()
}

/// Where the file states no options of nodes, a stage whose nodes have the only one that there is takes what they take.
fn without_options(mut split: Solution) -> Solution {
    let is_plain = |options: &[String]| options.iter().all(|option| option == PLAIN);
    let plain = split.devices.iter_mut().filter(|device| is_plain(&device.options));
    plain.for_each(|device| device.options.clear());
    split
}

/// The same devices, whose loads are those that are asked for.
pub fn with_common_loads(mut platform: Platform) -> Platform {
    platform.accelerators.iter_mut().for_each(|class| class.load = None);
    platform
}

/// The platform with as many devices of each kind as the split uses, where it has fewer.
pub fn with_devices(mut platform: Platform, split: &Solution) -> Platform {
    let of_kind = |kind| split.devices.iter().filter(move |device| device.kind == kind);
    let used = |kind| of_kind(kind).map(|device| device.replicas.saturating_mul(device.tensor_degree.max(1))).sum();
    for (class, accelerators) in platform.accelerators.iter_mut().enumerate() {
        accelerators.count = accelerators.count.max(used(DeviceKind::Accelerator(class)));
    }
    platform.cpus = platform.cpus.max(used(DeviceKind::Cpu));
    platform
}

fn replication(replicas: usize, bandwidth: Option<f64>) -> Result<Option<Replication>, Failure> {
    match bandwidth {
        _ if replicas <= 1 => Ok(None),
        Some(bandwidth) => Ok(Some(Replication { max_replicas: replicas, bandwidth })),
        None => Err(Failure::message(
            Exit::Usage,
            "the split has replicas: give --sync-bandwidth, because the file states no link bandwidth",
        )),
    }
}
