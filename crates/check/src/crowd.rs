//! The reason `crowd`: units of which no device holds more than a few, and which are more than that. A crowd of one unit
//! that no device can hold is a cut.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Result;
use crate::problem::{Kind, Problem, Terms};

/// The most groups of units of which one crowd asks whether they fit together.
const MOST_GROUPS: usize = 20_000;

/// Whether the `units` are more than all devices hold, where no device of a kind can hold more than `most` of them; else why
/// not.
pub fn refutes(problem: &Problem, units: &[usize], most: &[usize]) -> Result<()> {
    ensure!(most.len() == problem.kinds.len(), "there have to be {} numbers of units", problem.kinds.len());
    ensure!(units.iter().collect::<BTreeSet<_>>().len() == units.len(), "a unit counts twice");
    ensure!(problem.is_without_replicas(), "a crowd says nothing of replicas");
    let all = problem.present().map(|(k, kind)| most[k].saturating_mul(kind.count as usize));
    let held = all.fold(0, usize::saturating_add);
    ensure!(units.len() > held, "the devices can hold {held} of these {} units", units.len());
    let mut left = MOST_GROUPS;
    for (k, kind) in problem.present() {
        // Groups to be looked at, each with where the units begin of which one is added to it; there are enough of these.
        let mut open = vec![(Vec::new(), 0)];
        while let Some((group, next)) = open.pop() {
            ensure!(group.len() <= most[k], "a device of kind {k} may hold the units {group:?}");
            for at in (next..units.len() + group.len() - most[k]).rev() {
                let larger = [&group[..], &[units[at]]].concat();
                let is_large = larger.len() > most[k];
                left = left.checked_sub(usize::from(is_large)).ok_or("there are too many groups of units")?;
                open.extend((!is_large || may_hold(problem, kind, &larger)).then_some((larger, at + 1)));
            }
        }
    }
    Ok(())
}

/// Whether a device's memory and load within the target do not exclude that it holds these units.
fn may_hold(problem: &Problem, kind: &Kind, group: &[usize]) -> bool {
    let bytes: i128 = group.iter().map(|&u| problem.memory[u]).sum();
    group.iter().all(|&u| kind.time[u].is_some())
        && kind.capacity.is_none_or(|capacity| bytes <= capacity)
        && !kind.pieces.iter().any(|piece| least_exceeds(problem, kind, piece, group))
}

/// Whether a piece of the load is above the target on every device of this kind that holds the group: a minimum cut between
/// what is inside, with the source, and what is outside, with the sink.
fn least_exceeds(problem: &Problem, kind: &Kind, &[compute, into, out]: &Terms, group: &[usize]) -> bool {
    let (units, nets) = (problem.order.units, problem.nets.len());
    let mut flow = vec![BTreeMap::new(); 2 + units + 2 * nets];
    let mut arc = |from, to, capacity| add(&mut flow, from, to, capacity);
    (0..units).for_each(|u| arc(2 + u, SINK, kind.time(u).map_or(UNLIMITED, |time| time * compute)));
    group.iter().for_each(|&u| arc(SOURCE, 2 + u, UNLIMITED));
    for (e, net) in problem.nets.iter().enumerate() {
        let (reads, stays) = (2 + units + e, 2 + units + nets + e);
        arc(reads, 2 + net.source, net.cost * into);
        arc(2 + net.source, stays, net.cost * out);
        for &v in &net.sinks {
            arc(2 + v, reads, UNLIMITED);
            arc(stays, 2 + v, UNLIMITED);
        }
    }
    exceeds(flow, problem.target)
}

const SOURCE: usize = 0;
const SINK: usize = 1;

/// Stands for capacities without limit; sums of all others are smaller.
const UNLIMITED: i128 = 1 << 124;

/// A network: for each vertex how much more can go to others.
type Flow = Vec<BTreeMap<usize, i128>>;

fn add(flow: &mut Flow, from: usize, to: usize, capacity: i128) {
    *flow[from].entry(to).or_default() += capacity;
    flow[to].entry(from).or_default();
}

/// Whether a flow above `most` goes from source to sink, along shortest paths (Edmonds and Karp 1972). O(V E² log V).
fn exceeds(mut flow: Flow, most: i128) -> bool {
    let mut total = 0;
    while total <= most {
        let before = reached(&flow);
        let arc = |to: usize| before[to].map(|from| (from, to));
        let path: Vec<_> = std::iter::successors(arc(SINK), |&(from, _)| arc(from)).collect();
        let Some(sent) = path.iter().map(|&(a, b)| flow[a][&b]).min() else { return false };
        for (a, b) in path {
            add(&mut flow, a, b, -sent);
            add(&mut flow, b, a, sent);
        }
        total += sent;
    }
    true
}

/// For each vertex the one before it on a shortest path with capacity left, as far as the sink is.
fn reached(flow: &Flow) -> Vec<Option<usize>> {
    let mut before = vec![None; flow.len()];
    let mut queue = VecDeque::from([SOURCE]);
    while let Some(v) = queue.pop_front().filter(|_| before[SINK].is_none()) {
        for (&to, _) in flow[v].iter().filter(|&(_, &rest)| rest > 0) {
            if to != SOURCE && before[to].is_none() {
                before[to] = Some(v);
                queue.push_back(to);
            }
        }
    }
    before
}
