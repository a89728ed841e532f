//! The master of a bundle method: the profits that sets known so far allow, near a center.
//!
//! Let F̂(π) = Σ π − Σ_d n_d · max π(S) over the known sets S of kind d. The program max F̂(π) − Σ_u (π_u − c_u)² / 2m_u has a
//! dual over weights x ≥ 0 of the sets, those of a kind d summing up to n_d: π = c + m · (1 − Σ_S x_S · S), and sets of
//! weight have the largest profit of their kind. Weights are exchanged between the two sets of a kind that break this
//! most, as in the sequential minimal optimization of support vector machines (Platt 1998; Fan, Chen and Lin 2005).

/// A known set.
struct Piece {
    kind: usize,
    units: Vec<usize>,
    weight: f64,
    /// Profit at the present solution.
    profit: f64,
}

/// The dual program.
pub struct Proximal {
    counts: Vec<f64>,
    /// By how much a unit's profit follows, relative to the others.
    scale: Vec<f64>,
    pieces: Vec<Piece>,
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
    /// No set known yet.
    pub fn new(counts: &[usize], scale: Vec<f64>) -> Self {
        let counts = counts.iter().map(|&count| count as f64).collect();
        Self { counts, scale, pieces: Vec::new(), shared: Vec::new() }
    }

    /// Takes up a set of units, ascending. O(sets · units) where it is new.
    pub fn add(&mut self, kind: usize, units: &[usize]) {
        if self.pieces.iter().any(|piece| piece.kind == kind && piece.units == units) {
            return;
        }
        let mut inside = vec![0.0; self.scale.len()];
        units.iter().for_each(|&u| inside[u] = self.scale[u]);
        let with = |other: &[usize]| other.iter().map(|&u| inside[u]).sum::<f64>();
        let mut row: Vec<f64> = self.pieces.iter().map(|piece| with(&piece.units)).collect();
        row.push(with(units));
        self.shared.iter_mut().zip(&row).for_each(|(shared, &sum)| shared.push(sum));
        self.shared.push(row);
        let is_first = !self.pieces.iter().any(|piece| piece.kind == kind);
        let weight = if is_first { self.counts[kind] } else { 0.0 };
        self.pieces.push(Piece { kind, units: units.to_vec(), weight, profit: 0.0 });
    }

    /// Solves the program at `center` with m = `step` · scale, and forgets sets that are of no use.
    pub fn solve(&mut self, center: &[f64], step: f64) -> Proposal {
        self.forget();
        self.evaluate(&self.profit(center, step));
        let tolerance = TOLERANCE * center.iter().sum::<f64>();
        for _ in 0..MOST_EXCHANGES {
            let Some((up, down)) = self.worst_pair(step, tolerance) else { break };
            let curvature = step * self.distance(up, down);
            let amount =
                ((self.pieces[up].profit - self.pieces[down].profit) / curvature).min(self.pieces[down].weight);
            self.pieces[up].weight += amount;
            self.pieces[down].weight -= amount;
            for (piece, (a, b)) in self.pieces.iter_mut().zip(self.shared[up].iter().zip(&self.shared[down])) {
                piece.profit -= step * amount * (a - b);
            }
        }
        let profit = self.profit(center, step);
        self.evaluate(&profit);
        let earned = (0..self.counts.len()).map(|kind| self.counts[kind] * self.largest(kind));
        Proposal { surplus: profit.iter().sum::<f64>() - earned.sum::<f64>(), profit }
    }

    /// The profits that belong to the weights.
    fn profit(&self, center: &[f64], step: f64) -> Vec<f64> {
        let mut uncovered = vec![1.0; center.len()];
        for piece in self.pieces.iter().filter(|piece| piece.weight > 0.0) {
            piece.units.iter().for_each(|&u| uncovered[u] -= piece.weight);
        }
        center.iter().zip(uncovered.iter().zip(&self.scale)).map(|(c, (g, scale))| c + step * scale * g).collect()
    }

    /// Notes the profits of all sets.
    fn evaluate(&mut self, profit: &[f64]) {
        for piece in &mut self.pieces {
            piece.profit = piece.units.iter().map(|&u| profit[u]).sum();
        }
    }

    fn largest(&self, kind: usize) -> f64 {
        let of_kind = self.pieces.iter().filter(|piece| piece.kind == kind);
        of_kind.map(|piece| piece.profit).fold(0.0, f64::max)
    }

    /// The most profitable set of a kind and the one of weight from which an exchange gains most; `None` where no
    /// profits differ by more than the tolerance.
    fn worst_pair(&self, step: f64, tolerance: f64) -> Option<(usize, usize)> {
        let of_kind = |kind: usize| (0..self.pieces.len()).filter(move |&i| self.pieces[i].kind == kind);
        let pairs = (0..self.counts.len()).filter_map(|kind| {
            let up = of_kind(kind).max_by(|&i, &j| self.pieces[i].profit.total_cmp(&self.pieces[j].profit))?;
            let gain = |down: usize| {
                let difference = self.pieces[up].profit - self.pieces[down].profit;
                let curvature = step * self.distance(up, down);
                if difference > tolerance && curvature > 0.0 { difference * difference / curvature } else { 0.0 }
            };
            let held = of_kind(kind).filter(|&i| self.pieces[i].weight > 0.0);
            let best = held.map(|down| (gain(down), up, down)).max_by(|a, b| a.0.total_cmp(&b.0))?;
            (best.0 > 0.0).then_some(best)
        });
        pairs.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, up, down)| (up, down))
    }

    /// What the scales of the units sum up to that only one of two sets holds.
    fn distance(&self, i: usize, j: usize) -> f64 {
        self.shared[i][i] + self.shared[j][j] - 2.0 * self.shared[i][j]
    }

    /// Keeps the sets of weight and the most profitable others once there are many.
    fn forget(&mut self) {
        if self.pieces.len() <= MOST_PIECES {
            return;
        }
        let loss: Vec<f64> = self.pieces.iter().map(|piece| self.largest(piece.kind) - piece.profit).collect();
        let key = |&i: &usize| if self.pieces[i].weight > 0.0 { -1.0 } else { loss[i] };
        let mut kept: Vec<usize> = (0..self.pieces.len()).collect();
        kept.sort_by(|a, b| key(a).total_cmp(&key(b)));
        kept.truncate(MOST_PIECES * 3 / 4);
        kept.sort_unstable();
        self.shared = kept.iter().map(|&i| kept.iter().map(|&j| self.shared[i][j]).collect()).collect();
        let mut is_kept = vec![false; self.pieces.len()];
        kept.iter().for_each(|&i| is_kept[i] = true);
        let mut is_kept = is_kept.into_iter();
        self.pieces.retain(|_| is_kept.next().unwrap_or_default());
    }
}

/// Exchanges end where no profits differ by more than this part of all profits.
const TOLERANCE: f64 = 1e-7;

/// The most exchanges of weight.
const MOST_EXCHANGES: usize = 20_000;

/// The most sets that are known.
const MOST_PIECES: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sets_share_their_device() {
        let mut master = Proximal::new(&[1], vec![1.0; 2]);
        master.add(0, &[0]);
        master.add(0, &[1]);
        // π = (1 + 1 − x, 1.2 + x), equal at x = 0.4.
        let Proposal { profit, surplus } = master.solve(&[1.0, 1.2], 1.0);
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
        let Proposal { profit, surplus } = master.solve(&[1.0, 1.0, 5.0], 0.1);
        assert!(
            profit.iter().zip([1.0, 1.0, 5.0]).all(|(profit, center)| (profit - center).abs() < 1e-6),
            "{profit:?}"
        );
        assert!(surplus.abs() < 1e-6, "{surplus}");
    }
}
