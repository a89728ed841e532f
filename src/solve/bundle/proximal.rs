//! The master of a bundle method: the profits that sets known so far allow, near a center.
//!
//! Let F̂(π) = Σ π − Σ_d n_d · max π(S) over the known sets S of kind d. The program max F̂(π) − Σ_u (π_u − c_u)² / 2m_u has a
//! dual over weights x ≥ 0 of the sets, those of a kind d summing up to n_d: π = c + m · (1 − Σ_S x_S · S), and sets of
//! weight have the largest profit of their kind. Weights are exchanged between the two sets of a kind that break this
//! most, as in the sequential minimal optimization of support vector machines (Platt 1998; Fan, Chen and Lin 2005).

/// The dual program. Sets have numbers, the first ones being the empty sets of all kinds in their order; what is known of them
/// lies in arrays, which every exchange goes through.
pub struct Proximal {
    counts: Vec<f64>,
    /// By how much a unit's profit follows, relative to the others.
    scale: Vec<f64>,
    /// The kind of each set.
    kinds: Vec<usize>,
    /// The units of each set.
    sets: Vec<Vec<usize>>,
    weights: Vec<f64>,
    /// The profit of each set at the present solution.
    profits: Vec<f64>,
    /// What the scales of the units shared by two sets sum up to.
    shared: Vec<Vec<f64>>,
}

/// A solution: profits, and what the known sets say of them.
pub struct Proposal {
    /// Profit of each unit.
    pub profit: Vec<f64>,
    /// F̂, which is at least F.
    pub surplus: f64,
}

impl Proximal {
    /// No set known yet but the empty ones, which hold all weight.
    pub fn new(counts: &[usize], scale: Vec<f64>) -> Self {
        let counts: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let (kinds, sets, weights, profits, shared) = Default::default();
        let mut master = Self { counts, scale, kinds, sets, weights, profits, shared };
        for kind in 0..master.counts.len() {
            master.add(kind, &[]);
            master.weights[kind] = master.counts[kind];
        }
        master
    }

    /// F̂ at these profits.
    pub fn surplus(&self, profit: &[f64]) -> f64 {
        let mut most = vec![0.0f64; self.counts.len()];
        for (&kind, set) in self.kinds.iter().zip(&self.sets) {
            most[kind] = most[kind].max(set.iter().map(|&u| profit[u]).sum());
        }
        profit.iter().sum::<f64>() - most.iter().zip(&self.counts).map(|(most, count)| most * count).sum::<f64>()
    }

    /// Takes up a set of units, ascending. O(sets · units) where it is new.
    pub fn add(&mut self, kind: usize, units: &[usize]) {
        if self.kinds.iter().zip(&self.sets).any(|(&known, set)| known == kind && set == units) {
            return;
        }
        let mut inside = vec![0.0; self.scale.len()];
        units.iter().for_each(|&u| inside[u] = self.scale[u]);
        let with = |other: &[usize]| other.iter().map(|&u| inside[u]).sum::<f64>();
        let mut row: Vec<f64> = self.sets.iter().map(|set| with(set)).collect();
        row.push(with(units));
        self.shared.iter_mut().zip(&row).for_each(|(shared, &sum)| shared.push(sum));
        self.shared.push(row);
        self.weights.push(0.0);
        self.kinds.push(kind);
        self.sets.push(units.to_vec());
        self.profits.push(0.0);
    }

    /// The sets of weight, each with its kind and weight.
    pub fn cover(&self) -> impl Iterator<Item = (usize, &[usize], f64)> {
        let sets = self.kinds.iter().zip(&self.sets).zip(&self.weights);
        sets.filter(|(_, weight)| **weight > 0.0).map(|((&kind, set), &weight)| (kind, set.as_slice(), weight))
    }

    /// Solves the program at `center`, whose F is `surplus`, with m = `step` · scale: as exactly as what is to be gained
    /// asks for. Forgets sets that are of no use.
    pub fn solve(&mut self, (center, surplus): (&[f64], f64), step: f64) -> Proposal {
        self.forget();
        self.evaluate(&self.profit(center, step));
        let tolerance = TOLERANCE * center.iter().sum::<f64>();
        let mut held: Vec<usize> = (0..self.sets.len()).filter(|&i| self.weights[i] > 0.0).collect();
        for number in 1..=MOST_EXCHANGES {
            if number % EXCHANGES_PER_LOOK == 0 {
                let proposal = self.proposal(center, step);
                if self.gap(&held) <= INEXACTNESS * (proposal.surplus - surplus) {
                    return proposal;
                }
            }
            let Some((up, down)) = self.worst_pair(&held, step, tolerance) else { break };
            let curvature = step * self.distance(up, down);
            let amount = ((self.profits[up] - self.profits[down]) / curvature).min(self.weights[down]);
            if self.weights[up] == 0.0 {
                held.push(up);
            }
            self.weights[up] += amount;
            self.weights[down] -= amount;
            if self.weights[down] == 0.0 {
                held.retain(|&i| i != down);
            }
            let change = step * amount;
            for (profit, (a, b)) in self.profits.iter_mut().zip(self.shared[up].iter().zip(&self.shared[down])) {
                *profit -= change * (a - b);
            }
        }
        self.proposal(center, step)
    }

    /// What the weights propose. Notes the profits of all sets anew.
    fn proposal(&mut self, center: &[f64], step: f64) -> Proposal {
        let profit = self.profit(center, step);
        self.evaluate(&profit);
        Proposal { surplus: profit.iter().sum::<f64>() - self.most(), profit }
    }

    /// The most that all devices can earn with the known sets.
    fn most(&self) -> f64 {
        (0..self.counts.len()).map(|kind| self.counts[kind] * self.largest(kind)).sum()
    }

    /// By how much the value of the weights exceeds that of the profits that belong to them.
    fn gap(&self, held: &[usize]) -> f64 {
        self.most() - held.iter().map(|&i| self.weights[i] * self.profits[i]).sum::<f64>()
    }

    /// The profits that belong to the weights.
    fn profit(&self, center: &[f64], step: f64) -> Vec<f64> {
        let mut uncovered = vec![1.0; center.len()];
        for (units, &weight) in self.sets.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0) {
            units.iter().for_each(|&u| uncovered[u] -= weight);
        }
        center.iter().zip(uncovered.iter().zip(&self.scale)).map(|(c, (g, scale))| c + step * scale * g).collect()
    }

    /// Notes the profits of all sets.
    fn evaluate(&mut self, profit: &[f64]) {
        let earned = |units: &Vec<usize>| units.iter().map(|&u| profit[u]).sum();
        self.profits = self.sets.iter().map(earned).collect();
    }

    /// The set of a kind that earns most.
    fn most_profitable(&self, kind: usize) -> usize {
        let mut best = kind;
        for (i, &profit) in self.profits.iter().enumerate() {
            if self.kinds[i] == kind && profit > self.profits[best] {
                best = i;
            }
        }
        best
    }

    fn largest(&self, kind: usize) -> f64 {
        self.profits[self.most_profitable(kind)]
    }

    /// The most profitable set of a kind and the one of weight, `held`, from which an exchange gains most; `None` where no
    /// profits differ by more than the tolerance.
    fn worst_pair(&self, held: &[usize], step: f64, tolerance: f64) -> Option<(usize, usize)> {
        let mut worst = (0.0, None);
        for kind in 0..self.counts.len() {
            let up = self.most_profitable(kind);
            for &down in held.iter().filter(|&&i| self.kinds[i] == kind) {
                let difference = self.profits[up] - self.profits[down];
                let curvature = step * self.distance(up, down);
                if difference > tolerance && curvature > 0.0 && difference * difference > worst.0 * curvature {
                    worst = (difference * difference / curvature, Some((up, down)));
                }
            }
        }
        worst.1
    }

    /// What the scales of the units sum up to that only one of two sets holds.
    fn distance(&self, i: usize, j: usize) -> f64 {
        self.shared[i][i] + self.shared[j][j] - 2.0 * self.shared[i][j]
    }

    /// Keeps the sets of weight and the most profitable others once there are many.
    fn forget(&mut self) {
        if self.sets.len() <= MOST_SETS {
            return;
        }
        let largest: Vec<f64> = (0..self.counts.len()).map(|kind| self.largest(kind)).collect();
        let loss = |i: usize| largest[self.kinds[i]] - self.profits[i];
        let is_needed = |i: usize| self.weights[i] > 0.0 || self.sets[i].is_empty();
        let key = |&i: &usize| if is_needed(i) { -1.0 } else { loss(i) };
        let mut kept: Vec<usize> = (0..self.sets.len()).collect();
        kept.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let needed = kept.iter().filter(|&&i| is_needed(i)).count();
        kept.truncate(needed.max(MOST_SETS * 3 / 4));
        kept.sort_unstable();
        self.shared = kept.iter().map(|&i| kept.iter().map(|&j| self.shared[i][j]).collect()).collect();
        self.kinds = kept.iter().map(|&i| self.kinds[i]).collect();
        self.weights = kept.iter().map(|&i| self.weights[i]).collect();
        self.profits = kept.iter().map(|&i| self.profits[i]).collect();
        self.sets = kept.iter().map(|&i| std::mem::take(&mut self.sets[i])).collect();
    }
}

/// Exchanges end where no profits differ by more than this part of all profits.
const TOLERANCE: f64 = 1e-7;

/// They end where the program is solved up to this part of what its profits promise to gain, which is looked at so often.
const INEXACTNESS: f64 = 0.002;
const EXCHANGES_PER_LOOK: usize = 64;

/// The most exchanges of weight.
const MOST_EXCHANGES: usize = 20_000;

/// The most sets that are known.
const MOST_SETS: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sets_share_their_device() {
        let mut master = Proximal::new(&[1], vec![1.0; 2]);
        master.add(0, &[0]);
        master.add(0, &[1]);
        // π = (1 + 1 − x, 1.2 + x), equal at x = 0.4.
        let Proposal { profit, surplus } = master.solve((&[1.0, 1.2], 0.0), 1.0);
        assert!(profit.iter().all(|profit| (profit - 1.6).abs() < 1e-6), "{profit:?}");
        assert!((surplus - 1.6).abs() < 1e-6, "{surplus}");
    }

    #[test]
    fn covered_units_keep_their_profit() {
        let mut master = Proximal::new(&[2, 1], vec![1.0, 2.0, 3.0]);
        master.add(0, &[0]);
        master.add(0, &[1]);
        master.add(1, &[2]);
        // Both kinds cover what they hold just once, and profits are as at the center where those of a kind are equal.
        let Proposal { profit, surplus } = master.solve((&[1.0, 1.0, 5.0], 0.0), 0.1);
        assert!(
            profit.iter().zip([1.0, 1.0, 5.0]).all(|(profit, center)| (profit - center).abs() < 1e-6),
            "{profit:?}"
        );
        assert!(surplus.abs() < 1e-6, "{surplus}");
    }
}
