//! The first line of a proof: what is asked and what is claimed.

use dagsplit_check::{FORMAT, digits, hash};
use serde_json::{Value, json};

use super::{Asked, Unproven};
use crate::cost::Synchronisation;
use crate::problem::{DeviceKind, MemoryModel, NodeId, Objective, Problem, Scope};

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
        let digits = digits(asked.text, &scale).map_err(Unproven::Unreadable)?;
        let costs = &problem.costs;
        let spec = &problem.spec;
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
            "objective": "throughput",
            "scope": spec.scope.name(),
            "accelerators": classes,
            "cpus": spec.platform.cpus,
            "transfer_scale": asked.transfer_scale,
            "replication": replication,
            "digits": digits,
        });
        Ok(Self { fields, digits, claim: 0, order: Vec::new() })
    }

    /// The line. The claim may be larger than what other numbers of JSON hold, so it is written digit by digit.
    pub fn line(&self) -> String {
        let mut fields = self.fields.to_string();
        fields.truncate(fields.len() - 1);
        let order = if self.order.is_empty() { String::new() } else { format!(",\"order\":{}", json!(self.order)) };
        format!("{fields},\"claim\":{}{order}}}", self.claim)
    }
}

/// Whether the format has words for a problem.
fn expressible(problem: &Problem) -> Result<(), Unproven> {
    let spec = &problem.spec;
    let unknown = if spec.objective != Objective::Throughput {
        "objectives other than throughput"
    } else if matches!(spec.scope, Scope::Linearized(_)) {
        "given orders of nodes"
    } else if spec.memory != MemoryModel::Additive {
        "memory with recomputation"
    } else if spec.interconnect.is_some() {
        "servers"
    } else {
        return Ok(());
    };
    Err(Unproven::Inexpressible(unknown))
}
