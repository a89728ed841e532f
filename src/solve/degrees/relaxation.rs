//! What the relaxation of a stage's knapsack says by how many nodes it has of each kind.
//!
//! The walk of the relaxation along the classes' hulls ([`knapsack`](super::knapsack)) is over kinds of nodes here, in one order for
//! all stages of the same degrees and microbatches in flight.

use rustc_hash::FxHashMap;

use super::kinds::Amounts;
use super::knapsack::{Bounds, Item, Step, hull, steps};
use super::model::Model;
use crate::search::SearchContext;
use crate::solve::dp::lattice::Lattice;

/// Sums of floats are within this part of what they stand for.
const ROUNDING: f64 = 1e-12;

/// Tables are made for so many kinds and working memories of a shape at most, one times the other.
const MOST_ROOMS: usize = 1 << 12;

/// Numbers of nodes of each kind are kept for so many sets at most, one times the other.
const MOST_COUNTS: usize = 1 << 24;

/// Tables beyond so many are made anew.
const MOST_TABLES: usize = 1 << 10;

/// What stages take at least, and mostly at most, by kinds.
pub struct Relaxed<'a> {
    model: &'a Model<'a>,
    counts: &'a [u32],
    /// By shape, data degree and microbatches in flight.
    tables: FxHashMap<(usize, usize, usize), Table>,
}

/// The options of all kinds at some degrees and microbatches in flight.
struct Table {
    /// The least working memory of each kind.
    least: Vec<f64>,
    /// One for each working memory, ascending.
    rooms: Vec<Room>,
}

/// The options that need at most some working memory.
struct Room {
    working: f64,
    /// Whether a kind has an option that needs just that.
    has: Vec<bool>,
    /// The option of each kind that takes the least time.
    first: Vec<Item>,
    /// From one option to the next along each kind's hull, those that save memory at the least cost first.
    steps: Vec<Step>,
}

/// How many nodes of each kind each set of a lattice has, one set after the other; `None` where there are too many kinds or sets
/// for tables. O(kinds · sets + edges of the lattice).
pub fn counts(model: &Model, lattice: &Lattice, cx: &SearchContext) -> Option<Vec<u32>> {
    let kinds = model.kinds.options.len();
    let rooms = |shape: usize| workings(model, shape).len();
    let most = (0..model.shapes.len()).map(rooms).max().unwrap_or(0);
    let size = kinds * lattice.count();
    if kinds * most > MOST_ROOMS || size > MOST_COUNTS || !cx.admits(size * size_of::<u32>()) {
        return None;
    }
    let (mut counts, mut is_counted) = (vec![0; size], vec![false; lattice.count()]);
    for set in 0..lattice.count() {
        for &(unit, larger) in lattice.above(set) {
            let larger = larger as usize;
            if !std::mem::replace(&mut is_counted[larger], true) {
                counts.copy_within(set * kinds..(set + 1) * kinds, larger * kinds);
                model.members[unit as usize].iter().for_each(|&v| counts[larger * kinds + model.kinds.of_node[v]] += 1);
            }
        }
    }
    Some(counts)
}

/// The working memories that options of a shape need, ascending.
fn workings(model: &Model, shape: usize) -> Vec<f64> {
    let options = model.kinds.options.iter().flat_map(|of_shape| &of_shape[shape]);
    let mut workings: Vec<f64> = options.map(|option| option.working).collect();
    workings.sort_by(f64::total_cmp);
    workings.dedup();
    workings
}

impl<'a> Relaxed<'a> {
    /// For stages between sets with these [`counts`].
    pub fn new(model: &'a Model<'a>, counts: &'a [u32]) -> Self {
        Self { model, counts, tables: FxHashMap::default() }
    }

    /// Bounds on the least time of a stage between two sets, of this shape and data degree and with so many microbatches in
    /// flight, that has this `base` whatever its options are. O(kinds · working memories).
    pub fn bounds(&mut self, sets: (u32, u32), key: (usize, usize, usize), base: f64) -> Bounds {
        let model = self.model;
        let kinds = model.kinds.options.len();
        if self.tables.len() >= MOST_TABLES {
            self.tables.clear();
        }
        let table = self.tables.entry(key).or_insert_with(|| Table::new(model, key));
        let of = |set: u32| &self.counts[set as usize * kinds..][..kinds];
        let count = |kind: usize| of(sets.1)[kind] - of(sets.0)[kind];
        let present: Vec<(usize, f64)> =
            (0..kinds).filter(|&kind| count(kind) > 0).map(|kind| (kind, f64::from(count(kind)))).collect();
        let needed = present.iter().map(|&(kind, _)| table.least[kind]).fold(0.0, f64::max);
        let memory = model.shapes[key.0].memory;
        let may = |room: &&Room| {
            let is_needed = || present.iter().any(|&(kind, _)| room.has[kind]);
            needed <= room.working && room.working <= memory && is_needed()
        };
        let all = table.rooms.iter().filter(may).map(|room| room.bounds(&present, count, memory - room.working));
        let best = all.fold(Bounds::INFEASIBLE, |best, bounds| best.or(&bounds));
        Bounds { lower: best.lower + base, upper: best.upper + base }
    }
}

impl Table {
    fn new(model: &Model, (shape, data, in_flight): (usize, usize, usize)) -> Self {
        let options = || model.kinds.options.iter().map(|of_shape| &of_shape[shape]);
        let least = |own: &Vec<Amounts>| own.iter().map(|option| option.working).fold(f64::INFINITY, f64::min);
        let item = |option: &Amounts| Item {
            value: model.time(option.compute, 0.0, option.parameters, data),
            weight: option.bytes.of(in_flight, data),
        };
        let room = |working: f64| {
            let within = |own: &Vec<Amounts>| own.iter().filter(|o| o.working <= working).map(item).collect();
            let items: Vec<Vec<Item>> = options().map(within).collect();
            let has = options().map(|own| own.iter().any(|option| option.working == working)).collect();
            Room::new(working, has, &items)
        };
        Self { least: options().map(least).collect(), rooms: workings(model, shape).into_iter().map(room).collect() }
    }
}

impl Room {
    fn new(working: f64, has: Vec<bool>, items: &[Vec<Item>]) -> Self {
        let none = Item { value: f64::INFINITY, weight: 0.0 };
        let (mut first, mut all) = (Vec::with_capacity(items.len()), Vec::new());
        for (kind, items) in items.iter().enumerate() {
            let hull = hull(items);
            first.push(hull.first().map_or(none, |&item| items[item]));
            all.extend(steps(kind, items, &hull));
        }
        all.sort_by(|a, b| a.slope.total_cmp(&b.slope));
        Self { working, has, first, steps: all }
    }

    /// What nodes of these kinds take within `capacity`: the relaxation, and the same with its last step taken by whole nodes.
    fn bounds(&self, present: &[(usize, f64)], count: impl Fn(usize) -> u32, capacity: f64) -> Bounds {
        let sum = |amount: fn(&Item) -> f64| -> f64 {
            present.iter().map(|&(kind, count)| count * amount(&self.first[kind])).sum()
        };
        let (mut value, mut weight) = (sum(|item| item.value), sum(|item| item.weight));
        if capacity.is_infinite() {
            return Bounds { lower: value, upper: value };
        }
        // What the sums have lost makes neither bound too good.
        let lost = ROUNDING * weight.max(capacity);
        for step in &self.steps {
            if weight <= capacity - lost {
                break;
            }
            let nodes = f64::from(count(step.class));
            let least = ((weight - capacity - lost) / step.saved).max(0.0);
            if least <= nodes {
                let whole = ((weight - capacity + lost) / step.saved).ceil();
                let upper = if whole <= nodes { value + whole * step.costs } else { f64::INFINITY };
                return Bounds { lower: value + least * step.costs, upper };
            }
            value += nodes * step.costs;
            weight -= nodes * step.saved;
        }
        match weight {
            weight if weight <= capacity - lost => Bounds { lower: value, upper: value },
            weight if weight <= capacity + lost => Bounds { lower: value, upper: f64::INFINITY },
            _ => Bounds::INFEASIBLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::knapsack;
    use super::*;

    proptest! {
        #[test]
        fn kinds_say_what_their_nodes_do(
            kinds in vec((vec((0_u8..20, 0_u8..20), 1..4), 0_u32..5), 1..5),
            capacity in 0_u8..120,
        ) {
            let capacity = f64::from(capacity);
            let item = |&(value, weight): &(u8, u8)| Item { value: value.into(), weight: weight.into() };
            let items: Vec<Vec<Item>> = kinds.iter().map(|(items, _)| items.iter().map(item).collect()).collect();
            let counts: Vec<u32> = kinds.iter().map(|&(_, count)| count).collect();
            let nodes = (0..items.len()).flat_map(|kind| vec![items[kind].clone(); counts[kind] as usize]);
            let classes: Vec<Vec<Item>> = nodes.collect();
            let least = knapsack::solve(&classes, capacity, f64::INFINITY, true, &SearchContext::new()).unwrap().bounds;
            let present: Vec<(usize, f64)> =
                (0..items.len()).filter(|&kind| counts[kind] > 0).map(|kind| (kind, counts[kind].into())).collect();
            let bounds = Room::new(0.0, Vec::new(), &items).bounds(&present, |kind| counts[kind], capacity);
            prop_assert_eq!(bounds.lower.is_infinite(), least.lower.is_infinite());
            if least.upper.is_finite() {
                prop_assert!(bounds.lower <= least.upper + 1e-9, "{bounds:?} {least:?}");
                prop_assert!(least.lower <= bounds.upper + 1e-9, "{bounds:?} {least:?}");
                // One node alone takes its next option in part.
                prop_assert!(bounds.upper.is_infinite() || bounds.upper - bounds.lower <= 20.0, "{bounds:?}");
            }
        }
    }
}
