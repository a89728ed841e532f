//! Reductions under a target: what holds in every split of which no device's load exceeds it.
//!
//! *Inseparable pins.* Let net e cost more than the target, even shared by the most replicas. An accelerator that
//! holds some of its pins but not all pays more than the target, so all its pins share one accelerator, or none is on
//! an accelerator. With at most one CPU, or with a pin that no CPU can take, they share a device either way: they are
//! fused, and with them all that lies between them in the order.
//!
//! *Separated pins.* Let all that lies between the two pins of a net be more than any device can take. A device that
//! held both would hold all of it, so they are apart, and whichever accelerator holds either of them pays for the
//! net. The net gives way to a fixed cost of both units, which bounds see wherever the other pin is.
//!
//! *Far nets.* Let all that lies between the pins of a net be more than any server can take. Whichever accelerator
//! pays for the net pays its price between servers, so that becomes its plain price.

use petgraph::unionfind::UnionFind;

use super::{KindCosts, Reduced, joint, leaves, units};
use crate::cost::{Terms, max_of_pieces};
use crate::graph::Precedence;
use crate::problem::{DeviceKind, Problem, fits};

/// Applies all rules and the lossless reductions until nothing changes. Where the graph is too large for its closure,
/// pins are only fused.
pub(super) fn reduce(problem: &Problem, mut reduced: Reduced, target: f64) -> Reduced {
    let replicas = problem.spec.most_replicas() as f64;
    while let Some(label) = inseparable(&reduced, target, replicas) {
        reduced = leaves::join(problem, units::fuse(problem, &reduced, &label));
    }
    if let Some(precedence) = reduced.precedence() {
        if let Some(interconnect) = problem.spec.interconnect {
            reprice_far(&mut reduced, &precedence, target, interconnect.server_size as f64);
        }
        fix_separated(&mut reduced, &precedence, target, replicas);
    }
    reduced
}

/// A label for each unit, equal for those to be fused; `None` when there are none.
fn inseparable(reduced: &Reduced, target: f64, replicas: f64) -> Option<Vec<usize>> {
    let mut together = UnionFind::new(reduced.unit_count());
    let mut any = false;
    for (e, net) in reduced.nets.iter().enumerate() {
        if is_inseparable(reduced, e, target, replicas) {
            any = true;
            for pair in net.pins.windows(2) {
                together.union(pair[0] as usize, pair[1] as usize);
            }
        }
    }
    any.then(|| together.into_labeling())
}

fn is_inseparable(reduced: &Reduced, e: usize, target: f64, replicas: f64) -> bool {
    let is_cpu = |kind: &&KindCosts| kind.kind == DeviceKind::Cpu;
    // The least an accelerator pays for cutting the net, whichever side its source is on.
    let least = |kind: &KindCosts| {
        let weight = kind.pieces.iter().map(|p| p.comm_in.min(p.comm_out)).fold(0.0, f64::max);
        weight * kind.transfers[e] / replicas
    };
    let too_dear = reduced.kinds.iter().filter(|k| !is_cpu(k)).all(|kind| least(kind) > target);
    let parted_by_cpus = reduced.kinds.iter().filter(is_cpu).any(|cpu| {
        let fits = |&u: &u32| cpu.times[u as usize].is_some_and(|time| time.total() <= target);
        cpu.count > 1 && reduced.nets[e].pins.iter().all(fits)
    });
    too_dear && !parted_by_cpus
}

/// Gives the nets that no server can hold their price between servers.
fn reprice_far(reduced: &mut Reduced, precedence: &Precedence, target: f64, server_size: f64) {
    for e in 0..reduced.nets.len() {
        let pins = &reduced.nets[e].pins;
        let holds = |kind: &KindCosts| {
            kind.kind != DeviceKind::Cpu && can_hold(kind, precedence.spanned(pins), target, server_size)
        };
        if !reduced.kinds.iter().any(holds) {
            let price = std::mem::replace(&mut reduced.between[e], 1.0);
            reduced.kinds.iter_mut().for_each(|kind| kind.transfers[e] *= price);
        }
    }
}

/// Turns nets of two separated pins into fixed costs, until there are no more.
fn fix_separated(reduced: &mut Reduced, precedence: &Precedence, target: f64, replicas: f64) {
    loop {
        let separated: Vec<bool> = reduced
            .nets
            .iter()
            .zip(&reduced.between)
            .map(|(net, &between)| match net.pins[..] {
                // A net of two prices costs one or the other, depending on where its other pin is.
                [u, v] if between == 1.0 && precedence.precedes(u as usize, v as usize) => {
                    are_apart(reduced, precedence, &net.pins, target, replicas)
                }
                _ => false,
            })
            .collect();
        if !separated.contains(&true) {
            return;
        }
        fix(reduced, &separated);
    }
}

/// Whether no device can hold these pins and all that lies between them.
fn are_apart(reduced: &Reduced, precedence: &Precedence, pins: &[u32], target: f64, replicas: f64) -> bool {
    let spanned: Vec<usize> = precedence.spanned(pins).collect();
    let units = || spanned.iter().copied();
    reduced.kinds.iter().all(|kind| match kind.kind {
        DeviceKind::Cpu => !can_hold(kind, units(), target, 1.0),
        DeviceKind::Accelerator(_) => {
            let memory: f64 = units().map(|w| kind.memory[w]).sum();
            !fits(memory, kind.capacity(kind.count)) || !can_hold(kind, units(), target, replicas)
        }
    })
}

/// Whether `devices` devices of a kind might hold these units between them.
fn can_hold(kind: &KindCosts, units: impl Iterator<Item = usize>, target: f64, devices: f64) -> bool {
    let mut terms = Terms::default();
    let mut memory = 0.0;
    for u in units {
        let Some(unit) = kind.terms(u) else { return false };
        terms.add(&joint(&unit));
        memory += kind.memory[u];
    }
    let is_quick = max_of_pieces(&kind.pieces, &terms) / devices <= target;
    is_quick && fits(memory, kind.memory_limit.map(|limit| limit * devices))
}

fn fix(reduced: &mut Reduced, separated: &[bool]) {
    for (e, _) in separated.iter().enumerate().filter(|&(_, &apart)| apart) {
        let net = &reduced.nets[e];
        for kind in &mut reduced.kinds {
            for &u in &net.pins {
                let terms = &mut kind.fixed[u as usize][usize::from(net.backward)];
                let side = if u == net.source { &mut terms.comm_out } else { &mut terms.comm_in };
                *side += kind.transfers[e];
            }
        }
    }
    let mut keep = separated.iter().map(|apart| !apart);
    reduced.nets.retain(|_| keep.next().unwrap_or(true));
    let mut keep = separated.iter().map(|apart| !apart);
    reduced.between.retain(|_| keep.next().unwrap_or(true));
    for kind in &mut reduced.kinds {
        let mut keep = separated.iter().map(|apart| !apart);
        kind.transfers.retain(|_| keep.next().unwrap_or(true));
    }
    reduced.index_nets();
}
