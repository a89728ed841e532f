//! What decisions have gained so far: pseudo-costs (Bénichou et al. 1971), by which the next ones are chosen.

use rustc_hash::FxHashMap;

use super::covering::Decision;

/// What it gains to decide whether two units share a device, on both sides: that they do, and that they do not.
#[derive(Debug, Clone, Default)]
pub struct Gains {
    of_pair: FxHashMap<(usize, usize), [Average; 2]>,
    /// The same of all pairs, for each unit of cost.
    of_cost: [Average; 2],
}

/// One side of a decision on two units, before it is known what it gains.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The units.
    pub pair: (usize, usize),
    /// Whether they are apart.
    pub is_apart: bool,
    /// How far the cover was from it, from 0 to 1.
    pub distance: f64,
    /// What parting them costs a device.
    pub cost: f64,
}

impl Side {
    /// What it says of the units.
    pub fn decision(&self) -> Decision {
        let (u, v) = self.pair;
        if self.is_apart { Decision::Apart(u, v) } else { Decision::Together(u, v) }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Average {
    sum: f64,
    count: f64,
}

impl Average {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl Gains {
    /// Takes up what a side has gained.
    pub fn learn(&mut self, side: &Side, gain: f64) {
        let at = usize::from(side.is_apart);
        let gain = gain.max(0.0) / side.distance;
        self.of_pair.entry(side.pair).or_default()[at].add(gain);
        self.of_cost[at].add(gain / side.cost);
    }

    /// What a side is expected to gain: as before with this pair, else as with others for what it costs.
    pub fn expected(&self, side: &Side) -> f64 {
        let at = usize::from(side.is_apart);
        let known = self.of_pair.get(&side.pair).and_then(|sides| sides[at].get());
        side.distance * known.unwrap_or_else(|| side.cost * self.of_cost[at].get().unwrap_or(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pair_gained_counts_before_what_others_did() {
        let side = |pair, is_apart| Side { pair, is_apart, distance: 0.5, cost: 2.0 };
        let mut gains = Gains::default();
        assert_eq!(gains.expected(&side((0, 1), true)), 1.0);
        gains.learn(&side((0, 1), true), 3.0);
        gains.learn(&side((0, 1), true), 5.0);
        assert_eq!(gains.expected(&side((0, 1), true)), 4.0);
        // Of others what they gain for what they cost.
        assert_eq!(gains.expected(&Side { cost: 1.0, ..side((1, 2), true) }), 2.0);
        assert_eq!(gains.expected(&side((0, 1), false)), 1.0);
        gains.learn(&side((0, 1), false), -1.0);
        assert_eq!(gains.expected(&side((0, 1), false)), 0.0);
    }
}
