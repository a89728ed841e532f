//! Contiguity, on the order graph that the [module](super) describes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{CycleStep, Part, Violation, split::Split};
use dagsplit_model::graph::{CycleError, Graph};
use dagsplit_model::problem::Scope;

/// The order graph on the instance's node indices: the first node of an orphan is its stand-in.
pub(super) struct Order {
    /// The nodes that take part: forward nodes and stand-ins.
    pub nodes: Vec<usize>,
    pub successors: Vec<Vec<usize>>,
}

/// Everything that keeps the split out of its scope.
pub(super) fn violations(split: &Split) -> Vec<Violation> {
    let order = order_graph(split);
    match &split.spec.scope {
        Scope::Arbitrary => Vec::new(),
        Scope::Convex => not_convex(split, &order),
        Scope::Acyclic => cycles(split, &order),
        Scope::Linearized(line) => {
            let mut found = cycles(split, &order);
            found.extend(not_intervals(split, &order, line));
            found
        }
    }
}

pub(super) fn order_graph(split: &Split) -> Order {
    let nodes = &split.instance.nodes;
    let mut first_of_color: BTreeMap<u64, usize> = BTreeMap::new();
    let mut leader = Vec::with_capacity(nodes.len());
    let mut stand_ins: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (v, node) in nodes.iter().enumerate() {
        let first = node.color_class.map_or(v, |color| *first_of_color.entry(color).or_insert(v));
        leader.push(first);
        if !node.backward {
            stand_ins[first].push(v);
        }
    }
    let orphan: Vec<bool> = (0..nodes.len()).map(|v| stand_ins[leader[v]].is_empty()).collect();
    let is_stand_in = |v: usize| orphan[v] && leader[v] == v;
    for v in (0..nodes.len()).filter(|&v| is_stand_in(v)) {
        stand_ins[v].push(v);
    }

    let mut successors: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes.len()];
    for &(a, b) in &split.edges {
        if !nodes[a].backward && !nodes[b].backward {
            successors[a].insert(b);
        } else if nodes[a].backward && nodes[b].backward && leader[a] != leader[b] && (orphan[a] || orphan[b]) {
            for &u in &stand_ins[leader[b]] {
                successors[u].extend(&stand_ins[leader[a]]);
            }
        }
    }
    Order {
        nodes: (0..nodes.len()).filter(|&v| !nodes[v].backward || is_stand_in(v)).collect(),
        successors: successors.into_iter().map(Vec::from_iter).collect(),
    }
}

fn not_convex(split: &Split, order: &Order) -> Vec<Violation> {
    let paths = split.used().filter_map(|(device, _)| {
        let path = escaping_path(order, &|v| split.device_of[v] == device)?;
        Some(Violation::NotConvex { device, path: path.into_iter().map(|v| split.id(v)).collect() })
    });
    paths.collect()
}

/// A shortest path that leaves the nodes `inside` and returns to them: breadth-first over the nodes elsewhere.
pub(super) fn escaping_path(order: &Order, inside: &dyn Fn(usize) -> bool) -> Option<Vec<usize>> {
    let mut parent: Vec<Option<usize>> = vec![None; order.successors.len()];
    let mut queue: VecDeque<usize> = order.nodes.iter().copied().filter(|&v| inside(v)).collect();
    while let Some(u) = queue.pop_front() {
        for &v in &order.successors[u] {
            if inside(v) && !inside(u) {
                let mut path: Vec<usize> = std::iter::successors(Some(u), |&w| parent[w]).collect();
                path.reverse();
                path.push(v);
                return Some(path);
            }
            if !inside(v) && parent[v].is_none() {
                parent[v] = Some(u);
                queue.push_back(v);
            }
        }
    }
    None
}

fn cycles(split: &Split, order: &Order) -> Vec<Violation> {
    let mut found: Vec<Violation> = quotient_cycle(split, order, Part::Device).into_iter().collect();
    if split.spec.interconnect.is_some() {
        let server_or_cpu = |d| split.server(d).map_or(Part::Device(d), Part::Server);
        found.extend(quotient_cycle(split, order, server_or_cpu));
    }
    found
}

/// A cycle of the order graph's quotient by `part_of` a device.
fn quotient_cycle(split: &Split, order: &Order, part_of: impl Fn(usize) -> Part) -> Option<Violation> {
    let part_of_node = |v: usize| part_of(split.device_of[v]);
    let parts: Vec<Part> = BTreeSet::from_iter(order.nodes.iter().map(|&v| part_of_node(v))).into_iter().collect();
    let index: BTreeMap<Part, usize> = parts.iter().copied().zip(0..).collect();
    let mut witnesses: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    for &u in &order.nodes {
        for &v in &order.successors[u] {
            let (from, to) = (index[&part_of_node(u)], index[&part_of_node(v)]);
            if from != to {
                witnesses.entry((from, to)).or_insert((u, v));
            }
        }
    }
    let edges: Vec<(usize, usize)> = witnesses.keys().copied().collect();
    let CycleError(cycle) = Graph::new(parts.len(), &edges).err()?;
    let steps = cycle.iter().enumerate().map(|(i, &from)| {
        let (u, v) = witnesses[&(from, cycle[(i + 1) % cycle.len()])];
        CycleStep { part: parts[from], edge: (split.id(u), split.id(v)) }
    });
    Some(Violation::Cyclic { steps: steps.collect() })
}

/// Devices whose nodes are interrupted by another's in the order `line`.
fn not_intervals(split: &Split, order: &Order, line: &[usize]) -> Vec<Violation> {
    let takes_part: BTreeSet<usize> = order.nodes.iter().copied().collect();
    let line: Vec<usize> = line.iter().copied().filter(|v| takes_part.contains(v)).collect();
    let mut last_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut found: BTreeMap<usize, Violation> = BTreeMap::new();
    for (i, &v) in line.iter().enumerate() {
        let device = split.device_of[v];
        if let Some(last) = last_of.insert(device, i).filter(|&last| last + 1 < i) {
            let ends = (split.id(line[last]), split.id(v));
            let between = split.id(line[last + 1]);
            found.entry(device).or_insert(Violation::NotAnInterval { device, ends, between });
        }
    }
    found.into_values().collect()
}
