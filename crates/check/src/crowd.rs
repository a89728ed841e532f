//! The reason `crowd`: units of which no device holds more than a few, and which are more than that. A crowd of one unit
//! that no device can hold is a cut.

use crate::flow::{Flow, UNLIMITED};
use crate::problem::{Kind, Problem};

/// The most groups of units of which one crowd asks whether they fit together.
const MOST_GROUPS: usize = 20_000;

/// Whether the `units` are more than all devices hold, where no device of a kind can hold more than `most` of them.
///
/// # Errors
/// Why they need not be.
pub fn refutes(problem: &Problem, units: &[usize], most: &[usize]) -> Result<(), String> {
    if most.len() != problem.kinds.len() {
        return Err(format!("there have to be {} numbers of units", problem.kinds.len()));
    }
    let mut distinct = units.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < units.len() {
        return Err("a unit counts twice".into());
    }
    if problem.kinds.iter().any(|kind| kind.most_replicas > 1) {
        return Err("a crowd says nothing of replicas".into());
    }
    let all = problem.kinds.iter().zip(most).map(|(kind, &most)| most.saturating_mul(kind.count as usize));
    let held = all.fold(0, usize::saturating_add);
    if units.len() <= held {
        return Err(format!("the devices can hold {held} of these {} units", units.len()));
    }
    let mut left = MOST_GROUPS;
    for (k, (kind, &most)) in problem.kinds.iter().zip(most).enumerate().filter(|(_, (kind, _))| kind.count > 0) {
        let mut groups = Groups::new(units.len(), most + 1);
        while let Some(group) = groups.next() {
            left = left.checked_sub(1).ok_or("there are too many groups of units")?;
            let group: Vec<usize> = group.iter().map(|&i| units[i]).collect();
            if may_hold(problem, kind, &group) {
                return Err(format!("a device of kind {k} may hold the units {group:?}"));
            }
        }
    }
    Ok(())
}

/// Whether a device's memory and load within the target do not exclude that it holds these units.
pub fn may_hold(problem: &Problem, kind: &Kind, group: &[usize]) -> bool {
    let bytes: i128 = group.iter().map(|&u| problem.memory[u]).sum();
    let runs = group.iter().all(|&u| kind.time[u].is_some());
    let most = problem.target * kind.one;
    runs && kind.capacity.is_none_or(|capacity| bytes <= capacity)
        && (0..kind.pieces.len()).all(|piece| !least_exceeds(problem, kind, piece, group, most))
}

/// Whether a piece of the load is above `most` on every device of this kind that holds the group: a minimum cut between
/// what is inside, with the source, and what is outside, with the sink.
fn least_exceeds(problem: &Problem, kind: &Kind, piece: usize, group: &[usize], most: i128) -> bool {
    let units = problem.order.units;
    let (source, sink) = (units, units + 1);
    let mut flow = Flow::new(units + 2);
    let [compute, into, out] = kind.pieces[piece];
    for (u, time) in kind.time.iter().enumerate() {
        match time {
            Some(time) => flow.add(u, sink, time * compute),
            None => flow.add(u, sink, UNLIMITED),
        }
    }
    group.iter().for_each(|&u| flow.add(source, u, UNLIMITED));
    for net in &problem.nets {
        if into > 0 {
            let reads = flow.add_vertex();
            net.sinks.iter().for_each(|&v| flow.add(v, reads, UNLIMITED));
            flow.add(reads, net.source, net.cost * into);
        }
        if out > 0 {
            let stays = flow.add_vertex();
            flow.add(net.source, stays, net.cost * out);
            net.sinks.iter().for_each(|&v| flow.add(stays, v, UNLIMITED));
        }
    }
    flow.exceeds(source, sink, most)
}

/// All ways to choose some of the first whole numbers, ascending.
struct Groups {
    count: usize,
    chosen: Vec<usize>,
    is_first: bool,
}

impl Groups {
    fn new(count: usize, size: usize) -> Self {
        Self { count, chosen: (0..size).collect(), is_first: true }
    }

    fn next(&mut self) -> Option<&[usize]> {
        let size = self.chosen.len();
        if std::mem::take(&mut self.is_first) {
            return (size <= self.count).then_some(&self.chosen[..]);
        }
        let at = (0..size).rev().find(|&i| self.chosen[i] + size - i < self.count)?;
        self.chosen[at] += 1;
        for i in at + 1..size {
            self.chosen[i] = self.chosen[i - 1] + 1;
        }
        Some(&self.chosen)
    }
}
