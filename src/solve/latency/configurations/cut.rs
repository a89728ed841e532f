//! The set of a region that is best where everything it pays for is a sum over items and cuts: a minimum cut.

use super::items::Items;
use super::prices::Prices;
use super::region::{Region, Zone};
use crate::bound::{Network, UNBOUNDED};
use crate::graph::NodeSet;

/// What a set pays for each unit of what it uses.
#[derive(Debug, Clone, Copy)]
pub struct Charges {
    /// For its duration.
    pub time: f64,
    /// For the flow that enters it.
    pub flow: f64,
    /// For its bytes.
    pub memory: f64,
}

/// Worth is counted in so many steps.
const STEPS: f64 = (1u64 << 40) as f64;

const OUTSIDE: usize = usize::MAX;

/// The network of a region: vertex 0 is all that sets of the region hold, then come the open items, then wide transfers.
struct Builder {
    /// Steps of one unit of worth.
    scale: f64,
    drain: Vec<u64>,
    supplies: Vec<(usize, u64)>,
    arcs: Vec<(usize, usize, u64, u64)>,
    /// What the items inside are worth.
    fixed: f64,
}

impl Builder {
    /// Adds what vertex `i` is worth inside.
    fn earn(&mut self, i: usize, worth: f64) {
        if i == 0 {
            self.fixed += worth;
        } else if worth > 0.0 {
            self.supplies.push((i, (worth * self.scale).ceil() as u64));
        } else {
            self.pay(i, self.steps(-worth));
        }
    }

    /// A cost in steps, rounded down, so that sets cost no more than they do.
    fn steps(&self, cost: f64) -> u64 {
        ((cost * self.scale).floor() as u64).min(UNBOUNDED)
    }

    /// Makes vertex `i` cost so much.
    fn pay(&mut self, i: usize, steps: u64) {
        self.drain[i] = self.drain[i].saturating_add(steps);
    }

    /// Makes vertex `i` cost so much while `j` is outside.
    fn tie(&mut self, i: usize, j: usize, steps: u64) {
        if j == OUTSIDE {
            self.pay(i, steps);
        } else if i != j && j != 0 && steps > 0 {
            self.arcs.push((i, j, steps, 0));
        }
    }

    /// A vertex for a wide transfer.
    fn vertex(&mut self) -> usize {
        self.drain.push(0);
        self.drain.len() - 1
    }

    /// Makes a set cost so much that holds the first vertex and not all of the others.
    fn tie_to_all(&mut self, i: usize, others: &[usize], steps: u64) {
        match others {
            [] => {}
            _ if others.contains(&OUTSIDE) => self.pay(i, steps),
            &[j] => self.tie(i, j, steps),
            _ => {
                let all = self.vertex();
                self.tie(i, all, steps);
                others.iter().for_each(|&j| self.tie(all, j, UNBOUNDED));
            }
        }
    }

    /// Makes a set cost so much that lacks the last vertex and holds one of the others.
    fn tie_any(&mut self, others: &[usize], j: usize, steps: u64) {
        match others {
            [] => {}
            // One of them is inside anyway.
            _ if others.contains(&0) => self.tie(0, j, steps),
            &[i] => self.tie(i, j, steps),
            _ => {
                let any = self.vertex();
                others.iter().for_each(|&i| self.tie(i, any, UNBOUNDED));
                self.tie(any, j, steps);
            }
        }
    }
}

/// The set of the region that is worth most after `charges`, and what it is worth at most; `None` where that is less than
/// `least`. `scale` is of the size of what all items are worth. Convexity is kept between items inside and others.
pub fn best_set(
    (items, prices, class): (&Items, &Prices, usize),
    (region, zone): (&Region, &Zone),
    charges: Charges,
    least: f64,
    scale: f64,
) -> Option<(f64, NodeSet)> {
    let costs = &items.classes[class];
    let mut vertex = vec![OUTSIDE; items.len()];
    region.inside.iter().for_each(|v| vertex[v] = 0);
    zone.open.iter().enumerate().for_each(|(i, &v)| vertex[v] = i + 1);
    let count = zone.open.len() + 1;
    let mut builder = Builder {
        scale: STEPS / scale,
        drain: vec![0; count],
        supplies: vec![(0, UNBOUNDED)],
        arcs: Vec::new(),
        fixed: 0.0,
    };
    let mut fetched = Vec::new();
    for v in region.inside.iter().chain(zone.open.iter().copied()) {
        let i = vertex[v];
        let used = charges.time * costs.compute[v].unwrap_or(0.0) + charges.memory * costs.memory[v];
        builder.earn(i, prices.worth(items, v) - used);
        builder.pay(i, builder.steps(charges.flow * prices.entry[v]));
        for &(u, e) in &items.before[v] {
            builder.tie(i, vertex[u], builder.steps(charges.flow * prices.flow[e]));
        }
        if i > 0 && zone.below.contains(v) {
            let before = items.before[v].iter().filter(|&&(u, _)| zone.below.contains(u));
            before.for_each(|&(u, _)| builder.tie(i, vertex[u], UNBOUNDED));
        }
        if i > 0 && zone.above.contains(v) {
            let after = items.after[v].iter().filter(|&&(w, _)| zone.above.contains(w));
            after.for_each(|&(w, _)| builder.tie(i, vertex[w], UNBOUNDED));
        }
        for &t in &items.makes[v] {
            let steps = builder.steps(charges.time * costs.outward[t]);
            builder.tie_to_all(i, &places(&items.transfers[t].consumers, &vertex, i), steps);
        }
        fetched.extend_from_slice(&items.needs[v]);
    }
    fetched.sort_unstable();
    fetched.dedup();
    for t in fetched {
        let source = vertex[items.transfers[t].source];
        let mut inside = places(&items.transfers[t].consumers, &vertex, source);
        inside.retain(|&i| i != OUTSIDE);
        let steps = builder.steps(charges.time * costs.inward[t]);
        builder.tie_any(&inside, source, steps);
    }
    let earned: u64 = builder.supplies[1..].iter().map(|&(_, steps)| steps).sum();
    let room = (builder.fixed - least) * builder.scale + earned as f64;
    if room < 0.0 {
        return None;
    }
    let Builder { scale, drain, supplies, arcs, fixed } = builder;
    let mut network = Network::new(drain, &arcs);
    let lost = network.cut(&supplies, room as u64);
    if lost as f64 > room {
        return None;
    }
    let mut set = region.inside.clone();
    network.side().filter(|i| (1..count).contains(i)).for_each(|i| set.insert(zone.open[i - 1]));
    Some((fixed + (earned as f64 - lost as f64) / scale, set))
}

/// Where these items are, each place but `own` once.
fn places(items: &[usize], vertex: &[usize], own: usize) -> Vec<usize> {
    let mut places: Vec<usize> = items.iter().map(|&v| vertex[v]).filter(|&i| i != own).collect();
    places.sort_unstable();
    places.dedup();
    places
}
