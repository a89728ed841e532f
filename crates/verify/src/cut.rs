//! Cuts the nodes of each accelerator into subgraphs where a split does not say.
//!
//! Alone, an accelerator needs as many subgraphs as the most times that one path enters its set, and they are the
//! nodes at which such a path enters it for the same time: this is the published cut of non-contiguous splits, and it
//! leaves contiguous sets whole. Several accelerators may then still wait for each other. So the split is run, and
//! where no accelerator can start all of its next subgraph, the first that can start anything runs what it can.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::split::{Split, Subgraphs};
use dagsplit_model::problem::DeviceKind;

/// The subgraphs of each device, at most `allowed` each. O(devices · allowed · (n + m) · log n).
pub(super) fn into_subgraphs(split: &Split, allowed: usize) -> Result<Vec<Subgraphs>, Violation> {
    let mut cut = Cut::new(split);
    while cut.left > 0 {
        let Some((device, nodes)) = cut.next() else {
            unreachable!("some node of an acyclic graph is always ready");
        };
        cut.run(&nodes);
        cut.found[device].push(nodes.into_iter().collect());
        if cut.found[device].len() > allowed {
            return Err(Violation::TooManySubgraphs { device, allowed });
        }
    }
    Ok(cut.found)
}

/// A split that has run in part.
struct Cut<'a> {
    split: &'a Split<'a>,
    successors: Vec<Vec<usize>>,
    /// How many of the edges into each node have not carried their data yet.
    missing: Vec<usize>,
    /// How many nodes of accelerators have not run.
    left: usize,
    /// What each accelerator still has to run: the subgraphs that it would need alone.
    waiting: Vec<Vec<BTreeSet<usize>>>,
    found: Vec<Subgraphs>,
}

impl<'a> Cut<'a> {
    fn new(split: &'a Split<'a>) -> Self {
        let n = split.device_of.len();
        let mut successors = vec![Vec::new(); n];
        let mut missing = vec![0; n];
        for &(u, v) in &split.edges {
            successors[u].push(v);
            missing[v] += 1;
        }
        let waiting = alone(split, &successors, missing.clone());
        let on_cpus: Vec<usize> = (0..n).filter(|&v| is_on_cpu(split, v)).collect();
        let found = vec![Vec::new(); split.devices.len()];
        let mut cut = Self { split, successors, missing, left: n - on_cpus.len(), waiting, found };
        let ready: Vec<usize> = on_cpus.into_iter().filter(|&v| cut.missing[v] == 0).collect();
        cut.pass_on(ready);
        cut
    }

    /// The accelerator to run next, and its nodes.
    fn next(&self) -> Option<(usize, BTreeSet<usize>)> {
        let whole = self.waiting.iter().enumerate().find_map(|(device, stages)| {
            let stage = stages.first()?;
            (self.ready_part(stage).len() == stage.len()).then(|| (device, stage.clone()))
        });
        whole.or_else(|| {
            self.waiting.iter().enumerate().find_map(|(device, stages)| {
                let ready = self.ready_part(&stages.iter().flatten().copied().collect());
                (!ready.is_empty()).then_some((device, ready))
            })
        })
    }

    /// What of `nodes` can run without anything else that has not run yet.
    fn ready_part(&self, nodes: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut missing: BTreeMap<usize, usize> = nodes.iter().map(|&v| (v, self.missing[v])).collect();
        let mut ready = BTreeSet::new();
        let mut stack: Vec<usize> = nodes.iter().copied().filter(|&v| self.missing[v] == 0).collect();
        while let Some(u) = stack.pop() {
            ready.insert(u);
            for v in &self.successors[u] {
                if let Some(missing) = missing.get_mut(v) {
                    *missing -= 1;
                    if *missing == 0 {
                        stack.push(*v);
                    }
                }
            }
        }
        ready
    }

    /// Runs nodes of one accelerator, then all that CPUs can.
    fn run(&mut self, nodes: &BTreeSet<usize>) {
        self.left -= nodes.len();
        for stages in &mut self.waiting {
            stages.iter_mut().for_each(|stage| stage.retain(|v| !nodes.contains(v)));
            stages.retain(|stage| !stage.is_empty());
        }
        self.pass_on(nodes.iter().copied().collect());
    }

    /// Hands the data of nodes that have run to their consumers, and runs those on CPUs that have all of theirs.
    fn pass_on(&mut self, mut done: Vec<usize>) {
        while let Some(u) = done.pop() {
            for &v in &self.successors[u] {
                self.missing[v] -= 1;
                if self.missing[v] == 0 && is_on_cpu(self.split, v) {
                    done.push(v);
                }
            }
        }
    }
}

fn is_on_cpu(split: &Split, v: usize) -> bool {
    split.devices[split.device_of[v]].kind == DeviceKind::Cpu
}

/// The fewest contiguous subgraphs of each accelerator, in their order, where nothing else is asked.
fn alone(split: &Split, successors: &[Vec<usize>], missing: Vec<usize>) -> Vec<Vec<BTreeSet<usize>>> {
    let order = topological_order(successors, missing);
    let cut = |(device, nodes): (usize, Vec<usize>)| {
        // How many times at most a path to each node has entered the device's set.
        let mut entries = vec![0; order.len()];
        nodes.iter().for_each(|&v| entries[v] = 1);
        let is_inside = |v: usize| split.device_of[v] == device;
        for &u in &order {
            for &v in &successors[u] {
                let enters = usize::from(is_inside(v) && !is_inside(u));
                entries[v] = entries[v].max(entries[u] + enters);
            }
        }
        let mut stages: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for v in nodes {
            stages.entry(entries[v]).or_default().insert(v);
        }
        stages.into_values().collect()
    };
    split.on_accelerators().into_iter().enumerate().map(cut).collect()
}

fn topological_order(successors: &[Vec<usize>], mut missing: Vec<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..missing.len()).filter(|&v| missing[v] == 0).collect();
    let mut next = 0;
    while let Some(&u) = order.get(next) {
        next += 1;
        for &v in &successors[u] {
            missing[v] -= 1;
            if missing[v] == 0 {
                order.push(v);
            }
        }
    }
    order
}
