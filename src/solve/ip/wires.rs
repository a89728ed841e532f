//! Producers with their consumers on other units: what a device pays to receive or to send.

use std::collections::BTreeMap;

use super::layout::Layout;
use crate::cost::Transfer;
use crate::problem::Objective;

/// A producer, or several whose data the same devices pay for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wire {
    /// Id of the producing node, the first of several.
    pub id: u64,
    /// The unit that produces.
    pub source: usize,
    /// The units that consume, ascending, without the source.
    pub consumers: Vec<usize>,
    /// Whether the producer belongs to the backward pass.
    pub backward: bool,
    /// Transfer time on each kind of device.
    pub transfers: Vec<f64>,
}

/// One wire for each transfer that some device pays for, as published.
pub(super) fn of_transfers(layout: &Layout) -> Vec<Wire> {
    let (problem, unit_of) = (layout.problem, layout.unit_of());
    let kinds = problem.device_kinds();
    let wire = |(t, transfer): (usize, &Transfer)| {
        let source = unit_of[transfer.source];
        let mut consumers: Vec<usize> =
            transfer.consumers.iter().map(|&v| unit_of[v]).filter(|&unit| unit != source).collect();
        consumers.sort_unstable();
        consumers.dedup();
        let transfers = kinds.iter().map(|&kind| problem.costs.kind(kind).transfers[t]).collect();
        let backward = problem.backward[transfer.source];
        Wire { id: problem.ids[transfer.source], source, consumers, backward, transfers }
    };
    let is_paid = |wire: &Wire| !wire.consumers.is_empty() && wire.transfers.iter().any(|&time| time > 0.0);
    problem.costs.transfers.iter().enumerate().map(wire).filter(is_paid).collect()
}

/// One wire for each set of producers that cost the same devices something.
///
/// Where data that comes in weighs as much as data that goes out, a device pays for a producer if it holds some of its
/// units but not all, whichever of them produces: then producers with equal units merge, of both passes where the
/// objective adds them up.
pub(super) fn merged(layout: &Layout) -> Vec<Wire> {
    let kinds = &layout.units.units.kinds;
    let symmetric = kinds.iter().all(|kind| kind.pieces.iter().all(|piece| piece.comm_in == piece.comm_out));
    let by_pass = layout.problem.spec.objective == Objective::GPipe;
    let mut merged: BTreeMap<(Vec<usize>, Option<usize>, bool), Wire> = BTreeMap::new();
    for wire in of_transfers(layout) {
        let mut pins = wire.consumers.clone();
        pins.push(wire.source);
        pins.sort_unstable();
        let key = (pins, (!symmetric).then_some(wire.source), by_pass && wire.backward);
        match merged.get_mut(&key) {
            Some(known) => known.transfers.iter_mut().zip(wire.transfers).for_each(|(sum, time)| *sum += time),
            None => drop(merged.insert(key, wire)),
        }
    }
    merged.into_values().collect()
}
