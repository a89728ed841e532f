//! Small sets of units.

/// A set of up to 64 · W units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    /// No unit.
    pub const NONE: Self = Self([0; W]);

    /// Whether this holds the unit.
    pub fn has(&self, unit: usize) -> bool {
        self.0[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// What either holds.
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|w| self.0[w] | other.0[w]))
    }

    /// What this holds and not the other.
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|w| self.0[w] & !other.0[w]))
    }

    /// Whether both hold some unit.
    pub fn meets(&self, other: &Self) -> bool {
        (0..W).fold(0, |both, w| both | self.0[w] & other.0[w]) != 0
    }

    /// Whether this holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; W]
    }

    /// The units, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<W> {
        let words = self.0;
        (0..W).flat_map(move |w| {
            let mut word = words[w];
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(w * 64 + bit)
            })
        })
    }
}

impl<const W: usize> FromIterator<usize> for Bits<W> {
    fn from_iter<I: IntoIterator<Item = usize>>(units: I) -> Self {
        let mut words = [0; W];
        units.into_iter().for_each(|u| words[u / 64] |= 1 << (u % 64));
        Self(words)
    }
}
