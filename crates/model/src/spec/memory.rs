//! What an accelerator needs memory for.

use serde::{Deserialize, Serialize};

use crate::instance::{Instance, Problems};

/// How the nodes of a stage add up to the bytes that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryModel {
    /// The sum of the nodes' memory, which each replica of a stage holds in full.
    #[default]
    Additive,
    /// Peak memory of training with activation recomputation (Parmesan 2024, appendix C, equation 14):
    ///
    /// > m(H) = 1/MB · Σ_{v ∈ H} ( max(m_fwd(v), m_bwd(v)) + Σ_{v' adjacent to v, v' ∉ H} M(v, v') ).
    ///
    /// An operator v is a colour class of the instance, or a node without one: m_fwd is the `memory` of its forward
    /// nodes, m_bwd that of its backward nodes. M counts each edge that crosses the boundary of H, in either pass and
    /// direction, with the `output_bytes` of its producer; an edge given twice counts once. Both are bytes of a whole
    /// batch, of which MB microbatches pass one after another. Replicas share a batch, so that R of them have R
    /// devices' memory for a stage (the note to the paper's equation 3).
    ///
    /// A larger stage can need less, because it cuts less; what its operators need by themselves only grows.
    Recomputation {
        /// Microbatches of a batch, MB in the paper; at least 1.
        microbatches: usize,
    },
}

impl MemoryModel {
    /// The model's name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::Additive => "additive",
            MemoryModel::Recomputation { .. } => "recomputation",
        }
    }

    /// Adds what keeps `instance` from having this model's memory to `found`.
    pub(super) fn validate(self, instance: &Instance, found: &mut Problems) {
        let MemoryModel::Recomputation { microbatches } = self else { return };
        if microbatches == 0 {
            found.add("microbatches", "a batch has none", "ask for at least one microbatch");
        }
        let producers: rustc_hash::FxHashSet<u64> = instance.edges.iter().map(|edge| edge.source).collect();
        let silent = |id: u64| producers.contains(&id);
        let bytes: rustc_hash::FxHashMap<u64, f64> =
            instance.nodes.iter().map(|node| (node.id, node.output_bytes.unwrap_or(0.0))).collect();
        let crossing: f64 = instance.edges.iter().filter_map(|edge| bytes.get(&edge.source)).sum();
        if !(2.0 * crossing).is_finite() {
            found.add("edges", "what all carry together exceeds all numbers", "give smaller `output_bytes`");
        }
        for node in instance.nodes.iter().filter(|node| node.output_bytes.is_none() && silent(node.id)) {
            found.add(
                format!("node {}", node.id),
                "it feeds others, but the bytes of its output are unknown, which memory with recomputation counts",
                "state its `output_bytes`, or ask for the memory model `additive`",
            );
        }
    }
}

/// Whether `used` bytes fit in `limit`: up to one part in 10⁹, the error of a floating-point sum.
pub fn fits(used: f64, limit: Option<f64>) -> bool {
    limit.is_none_or(|limit| used <= most_bytes(limit))
}

/// The most bytes that fit in a limit.
pub fn most_bytes(limit: f64) -> f64 {
    limit * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn no_more_than_a_sum_rounds_fits_beyond_the_limit() {
        assert!(fits(1.0 + 5e-10, Some(1.0)) && !fits(1.0 + 1e-8, Some(1.0)));
        assert!(fits(8e9 + 4.0, Some(8e9)) && !fits(8e9 + 80.0, Some(8e9)));
        assert!(fits(0.0, Some(0.0)) && !fits(f64::MIN_POSITIVE, Some(0.0)) && fits(f64::MAX, None));
    }
}
