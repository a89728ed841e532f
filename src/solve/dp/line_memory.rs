//! Bytes that the intervals of one order keep for the edges that they cut.

use crate::preprocess::Boundary;
use crate::search::{SearchContext, Stopped};

/// What each position of an order cuts.
///
/// The interval [i, j) cuts what i cuts and what j cuts, but for the edges that pass over it, which both count.
pub struct LineMemory {
    /// Bytes of the edges open at each position.
    cut: Vec<f64>,
    /// The edges open at each position: the position that each ends at, ascending, and its bytes.
    open: Vec<Vec<(u32, f64)>>,
}

/// Positions between two looks at the memory left.
const PATIENCE: usize = 256;

/// The intervals from one position, to be asked for by ascending end.
pub struct Intervals<'a> {
    cut: &'a [f64],
    start: usize,
    /// The edges that pass over the interval so far, and their bytes.
    over: &'a [(u32, f64)],
    bytes_over: f64,
}

impl LineMemory {
    /// Prepares `order`. O(n + Σ edges open at each position).
    ///
    /// # Errors
    /// [`Stopped`] where memory is too little for that.
    pub fn new(boundary: &Boundary, order: &[usize], cx: &SearchContext) -> Result<Self, Stopped> {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i);
        let mut open: Vec<Vec<(u32, f64)>> = Vec::with_capacity(order.len() + 1);
        let mut edges: Vec<(u32, f64)> = Vec::new();
        for i in 0..=order.len() {
            if i.is_multiple_of(PATIENCE) && !cx.admits(PATIENCE * size_of_val(&edges[..])) {
                return Err(Stopped);
            }
            open.push(edges.clone());
            let Some(&u) = order.get(i) else { break };
            edges.retain(|&(end, _)| end as usize != i);
            let ends = boundary.of(u).iter().map(|&(v, bytes)| (position[v as usize] as u32, bytes));
            edges.extend(ends.filter(|&(end, _)| end as usize > i));
            edges.sort_unstable_by_key(|&(end, _)| end);
        }
        let cut = open.iter().map(|edges| edges.iter().map(|&(_, bytes)| bytes).sum()).collect();
        Ok(Self { cut, open })
    }

    /// The intervals from position `start`.
    pub fn from(&self, start: usize) -> Intervals<'_> {
        Intervals { cut: &self.cut, start, over: &self.open[start], bytes_over: self.cut[start] }
    }
}

impl Intervals<'_> {
    /// Bytes of the edges that the interval up to `end` cuts.
    pub fn up_to(&mut self, end: usize) -> f64 {
        while let Some((&(ended, bytes), rest)) = self.over.split_first()
            && (ended as usize) < end
        {
            self.over = rest;
            self.bytes_over -= bytes;
        }
        (self.cut[self.start] + self.cut[end] - 2.0 * self.bytes_over).max(0.0)
    }
}
