//! Walks from the best split towards a target, along splits that may be above it.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::super::assignment::Assignment;
use super::super::pricing::Tables;
use super::pairs::{Pairs, Wish};

/// One walk after another.
pub struct Walker {
    tables: Tables,
    rng: Xoshiro256PlusPlus,
    walk: Option<Walk>,
    /// By how much the target of the next walk is below the best split, relative to it.
    step: f64,
}

struct Walk {
    target: f64,
    split: Assignment,
    /// By how much all devices together are above the target.
    excess: f64,
    /// Moves tried.
    moves: usize,
}

impl Walker {
    /// A walker of this number.
    pub fn new(seed: u64, number: usize) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ ((number as u64) << 32));
        Self { tables: Tables::default(), rng, walk: None, step: LONGEST_STEP / (1 << number.min(3)) as f64 }
    }

    /// Ends the walk, as the next one starts from another split, where long steps are likely to succeed.
    pub fn begin_line(&mut self) {
        (self.walk, self.step) = (None, LONGEST_STEP);
    }

    /// Tries one move; the split that ends the walk below its target, with its largest load.
    pub fn advance(
        &mut self,
        pairs: &Pairs,
        (value, best): (f64, &Assignment),
        bound: f64,
    ) -> Option<(f64, Assignment)> {
        let mut walk = match self.walk.take().filter(|walk| walk.target < value) {
            Some(walk) => walk,
            None => self.begin(pairs, (value, best), bound)?,
        };
        let devices = self.choose(pairs, &walk)?;
        let noise = if self.rng.random_range(0..3) == 0 { 0.0 } else { NOISE * walk.target * self.rng.random::<f64>() };
        let heat = HEAT * walk.target * (1.0 - walk.moves as f64 / MOST_MOVES as f64);
        walk.moves += 1;
        let wish = Wish { devices, target: walk.target, noise };
        if let Some((split, excess)) = pairs.split(&walk.split, wish, &mut self.tables, &mut self.rng)
            && self.rng.random::<f64>() < ((walk.excess - excess) / heat).exp()
        {
            if excess <= 0.0 {
                self.step = (self.step * LENGTHENING).min(LONGEST_STEP);
                let value = pairs.loads(&split)?.into_iter().fold(0.0, f64::max);
                return Some((value, split));
            }
            (walk.split, walk.excess) = (split, excess);
        }
        if walk.moves < MOST_MOVES {
            self.walk = Some(walk);
        } else {
            self.step = if self.step > SHORTEST_STEP { self.step * SHORTENING } else { LONGEST_STEP };
        }
        None
    }

    /// A walk from the best split.
    fn begin(&self, pairs: &Pairs, (value, best): (f64, &Assignment), bound: f64) -> Option<Walk> {
        let target = (value * (1.0 - self.step)).max(0.5 * (value + bound));
        Some(Walk { target, split: best.clone(), excess: pairs.excess(best, target)?, moves: 0 })
    }

    /// Two devices: the second is the one of most load in half of all cases.
    fn choose(&mut self, pairs: &Pairs, walk: &Walk) -> Option<(usize, usize)> {
        let loads = pairs.loads(&walk.split)?;
        let longest = (0..loads.len()).max_by(|&a, &b| loads[a].total_cmp(&loads[b]))?;
        let second = if self.rng.random::<bool>() { longest } else { self.rng.random_range(0..loads.len()) };
        let first = (second + self.rng.random_range(1..loads.len())) % loads.len();
        Some((first, second))
    }
}

/// The steps of walks: longer after a walk that met its target, shorter after one that did not, and from anew when they
/// are as short as they get.
const LONGEST_STEP: f64 = 1e-3;
const SHORTEST_STEP: f64 = 2e-4;
const LENGTHENING: f64 = 1.5;
const SHORTENING: f64 = 0.5;

/// Moves of a walk.
const MOST_MOVES: usize = 300;

/// The first temperature of a walk, relative to its target.
const HEAT: f64 = 6e-4;

/// By how much the consumption of a move is blurred at most, relative to the target, lest the same devices be split alike
/// every time.
const NOISE: f64 = 5e-4;
