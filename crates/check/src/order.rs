//! The order graph, on which contiguity is defined (`docs/format.md`, `docs/proofs.md`), and its strong components.

use std::collections::{BTreeSet, HashMap};

use crate::instance::Instance;

/// Which nodes share a device, and how these units are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let (unit_of, units) = numbered(&groups(instance));
        let mut variable_of = vec![None; nodes.len()];
        let mut unit_of_variable = Vec::new();
        let mut forward: Vec<Vec<usize>> = vec![Vec::new(); units];
        let has_forward: BTreeSet<usize> =
            (0..nodes.len()).filter(|&v| !nodes[v].backward).map(|v| unit_of[v]).collect();
        for v in 0..nodes.len() {
            let unit = unit_of[v];
            let is_stand_in = !has_forward.contains(&unit) && forward[unit].is_empty();
            if !nodes[v].backward || is_stand_in {
                variable_of[v] = Some(unit_of_variable.len());
                forward[unit].push(unit_of_variable.len());
                unit_of_variable.push(unit);
            }
        }
        let is_orphan = |v: usize| !has_forward.contains(&unit_of[v]);
        let mut edges = BTreeSet::new();
        for &(a, b) in &instance.edges {
            if !nodes[a].backward && !nodes[b].backward {
                edges.extend(variable_of[a].zip(variable_of[b]));
            } else if nodes[a].backward
                && nodes[b].backward
                && unit_of[a] != unit_of[b]
                && (is_orphan(a) || is_orphan(b))
            {
                let (after, before) = (&forward[unit_of[a]], &forward[unit_of[b]]);
                edges.extend(before.iter().flat_map(|&u| after.iter().map(move |&v| (u, v))));
            }
        }
        Self { unit_of, units, variable_of, unit_of_variable, edges: edges.into_iter().collect() }
    }

    /// The same with the units of each cycle of the units' graph as one, and one order node for each unit: what splits into
    /// successive ideals see.
    #[must_use]
    pub fn contracted(&self) -> Self {
        let between = |&(a, b): &(usize, usize)| (self.unit_of_variable[a], self.unit_of_variable[b]);
        let edges: BTreeSet<(usize, usize)> = self.edges.iter().map(between).collect();
        let component = components(self.units, &edges);
        let roots: Vec<usize> = self.unit_of.iter().map(|&unit| component[unit]).collect();
        let (unit_of, units) = numbered(&roots);
        let mut new_unit = vec![0; self.units];
        self.unit_of.iter().zip(&unit_of).for_each(|(&old, &new)| new_unit[old] = new);
        let edges: BTreeSet<(usize, usize)> =
            edges.into_iter().map(|(a, b)| (new_unit[a], new_unit[b])).filter(|(a, b)| a != b).collect();
        Self {
            variable_of: unit_of.iter().map(|&unit| Some(unit)).collect(),
            unit_of_variable: (0..units).collect(),
            edges: edges.into_iter().collect(),
            unit_of,
            units,
        }
    }

    /// The same without order: one order node for each unit.
    #[must_use]
    pub fn unordered(&self) -> Self {
        Self {
            variable_of: self.unit_of.iter().map(|&unit| Some(unit)).collect(),
            unit_of_variable: (0..self.units).collect(),
            edges: Vec::new(),
            ..self.clone()
        }
    }
}

/// A representative of each node's colour class.
fn groups(instance: &Instance) -> Vec<usize> {
    let mut first: HashMap<u64, usize> = HashMap::new();
    let of = |(v, color): (usize, Option<u64>)| color.map_or(v, |color| *first.entry(color).or_insert(v));
    instance.nodes.iter().map(|node| node.color).enumerate().map(of).collect()
}

/// Numbers from 0 for these marks, by first appearance, and how many there are.
fn numbered(marks: &[usize]) -> (Vec<usize>, usize) {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut of = |&mark: &usize| {
        let fresh = numbers.len();
        *numbers.entry(mark).or_insert(fresh)
    };
    let numbered = marks.iter().map(&mut of).collect();
    (numbered, numbers.len())
}

/// A mark of the strong component of each vertex: Kosaraju's two passes, with stacks in place of recursion. O(n + m).
fn components(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let (mut out, mut into) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for &(a, b) in edges {
        out[a].push(b);
        into[b].push(a);
    }
    let mut finished = Vec::with_capacity(count);
    let mut next = vec![0; count];
    let mut seen = vec![false; count];
    for root in 0..count {
        let mut stack = if seen[root] { Vec::new() } else { vec![root] };
        seen[root] = true;
        while let Some(&v) = stack.last() {
            match out[v].get(next[v]) {
                None => finished.extend(stack.pop()),
                Some(&w) => {
                    next[v] += 1;
                    if !std::mem::replace(&mut seen[w], true) {
                        stack.push(w);
                    }
                }
            }
        }
    }
    let mut component = vec![usize::MAX; count];
    for &root in finished.iter().rev() {
        let mut stack = vec![root];
        while let Some(v) = stack.pop() {
            if component[v] == usize::MAX {
                component[v] = root;
                stack.extend(into[v].iter().filter(|&&w| component[w] == usize::MAX));
            }
        }
    }
    component
}
