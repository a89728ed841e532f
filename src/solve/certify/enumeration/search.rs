//! The exact cover: each unit is in the set of some device, or left to the one that holds the rest.

use super::super::assignment::Assignment;
use super::rest::{Held, Rest};
use super::{Candidate, Query};
use crate::search::SEARCH_TOLERANCE;
use crate::small_set::Set;
use crate::solve::SearchContext;

/// A search for ever better splits.
pub struct Search<'a, const W: usize> {
    query: &'a Query<'a>,
    /// Those that fall short least first.
    candidates: Vec<Candidate<W>>,
    /// What all sets of a split fall short by together.
    missing: f64,
    rest: Rest<W>,
    all: Set<W>,
    /// How many devices of each kind have no set yet, but for the one that holds the rest.
    left: Vec<usize>,
    /// The candidates chosen so far.
    chosen: Vec<u32>,
    /// Those that may still be chosen, for all nodes on the way to the current one.
    open: Vec<u32>,
    /// How many nodes it may still visit.
    nodes: usize,
    /// Nodes since the last look at the clock.
    looks: usize,
    upper: f64,
    /// The most load of a set in a better split.
    most: f64,
    best: Option<Assignment>,
}

/// A node of the search.
#[derive(Clone, Copy)]
struct Node<const W: usize> {
    /// The units of sets, and those that the rest is known to hold.
    taken: Set<W>,
    held: Held,
    /// What the sets chosen fall short by.
    missing: f64,
    /// The largest load of these sets.
    load: f64,
    /// Where its candidates begin.
    first: usize,
}

/// A limit came before the end of a search.
struct Limit;

impl<'a, const W: usize> Search<'a, W> {
    /// A search of the splits whose sets are among `candidates` and fall short by no more than `missing` together.
    pub fn new(query: &'a Query<'a>, candidates: Vec<Candidate<W>>, missing: f64, rest: Rest<W>) -> Self {
        let kinds = 0..query.devices.counts.len();
        Self {
            query,
            candidates,
            missing,
            all: (0..query.profit.len()).collect(),
            left: kinds.map(|kind| rest.others(query.devices, kind)).collect(),
            rest,
            chosen: Vec::new(),
            open: Vec::new(),
            nodes: 0,
            looks: 0,
            upper: query.upper,
            most: f64::INFINITY,
            best: None,
        }
    }

    /// Searches to the end, or to so many nodes; whether it ended. A node counts once more for each [`ENTRIES`] that it looks at.
    pub fn run(&mut self, most_nodes: usize, cx: &SearchContext) -> bool {
        self.open = (0..self.candidates.len() as u32).collect();
        self.nodes = most_nodes;
        let root = Node { taken: Set::EMPTY, held: Held::default(), missing: 0.0, load: 0.0, first: 0 };
        self.visit(root, cx).is_ok()
    }

    /// The best split found.
    pub fn into_best(self) -> Option<Assignment> {
        self.best
    }

    fn visit(&mut self, node: Node<W>, cx: &SearchContext) -> Result<(), Limit> {
        let end = self.open.len();
        self.count(end - node.first, cx)?;
        let left = self.all.minus(&node.taken);
        self.leave(&left, node.held);
        if left.is_empty() || node.first == end {
            return Ok(());
        }
        let unit = self.unit_of_fewest(&left, node.first);
        for at in node.first..end {
            let number = self.open[at];
            let Candidate { kind, units, missing, load } = self.candidates[number as usize];
            // Splits found since may be better than all that are left here.
            if node.load > self.most {
                return Ok(());
            }
            if load > self.most || !units.contains(unit) {
                continue;
            }
            let next = Node {
                taken: node.taken | units,
                missing: node.missing + missing,
                load: node.load.max(load),
                first: end,
                ..node
            };
            self.chosen.push(number);
            self.left[kind] -= 1;
            if self.left.iter().all(|&left| left == 0) {
                self.leave(&self.all.minus(&next.taken), next.held);
            } else {
                self.descend(next, (node.first, end), cx)?;
            }
            self.left[kind] += 1;
            self.chosen.pop();
        }
        if let Some(held) = self.rest.with(node.held, unit) {
            let next = Node { taken: node.taken | Set::only(unit), held, first: end, ..node };
            self.descend(next, (node.first, end), cx)?;
        }
        Ok(())
    }

    /// Visits a node whose candidates are among those of its parent.
    fn descend(&mut self, node: Node<W>, (first, end): (usize, usize), cx: &SearchContext) -> Result<(), Limit> {
        let free = self.missing - node.missing - self.rest.missing(&node.taken, node.held);
        if free < 0.0 {
            return Ok(());
        }
        for at in first..end {
            let candidate = &self.candidates[self.open[at] as usize];
            if candidate.missing > free {
                break;
            }
            let is_free = !candidate.units.meets(&node.taken) && self.left[candidate.kind] > 0;
            if is_free && candidate.load <= self.most && self.is_useful(&node, candidate) {
                self.open.push(self.open[at]);
            }
        }
        self.visit(node, cx)?;
        self.open.truncate(end);
        Ok(())
    }

    /// Counts a node that looks at so many candidates.
    fn count(&mut self, entries: usize, cx: &SearchContext) -> Result<(), Limit> {
        self.nodes = self.nodes.checked_sub(1 + entries / ENTRIES).ok_or(Limit)?;
        self.looks += 1;
        if self.looks.is_multiple_of(NODES_PER_LOOK) && cx.should_stop() { Err(Limit) } else { Ok(()) }
    }

    fn is_useful(&self, node: &Node<W>, candidate: &Candidate<W>) -> bool {
        let rest = self.rest.missing(&(node.taken | candidate.units), node.held);
        node.missing + candidate.missing + rest <= self.missing
    }

    /// Of the units that are left, one that the fewest candidates hold, as far as some of these show.
    fn unit_of_fewest(&self, left: &Set<W>, first: usize) -> usize {
        let open = &self.open[first..];
        let mut counts = [[0u32; 64]; W];
        for &number in open.iter().step_by(open.len() / SAMPLE + 1) {
            self.candidates[number as usize].units.iter().for_each(|u| counts[u / 64][u % 64] += 1);
        }
        let options = |&u: &usize| counts[u / 64][u % 64] + u32::from(self.rest.can_hold.contains(u));
        left.iter().min_by_key(options).unwrap_or_default()
    }

    /// Leaves these units to the rest, where that makes a better split.
    fn leave(&mut self, left: &Set<W>, held: Held) {
        if !self.rest.has_time(left, held) {
            return;
        }
        let Some(split) = self.split() else { return };
        if let Some(value) = self.query.devices.setting().objective(&split).filter(|&value| value < self.upper) {
            (self.upper, self.most) = (value, value * (1.0 - SEARCH_TOLERANCE));
            self.best = Some(split);
        }
    }

    /// The split of the sets chosen, with all other units on the device that holds the rest.
    fn split(&self) -> Option<Assignment> {
        let kind_of = &self.query.devices.setting().kind_of;
        let mut free: Vec<bool> = vec![true; kind_of.len()];
        let mut take = |kind: usize| {
            let device = (0..free.len()).find(|&d| free[d] && kind_of[d] == kind)?;
            free[device] = false;
            Some(device as u32)
        };
        let rest = self.rest.kind.and_then(&mut take).unwrap_or_default();
        let mut device_of = vec![rest; self.query.profit.len()];
        for &number in &self.chosen {
            let candidate = &self.candidates[number as usize];
            let device = take(candidate.kind)?;
            candidate.units.iter().for_each(|u| device_of[u] = device);
        }
        Some(Assignment { device_of })
    }
}

/// How many candidates tell which unit is in the fewest.
const SAMPLE: usize = 512;

/// Candidates that it takes as long to look at as to visit a node.
const ENTRIES: usize = 256;

/// Nodes from one look at the clock to the next.
const NODES_PER_LOOK: usize = 256;
