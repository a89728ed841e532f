//! All ideals of a graph, each with those that hold one unit more.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::chain::Bits;
use super::loads::contains;
use crate::graph::{Graph, reachability};
use crate::search::{SearchContext, Stopped};

/// The ideals of an order, numbered by their size: the first is empty, the last holds all units.
pub struct Lattice {
    words: usize,
    /// The ideals, one after another.
    bits: Vec<u64>,
    /// Where each ideal's row of `above` begins; one entry more than there are ideals.
    starts: Vec<u32>,
    /// For each ideal the units that may join it, each with the ideal that this makes.
    above: Vec<(u32, u32)>,
}

/// Ideals made between two looks at the limits.
const IDEALS_PER_LOOK: usize = 1 << 10;

impl Lattice {
    /// The ideals of `order`; `None` where there are more than `most`. O(ideals · (width · words + degree)).
    ///
    /// # Errors
    /// A limit came first.
    pub fn new(order: &Graph, most: usize, cx: &SearchContext) -> Result<Option<Self>, Stopped> {
        let n = order.node_count();
        let words = n.div_ceil(64).max(1);
        let mut lattice = Self { words, bits: vec![0; words], starts: vec![0], above: Vec::new() };
        let mut ready: Vec<Vec<u32>> =
            vec![(0..n).filter(|&u| order.predecessors(u).is_empty()).map(|u| u as u32).collect()];
        let mut first = 0;
        for _ in 0..n {
            // Ideals of one size, by their units.
            let mut next: FxHashMap<Bits, u32> = FxHashMap::default();
            let mut next_ready = Vec::new();
            let last = first + ready.len();
            for (ideal, joining) in (first..last).zip(&ready) {
                if ideal.is_multiple_of(IDEALS_PER_LOOK) && cx.should_stop() {
                    return Err(Stopped);
                }
                for &u in joining {
                    let mut larger: Bits = lattice.bits(ideal).into();
                    larger[u as usize / 64] |= 1 << (u % 64);
                    let number = (last + next_ready.len()) as u32;
                    let known = *next.entry(larger).or_insert_with_key(|larger| {
                        lattice.bits.extend_from_slice(larger);
                        next_ready.push(ready_after(order, joining, u, larger));
                        number
                    });
                    lattice.above.push((u, known));
                }
                lattice.starts.push(lattice.above.len() as u32);
                if last + next_ready.len() > most {
                    return Ok(None);
                }
            }
            (first, ready) = (last, next_ready);
        }
        lattice.starts.push(lattice.above.len() as u32);
        Ok(Some(lattice))
    }

    /// Lists the units that may join an ideal by what comes after them, most of it first, each unit with its share: to bar
    /// these units leaves least to the others. O(n·m/64 + ideals · width · log(width)).
    pub fn heaviest_first(&mut self, order: &Graph, shares: &[f64]) {
        let after: Vec<f64> =
            reachability::descendants(order).iter().map(|after| after.iter().map(|v| shares[v]).sum()).collect();
        let weight = |unit: u32| after[unit as usize] + shares[unit as usize];
        for ideal in 0..self.count() {
            let row = self.range_above(ideal);
            self.above[row].sort_by(|&(u, _), &(v, _)| weight(v).total_cmp(&weight(u)).then(u.cmp(&v)));
        }
    }

    /// How many ideals there are.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The units of an ideal, as words of a bit set.
    pub fn bits(&self, ideal: usize) -> &[u64] {
        &self.bits[ideal * self.words..(ideal + 1) * self.words]
    }

    /// The units that may join an ideal, each with the ideal that this makes.
    pub fn above(&self, ideal: usize) -> &[(u32, u32)] {
        &self.above[self.range_above(ideal)]
    }

    /// Where the units that may join an ideal lie among those of all ideals.
    pub fn range_above(&self, ideal: usize) -> Range<usize> {
        self.starts[ideal] as usize..self.starts[ideal + 1] as usize
    }

    /// The first ideal of each number of units, and at the end how many ideals there are. O(ideals · width).
    pub fn levels(&self) -> Vec<usize> {
        let (mut levels, mut next) = (vec![0], 1);
        while next < self.count() {
            let last = levels[levels.len() - 1]..next;
            levels.push(next);
            let largest = last.flat_map(|ideal| self.above(ideal)).map(|&(_, larger)| larger as usize + 1).max();
            next = largest.unwrap_or(self.count());
        }
        levels.push(next);
        levels
    }

    /// How many 64-bit words an ideal takes.
    pub fn words(&self) -> usize {
        self.words
    }
}

/// The units that may join an ideal once `u` has, where those `joining` might before.
fn ready_after(order: &Graph, joining: &[u32], u: u32, ideal: &[u64]) -> Vec<u32> {
    let is_ready = |v: &&u32| order.predecessors(**v as usize).iter().all(|&p| contains(ideal, p as usize));
    let others = joining.iter().filter(|&&v| v != u);
    others.chain(order.successors(u as usize).iter().filter(is_ready)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideals_are_counted_once_each() {
        let two_chains = Graph::new(6, &[(0, 2), (2, 4), (1, 3), (3, 5)]).unwrap();
        let lattice = Lattice::new(&two_chains, 16, &SearchContext::new()).unwrap().expect("16 ideals");
        assert_eq!(lattice.count(), 16);
        assert_eq!((lattice.bits(0), lattice.bits(15)), (&[0][..], &[0b11_1111][..]));
        assert_eq!(lattice.above(0), [(0, 1), (1, 2)]);
        assert_eq!(lattice.above(15), []);
        for ideal in 0..16 {
            for &(u, larger) in lattice.above(ideal) {
                assert_eq!(lattice.bits(ideal)[0] | 1 << u, lattice.bits(larger as usize)[0]);
            }
        }
        assert!(Lattice::new(&two_chains, 15, &SearchContext::new()).unwrap().is_none());
    }

    #[test]
    fn no_units_make_one_ideal() {
        let lattice = Lattice::new(&Graph::new(0, &[]).unwrap(), 1, &SearchContext::new()).unwrap().unwrap();
        assert_eq!((lattice.count(), lattice.above(0)), (1, &[][..]));
    }
}
