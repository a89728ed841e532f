//! Ideals of an acyclic order graph of units, listed as they are asked for.

use std::collections::HashMap;
use std::rc::Rc;

use crate::order::Order;

/// The ideals listed so far, and those with one more unit above each.
pub struct Lattice {
    before: Vec<Vec<usize>>,
    index: HashMap<Rc<[u64]>, usize>,
    /// The units of each ideal, as bits.
    bits: Vec<Rc<[u64]>>,
    above: Vec<Option<Above>>,
}

/// The units that may join an ideal, with the ideal that results.
pub type Above = Rc<[(usize, usize)]>;

impl Lattice {
    /// The empty ideal alone, which has the number 0.
    pub fn new(order: &Order) -> Self {
        let mut before = vec![Vec::new(); order.units];
        order.edges.iter().for_each(|&(a, b)| before[b].push(a));
        let empty: Rc<[u64]> = vec![0; order.units.div_ceil(64)].into();
        Self { before, index: HashMap::from([(empty.clone(), 0)]), bits: vec![empty], above: vec![None] }
    }

    /// How many ideals are listed.
    pub fn count(&self) -> usize {
        self.bits.len()
    }

    /// The units of an ideal, as bits.
    pub fn bits(&self, ideal: usize) -> &[u64] {
        &self.bits[ideal]
    }

    /// The ideals with one more unit than one. O(units + edges) at its first call, O(1) later.
    pub fn above(&mut self, ideal: usize) -> Above {
        if let Some(above) = &self.above[ideal] {
            return above.clone();
        }
        let bits = self.bits[ideal].clone();
        let joins = |u: &usize| !holds(&bits, *u) && self.before[*u].iter().all(|&v| holds(&bits, v));
        let joining: Vec<usize> = (0..self.before.len()).filter(joins).collect();
        let above: Above = joining.into_iter().map(|u| (u, self.with(&bits, u))).collect();
        self.above[ideal] = Some(above.clone());
        above
    }

    fn with(&mut self, bits: &[u64], unit: usize) -> usize {
        let mut larger = bits.to_vec();
        larger[unit / 64] |= 1 << (unit % 64);
        let larger: Rc<[u64]> = larger.into();
        let fresh = self.bits.len();
        let found = *self.index.entry(larger.clone()).or_insert(fresh);
        if found == fresh {
            self.bits.push(larger);
            self.above.push(None);
        }
        found
    }
}

/// Whether a set of bits holds a unit.
pub fn holds(bits: &[u64], unit: usize) -> bool {
    bits[unit / 64] >> (unit % 64) & 1 == 1
}
