//! Uncoarsening: what was joined may part again to lower communication (RaNNC 2021, section III-B).

use super::coarsening::Hierarchy;
use crate::preprocess::Reduced;
use crate::solve::heuristic::groups::{Demand, Links, Quotient};

/// Groups of units, in an order that every edge follows.
pub struct Partition {
    /// The group of each unit.
    pub group_of: Vec<usize>,
    /// The groups in order.
    pub order: Vec<usize>,
    /// What each group asks of a device.
    pub demands: Vec<Demand>,
}

/// Moves groups of each level, from the last but one down, to others of the next level: the groups of the last level.
pub fn uncoarsen(
    reduced: &Reduced,
    kind: usize,
    hierarchy: &mut Hierarchy,
    units: &[Demand],
    limits: &[Option<f64>],
    stop: &dyn Fn() -> bool,
) -> Partition {
    let last = hierarchy.parents.len();
    let mut top = View::new(reduced, units, hierarchy.groups_at(last), hierarchy.counts[last]);
    for level in (0..last).rev() {
        if stop() {
            break;
        }
        let item_of = hierarchy.groups_at(level);
        let items = members(&item_of, hierarchy.counts[level]);
        // Groups of the next level, unless it is the last one.
        let next = hierarchy.groups_at(level + 1);
        let mut middle = (level + 1 < last).then(|| View::new(reduced, units, next, hierarchy.counts[level + 1]));
        let mut pass = Pass { reduced, kind, units, limits, middle: middle.as_mut(), top: &mut top };
        for (item, to) in pass.run(&items, &item_of, &hierarchy.parents[level], hierarchy.counts[level + 1]) {
            hierarchy.parents[level][item] = to;
        }
    }
    let order = top.quotient.order().collect();
    Partition { group_of: top.group_of, order, demands: top.demands }
}

/// The groups of one level while units move between them.
struct View {
    group_of: Vec<usize>,
    quotient: Quotient,
    demands: Vec<Demand>,
    /// How many units each group holds.
    sizes: Vec<usize>,
}

impl View {
    fn new(reduced: &Reduced, units: &[Demand], group_of: Vec<usize>, count: usize) -> Self {
        let quotient = Quotient::new(&reduced.order, &group_of, count);
        let quotient = quotient.unwrap_or_else(|| unreachable!("groups stay acyclic"));
        let members = members(&group_of, count);
        let demand = |of: &Vec<usize>| Demand::sum(units, of).unwrap_or_else(|| unreachable!("no group is empty"));
        let demands = members.iter().map(demand).collect();
        let sizes = members.iter().map(Vec::len).collect();
        Self { group_of, quotient, demands, sizes }
    }

    /// Moves the units of an item to another group, unless that closes a cycle.
    fn relocate(&mut self, reduced: &Reduced, item: &Item, to: usize) -> bool {
        let from = self.group_of[item.units[0]];
        let links = Links::new(&reduced.order, item.units, |u| item.holds(u), |u| self.group_of[u]);
        if !self.quotient.relocate(&links, from, to) {
            return false;
        }
        item.units.iter().for_each(|&u| self.group_of[u] = to);
        self.demands[from] = self.demands[from].without(&item.demand);
        self.demands[to] = self.demands[to].with(&item.demand);
        self.sizes[from] -= item.units.len();
        self.sizes[to] += item.units.len();
        true
    }
}

/// A group of the level below, which moves as a whole.
struct Item<'a> {
    id: usize,
    units: &'a [usize],
    item_of: &'a [usize],
    demand: Demand,
}

impl Item<'_> {
    fn holds(&self, unit: usize) -> bool {
        self.item_of[unit] == self.id
    }
}

/// The moves of one level's groups between the groups of the next.
struct Pass<'a> {
    reduced: &'a Reduced,
    kind: usize,
    units: &'a [Demand],
    limits: &'a [Option<f64>],
    /// The groups of the next level, where it is not the last one.
    middle: Option<&'a mut View>,
    /// The groups of the last level.
    top: &'a mut View,
}

/// A group that an item may move to.
#[derive(Clone, Copy)]
struct Target {
    group: usize,
    /// One of the group's units.
    unit: usize,
    /// How much less the groups communicate then.
    gain: f64,
}

impl Pass<'_> {
    /// Tries the groups that were joined in pairs, and returns those that moved, with where to.
    fn run(
        &mut self,
        items: &[Vec<usize>],
        item_of: &[usize],
        parents: &[usize],
        groups: usize,
    ) -> Vec<(usize, usize)> {
        let pairs = members(parents, groups).into_iter().filter(|children| children.len() == 2);
        let try_item = |id: usize| {
            let units = &items[id];
            let item = Item { id, units, item_of, demand: Demand::sum(self.units, units)? };
            Some((id, self.try_item(&item)?))
        };
        pairs.flatten().filter_map(try_item).collect()
    }

    /// The groups of the next level.
    fn next(&self) -> &View {
        self.middle.as_deref().unwrap_or(self.top)
    }

    /// Moves an item to where that lowers communication most, if it may go there.
    fn try_item(&mut self, item: &Item) -> Option<usize> {
        let mut targets = self.targets(item);
        targets.retain(|target| target.gain > 0.0);
        targets.sort_unstable_by(|a, b| b.gain.total_cmp(&a.gain).then(a.group.cmp(&b.group)));
        targets.into_iter().find(|target| self.relocate(item, target)).map(|target| target.group)
    }

    /// Moves an item, unless that closes a cycle or breaks the memory of the next or of the last level, or leaves a
    /// group of the last level empty.
    fn relocate(&mut self, item: &Item, target: &Target) -> bool {
        let has_room = |view: &View, group: usize| view.demands[group].with(&item.demand).is_met(self.limits);
        let (from, to) = (self.top.group_of[item.units[0]], self.top.group_of[target.unit]);
        if from != to && (!has_room(self.top, to) || self.top.sizes[from] == item.units.len()) {
            return false;
        }
        if self.middle.as_ref().is_some_and(|middle| !has_room(middle, target.group)) {
            return false;
        }
        if from != to && !self.top.relocate(self.reduced, item, to) {
            return false;
        }
        let stays = self.middle.as_mut().is_some_and(|middle| !middle.relocate(self.reduced, item, target.group));
        if stays && from != to {
            // The groups were acyclic before, so that this cannot fail.
            self.top.relocate(self.reduced, item, from);
        }
        !stays
    }

    /// The groups beside an item.
    fn targets(&self, item: &Item) -> Vec<Target> {
        let (reduced, kind) = (self.reduced, self.kind);
        let group_of = &self.next().group_of;
        let from = group_of[item.units[0]];
        let edges = |&u: &usize| reduced.order.successors(u).iter().chain(reduced.order.predecessors(u));
        let around = item.units.iter().flat_map(edges).map(|&v| v as usize).filter(|&v| !item.holds(v));
        let beside = around.filter(|&v| group_of[v] != from);
        let mut targets: Vec<Target> = beside.map(|unit| Target { group: group_of[unit], unit, gain: 0.0 }).collect();
        targets.sort_unstable_by_key(|target| (target.group, target.unit));
        targets.dedup_by_key(|target| target.group);
        let mut nets: Vec<u32> = item.units.iter().flat_map(|&u| reduced.nets_of.row(u)).copied().collect();
        nets.sort_unstable();
        nets.dedup();
        for e in nets.into_iter().map(|e| e as usize) {
            let others = reduced.nets[e].pins.iter().map(|&p| p as usize).filter(|&p| !item.holds(p));
            let mut others: Vec<usize> = others.map(|p| group_of[p]).collect();
            others.sort_unstable();
            others.dedup();
            let time =
                |group| if others.binary_search(&group).is_ok() { reduced.kinds[kind].transfers[e] } else { 0.0 };
            targets.iter_mut().for_each(|target| target.gain += time(target.group) - time(from));
        }
        targets
    }
}

/// The members of each of `count` groups.
fn members(group_of: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); count];
    group_of.iter().enumerate().for_each(|(u, &group)| members[group].push(u));
    members
}
