//! Which block gains most under prices: branch and bound over convex sets.
//!
//! A set S gains w(S) − f(S) · d(S): what its items are worth, less the flow f(S) that enters it times its duration. Of all
//! items of S let a have the largest flow f(a), the first one of these. Then
//!
//! - f(S) is at least f(I) for every convex I ⊆ S, and at most 1, as a path enters a convex set once;
//! - d(S) is at least the compute time d of I, so that f(S) · d(S) ≥ f(I) · d(S) + d · (f(S) − f(I)).
//!
//! So in a *region* (sets with a that hold I and lack others) gain is bounded by a sum over items and cuts, which a minimum cut
//! maximises, with multipliers of what is limited: memory, and f(S) ≤ 1. A region is split at an item that some good sets hold
//! and others do not. Convexity is kept between I and other items, and by that between all once enough are decided.

use std::cmp::Reverse;

use super::cut::{Charges, best_set};
use super::items::Items;
use super::prices::{Column, Prices};
use super::region::{Region, Zone};
use crate::graph::NodeSet;
use crate::problem::most_bytes;
use crate::search::SearchContext;

/// Cuts in one search for a multiplier.
const MOST_CUTS: usize = 8;

/// Flows that differ by less are the same.
const FLOW_STEPS: f64 = 1e9;

/// A search for multipliers ends once no more than this part of what the bound is above the target is to be gained.
const PRECISION: f64 = 0.01;

/// What is looked for.
pub struct Pricing<'a> {
    pub items: &'a Items,
    pub prices: &'a Prices,
    pub class: usize,
    /// Gains up to this need not be told apart.
    pub target: f64,
    /// The most regions that are looked at.
    pub effort: usize,
}

/// What is found of the sets of one anchor.
pub struct Look {
    pub class: usize,
    pub anchor: usize,
    /// No set gains more, or more than the target.
    pub bound: f64,
    /// The set found that gains most, above the target.
    pub best: Option<(f64, Column)>,
    /// The price of memory that bounded all sets.
    pub pull: f64,
}

/// What a region limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Memory,
    Flow,
}

/// What is known of a region while it is looked at.
struct View<'a> {
    region: &'a Region,
    zone: Zone,
    /// The flow that enters what all sets hold, and what that takes to compute.
    flow: f64,
    compute: f64,
    /// What all items are worth that are worth something.
    worth: f64,
    /// The multipliers of the resources.
    memory: f64,
    spread: f64,
    /// The least bound so far, and its set.
    bound: f64,
    set: Option<NodeSet>,
    /// The best sets of the last search on either side of what was limited.
    sides: [Option<NodeSet>; 2],
    /// The most that a set found gains.
    gain: f64,
}

impl Pricing<'_> {
    /// Looks at the sets whose first item of the largest flow is `anchor`. `None` once `cx` says to stop.
    pub fn look(&self, anchor: usize, pull: f64, cx: &SearchContext) -> Option<Look> {
        let mut look = Look { class: self.class, anchor, bound: self.target, best: None, pull };
        let mut open: Vec<Region> = self.root(anchor, pull).into_iter().collect();
        let mut looked = 0;
        while let Some(i) = (0..open.len()).max_by(|&a, &b| open[a].bound.total_cmp(&open[b].bound)) {
            let mut region = open.swap_remove(i);
            if looked == self.effort {
                look.bound = look.bound.max(region.bound);
                break;
            }
            if cx.should_stop() {
                return None;
            }
            let branch = self.explore(&mut region, &mut look);
            if looked == 0 {
                look.pull = region.pull;
            }
            looked += 1;
            match branch {
                _ if region.bound <= self.target => {}
                None => look.bound = look.bound.max(region.bound),
                Some(v) => {
                    let mut inside = region.inside.clone();
                    inside.insert(v);
                    let inside = self.items.hull(&inside);
                    let is_possible = inside.iter().all(|v| !region.without.contains(v));
                    if is_possible && self.items.can_hold(self.class, &inside) {
                        open.push(Region { inside, ..region.clone() });
                    }
                    region.without.insert(v);
                    open.push(region);
                }
            }
        }
        Some(look)
    }

    /// All sets of an anchor; none where it fits on no accelerator.
    fn root(&self, anchor: usize, pull: f64) -> Option<Region> {
        let n = self.items.len();
        let flow = |v: usize| (self.prices.through[v] * FLOW_STEPS).round() as u64;
        let inside = NodeSet::from_nodes(n, [anchor]);
        let mut without = NodeSet::new(n);
        let mut is_before = true;
        for &v in &self.items.order {
            is_before &= v != anchor;
            let comes_first = flow(v) > flow(anchor) || (is_before && flow(v) == flow(anchor));
            if comes_first || self.items.classes[self.class].compute[v].is_none() {
                without.insert(v);
            }
        }
        let can_hold = self.items.can_hold(self.class, &inside);
        can_hold.then_some(Region { inside, without, bound: f64::MAX, pull })
    }

    /// Bounds a region, notes the sets found on the way, and says where to split it: nowhere where its best set is known.
    fn explore(&self, region: &mut Region, look: &mut Look) -> Option<usize> {
        let mut view = self.view(region);
        if view.worth - view.flow * view.compute <= self.target {
            region.bound = self.target;
            return None;
        }
        for resource in [Resource::Memory, Resource::Flow] {
            if !self.charge(&mut view, resource, look) {
                (region.bound, region.pull) = (self.target, view.memory);
                return None;
            }
        }
        let (bound, memory) = (view.bound, view.memory);
        let branch = if view.gain < bound - 1e-9 * view.worth { self.branch(&view) } else { None };
        (region.bound, region.pull) = (region.bound.min(bound), memory);
        branch
    }

    fn view<'a>(&self, region: &'a Region) -> View<'a> {
        let Self { items, prices, class, .. } = *self;
        let zone = Zone::new(items, class, region);
        let own: f64 = region.inside.iter().map(|v| prices.worth(items, v)).sum();
        let others: f64 = zone.open.iter().map(|&v| prices.worth(items, v).max(0.0)).sum();
        let compute: f64 = region.inside.iter().filter_map(|v| items.classes[class].compute[v]).sum();
        View {
            region,
            zone,
            flow: prices.entering(items, &region.inside).min(1.0),
            compute,
            worth: own + others,
            memory: region.pull,
            spread: 0.0,
            bound: own + others,
            set: None,
            sides: [None, None],
            gain: f64::MIN,
        }
    }

    /// The most bytes that fit on an accelerator.
    fn bytes(&self) -> Option<f64> {
        self.items.classes[self.class].memory_limit.map(most_bytes)
    }

    /// What a set uses of a resource.
    fn used(&self, resource: Resource, set: &NodeSet) -> f64 {
        match resource {
            Resource::Memory => self.items.memory(self.class, set),
            Resource::Flow => self.prices.entering(self.items, set),
        }
    }

    /// Searches the multiplier of a resource that the best set uses too much of; whether sets above the target are left.
    fn charge(&self, view: &mut View, resource: Resource, look: &mut Look) -> bool {
        let limit = match resource {
            Resource::Memory => self.bytes(),
            Resource::Flow => Some(1.0),
        };
        let exceeds = |limit: f64| view.set.as_ref().is_some_and(|set| self.used(resource, set) > limit * (1.0 + 1e-9));
        let is_first = resource == Resource::Memory;
        if !is_first && !limit.is_some_and(exceeds) {
            return true;
        }
        let per_use = view.worth.abs() / limit.unwrap_or(1.0).max(f64::MIN_POSITIVE);
        let mut multiplier = match resource {
            Resource::Memory => limit.map_or(0.0, |_| view.memory),
            Resource::Flow => 0.1 * per_use,
        };
        view.sides = [None, None];
        let mut lines = Lines { per_use, sides: [None; 2] };
        let mut best = (f64::MAX, multiplier);
        for _ in 0..MOST_CUTS {
            match resource {
                Resource::Memory => view.memory = multiplier,
                Resource::Flow => view.spread = multiplier,
            }
            let Some((bound, set)) = self.cut(view) else { return false };
            self.note(&set, view, look);
            let spare = limit.map(|limit| limit - self.used(resource, &set));
            best = if bound < best.0 { (bound, multiplier) } else { best };
            if bound < view.bound {
                (view.bound, view.set) = (bound, Some(set.clone()));
            }
            let Some(spare) = spare else { break };
            view.sides[usize::from(spare >= 0.0)] = Some(set);
            let Some(next) = lines.next((multiplier, bound, spare), best.0, self.target) else { break };
            multiplier = next;
        }
        if is_first {
            view.memory = best.1;
        }
        true
    }

    /// The best set at the multipliers, with the bound that it makes; `None` where that is not above the target.
    fn cut(&self, view: &View) -> Option<(f64, NodeSet)> {
        // Where all flow has entered, to enter once more costs as much as one likes.
        let spread = if view.flow >= 1.0 - 1.0 / FLOW_STEPS { view.worth.abs() } else { view.spread };
        let charges = Charges { time: view.flow, flow: view.compute + spread, memory: view.memory };
        let constant = view.compute * view.flow + spread + self.bytes().map_or(0.0, |bytes| view.memory * bytes);
        let scale = view.worth.abs() + f64::MIN_POSITIVE;
        let on = (self.items, self.prices, self.class);
        let (most, set) = best_set(on, (view.region, &view.zone), charges, self.target - constant, scale)?;
        Some((most + constant, set))
    }

    /// Keeps the least convex set that holds this one, if it fits and gains.
    fn note(&self, set: &NodeSet, view: &mut View, look: &mut Look) {
        let column = Column { class: self.class, set: self.items.hull(set) };
        if !self.items.can_hold(self.class, &column.set) {
            return;
        }
        let gain = self.prices.gain(self.items, &column);
        view.gain = view.gain.max(gain);
        if gain > look.best.as_ref().map_or(self.target, |&(best, _)| best) {
            look.best = Some((gain, column));
        }
    }

    /// The item at which to split a region.
    fn branch(&self, view: &View) -> Option<usize> {
        let set = view.set.as_ref()?;
        let zone = &view.zone;
        let mut differ: Vec<usize> = match &view.sides {
            [Some(a), Some(b)] => zone.open.iter().copied().filter(|&v| a.contains(v) != b.contains(v)).collect(),
            _ => Vec::new(),
        };
        if differ.is_empty() {
            differ = set.iter().filter(|&v| !view.region.inside.contains(v)).collect();
        }
        if differ.is_empty() {
            differ.clone_from(&zone.open);
        }
        // One that takes many of them with it, inside or out.
        let count = |a: &NodeSet, b: &NodeSet| differ.iter().filter(|&&u| a.contains(u) && b.contains(u)).count();
        let decides = |v: usize| {
            let (below, above) = (&self.items.below[v], &self.items.above[v]);
            if zone.below.contains(v) {
                count(&zone.below, above).min(count(&zone.below, below))
            } else if zone.above.contains(v) {
                count(&zone.above, below).min(count(&zone.above, above))
            } else {
                1
            }
        };
        differ.iter().copied().min_by_key(|&v| (Reverse(decides(v)), v))
    }
}

/// The bounds seen, as lines over the multiplier of a resource: the least bound is where two of them meet.
struct Lines {
    /// The size of multipliers.
    per_use: f64,
    /// Value at 0 and slope of the last falling line, and of the last rising one.
    sides: [Option<(f64, f64)>; 2],
}

impl Lines {
    /// Notes the bound at a multiplier, whose set leaves so much of the resource, and says where to look next.
    fn next(&mut self, (at, bound, spare): (f64, f64, f64), best: f64, target: f64) -> Option<f64> {
        self.sides[usize::from(spare >= 0.0)] = Some((bound - spare * at, spare));
        let next = match self.sides {
            [Some((low, fall)), Some((high, rise))] => {
                let next = (high - low) / (fall - rise);
                if best - (low + fall * next) <= PRECISION * (best - target) {
                    return None;
                }
                next
            }
            [Some(_), None] => {
                if at == 0.0 {
                    0.1 * self.per_use
                } else {
                    3.0 * at
                }
            }
            [None, _] => {
                if at < 1e-3 * self.per_use {
                    0.0
                } else {
                    at / 3.0
                }
            }
        };
        ((next - at).abs() > 1e-6 * at).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::super::super::generated;
    use super::super::super::model::Model;
    use super::*;

    const NODES: usize = 11;

    /// Any flow with any prices.
    fn prices(rng: &mut SmallRng, items: &Items) -> Prices {
        let mut draw = |v: usize| if items.before[v].is_empty() { rng.random_range(0.1..1.0) } else { 0.0 };
        let begin: Vec<f64> = (0..items.len()).map(&mut draw).collect();
        let share: Vec<f64> =
            (0..items.edge_count()).map(|_| if rng.random_bool(0.6) { rng.random() } else { 0.0 }).collect();
        let price =
            (0..items.len()).map(|_| if rng.random_bool(0.5) { rng.random_range(0.0..3.0) } else { 0.0 }).collect();
        Prices::new(items, &begin, &share, price, vec![0.0; items.classes.len()])
    }

    #[test]
    fn looks_find_the_block_that_gains_most() {
        let cx = SearchContext::new();
        let mut gains = 0;
        for seed in 0..2000 {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let problem = generated::wide(rng, NODES as u64);
            let items = Items::new(&Model::new(&problem));
            let prices = prices(rng, &items);
            let sets =
                (1..1usize << NODES).map(|mask| NodeSet::from_nodes(NODES, (0..NODES).filter(|v| mask >> v & 1 == 1)));
            let blocks = sets.filter(|set| items.can_hold(0, set) && items.hull(set) == *set);
            let most = blocks.map(|set| prices.gain(&items, &Column { class: 0, set })).fold(0.0, f64::max);
            let pricing = Pricing { items: &items, prices: &prices, class: 0, target: 0.0, effort: usize::MAX };
            let looks: Vec<Look> = (0..NODES).map(|anchor| pricing.look(anchor, 0.0, &cx).unwrap()).collect();
            let bound = looks.iter().map(|look| look.bound).fold(0.0, f64::max);
            let found = looks.iter().filter_map(|look| look.best.as_ref()).map(|&(gain, _)| gain).fold(0.0, f64::max);
            assert!((bound - most).abs() < 1e-6, "seed {seed}: bound {bound}, most {most}");
            assert!((found - most).abs() < 1e-6, "seed {seed}: found {found}, most {most}");
            gains += usize::from(most > 0.0);
            // Whatever the effort, nothing gains more than the bounds.
            let hasty = Pricing { effort: 2, ..pricing };
            let bound = (0..NODES).map(|anchor| hasty.look(anchor, 0.0, &cx).unwrap().bound).fold(0.0, f64::max);
            assert!(bound > most - 1e-6, "seed {seed}: bound {bound}, most {most}");
        }
        assert!(gains > 1000, "{gains}");
    }
}
