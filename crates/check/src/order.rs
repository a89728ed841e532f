//! The order graph, on which contiguity is defined (`docs/format.md`, `docs/proofs.md`), and its strong components.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::Result;
use crate::decimal::sum;
use crate::instance::Instance;

/// Which nodes share a device, and how these units are ordered.
pub struct Order {
    /// The unit of each node. Units are numbered by their first node.
    pub unit_of: Vec<usize>,
    /// How many units there are.
    pub units: usize,
    /// The order node that stands for a node: its own where it is a forward node, its group's where that is an orphan.
    pub variable_of: Vec<Option<usize>>,
    /// The unit of each order node.
    pub unit_of_variable: Vec<usize>,
    /// Ordering edges between order nodes; each once, ascending.
    pub edges: Vec<(usize, usize)>,
}

impl Order {
    /// The order graph of an instance, its units the colour classes and the nodes without one. O(n + m log m) where a class
    /// has a bounded number of forward nodes.
    pub fn new(instance: &Instance) -> Self {
        let nodes = &instance.nodes;
        let marks = nodes.iter().enumerate().map(|(v, node)| (node.color.is_some(), node.color.unwrap_or(v as u64)));
        let (unit_of, units) = numbered(marks);
        let mut has_forward = vec![false; units];
        nodes.iter().zip(&unit_of).for_each(|(node, &unit)| has_forward[unit] |= !node.backward);
        let mut variable_of = vec![None; nodes.len()];
        let mut unit_of_variable = Vec::new();
        let mut variables: Vec<Vec<usize>> = vec![Vec::new(); units];
        for (v, &unit) in unit_of.iter().enumerate() {
            let is_stand_in = !has_forward[unit] && variables[unit].is_empty();
            if !nodes[v].backward || is_stand_in {
                variable_of[v] = Some(unit_of_variable.len());
                variables[unit].push(unit_of_variable.len());
                unit_of_variable.push(unit);
            }
        }
        let mut edges = BTreeSet::new();
        for &(a, b) in &instance.edges {
            let (unit_a, unit_b) = (unit_of[a], unit_of[b]);
            let has_orphan = unit_a != unit_b && !(has_forward[unit_a] && has_forward[unit_b]);
            match (nodes[a].backward, nodes[b].backward) {
                (false, false) => edges.extend(variable_of[a].zip(variable_of[b])),
                (true, true) if has_orphan => {
                    let from = variables[unit_b].iter();
                    edges.extend(from.flat_map(|&u| variables[unit_a].iter().map(move |&v| (u, v))));
                }
                _ => {}
            }
        }
        Self { unit_of, units, variable_of, unit_of_variable, edges: edges.into_iter().collect() }
    }

    /// The same with the units of each cycle of the units' graph as one, and one order node for each unit: what splits into
    /// successive ideals see.
    pub fn contracted(&self) -> Self {
        let between = |&(a, b): &(usize, usize)| (self.unit_of_variable[a], self.unit_of_variable[b]);
        self.joined(&components(self.units, self.edges.iter().map(between)))
    }

    /// The same without order: one order node for each unit.
    pub fn unordered(&self) -> Self {
        Self { edges: Vec::new(), ..self.joined(&(0..self.units).collect::<Vec<_>>()) }
    }

    /// The same with the units of equal marks as one, and one order node for each unit.
    pub fn joined(&self, marks: &[usize]) -> Self {
        let (unit_of, units) = numbered(self.unit_of.iter().map(|&unit| marks[unit]));
        let mut new_unit = vec![0; self.units];
        self.unit_of.iter().zip(&unit_of).for_each(|(&old, &new)| new_unit[old] = new);
        let new = |variable: usize| new_unit[self.unit_of_variable[variable]];
        let edges: BTreeSet<_> = self.edges.iter().map(|&(a, b)| (new(a), new(b))).filter(|(a, b)| a != b).collect();
        let variable_of = unit_of.iter().map(|&unit| Some(unit)).collect();
        Self { unit_of, units, variable_of, unit_of_variable: (0..units).collect(), edges: edges.into_iter().collect() }
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

/// Numbers from 0 for these marks, by first appearance, and how many there are.
fn numbered<T: Eq + Hash>(marks: impl Iterator<Item = T>) -> (Vec<usize>, usize) {
    let mut numbers: HashMap<T, usize> = HashMap::new();
    let number = |mark| {
        let fresh = numbers.len();
        *numbers.entry(mark).or_insert(fresh)
    };
    let numbered = marks.map(number).collect();
    (numbered, numbers.len())
}

/// A number for each vertex, the same for those of one strong component: Kosaraju's two searches. O(n + m).
pub fn components(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let (mut out, mut into) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (a, b) in edges {
        out[a].push(b);
        into[b].push(a);
    }
    let finished: Vec<usize> = trees(&out, 0..count).concat();
    let mut component = vec![0; count];
    for (number, tree) in trees(&into, finished.into_iter().rev()).into_iter().enumerate() {
        tree.into_iter().for_each(|v| component[v] = number);
    }
    component
}

/// The trees of a depth-first search from these roots in turn, each as its vertices in the order in which they are left.
fn trees(after: &[Vec<usize>], roots: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut seen = vec![false; after.len()];
    let mut next = vec![0; after.len()];
    let mut trees = Vec::new();
    for root in roots {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let (mut tree, mut path) = (Vec::new(), vec![root]);
        while let Some(&v) = path.last() {
            match after[v].get(next[v]) {
                None => tree.extend(path.pop()),
                Some(&w) => {
                    next[v] += 1;
                    if !std::mem::replace(&mut seen[w], true) {
                        path.push(w);
                    }
                }
            }
        }
        trees.push(tree);
    }
    trees
}
