//! The first line of a proof: what is asked and what is claimed.

use dagsplit_check::{FORMAT, digits, hash};
use serde_json::{Value, json};

use super::{Asked, Unproven};
use crate::cost::Synchronisation;
use crate::problem::{DeviceKind, MemoryModel, NodeId, Objective, Problem, Scope};

/// The least decimals of a claim that is rounded.
const FINE: u32 = 12;

/// A question and a claim.
pub struct Statement {
    fields: Value,
    /// The decimals that the claim counts.
    pub digits: u32,
    /// No split has a load below this many units.
    pub claim: i128,
    /// In which order passes over the graph take the nodes; none where no reason asks for it.
    pub order: Vec<NodeId>,
}

impl Statement {
    /// The question, and no claim.
    ///
    /// # Errors
    /// The format has no words for it, or the checker cannot read the instance.
    pub fn new(asked: &Asked) -> Result<Self, Unproven> {
        let problem = asked.problem;
        expressible(problem)?;
        let scale = asked.transfer_scale.to_string();
        let costs = &problem.costs;
        // So many that what a coefficient makes of a time is a whole number of units: the claim is the split's own load.
        let pieces = costs.kinds.iter().flat_map(|kind| &kind.pieces);
        let coefficients = pieces.flat_map(|piece| [piece.compute, piece.comm_in, piece.comm_out]);
        let exact = digits(asked.text, &scale).map_err(Unproven::Unreadable)?
            + coefficients.map(places).max().unwrap_or_default();
        let spec = &problem.spec;
        // The share of a replica may be no decimal, and is rounded down.
        let digits = if spec.replication.is_some() { exact.max(FINE) } else { exact };
        let class = |(c, class): (usize, &crate::instance::AcceleratorClass)| {
            let pieces = &costs.kind(DeviceKind::Accelerator(c)).pieces;
            let load: Vec<[f64; 3]> = pieces.iter().map(|p| [p.compute, p.comm_in, p.comm_out]).collect();
            json!({"count": class.count, "memory": class.memory, "load": load})
        };
        let replication = spec.replication.map(|replication| {
            let is_overlapped = costs.synchronisation == Synchronisation::Overlapped;
            json!({
                "most": replication.max_replicas,
                "bandwidth": replication.bandwidth,
                "synchronisation": if is_overlapped { "overlapped" } else { "added" },
            })
        });
        let classes: Vec<Value> = spec.platform.accelerators.iter().enumerate().map(class).collect();
        let fields = json!({
            "format": FORMAT,
            "instance": hash(asked.text.as_bytes()),
            "objective": spec.objective.name(),
            "scope": spec.scope.name(),
            "accelerators": classes,
            "cpus": spec.platform.cpus,
            "transfer_scale": asked.transfer_scale,
            "replication": replication,
            "digits": digits,
        });
        Ok(Self { fields, digits, claim: 0, order: Vec::new() })
    }

    /// The same about a split while times move, by spreads that take so many digits.
    pub fn about_stability(&self, stability: Value, digits: u32) -> Self {
        let (mut fields, digits) = (self.fields.clone(), digits.max(FINE));
        fields["digits"] = json!(digits);
        fields["stability"] = stability;
        Self { fields, digits, claim: 0, order: Vec::new() }
    }

    /// The scope of the question in another first line, where that is this one but for the scope.
    pub fn scope_of_same(&self, first_line: &str) -> Option<Scope> {
        let mut other: Value = serde_json::from_str(first_line).ok()?;
        let scope = match other["scope"].as_str()? {
            "arbitrary" => Scope::Arbitrary,
            "convex" => Scope::Convex,
            "acyclic" => Scope::Acyclic,
            _ => return None,
        };
        if !other["stability"].is_null() {
            return None;
        }
        if other["transfer_scale"].is_null() {
            other["transfer_scale"] = json!(1.0);
        }
        let names = ["instance", "objective", "accelerators", "cpus", "transfer_scale", "replication"];
        names.iter().all(|name| same(&self.fields[name], &other[name])).then_some(scope)
    }

    /// The line. The claim may be larger than what other numbers of JSON hold, so it is written digit by digit.
    pub fn line(&self) -> String {
        let mut fields = self.fields.to_string();
        fields.truncate(fields.len() - 1);
        let order = if self.order.is_empty() { String::new() } else { format!(",\"order\":{}", json!(self.order)) };
        format!("{fields},\"claim\":{}{order}}}", self.claim)
    }
}

/// The decimals of a number.
pub fn places(number: f64) -> u32 {
    number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32)
}

/// Whether two values say the same, however their numbers are written; what is absent is null.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(of_a), Value::Object(of_b)) => {
            of_a.keys().chain(of_b.keys()).all(|name| same(&a[name], &b[name]))
        }
        _ => a == b,
    }
}

/// Whether the format has words for a problem.
fn expressible(problem: &Problem) -> Result<(), Unproven> {
    let spec = &problem.spec;
    let is_gpipe = spec.objective == Objective::GPipe;
    let unknown = if spec.objective != Objective::Throughput && !is_gpipe {
        "objectives other than throughput and gpipe"
    } else if is_gpipe && spec.replication.is_some() {
        "replicas under gpipe"
    } else if matches!(spec.scope, Scope::Linearized(_)) {
        "given orders of nodes"
    } else if spec.memory != MemoryModel::Additive {
        "memory with recomputation"
    } else if spec.interconnect.is_some() {
        "servers"
    } else if spec.degrees.is_some() {
        "degrees of stages"
    } else if !spec.together.is_empty() {
        "nodes kept together"
    } else if spec.chunks.is_some() {
        "several chunks on a device"
    } else {
        return Ok(());
    };
    Err(Unproven::Inexpressible(unknown))
}
