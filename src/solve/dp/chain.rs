//! Ideals, and chains of them: what the layered searches find.

use super::loads::ones;
use crate::graph::NodeId;
use crate::preprocess::Reduced;

/// A set of units as words of a bit set.
pub type Bits = Box<[u64]>;

/// A chain of stages: for each the ideal after it and the index of its stage kind.
pub type IdealChain = Vec<(Bits, usize)>;

/// The original nodes of each stage of a chain of ideals.
pub(super) fn differences(reduced: &Reduced, chain: &IdealChain) -> Vec<(Vec<NodeId>, usize)> {
    let mut before: Bits = vec![0; chain[0].0.len()].into();
    let units = chain.iter().map(|(ideal, stage)| {
        let set: Vec<u64> = ideal.iter().zip(&before).map(|(j, a)| j & !a).collect();
        before.clone_from(ideal);
        (reduced.lift(ones(&set)), *stage)
    });
    units.collect()
}
