//! Lossless reduction: a unit that costs nothing joins its only neighbour.
//!
//! Let u be a unit of no compute, memory or parameters whose order edges all go to or come from one unit v, with v
//! on every net of u, and let u run wherever v does. Moving u to v's device keeps every device's set contiguous (u
//! is a leaf at v), and never raises a load: a net of u touches at most as many devices as before, and v's device
//! was on it already. Nor does it take memory, where edges do that a device cuts, if all edges of u are with v. So some
//! optimum keeps u with v. A net that u sends and a third unit receives moves from v's
//! incoming to its outgoing transfers: where the two weigh differently, u may have none.

use super::{Reduced, units};
use crate::problem::Problem;

/// Joins free leaves to their neighbours until none is left. O(rounds · (n + m)); a round per link of a free chain.
pub(super) fn join(problem: &Problem, mut reduced: Reduced) -> Reduced {
    let memory_is_slack = reduced.memory_is_slack();
    loop {
        let target = joins(&reduced, memory_is_slack);
        if target.iter().enumerate().all(|(u, &v)| u == v) {
            return reduced;
        }
        reduced = merge(problem, &reduced, &target);
    }
}

/// For each unit the one it joins: itself, or the only neighbour of a free leaf. No unit both joins and is joined.
fn joins(reduced: &Reduced, memory_is_slack: bool) -> Vec<usize> {
    let n = reduced.unit_count();
    let mut target: Vec<usize> = (0..n).collect();
    let mut joined = vec![false; n];
    let symmetric = reduced.kinds.iter().all(|k| k.pieces.iter().all(|p| p.comm_in == p.comm_out));
    for u in 0..n {
        if joined[u] {
            continue;
        }
        if let Some(v) = only_neighbour(reduced, u)
            && (symmetric || sends_to_one(reduced, u))
            && target[v] == v
            && is_free(reduced, u, v, memory_is_slack)
        {
            target[u] = v;
            joined[v] = true;
        }
    }
    target
}

/// The unit at which `u` hangs as a leaf: all order edges of `u` are with it, and it is on every net of `u`.
fn only_neighbour(reduced: &Reduced, u: usize) -> Option<usize> {
    let mut around = reduced.order.predecessors(u).iter().chain(reduced.order.successors(u));
    let v = *around.next()?;
    if around.any(|&w| w != v) {
        return None;
    }
    let on_every_net = |e: &u32| reduced.nets[*e as usize].pins.binary_search(&v).is_ok();
    if reduced.kinds.iter().flat_map(|kind| kind.boundary.of(u)).any(|&(w, _)| w != v) {
        return None;
    }
    reduced.nets_of.row(u).iter().all(on_every_net).then_some(v as usize)
}

/// Whether each net that `u` produces has one other unit.
fn sends_to_one(reduced: &Reduced, u: usize) -> bool {
    let nets = reduced.nets_of.row(u).iter().map(|&e| &reduced.nets[e as usize]);
    nets.filter(|net| net.source as usize == u).all(|net| net.pins.len() == 2)
}

/// Whether `u` costs nothing wherever `v` can run.
fn is_free(reduced: &Reduced, u: usize, v: usize, memory_is_slack: bool) -> bool {
    reduced.parameter_bytes[u] == 0.0
        && reduced.kinds.iter().all(|kind| {
            kind.times[v].is_none()
                || kind.times[u].is_some_and(|time| time.total() == 0.0) && (memory_is_slack || kind.memory[u] == 0.0)
        })
}

fn merge(problem: &Problem, reduced: &Reduced, target: &[usize]) -> Reduced {
    let mut index = vec![usize::MAX; target.len()];
    let mut count = 0;
    for (u, &v) in target.iter().enumerate() {
        if u == v {
            index[u] = count;
            count += 1;
        }
    }
    let mut unit_of = vec![0; problem.node_count()];
    for (u, nodes) in reduced.members.iter().enumerate() {
        nodes.iter().for_each(|&v| unit_of[v] = index[target[u]]);
    }
    let edges: Vec<(usize, usize)> =
        reduced.order.edges().map(|(a, b)| (index[target[a]], index[target[b]])).filter(|&(a, b)| a != b).collect();
    let (unit_of, order) = units::sorted(problem, &unit_of, count, &edges);
    Reduced::assemble(problem, &unit_of, count, order)
}
