//! The bytes that devices of one kind keep for what passes between them, where memory depends on what a split cuts.

use std::collections::BTreeMap;

use crate::cost::KindCost;
use crate::graph::Graph;

/// For each unit the units that it shares edges with, and the bytes of those edges. Without entries where memory is
/// the units' own alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Boundary {
    rows: Vec<Vec<(u32, f64)>>,
}

impl Boundary {
    /// The bytes between the `units` of `graph`, of which node v lies in `unit_of[v]`. O(n + m log m).
    pub(super) fn new(graph: &Graph, costs: &KindCost, unit_of: &[usize], units: usize) -> Self {
        if costs.boundary.iter().all(|&bytes| bytes == 0.0) {
            return Self::default();
        }
        let mut rows = vec![BTreeMap::new(); units];
        let mut any = false;
        for (u, v) in graph.edges() {
            let (a, b, bytes) = (unit_of[u], unit_of[v], costs.boundary_bytes(u));
            if a != b && bytes > 0.0 {
                *rows[a].entry(b as u32).or_insert(0.0) += bytes;
                *rows[b].entry(a as u32).or_insert(0.0) += bytes;
                any = true;
            }
        }
        let rows = if any { rows.into_iter().map(|row| row.into_iter().collect()).collect() } else { Vec::new() };
        Self { rows }
    }

    /// Whether no boundary takes memory.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The units that unit `u` shares edges with, ascending, each with the bytes of these edges.
    #[inline]
    pub fn of(&self, u: usize) -> &[(u32, f64)] {
        self.rows.get(u).map_or(&[], Vec::as_slice)
    }

    /// How many bytes more a set's boundary takes once `u` joins it.
    #[inline]
    pub fn added(&self, u: usize, is_inside: impl Fn(usize) -> bool) -> f64 {
        self.of(u).iter().map(|&(v, bytes)| if is_inside(v as usize) { -bytes } else { bytes }).sum()
    }

    /// The bytes of all edges: no boundary takes more.
    pub fn total(&self) -> f64 {
        self.rows.iter().flatten().map(|&(_, bytes)| bytes).sum::<f64>() / 2.0
    }
}
