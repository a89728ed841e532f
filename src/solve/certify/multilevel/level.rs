//! One level of the hierarchy: a hypergraph whose vertices stand for sets of units.
//!
//! What a device must not exceed is a vector of *rows*, each linear in the vertices that it holds and in the nets that
//! it cuts: one row per piece of a load (per pass under GPipe), and one for memory and support. The search knows
//! nothing else of costs.

use crate::graph::Csr;
use crate::preprocess::{Reduced, joint};
use crate::problem::most_bytes;
use crate::problem::{Objective, Problem};
use crate::solve::dp::loads::Value;

use super::super::Setting;

/// What a net needs in the inner loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelNet {
    /// How many vertices it touches.
    pub size: u32,
    /// The vertex that sends.
    pub source: u32,
}

/// What a net costs a device that it leaves or enters, by row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut<const R: usize> {
    /// Where the device receives.
    pub inward: [f64; R],
    /// Where the device sends.
    pub outward: [f64; R],
}

/// A hypergraph with costs by device kind and row.
#[derive(Debug, Clone)]
pub struct Level<const R: usize> {
    /// How many vertices there are.
    pub vertex_count: usize,
    /// The nets, each of at least two vertices.
    pub nets: Vec<LevelNet>,
    /// The vertices of each net.
    pub pins: Csr,
    /// The nets of each vertex.
    pub nets_of: Csr,
    /// Rows of vertex v on kind i: `weights[i · vertex_count + v]`.
    pub weights: Vec<[f64; R]>,
    /// Rows of net e on kind i: `cuts[i · nets.len() + e]`.
    pub cuts: Vec<Cut<R>>,
    /// Whether kind i can run vertex v: `is_supported[i · vertex_count + v]`.
    pub is_supported: Vec<bool>,
    /// Whether a device pays the same for sending and receiving, so that sources do not matter.
    pub is_symmetric: bool,
}

/// The meaning of the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows {
    /// Rows of one pass: the most pieces of a kind.
    pub pieces: usize,
    /// Passes whose loads are bounded each by itself: two under GPipe, else one.
    pub passes: usize,
    /// Whether a last row bounds memory and support, and what it must not exceed.
    pub capacity: Option<f64>,
}

/// Memory over its limit beyond which a vertex counts as unsupported.
const TOO_MUCH: f64 = 2.0;

impl Rows {
    /// The rows that `problem` needs.
    pub fn new(problem: &Problem, units: &Reduced) -> Self {
        let pieces = units.kinds.iter().map(|kind| kind.pieces.len()).max().unwrap_or(1);
        let passes = if problem.spec.objective == Objective::GPipe { 2 } else { 1 };
        let is_free = units.memory_is_slack() && units.kinds.iter().all(|kind| kind.times.iter().all(Option::is_some));
        // Memory is measured so that a full device weighs about as much as a busy one.
        let work = units.kinds.iter().flat_map(|kind| kind.times.iter().flatten()).map(|time| time.total());
        let devices: usize = units.kinds.iter().map(|kind| kind.count.min(units.unit_count())).sum();
        let busy = work.sum::<f64>() / (devices * units.kinds.len()).max(1) as f64;
        Self { pieces, passes, capacity: (!is_free).then_some(if busy > 0.0 { busy } else { 1.0 }) }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.pieces * self.passes + usize::from(self.capacity.is_some())
    }

    /// The value of a device whose rows these are.
    #[inline]
    pub fn value(&self, rows: &[f64]) -> Value {
        let pass = |p: usize| rows[p * self.pieces..(p + 1) * self.pieces].iter().copied().fold(0.0, f64::max);
        [pass(0), if self.passes == 2 { pass(1) } else { 0.0 }]
    }

    /// The limits of the rows under a target value.
    pub fn limits<const R: usize>(&self, target: Value) -> [f64; R] {
        let mut limits = [f64::MAX; R];
        for (pass, limits) in limits[..self.pieces * self.passes].chunks_mut(self.pieces).enumerate() {
            limits.fill(target[pass]);
        }
        if let Some(capacity) = self.capacity {
            limits[self.pieces * self.passes] = most_bytes(capacity);
        }
        limits
    }
}

impl<const R: usize> Level<R> {
    /// The finest level: one vertex per unit.
    pub fn finest(setting: &Setting, rows: &Rows) -> Self {
        let units = &setting.unordered.units;
        let n = units.unit_count();
        let mut weights = Vec::with_capacity(n * units.kinds.len());
        let mut cuts = Vec::with_capacity(units.nets.len() * units.kinds.len());
        let mut is_supported = Vec::with_capacity(weights.capacity());
        for kind in &units.kinds {
            let fills = |u: usize| match kind.memory_limit {
                Some(limit) if kind.memory[u] > 0.0 => (kind.memory[u] / limit).min(TOO_MUCH),
                _ => 0.0,
            };
            for u in 0..n {
                let mut weight = [0.0; R];
                let terms = kind.terms(u);
                if let Some(terms) = &terms {
                    for (row, w) in weight[..rows.pieces * rows.passes].iter_mut().enumerate() {
                        if let Some(piece) = kind.pieces.get(row % rows.pieces) {
                            let of_pass = if rows.passes == 2 { terms[row / rows.pieces] } else { joint(terms) };
                            *w = piece.value(&of_pass);
                        }
                    }
                }
                if let Some(capacity) = rows.capacity {
                    weight[rows.count() - 1] = capacity * if terms.is_some() { fills(u) } else { TOO_MUCH };
                }
                weights.push(weight);
                is_supported.push(terms.is_some() && fills(u) <= 1.0 + 1e-9);
            }
            for (net, &transfer) in units.nets.iter().zip(&kind.transfers) {
                let mut cut = Cut { inward: [0.0; R], outward: [0.0; R] };
                let pass = if rows.passes == 2 { usize::from(net.backward) } else { 0 };
                for (i, piece) in kind.pieces.iter().enumerate() {
                    cut.inward[pass * rows.pieces + i] = piece.comm_in * transfer;
                    cut.outward[pass * rows.pieces + i] = piece.comm_out * transfer;
                }
                cuts.push(cut);
            }
        }
        let is_symmetric = cuts.iter().all(|cut: &Cut<R>| cut.inward == cut.outward);
        let nets = units.nets.iter().map(|net| (net.pins.as_slice(), net.source)).collect();
        Self::assemble(n, nets, weights, cuts, is_supported, is_symmetric)
    }

    /// Joins the vertices of equal label; labels are `0..count`. O(pins · log pins).
    pub fn contract(&self, label: &[u32], count: usize) -> Self {
        let kinds = self.weights.len() / self.vertex_count.max(1);
        let mut weights = vec![[0.0; R]; kinds * count];
        let mut is_supported = vec![true; kinds * count];
        for kind in 0..kinds {
            for (v, &l) in label.iter().enumerate() {
                add(&mut weights[kind * count + l as usize], &self.weights[kind * self.vertex_count + v]);
                is_supported[kind * count + l as usize] &= self.is_supported[kind * self.vertex_count + v];
            }
        }
        let mut nets: Vec<(Vec<u32>, u32, usize)> = Vec::with_capacity(self.nets.len());
        for (e, net) in self.nets.iter().enumerate() {
            let mut pins: Vec<u32> = self.pins.row(e).iter().map(|&v| label[v as usize]).collect();
            pins.sort_unstable();
            pins.dedup();
            if pins.len() > 1 {
                let source = if self.is_symmetric { pins[0] } else { label[net.source as usize] };
                nets.push((pins, source, e));
            }
        }
        nets.sort_unstable();
        let is_new = |i: usize| i == 0 || (&nets[i].0, nets[i].1) != (&nets[i - 1].0, nets[i - 1].1);
        let firsts: Vec<usize> = (0..nets.len()).filter(|&i| is_new(i)).collect();
        let mut cuts = vec![Cut { inward: [0.0; R], outward: [0.0; R] }; kinds * firsts.len()];
        for kind in 0..kinds {
            let mut merged = (kind * firsts.len()).wrapping_sub(1);
            for (i, (_, _, e)) in nets.iter().enumerate() {
                if is_new(i) {
                    merged = merged.wrapping_add(1);
                }
                let cut = &self.cuts[kind * self.nets.len() + e];
                add(&mut cuts[merged].inward, &cut.inward);
                add(&mut cuts[merged].outward, &cut.outward);
            }
        }
        let nets = firsts.iter().map(|&i| (nets[i].0.as_slice(), nets[i].1)).collect();
        Self::assemble(count, nets, weights, cuts, is_supported, self.is_symmetric)
    }

    fn assemble(
        vertex_count: usize,
        nets: Vec<(&[u32], u32)>,
        weights: Vec<[f64; R]>,
        cuts: Vec<Cut<R>>,
        is_supported: Vec<bool>,
        is_symmetric: bool,
    ) -> Self {
        let touches = || nets.iter().enumerate().flat_map(|(e, (pins, _))| pins.iter().map(move |&v| (e, v as usize)));
        Self {
            vertex_count,
            pins: Csr::new(nets.len(), touches()),
            nets_of: Csr::new(vertex_count, touches().map(|(e, v)| (v, e))),
            nets: nets.iter().map(|&(pins, source)| LevelNet { size: pins.len() as u32, source }).collect(),
            weights,
            cuts,
            is_supported,
            is_symmetric,
        }
    }
}

/// Adds the rows of `more` to `sum`.
#[inline]
pub fn add<const R: usize>(sum: &mut [f64; R], more: &[f64; R]) {
    sum.iter_mut().zip(more).for_each(|(s, m)| *s += m);
}

/// Takes the rows of `less` from `sum`.
#[inline]
pub fn subtract<const R: usize>(sum: &mut [f64; R], less: &[f64; R]) {
    sum.iter_mut().zip(less).for_each(|(s, l)| *s -= l);
}
