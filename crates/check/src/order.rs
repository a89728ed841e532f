//! The order graph, on which contiguity is defined (`docs/format.md`, `docs/proofs.md`), and its strong components.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::decimal::sum;
use crate::instance::Instance;
use crate::question::Scope;

/// Which nodes share a device, and how these units are ordered.
pub struct Order {
    /// The unit of each node. Where units are ordered without cycles they are numbered so that no edge leads to a smaller one.
    pub unit_of: Vec<usize>,
    /// How many units there are.
    pub units: usize,
    /// The order nodes of each unit, ascending.
    pub of_unit: Vec<Vec<usize>>,
    /// Ordering edges between order nodes; each once, ascending.
    pub edges: Vec<(usize, usize)>,
}

impl Order {
    /// What splits of a scope see of an instance's order graph. For successive ideals the units of each cycle are one.
    /// O(n + m log m) where a colour class has a bounded number of forward nodes.
    pub fn new(instance: &Instance, scope: Scope) -> Self {
        let whole = Self::of_colors(instance);
        match scope {
            Scope::Arbitrary => Self { edges: Vec::new(), ..whole.joined(&(0..whole.units).collect::<Vec<_>>()) },
            Scope::Convex => whole,
            Scope::Acyclic => whole.joined(&components(whole.units, whole.between_units())),
        }
    }

    /// The order graph of an instance, its units the colour classes and the nodes without one.
    fn of_colors(instance: &Instance) -> Self {
        let nodes = &instance.nodes;
        let marks = nodes.iter().enumerate().map(|(v, node)| (node.color.is_some(), node.color.unwrap_or(v as u64)));
        let (unit_of, units) = numbered(marks);
        let mut of_unit: Vec<Vec<usize>> = vec![Vec::new(); units];
        (0..nodes.len()).filter(|&v| !nodes[v].backward).for_each(|v| of_unit[unit_of[v]].push(v));
        let is_orphan: Vec<bool> = of_unit.iter().map(Vec::is_empty).collect();
        for (v, &unit) in unit_of.iter().enumerate().rev().filter(|(_, unit)| is_orphan[**unit]) {
            of_unit[unit] = vec![v];
        }
        let mut edges = BTreeSet::new();
        for &(a, b) in &instance.edges {
            let (unit_a, unit_b) = (unit_of[a], unit_of[b]);
            let has_orphan = unit_a != unit_b && (is_orphan[unit_a] || is_orphan[unit_b]);
            match (nodes[a].backward, nodes[b].backward) {
                // An edge from a node to itself orders nothing.
                (false, false) if a != b => edges.extend([(a, b)]),
                (true, true) if has_orphan => {
                    let from = of_unit[unit_b].iter();
                    edges.extend(from.flat_map(|&u| of_unit[unit_a].iter().map(move |&v| (u, v))));
                }
                _ => {}
            }
        }
        Self { unit_of, units, of_unit, edges: edges.into_iter().collect() }
    }

    /// The edges between order nodes as edges between their units.
    pub fn between_units(&self) -> impl Iterator<Item = (usize, usize)> {
        self.edges.iter().map(|&(a, b)| (self.unit_of[a], self.unit_of[b]))
    }

    /// The same with the units of equal marks as one, and for each unit its first node as order node.
    pub fn joined(&self, marks: &[usize]) -> Self {
        let (unit_of, units) = numbered(self.unit_of.iter().map(|&unit| marks[unit]));
        let mut first = vec![0; units];
        unit_of.iter().enumerate().rev().for_each(|(v, &unit)| first[unit] = v);
        let between = self.edges.iter().map(|&(a, b)| (first[unit_of[a]], first[unit_of[b]]));
        let edges: BTreeSet<_> = between.filter(|(a, b)| a != b).collect();
        let of_unit = first.iter().map(|&v| vec![v]).collect();
        Self { units, of_unit, edges: edges.into_iter().collect(), unit_of }
    }

    /// What the nodes of each unit have together.
    pub fn sums(&self, of_nodes: impl Iterator<Item = Result<i128>>) -> Result<Vec<i128>> {
        let mut sums = vec![0; self.units];
        for (value, &unit) in of_nodes.zip(&self.unit_of) {
            sums[unit] = sum([sums[unit], value?])?;
        }
        Ok(sums)
    }
}

/// Numbers from 0 for these marks, larger ones for larger marks, and how many there are.
fn numbered<T: Ord>(marks: impl Iterator<Item = T>) -> (Vec<usize>, usize) {
    let marks: Vec<T> = marks.collect();
    let numbers: BTreeMap<&T, usize> = BTreeSet::from_iter(&marks).into_iter().zip(0..).collect();
    (marks.iter().map(|mark| numbers[mark]).collect(), numbers.len())
}

/// A number for each vertex, the same for those of one strong component: Kosaraju's two searches. Components are numbered so
/// that no edge leads to a smaller one. O(n + m).
pub fn components(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let (mut out, mut into) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (a, b) in edges {
        out[a].push(b);
        into[b].push(a);
    }
    let finished = trees(&out, 0..count).concat();
    let mut component = vec![0; count];
    for (number, tree) in trees(&into, finished.into_iter().rev()).iter().enumerate() {
        tree.iter().for_each(|&v| component[v] = number);
    }
    component
}

/// The trees of a depth-first search from these roots in turn, each as its vertices in the order in which they are left.
fn trees(after: &[Vec<usize>], roots: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut seen = vec![false; after.len()];
    let tree = |root: usize| {
        // Vertices to be entered or, where that is told, to be left.
        let (mut tree, mut open) = (Vec::new(), vec![(root, false)]);
        while let Some((v, is_left)) = open.pop() {
            if is_left {
                tree.push(v);
            } else if !std::mem::replace(&mut seen[v], true) {
                open.push((v, true));
                open.extend(after[v].iter().map(|&w| (w, false)));
            }
        }
        tree
    };
    roots.map(tree).collect()
}
