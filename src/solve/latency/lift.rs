//! Lifting: ready times are raised to when the outputs can matter first, so that more labels compare.
//!
//! Let the producer u of an ideal I have a consumer w outside. Whatever runs w starts no earlier than any producer of I
//! that reaches w through nodes outside I is ready: an accelerator's set that holds w waits for all that feeds it. So
//! nothing changes when u is ready only at the least, over its consumers w outside, of the latest such producer.

use super::lattice::Lattice;
use super::model::Model;

/// How the ready times at one ideal are lifted.
#[derive(Debug, Clone, Default)]
pub(super) struct Lift {
    /// A live port's place, and for some of its consumers the places of all live ports that reach it.
    rules: Vec<(usize, Vec<Vec<usize>>)>,
}

/// Live ports of an ideal as bits: more than these are left as they are.
const MAX_PORTS: usize = 128;

impl Lift {
    /// The rules of ideal `i`. O(n + m).
    pub fn new(model: &Model, lattice: &Lattice, i: usize) -> Self {
        let live = lattice.live(i);
        let outside = |p: &u32| {
            let consumers = model.ports[*p as usize].consumers.iter().copied();
            consumers.filter(|&w| model.units.of_node[w].is_some_and(|u| !lattice.contains(i, u)))
        };
        if live.len() < 2 || live.len() > MAX_PORTS {
            return Self::default();
        }
        let reach = reaching_ports(model, lattice, i);
        let rule = |(place, p): (usize, &u32)| {
            let minimal = minimal_masks(outside(p).map(|w| reach[w]).collect());
            let is_trivial = minimal.contains(&(1 << place));
            (!is_trivial).then(|| (place, minimal.into_iter().map(places).collect()))
        };
        Self { rules: live.iter().enumerate().filter_map(rule).collect() }
    }

    /// Lifts the ready times of the live ports.
    pub fn apply(&self, times: &mut [f64]) {
        for (place, rule) in &self.rules {
            let latest = |reach: &Vec<usize>| reach.iter().map(|&q| times[q]).fold(0.0, f64::max);
            times[*place] = rule.iter().map(latest).fold(f64::MAX, f64::min);
        }
    }
}

/// For each node outside ideal `i` the live ports that reach it through nodes outside, as bits.
fn reaching_ports(model: &Model, lattice: &Lattice, i: usize) -> Vec<u128> {
    let graph = &model.problem.graph;
    let mut reach = vec![0u128; graph.node_count()];
    for (place, &p) in lattice.live(i).iter().enumerate() {
        let is_outside = |v: &&usize| model.units.of_node[**v].is_some_and(|u| !lattice.contains(i, u));
        model.ports[p as usize].consumers.iter().filter(is_outside).for_each(|&v| reach[v] |= 1 << place);
    }
    for (_, members) in model.units.members.iter().enumerate().filter(|&(u, _)| !lattice.contains(i, u)) {
        for &v in members {
            reach[v] = graph.predecessors(v).iter().fold(reach[v], |mask, &u| mask | reach[u as usize]);
        }
    }
    reach
}

/// The masks that hold no other one: the latest of fewer ports is no later.
fn minimal_masks(mut masks: Vec<u128>) -> Vec<u128> {
    masks.sort_unstable_by_key(|mask| (mask.count_ones(), *mask));
    let mut minimal: Vec<u128> = Vec::new();
    for mask in masks {
        if minimal.iter().all(|least| least & !mask != 0) {
            minimal.push(mask);
        }
    }
    minimal
}

fn places(mask: u128) -> Vec<usize> {
    (0..MAX_PORTS).filter(|place| mask >> place & 1 == 1).collect()
}
