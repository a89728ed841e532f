//! The flow across an ideal.

/// The flow across an ideal: what enters each unit outside from inside.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    /// The units with some, as words of bits.
    words: Vec<u64>,
    /// What enters each of them.
    flow: Vec<f64>,
}

impl Crossing {
    /// Forgets all; there are so many units.
    pub fn clear(&mut self, units: usize) {
        self.words.clear();
        self.words.resize(units.div_ceil(64), 0);
        self.flow.resize(units, 0.0);
    }

    /// Adds what enters a unit.
    pub fn add(&mut self, unit: usize, flow: f64) {
        let (word, bit) = (&mut self.words[unit / 64], 1 << (unit % 64));
        self.flow[unit] = if *word & bit == 0 { flow } else { self.flow[unit] + flow };
        *word |= bit;
    }

    /// What enters the units of a set that is given as words of bits.
    #[inline]
    pub fn entering(&self, set: &[u64]) -> f64 {
        let mut sum = 0.0;
        for (w, (crossing, set)) in self.words.iter().zip(set).enumerate() {
            let mut rest = crossing & set;
            while rest != 0 {
                sum += self.flow[w * 64 + rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
        }
        sum
    }
}
