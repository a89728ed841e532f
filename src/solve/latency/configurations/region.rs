//! Sets that hold some items and lack others.

use super::items::Items;
use crate::graph::NodeSet;
use crate::problem::fits;

/// Convex sets that hold all of some items and none of others.
#[derive(Debug, Clone)]
pub struct Region {
    /// What all of them hold: a convex set.
    pub inside: NodeSet,
    /// What none of them holds.
    pub without: NodeSet,
    /// No set of the region gains more.
    pub bound: f64,
    /// The price of memory that showed it, and from which the next search goes on.
    pub pull: f64,
}

/// The items of a region that are open, and what that leaves of the order.
pub struct Zone {
    /// Items that some set of the region may hold, beside those that all hold.
    pub open: Vec<usize>,
    /// What follows the items inside, these included.
    pub below: NodeSet,
    /// What the items inside follow, these included.
    pub above: NodeSet,
}

impl Zone {
    /// What a region leaves to an accelerator of this class: items that come with no more than there is room for, and with none
    /// that the region lacks. O(items² / 64).
    pub fn new(items: &Items, class: usize, region: &Region) -> Self {
        let costs = &items.classes[class];
        let (below, above) = items.around(&region.inside);
        let held = items.memory(class, &region.inside);
        let mut without = region.without.clone();
        let mut open = Vec::new();
        let mut look = |v: usize, neighbours: &[(usize, usize)], side: &NodeSet| {
            if region.inside.contains(v) || without.contains(v) {
                return;
            }
            let comes_with = || {
                let (mut hull, mut above) = (below.clone(), above.clone());
                hull.union_with(&items.below[v]);
                above.union_with(&items.above[v]);
                hull.intersect_with(&above);
                items.memory(class, &hull)
            };
            let lacks = |&(u, _): &(usize, usize)| side.contains(u) && without.contains(u);
            let is_apart = !below.contains(v) && !above.contains(v);
            let may_be = match is_apart {
                true => fits(held + costs.memory[v], costs.memory_limit),
                false => !neighbours.iter().any(lacks) && fits(comes_with(), costs.memory_limit),
            };
            if may_be { open.push(v) } else { without.insert(v) }
        };
        for &v in items.order.iter().filter(|&&v| !above.contains(v)) {
            look(v, &items.before[v], &below);
        }
        for &v in items.order.iter().rev().filter(|&&v| above.contains(v)) {
            look(v, &items.after[v], &above);
        }
        Self { open, below, above }
    }
}
