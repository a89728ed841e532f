//! The hypergraph of communication: one net per transfer, over the units of its source and its consumers.

use crate::graph::NodeId;
use crate::problem::Problem;

/// The unit of a transfer's source with those of its consumers. A device that holds some of the pins but not all pays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Net {
    /// Source and consumers, ascending, at least two.
    pub pins: Vec<u32>,
    /// The unit that produces.
    pub source: u32,
    /// Whether the producer belongs to the backward pass.
    pub backward: bool,
}

/// The nets of the transfers that some device pays for, each with the transfer's index; those inside one unit are left
/// out.
pub(super) fn of_transfers(problem: &Problem, unit_of: &[usize]) -> Vec<(Net, usize)> {
    let unit = |v: NodeId| unit_of[v] as u32;
    let net = |t: usize| {
        let transfer = &problem.costs.transfers[t];
        let source = unit(transfer.source);
        let mut pins: Vec<u32> = transfer.consumers.iter().map(|&v| unit(v)).chain([source]).collect();
        pins.sort_unstable();
        pins.dedup();
        (Net { pins, source, backward: problem.backward[transfer.source] }, t)
    };
    let kinds = problem.device_kinds();
    let is_paid = |&t: &usize| kinds.iter().any(|&kind| problem.costs.kind(kind).transfers[t] > 0.0);
    let transfers = 0..problem.costs.transfers.len();
    transfers.filter(is_paid).map(net).filter(|(net, _)| net.pins.len() > 1).collect()
}

/// Merges equal nets: their times add up. Returns the nets and the transfers of each.
pub(super) fn merge(mut given: Vec<(Net, usize)>) -> (Vec<Net>, Vec<Vec<usize>>) {
    given.sort_unstable();
    let mut nets: Vec<Net> = Vec::new();
    let mut merged: Vec<Vec<usize>> = Vec::new();
    for (net, t) in given {
        if nets.last() == Some(&net) {
            merged[nets.len() - 1].push(t);
        } else {
            nets.push(net);
            merged.push(vec![t]);
        }
    }
    (nets, merged)
}
