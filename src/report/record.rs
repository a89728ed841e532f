//! The record of a run: the JSON object that other programs rely on.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::method::MethodRecord;
use super::trace::Trace;
use crate::formats::content_hash;
use crate::instance::Instance;
use crate::problem::{Chunks, Degrees, DeviceKind, MemoryParts, ProblemSpec};
use crate::search::Technique;
use crate::solve::{Stats, Status};
use crate::text::escaped;
use crate::verify::{ScheduledSubgraph, Verified, VerifiedDevice};

/// Version of [`RunRecord`]: it changes when a field changes its meaning or goes.
pub const RUN_SCHEMA: &str = "dagsplit-run/1";

/// The figure of a run that says that memory ended or narrowed its search; runs with enough have none.
pub const MEMORY_LIMIT_REACHED: &str = "memory_limit_reached";

/// What is said to people of such a run.
pub const MEMORY_LIMIT_NOTE: &str =
    "the memory limit was reached: with more there may be a better answer or bound (--memory-limit)";

/// Which instance a record is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// Its name, or its file's.
    pub name: String,
    /// Hash of its content.
    pub hash: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many distinct edges it has.
    pub edges: usize,
}

impl InstanceRecord {
    /// The record of `instance`, which has `edges` distinct edges.
    pub fn new(instance: &Instance, edges: usize) -> Self {
        Self {
            name: instance.metadata.name.clone().unwrap_or_else(|| "unnamed".into()),
            hash: content_hash(instance),
            nodes: instance.nodes.len(),
            edges,
        }
    }
}

/// Whether a device is an accelerator or a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KindRecord {
    /// An accelerator of some class.
    Accelerator,
    /// A CPU.
    Cpu,
}

/// One device of a verified split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceRecord {
    /// Accelerator or CPU.
    pub kind: KindRecord,
    /// The accelerator's class: its name, or its index where it has none. Left out where there is one class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// How many devices share these nodes; left out when it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<usize>,
    /// How many devices share each operator, where stages have degrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_degree: Option<usize>,
    /// How many groups of so many devices share the samples, where stages have degrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_degree: Option<usize>,
    /// Microbatches in flight, where stages have degrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// The accelerator's server, where the interconnect has servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<usize>,
    /// The load, in the instance's time unit. Under the latency objective the time it works on the sample, summed over
    /// its subgraphs or CPU nodes.
    pub load: f64,
    /// When it starts its first work on the sample; only under the latency objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// When it finishes its last; only under the latency objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<f64>,
    /// Bytes that the nodes occupy.
    pub memory: f64,
    /// What they are for, where stages have degrees, or devices several chunks and no optimizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_parts: Option<MemoryParts>,
    /// Ids of the nodes, as in the instance's file.
    pub nodes: Vec<u64>,
    /// The option of each of `nodes`, in their order, where they have options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The subgraphs of an accelerator in their order; only under the latency objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subgraphs: Vec<SubgraphRecord>,
    /// The nodes of each of its stages, in pipeline order, where it has several chunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<Vec<u64>>,
    /// Microbatches in flight of each of these when the device needs the most memory, where that depends on the place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks_in_flight: Vec<usize>,
}

/// What an accelerator runs as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubgraphRecord {
    /// When it starts, in the instance's time unit.
    pub start: f64,
    /// When it is finished.
    pub finish: f64,
    /// Ids of the nodes, as in the instance's file.
    pub nodes: Vec<u64>,
}

impl DeviceRecord {
    /// The devices of a verified split.
    pub fn all(verified: &Verified, spec: &ProblemSpec) -> Vec<Self> {
        let classes = &spec.platform.accelerators;
        let class_name = |kind: DeviceKind| match kind {
            DeviceKind::Accelerator(c) if classes.len() > 1 => {
                Some(classes[c].name.clone().unwrap_or_else(|| c.to_string()))
            }
            _ => None,
        };
        let record = |device: &VerifiedDevice| Self {
            kind: if device.kind() == DeviceKind::Cpu { KindRecord::Cpu } else { KindRecord::Accelerator },
            class: class_name(device.kind()),
            replicas: Some(device.replicas()).filter(|&r| r > 1 && !device.has_degrees()),
            tensor_degree: device.has_degrees().then(|| device.tensor_degree()),
            data_degree: device.has_degrees().then(|| device.replicas()),
            in_flight: device.in_flight(),
            server: device.server(),
            load: device.load(),
            start: device.span().map(|(start, _)| start),
            finish: device.span().map(|(_, finish)| finish),
            memory: device.memory(),
            memory_parts: device.memory_parts(),
            nodes: device.nodes().to_vec(),
            options: device.options().to_vec(),
            subgraphs: device.subgraphs().iter().map(SubgraphRecord::new).collect(),
            chunks: device.chunks().to_vec(),
            chunks_in_flight: device.chunks_in_flight().to_vec(),
        };
        verified.devices().iter().map(record).collect()
    }

    /// Whether it is a CPU.
    pub fn is_cpu(&self) -> bool {
        self.kind == KindRecord::Cpu
    }

    /// What to call each of `devices`: kinds are counted apart, from 0.
    pub fn labels(devices: &[Self]) -> Vec<String> {
        let (mut accelerators, mut cpus) = (0.., 0..);
        let mut label = |device: &Self| match (&device.class, device.is_cpu()) {
            (_, true) => format!("CPU {}", cpus.next().unwrap_or(0)),
            (None, _) => format!("accelerator {}", accelerators.next().unwrap_or(0)),
            (Some(class), _) => format!("accelerator {} ({})", accelerators.next().unwrap_or(0), escaped(class)),
        };
        devices.iter().map(&mut label).collect()
    }
}

impl SubgraphRecord {
    fn new(subgraph: &ScheduledSubgraph) -> Self {
        Self { start: subgraph.start, finish: subgraph.finish, nodes: subgraph.nodes.clone() }
    }
}

/// One run, ready to be printed as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// [`RUN_SCHEMA`].
    pub schema: &'static str,
    /// What was solved.
    pub instance: InstanceRecord,
    /// Name of the method whose split this is.
    pub method: String,
    /// `arbitrary`, `convex` or `acyclic`.
    pub scope: &'static str,
    /// `throughput`, `gpipe`, `step`, `latency` or `sharding`.
    pub objective_kind: &'static str,
    /// The microbatches of a step, where its time is the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microbatches: Option<usize>,
    /// The chunks of each device, where that was asked for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Chunks>,
    /// Devices that have nothing to do because the schedule of the chunks takes microbatches in groups, one for each device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_devices: Option<usize>,
    /// How many sets of nodes were to be kept on one device each, if any: bounds are for such splits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<usize>,
    /// How it ended.
    pub status: Status,
    /// The verified value, in the unit of the objective.
    pub objective: Option<f64>,
    /// The unit of all times, where stages have degrees: that of the file's options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<&'static str>,
    /// No split of the scope is below it.
    pub lower_bound: Option<f64>,
    /// (objective − lower bound) / objective.
    pub gap: Option<f64>,
    /// Wall-clock seconds of the method.
    pub seconds: f64,
    /// The verified split; empty where none was found.
    pub devices: Vec<DeviceRecord>,
    /// What the method knew when, as far as it told.
    #[serde(skip_serializing_if = "Trace::is_empty")]
    pub trace: Trace,
    /// What the method counted.
    #[serde(serialize_with = "as_object")]
    pub stats: Stats,
    /// What each search of a portfolio did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub techniques: Vec<Technique>,
    /// Which of them found the split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_by: Option<&'static str>,
    /// Which of them raised the bound last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_by: Option<&'static str>,
    /// Whether the independent verifier has passed the split; false only where there is no split.
    pub verified: bool,
    /// Whether the checker has accepted a proof that no split is better; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified: Option<bool>,
    /// How long that proof is, and what it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofRecord>,
    /// How far the split can be from the best one while times move; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stability: Option<StabilityRecord>,
    /// Every method in every scope, where more than one ran; the record itself is that of the best in the first scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<MethodRecord>,
}

/// A proof that the checker has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProofRecord {
    /// Bytes of its file.
    pub bytes: usize,
    /// Seconds that it took to find it, with all reasons that were tried.
    pub seconds: f64,
    /// Seconds of these that the checker took to accept it.
    pub check_seconds: f64,
}

/// How far a split can be from the best one while times move.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StabilityRecord {
    /// The part of itself by which each time moves; none where times move by what was measured.
    pub spread: Option<f64>,
    /// The most that the split's load is ever above that of the best split for the same times, in the instance's time unit: as
    /// far as the method is right, where that is not certified.
    pub regret: f64,
    /// The same in parts of that best load; none where nothing is known of it.
    pub relative: Option<f64>,
    /// Whether the checker has accepted a proof of that.
    pub certified: bool,
    /// How long that proof is, and what it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofRecord>,
}

impl RunRecord {
    /// The record of a run of one method on `instance`.
    pub fn new(
        instance: InstanceRecord,
        spec: &ProblemSpec,
        outcome: MethodRecord,
        stats: Stats,
        verified: Option<&Verified>,
    ) -> Self {
        Self {
            schema: RUN_SCHEMA,
            instance,
            method: outcome.method,
            scope: spec.scope.name(),
            objective_kind: spec.objective.name(),
            microbatches: spec.objective.microbatches(),
            chunks: spec.chunks,
            idle_devices: idle_devices(spec),
            together: Some(spec.together.len()).filter(|&sets| sets > 0),
            status: outcome.status,
            objective: outcome.objective,
            time_unit: None,
            lower_bound: outcome.lower_bound,
            gap: outcome.gap,
            seconds: outcome.seconds,
            devices: verified.map(|v| DeviceRecord::all(v, spec)).unwrap_or_default(),
            trace: Trace::default(),
            techniques: stats.techniques.clone(),
            split_by: stats.solution_by,
            bound_by: stats.bound_by,
            stats,
            verified: verified.is_some(),
            certified: None,
            proof: None,
            stability: None,
            compared: Vec::new(),
        }
    }

    /// Enters the proof that the checker has accepted, or that there is none.
    pub fn certify(&mut self, proof: Option<ProofRecord>) {
        self.certified = Some(proof.is_some());
        if proof.is_some() {
            self.status = Status::Certified;
        }
        self.proof = proof;
    }
}

/// The devices that no group of microbatches can use.
fn idle_devices(spec: &ProblemSpec) -> Option<usize> {
    let devices: usize = spec.platform.accelerators.iter().map(|class| class.count).sum();
    let [tensor, data] = spec.degrees.as_ref().map_or([1; 2], Degrees::one_of_each);
    let places = devices / (tensor * data);
    let used = spec.chunks?.most_devices(places, spec.objective.microbatches()? / data);
    let idle = (places - used) * tensor * data;
    (idle > 0).then_some(idle)
}

pub(super) fn as_object<S: Serializer>(stats: &Stats, serializer: S) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(stats.figures.len()))?;
    for (name, value) in &stats.figures {
        object.serialize_entry(name, value)?;
    }
    object.end()
}
