//! Ascents: how the bundle method along lines raises the root's bound in steps towards the best split.

use super::root::{Reach, Resolution};

/// How targets rise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ascent {
    /// The cells in which devices are priced.
    pub cells: Resolution,
    /// The most rounds for each target.
    pub rounds: usize,
    /// The first step and the least one that is worth it, as parts of the bound.
    pub steps: [f64; 2],
    /// Within this part of the best split the bound is close to it.
    pub close: f64,
}

impl Ascent {
    /// The first one in rough cells, in rounds enough for targets that are easily refuted.
    pub const FIRST: Self =
        Self { cells: Resolution::ROUGH, rounds: FEW_ROUNDS, steps: [0.01, LEAST_STEP], close: CLOSE };

    /// The last one in rough cells, in as many rounds as it takes.
    const LAST: Self = Self { rounds: usize::MAX, steps: [1.2e-3, LEAST_STEP], ..Self::FIRST };

    /// As far as cells show anything, where the linear program has had its turn.
    const TO_THE_END: [Self; 2] = [Self::FIRST.to_the_end(), Self::LAST.to_the_end()];

    /// Those before the linear program: where fine cells are many, in rough ones; where they are too many, these hide what is
    /// left, and the linear program looks more closely.
    pub fn initial(reach: Reach) -> Vec<Self> {
        match reach {
            Reach::None | Reach::Memory => Vec::new(),
            Reach::Quick => Self::in_cells(Resolution::FINE).to_vec(),
            Reach::Large(_) => Self::in_cells(Resolution::ROUGH).to_vec(),
            Reach::Rough => vec![Self { close: ROUGHLY_CLOSE, ..Self::FIRST }],
        }
    }

    /// Those after a bound that is clearly open, each with rounds that the linear program has before.
    pub fn further(reach: Reach) -> Vec<(usize, [Self; 2])> {
        match reach {
            Reach::Large(sums) => {
                let rounds = (SUMS_OF_LOOK / sums).clamp(FEWEST_OF_LOOK, MOST_OF_LOOK);
                vec![(rounds, Self::in_cells(Resolution::FINE)), (120, Self::TO_THE_END)]
            }
            _ => vec![(1, Self::in_cells(Resolution::ROUGH))],
        }
    }

    /// The first and the last one in these cells.
    pub const fn in_cells(cells: Resolution) -> [Self; 2] {
        [Self { cells, ..Self::FIRST }, Self { cells, ..Self::LAST }]
    }

    const fn to_the_end(self) -> Self {
        let [first, _] = self.steps;
        Self { cells: Resolution::MIDDLE, steps: [first, LEAST_CLOSE_STEP], close: CLEARLY_OPEN, ..self }
    }
}

/// A bound this part below the best split is close to it, and the linear program's.
pub const CLOSE: f64 = 1e-3;

/// So far from it rough cells may hide that there is nothing left.
const ROUGHLY_CLOSE: f64 = 4e-3;

/// After the bundle method, exact pricing does not close a gap of this part.
pub const CLEARLY_OPEN: f64 = 2e-4;

/// The least step that is worth it, as a part of the bound, and where the linear program has had its turn.
const LEAST_STEP: f64 = 3e-4;
const LEAST_CLOSE_STEP: f64 = 1e-4;

/// Rounds for each target of the first ascent.
const FEW_ROUNDS: usize = 40;

/// Rounds of the linear program's first look: as many as would make so many sums along lines, within these.
const SUMS_OF_LOOK: usize = 2_000_000_000;
const FEWEST_OF_LOOK: usize = 2;
const MOST_OF_LOOK: usize = 24;
