//! The inner search: all ways to fill one server, or one CPU, from a given ideal on.
//!
//! Stage by stage it collects the ideals that stages of the server reach when nothing is known of its end, with every
//! stage that leads to each. Then the end of the server fixes all loads, and a pass back from each possible end keeps
//! the best values by exact loads.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::chain::{Bits, IdealChain};
use super::enumerate::Query;
use super::loads::{SetLoads, Value, objective, worse};
use super::relaxation::Windows;
use super::search::LayeredSearch;
use super::stage::Boundary;
use crate::search::{SearchContext, Stopped};

/// A CPU stage, or the stages of a whole server.
pub struct Part {
    /// The devices used after it.
    pub used: usize,
    /// The worst value of its stages and of what came before it.
    pub value: Value,
    /// Its stages; the last ideal is that after it.
    pub stages: IdealChain,
}

/// The inner search from one ideal.
pub struct Inner<'a> {
    /// What the outer search works on.
    pub search: &'a LayeredSearch<'a>,
    /// The windows of the target.
    pub windows: &'a Windows,
    /// Limits.
    pub cx: &'a SearchContext,
    /// The ideal at which the server or CPU stage begins.
    pub start: &'a Bits,
    /// The worst value of the stages before.
    pub before: Value,
    /// The most stages to evaluate.
    pub budget: usize,
}

/// An ideal that stages of the server reach.
struct Node {
    ideal: Bits,
    /// The devices used up to it.
    used: usize,
    /// The nodes before it, each with the stage between.
    parents: Vec<(usize, usize)>,
}

/// All that stages can reach from the start.
struct Ways {
    /// Ideals inside the server; the first one is its start.
    nodes: Vec<Node>,
    /// Possible ends.
    ends: Vec<Node>,
}

/// One of the best ways to a node under exact loads.
#[derive(Clone, Copy)]
struct Entry {
    value: Value,
    /// The node before, the rank among its entries, and the stage between.
    parent: usize,
    rank: usize,
    stage: usize,
}

/// The entries of the nodes before one end.
type Entries = FxHashMap<usize, Vec<Entry>>;

impl Inner<'_> {
    /// All parts that meet the target after the devices `used`, and how many stages were evaluated. Of the parts
    /// with one end those are left that are not worse than another.
    ///
    /// # Errors
    /// [`Stopped`] when the context or the budget asks to stop.
    pub fn run(&self, used: usize) -> Result<(Vec<Part>, usize), Stopped> {
        let mut loads = ServerLoads { sets: SetLoads::new(self.search.loads), base: self, evaluated: 0 };
        let ways = self.collect(used, &mut loads)?;
        let mut parts = Vec::new();
        for end in &ways.ends {
            let start = Entry { value: self.before, parent: 0, rank: 0, stage: 0 };
            let mut known = Entries::from_iter([(0, vec![start])]);
            let entries = loads.entries(&ways, end, &end.ideal, &mut known)?;
            parts.extend(entries.into_iter().map(|entry| Part {
                used: end.used,
                value: entry.value,
                stages: trace(&ways, end, entry, &known),
            }));
            if self.cx.should_stop() {
                return Err(Stopped);
            }
        }
        Ok((parts, loads.evaluated))
    }

    /// Collects the ideals inside the server and its possible ends, by loads that the true end can only raise.
    fn collect(&self, used: usize, loads: &mut ServerLoads) -> Result<Ways, Stopped> {
        let start = Node { ideal: self.start.clone(), used, parents: vec![] };
        let mut ways = Ways { nodes: vec![start], ends: vec![] };
        let mut index: FxHashMap<(usize, Bits), usize> = FxHashMap::default();
        let mut layers = BTreeMap::from([(used, vec![0])]);
        while let Some((used, layer)) = layers.pop_first() {
            for parent in layer {
                for (to, ideal, stage) in self.successors(&ways.nodes[parent].ideal, used, loads)? {
                    let closes = self.search.enumerator.relaxation.stages[stage].upper == Boundary::Between;
                    let nodes = if closes { &mut ways.ends } else { &mut ways.nodes };
                    let node = *index.entry((to, ideal)).or_insert_with_key(|(to, ideal)| {
                        if !closes {
                            layers.entry(*to).or_default().push(nodes.len());
                        }
                        nodes.push(Node { ideal: ideal.clone(), used: *to, parents: vec![] });
                        nodes.len() - 1
                    });
                    nodes[node].parents.push((parent, stage));
                }
            }
        }
        Ok(ways)
    }

    /// The ideals that one more stage leads to, each with the use after it and the stage.
    fn successors(
        &self,
        from: &Bits,
        used: usize,
        loads: &mut ServerLoads,
    ) -> Result<Vec<(usize, Bits, usize)>, Stopped> {
        let relaxation = self.search.enumerator.relaxation;
        let mut found = Vec::new();
        for (s, &stage) in relaxation.stages.iter().enumerate() {
            let Some(to) = relaxation.consumption.add(used, stage) else { continue };
            let closes = stage.upper == Boundary::Between;
            let mut evaluate = |ideal: &Bits| {
                let end = closes.then_some(ideal);
                if ideal != from && loads.value(s, from, ideal, end).is_some() {
                    found.push((to, ideal.clone(), s));
                }
            };
            if closes {
                evaluate(&self.search.all_units());
            }
            let left = relaxation.consumption.full() - to;
            let query = Query { windows: self.windows, from, stage: s, left, most: None };
            self.search.enumerator.run(&query, self.search.max_steps(), self.cx, &mut evaluate)?;
            loads.within_budget()?;
        }
        Ok(found)
    }
}

/// Exact loads in a server, and how many were evaluated.
struct ServerLoads<'a> {
    base: &'a Inner<'a>,
    sets: SetLoads<'a>,
    evaluated: usize,
}

impl ServerLoads<'_> {
    fn within_budget(&self) -> Result<(), Stopped> {
        if self.evaluated > self.base.budget { Err(Stopped) } else { Ok(()) }
    }

    /// The value of the stage `s` between two ideals of a server with this end, if it meets the target; the least
    /// one where the end is open.
    fn value(&mut self, s: usize, from: &Bits, to: &Bits, end: Option<&Bits>) -> Option<Value> {
        self.evaluated += 1;
        let set: Bits = to.iter().zip(from).map(|(j, a)| j & !a).collect();
        let stage = self.base.search.enumerator.relaxation.stages[s];
        let value = self.sets.value_in_server(stage, &set, Some(self.base.start), end.map(|end| &end[..]))?;
        (objective(worse(value, self.base.before)) <= self.base.windows.target).then_some(value)
    }

    /// The best ways to `node` of a server that ends with the ideal `end`. Adds those to the nodes before it to
    /// `known`.
    fn entries(&mut self, ways: &Ways, node: &Node, end: &Bits, known: &mut Entries) -> Result<Vec<Entry>, Stopped> {
        let mut best: Vec<Entry> = Vec::new();
        for &(parent, stage) in &node.parents {
            let from = &ways.nodes[parent];
            let Some(value) = self.value(stage, &from.ideal, &node.ideal, Some(end)) else { continue };
            if !known.contains_key(&parent) {
                let entries = self.entries(ways, from, end, known)?;
                known.insert(parent, entries);
            }
            for (rank, entry) in known[&parent].iter().enumerate() {
                let value = worse(value, entry.value);
                if objective(value) <= self.base.windows.target {
                    put(&mut best, Entry { value, parent, rank, stage });
                }
            }
            // Nothing is better than what came before the server.
            if best.iter().any(|entry| entry.value == self.base.before) {
                break;
            }
        }
        self.within_budget()?;
        Ok(best)
    }
}

/// Adds an entry unless another is as good in both parts; drops those it is as good as.
fn put(entries: &mut Vec<Entry>, new: Entry) {
    let as_good = |a: &Value, b: &Value| a[0] <= b[0] && a[1] <= b[1];
    if !entries.iter().any(|old| as_good(&old.value, &new.value)) {
        entries.retain(|old| !as_good(&new.value, &old.value));
        entries.push(new);
    }
}

/// The stages that an entry of `end` stands for.
fn trace(ways: &Ways, end: &Node, entry: Entry, known: &Entries) -> IdealChain {
    let mut stages = vec![(end.ideal.clone(), entry.stage)];
    let (mut node, mut rank) = (entry.parent, entry.rank);
    while node > 0 {
        let entry = known[&node][rank];
        stages.push((ways.nodes[node].ideal.clone(), entry.stage));
        (node, rank) = (entry.parent, entry.rank);
    }
    stages.reverse();
    stages
}
