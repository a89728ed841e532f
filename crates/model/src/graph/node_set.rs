//! Sets of nodes as bit vectors.

use bitvec::prelude::*;

use super::NodeId;

/// A set of node indices below a fixed capacity: one bit each, on [mod@bitvec], word-wise in hot loops.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSet {
    bits: BitVec<u64, Lsb0>,
}

impl NodeSet {
    /// The empty set over `capacity` nodes.
    pub fn new(capacity: usize) -> Self {
        Self { bits: bitvec![u64, Lsb0; 0; capacity] }
    }

    /// The set of all `capacity` nodes.
    pub fn full(capacity: usize) -> Self {
        Self { bits: bitvec![u64, Lsb0; 1; capacity] }
    }

    /// The set that holds `nodes`, over `capacity` nodes. Panics if one is out of range.
    pub fn from_nodes(capacity: usize, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let mut set = Self::new(capacity);
        nodes.into_iter().for_each(|v| set.insert(v));
        set
    }

    /// How many nodes the set can hold.
    pub fn capacity(&self) -> usize {
        self.bits.len()
    }

    /// How many nodes the set holds.
    pub fn len(&self) -> usize {
        self.bits.count_ones()
    }

    /// Whether the set holds no node.
    pub fn is_empty(&self) -> bool {
        self.bits.not_any()
    }

    /// Whether `v` is in the set.
    #[inline]
    pub fn contains(&self, v: NodeId) -> bool {
        self.bits[v]
    }

    /// Adds `v`.
    #[inline]
    pub fn insert(&mut self, v: NodeId) {
        self.bits.set(v, true);
    }

    /// Removes `v`.
    #[inline]
    pub fn remove(&mut self, v: NodeId) {
        self.bits.set(v, false);
    }

    /// The nodes of the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let capacity = self.capacity();
        // What the last word holds beyond the capacity is not specified.
        ones(self.words().iter().copied()).take_while(move |&v| v < capacity)
    }

    /// The set's 64-bit words, least significant bit first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.bits.as_raw_slice()
    }

    /// Whether every node of the set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        is_subset(self.words(), other.words())
    }

    /// Adds every node of `other`.
    pub fn union_with(&mut self, other: &Self) {
        self.bits.as_raw_mut_slice().iter_mut().zip(other.words()).for_each(|(a, b)| *a |= b);
    }

    /// Removes every node that `other` does not hold.
    pub fn intersect_with(&mut self, other: &Self) {
        self.bits.as_raw_mut_slice().iter_mut().zip(other.words()).for_each(|(a, b)| *a &= b);
    }

    /// The nodes of this set that `other` does not hold.
    pub fn difference(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.bits.as_raw_mut_slice().iter_mut().zip(other.words()).for_each(|(a, b)| *a &= !b);
        out
    }
}

/// Whether every bit set in `words` is set in `others`.
pub fn is_subset(words: &[u64], others: &[u64]) -> bool {
    words.iter().zip(others).all(|(own, others)| own & !others == 0)
}

/// The indices of the bits set in `words`, of which each holds 64, least significant bit first.
pub fn ones<I: Iterator<Item = u64>>(words: I) -> Ones<I> {
    Ones { words, word: 0, end: 0 }
}

/// Iterator over the bits set in words: see [`ones`].
#[derive(Debug, Clone)]
pub struct Ones<I> {
    words: I,
    /// What is left of the last word.
    word: u64,
    /// The index after the last word's bits.
    end: usize,
}

impl<I: Iterator<Item = u64>> Iterator for Ones<I> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = self.words.next()?;
            self.end += 64;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.end - 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_algebra_agrees_with_membership() {
        let a = NodeSet::from_nodes(130, [0, 63, 64, 129]);
        let b = NodeSet::from_nodes(130, [0, 64, 100]);
        assert_eq!(a.difference(&b).iter().collect::<Vec<_>>(), [63, 129]);
        assert!(!a.is_subset(&b));
        let mut c = a.clone();
        c.intersect_with(&b);
        assert_eq!(c.iter().collect::<Vec<_>>(), [0, 64]);
        assert!(c.is_subset(&a) && c.is_subset(&b));
        c.union_with(&b);
        assert_eq!((c.len(), NodeSet::full(130).len()), (3, 130));
    }
}
