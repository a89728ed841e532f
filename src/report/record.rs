//! The record of a run: the JSON object that other programs rely on.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::instance::Instance;
use crate::instance::formats::content_hash;
use crate::problem::{DeviceKind, ProblemSpec, Scope};
use crate::solve::{Run, Stats};
use crate::text::escaped;
use crate::verify::{ScheduledSubgraph, Verified, VerifiedDevice};

/// Version of [`RunRecord`]: it changes when a field changes its meaning or goes.
pub const RUN_SCHEMA: &str = "dagsplit-run/1";

/// The figure of a run that says that memory ended or narrowed its search; runs with enough have none.
pub const MEMORY_LIMIT_REACHED: &str = "memory_limit_reached";

/// What is said to people of such a run.
pub const MEMORY_LIMIT_NOTE: &str =
    "the memory limit was reached: with more there may be a better answer or bound (--memory-limit)";

/// How far a bound may be from an objective, relative to it, and still count as equal: the error of sums in
/// floating-point numbers.
pub(super) const ROUNDING: f64 = 1e-9;

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
    /// Ids of the nodes, as in the instance's file.
    pub nodes: Vec<u64>,
    /// The subgraphs of an accelerator in their order; only under the latency objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subgraphs: Vec<SubgraphRecord>,
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
            replicas: Some(device.replicas()).filter(|&r| r > 1),
            server: device.server(),
            load: device.load(),
            start: device.span().map(|(start, _)| start),
            finish: device.span().map(|(_, finish)| finish),
            memory: device.memory(),
            nodes: device.nodes().to_vec(),
            subgraphs: device.subgraphs().iter().map(SubgraphRecord::new).collect(),
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

/// How one of several methods did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRecord {
    /// The method's name.
    pub method: String,
    /// `arbitrary`, `convex` or `acyclic`.
    pub scope: &'static str,
    /// `optimal`, `feasible`, `infeasible` or `unknown`; `rejected` where the verifier rejects its split.
    pub status: &'static str,
    /// The verified objective value.
    pub objective: Option<f64>,
    /// The method's own lower bound.
    pub lower_bound: Option<f64>,
    /// The gap between its objective and its own bound.
    pub gap: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl MethodRecord {
    /// The record of `run`, whose split the verifier has passed as `verified`.
    ///
    /// A bound, and with it a proof, counts only where it holds for every split of the scope that was asked for. Where it
    /// leaves no gap, the split is optimal, whatever the method calls it.
    pub fn new(method: &str, scope: &Scope, run: &Run, verified: Option<&Verified>, seconds: f64) -> Self {
        let objective = verified.map(Verified::objective);
        let lower_bound = run.outcome.bound().filter(|bound| bound.scope.covers(scope)).map(|bound| bound.value);
        let gap = objective.zip(lower_bound).and_then(|(objective, bound)| gap(objective, bound));
        let status = match run.outcome.status() {
            "optimal" | "feasible" => {
                if gap == Some(0.0) {
                    "optimal"
                } else {
                    "feasible"
                }
            }
            "infeasible" if !infeasibility_holds(run, scope) => "unknown",
            status => status,
        };
        Self { method: method.into(), scope: scope.name(), status, objective, lower_bound, gap, seconds }
    }

    /// The record of a method whose split the verifier rejects: nothing it says counts.
    pub fn rejected(method: &str, scope: &Scope, seconds: f64) -> Self {
        let (objective, lower_bound, gap) = (None, None, None);
        Self { method: method.into(), scope: scope.name(), status: "rejected", objective, lower_bound, gap, seconds }
    }

    /// Whether a bound of this record holds for the splits that `other` is about.
    pub fn covers(&self, other: &Self) -> bool {
        self.scope == other.scope || Scope::width(self.scope) > Scope::width(other.scope)
    }

    /// Position of the best record: least objective, then highest bound, then first; a split beats none, and a proof
    /// that there is none beats not knowing.
    pub fn best(records: &[Self]) -> usize {
        let key = |record: &Self| {
            let objective = record.objective.unwrap_or(f64::INFINITY);
            (
                objective,
                matches!(record.status, "unknown" | "rejected"),
                -record.lower_bound.unwrap_or(f64::NEG_INFINITY),
            )
        };
        let better = |a: &Self, b: &Self| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        (0..records.len()).min_by(|&i, &j| better(&records[i], &records[j])).unwrap_or(0)
    }
}

/// Two things that cannot both be true: a bug in a solver.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Contradiction {
    /// A verified split is better than a lower bound allows.
    #[error("method {finder} found a valid split of {objective}, but method {prover} claims a lower bound of {bound}")]
    BoundExceeded {
        /// Whose split it is.
        finder: String,
        /// The split's verified objective.
        objective: f64,
        /// Whose bound it is.
        prover: String,
        /// The bound.
        bound: f64,
    },
    /// A split was found where there is said to be none.
    #[error("method {finder} found a valid split, but method {prover} claims that there is none")]
    NotInfeasible {
        /// Whose split it is.
        finder: String,
        /// Who claims that there is none.
        prover: String,
    },
}

/// Checks that what several methods claim of one instance, each for its scope, can all be true.
///
/// # Errors
/// The first [`Contradiction`] found.
pub fn consistent(records: &[MethodRecord]) -> Result<(), Contradiction> {
    for found in records {
        let (finder, Some(objective)) = (&found.method, found.objective) else { continue };
        for claim in records.iter().filter(|claim| claim.covers(found)) {
            let prover = &claim.method;
            if claim.status == "infeasible" {
                return Err(Contradiction::NotInfeasible { finder: finder.clone(), prover: prover.clone() });
            }
            if let Some(bound) = claim.lower_bound.filter(|&bound| bound - objective > ROUNDING * objective) {
                return Err(Contradiction::BoundExceeded {
                    finder: finder.clone(),
                    objective,
                    prover: prover.clone(),
                    bound,
                });
            }
        }
    }
    Ok(())
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
    /// `throughput`, `gpipe`, `latency` or `sharding`.
    pub objective_kind: &'static str,
    /// `optimal`, `feasible`, `infeasible` or `unknown`.
    pub status: &'static str,
    /// The verified value, in the unit of the objective.
    pub objective: Option<f64>,
    /// No split of the scope is below it.
    pub lower_bound: Option<f64>,
    /// (objective − lower bound) / objective.
    pub gap: Option<f64>,
    /// Wall-clock seconds of the method.
    pub seconds: f64,
    /// The verified split; empty where none was found.
    pub devices: Vec<DeviceRecord>,
    /// What the method counted.
    #[serde(serialize_with = "as_object")]
    pub stats: Stats,
    /// Whether the independent verifier has passed the split; false only where there is no split.
    pub verified: bool,
    /// Every method in every scope, where more than one ran; the record itself is that of the best in the first scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<MethodRecord>,
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
            status: outcome.status,
            objective: outcome.objective,
            lower_bound: outcome.lower_bound,
            gap: outcome.gap,
            seconds: outcome.seconds,
            devices: verified.map(|v| DeviceRecord::all(v, spec)).unwrap_or_default(),
            stats,
            verified: verified.is_some(),
            compared: Vec::new(),
        }
    }
}

/// The relative gap (objective − bound) / objective; 0 where they differ by no more than floating-point sums do, and
/// `None` where the objective is 0 and the bound below.
pub fn gap(objective: f64, bound: f64) -> Option<f64> {
    let gap = objective - bound;
    if gap <= ROUNDING * objective { Some(0.0) } else { (objective > 0.0).then(|| gap / objective) }
}

fn infeasibility_holds(run: &Run, asked: &Scope) -> bool {
    match &run.outcome {
        crate::solve::Outcome::Infeasible(scope) => scope.covers(asked),
        _ => true,
    }
}

pub(super) fn as_object<S: Serializer>(stats: &Stats, serializer: S) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(stats.0.len()))?;
    for (name, value) in &stats.0 {
        object.serialize_entry(name, value)?;
    }
    object.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Node, Platform};
    use crate::problem::{DeviceAssignment, Solution};
    use crate::report::units::percent;
    use crate::solve::{BoundSource, LowerBound, Outcome};

    #[test]
    fn gaps_are_relative_to_the_objective() {
        assert_eq!(gap(20.0, 15.0), Some(0.25));
        assert_eq!((gap(0.0, 0.0), gap(0.0, -1.0), gap(5.0, 5.0)), (Some(0.0), None, Some(0.0)));
        assert_eq!((gap(0.1 + 0.2, 0.3), gap(0.3, 0.1 + 0.2)), (Some(0.0), Some(0.0)));
        assert!(gap(1.0, 1.0 - 1e-8) > Some(0.0));
    }

    #[test]
    fn a_bound_without_a_gap_is_a_proof() {
        let node = |id| Node { accelerator_times: vec![Some(3.0)], ..Node::new(id) };
        let (platform, nodes) = (Platform::uniform(1, None, 0), vec![node(0), node(1)]);
        let instance = Instance { platform, nodes, ..Instance::default() };
        let spec = ProblemSpec::of(&instance);
        let devices = vec![DeviceAssignment::new(DeviceKind::Accelerator(0), vec![0, 1])];
        let solution = Solution { devices, objective: None };
        let verified = crate::verify::check(&instance, &spec, &solution).unwrap();
        let status = |value: f64, scope: Scope| {
            let bound = Some(LowerBound { value, scope, source: BoundSource::Refuted });
            let run = Run { outcome: Outcome::Feasible { solution: solution.clone(), bound }, stats: Stats::default() };
            let record = MethodRecord::new("m", &spec.scope, &run, Some(&verified), 0.0);
            (record.status, record.gap.map(percent))
        };
        let shown = |text: &str| Some(text.to_owned());
        assert_eq!(status(6.0, Scope::Acyclic), ("optimal", shown("0 %")));
        assert_eq!(status(6.0 * (1.0 - 0.5e-9), Scope::Arbitrary), ("optimal", shown("0 %")));
        assert_eq!(status(6.0 * (1.0 - 5.4e-7), Scope::Acyclic), ("feasible", shown("5.4e-5 %")));
        assert_eq!(status(3.0, Scope::Acyclic), ("feasible", shown("50.00 %")));
        // A bound for fewer splits than were asked for proves nothing.
        assert_eq!(status(6.0, Scope::Linearized(vec![0, 1])), ("feasible", None));
    }

    fn record(status: &'static str, objective: Option<f64>, lower_bound: Option<f64>) -> MethodRecord {
        MethodRecord { method: "m".into(), scope: "acyclic", status, objective, lower_bound, gap: None, seconds: 0.0 }
    }

    #[test]
    fn contradictions_are_found() {
        let proven = record("optimal", Some(5.0), Some(5.0));
        assert_eq!(consistent(&[proven.clone(), record("feasible", Some(6.0), None)]), Ok(()));
        let better = record("feasible", Some(4.0), None);
        assert!(matches!(consistent(&[better, proven.clone()]), Err(Contradiction::BoundExceeded { .. })));
        let none = record("infeasible", None, None);
        assert!(matches!(consistent(&[none.clone(), proven]), Err(Contradiction::NotInfeasible { .. })));
        assert_eq!(consistent(&[none.clone(), none]), Ok(()));
    }

    #[test]
    fn the_best_record_has_the_least_objective_then_the_most_proof() {
        let unknown = record("unknown", None, Some(1.0));
        let (plain, proven) = (record("feasible", Some(5.0), None), record("optimal", Some(5.0), Some(5.0)));
        assert_eq!(MethodRecord::best(&[unknown.clone(), plain.clone(), proven]), 2);
        assert_eq!(MethodRecord::best(&[plain.clone(), plain]), 0);
        assert_eq!(MethodRecord::best(&[unknown, record("infeasible", None, None)]), 1);
    }
}
