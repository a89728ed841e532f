//! What it costs to put units on parts, where a part is a device or a group of devices.

use std::ops::Range;

use crate::problem::fits;

/// Whole numbers below are told apart, and so are their sums.
const MAX_EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Units, parts, and the sharding cost of placing one on the other.
#[derive(Debug, Clone)]
pub struct Model {
    /// The weight of each unit, in bytes or in parts of them.
    pub(super) weights: Vec<f64>,
    /// For each unit the units it shares edges with, ascending, and how many.
    pub(super) links: Vec<Vec<(u32, f64)>>,
    /// The cost of a square of such a weight off the mean of the parts.
    pub(super) variance: f64,
    /// The cost of an edge between two parts, row by row; 0 on the diagonal.
    pub(super) prices: Vec<f64>,
    pub(super) parts: Vec<Part>,
    /// By kind of part: the bytes that each unit needs there, `None` where it cannot run.
    pub(super) needs: Vec<Vec<Option<f64>>>,
    /// Whether every part can run and hold all units at once.
    pub(super) is_free: bool,
    /// How far the weight of a part off the mean can be from what it is.
    off: f64,
}

/// What it costs that groups of parts have other weights than their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupWeights {
    /// As much as their parts cost at least, once they share the group's units as evenly as they can.
    Shared,
    /// As much as if each group were one part: as the authors' program judges them.
    Whole,
}

/// A device, or a group of devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Which row of needs holds for it.
    pub kind: usize,
    /// Its bytes; `None` is unlimited.
    pub limit: Option<f64>,
}

impl Model {
    /// A model in which every edge between two parts `a` and `b` costs `price(a, b)`.
    pub(super) fn new(
        weights: Vec<f64>,
        links: Vec<Vec<(u32, f64)>>,
        variance: f64,
        price: impl Fn(usize, usize) -> f64,
        parts: Vec<Part>,
        needs: Vec<Vec<Option<f64>>>,
    ) -> Self {
        let k = parts.len();
        let prices = (0..k * k).map(|i| if i / k == i % k { 0.0 } else { price(i / k, i % k) }).collect();
        let holds_all = |part: &Part| {
            let total: Option<f64> = needs[part.kind].iter().copied().sum();
            total.is_some_and(|total| fits(total, part.limit))
        };
        let is_free = parts.iter().all(holds_all);
        let total: f64 = weights.iter().sum();
        // Sums of whole bytes are exact, and differences from their mean where that is exact, too: a whole number, or one over
        // a power of two. Else the mean rounds once, and sums of differences from it as often as there are parts.
        let are_whole = total * (k as f64) < MAX_EXACT && weights.iter().all(|weight| weight.fract() == 0.0);
        let has_exact_mean = k.is_power_of_two() || total % k as f64 == 0.0;
        let roundings = match (are_whole, has_exact_mean) {
            (true, true) => 0.0,
            (true, false) => 2.0,
            (false, _) => 4.0 * (weights.len() + k) as f64,
        };
        let off = roundings * f64::EPSILON * total;
        Self { weights, links, variance, prices, parts, needs, is_free, off }
    }

    /// The same costs with weights that have an exact mean, where they are whole: counted in bytes over the number of parts.
    /// O(n + m + k²).
    pub(super) fn with_exact_mean(&self) -> Self {
        let k = self.parts.len() as f64;
        let total = self.total() * k;
        if self.off == 0.0 || total * k >= MAX_EXACT || self.weights.iter().any(|weight| weight.fract() != 0.0) {
            return self.clone();
        }
        let weights = self.weights.iter().map(|weight| weight * k).collect();
        Self { weights, variance: self.variance / (k * k), off: 0.0, ..self.clone() }
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.weights.len()
    }

    /// How many parts there are.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The cost of an edge between two parts.
    #[inline]
    pub(super) fn price(&self, a: usize, b: usize) -> f64 {
        self.prices[a * self.parts.len() + b]
    }

    /// The bytes that unit `u` needs on part `d`; `None` where it cannot run.
    #[inline]
    pub(super) fn need(&self, u: usize, d: usize) -> Option<f64> {
        self.needs[self.parts[d].kind][u]
    }

    /// The cost of a placement, from scratch. O(units + links + parts).
    pub fn cost(&self, part_of: &[u32]) -> f64 {
        let mut weights = vec![0.0; self.parts.len()];
        for (&d, weight) in part_of.iter().zip(&self.weights) {
            weights[d as usize] += weight;
        }
        self.variance * self.squares_off_mean(&weights) + self.edges(part_of)
    }

    fn squares_off_mean(&self, weights: &[f64]) -> f64 {
        let mean = self.mean();
        // What rounding alone explains is no deviation: an even placement costs nothing.
        let off_mean = weights.iter().map(|weight| weight - mean).filter(|off| off.abs() > self.off);
        off_mean.map(|off| off.powi(2)).sum()
    }

    /// What the edges between parts cost.
    pub(super) fn edges(&self, part_of: &[u32]) -> f64 {
        let mut cost = 0.0;
        for (u, links) in self.links.iter().enumerate() {
            let row = &self.prices[part_of[u] as usize * self.parts.len()..];
            let below = links.iter().take_while(|&&(v, _)| (v as usize) < u);
            cost += below.map(|&(v, edges)| edges * row[part_of[v as usize] as usize]).sum::<f64>();
        }
        cost
    }

    /// What the edges of unit `u` would cost if it were on part `d`.
    pub(super) fn pull(&self, part_of: &[u32], u: usize, d: usize) -> f64 {
        let row = &self.prices[d * self.parts.len()..];
        self.links[u].iter().map(|&(v, edges)| edges * row[part_of[v as usize] as usize]).sum()
    }

    /// The weight of all units.
    pub(super) fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The mean weight of the parts.
    pub(super) fn mean(&self) -> f64 {
        self.total() / self.parts.len() as f64
    }

    /// How far a cost of about `cost` can be from what it is, beyond rounding in proportion to it.
    ///
    /// With each part's weight off the mean, x, known up to e, variance · Σ x² is known up to
    /// variance · (2 e Σ |x| + k e²), where Σ |x| ≤ √(k · Σ x²).
    pub(super) fn rounding(&self, cost: f64) -> f64 {
        let k = self.parts.len() as f64;
        2.0 * self.off * (k * self.variance * cost.max(0.0)).sqrt() + k * self.variance * self.off.powi(2)
    }

    /// What each unit's moves have to save at least to be more than rounding. O(n + m + k²).
    pub(super) fn least_gains(&self) -> Vec<f64> {
        let total = self.total();
        let of_edges = self.least_gain_of_edges();
        let of_weight = 2.0 * self.variance * total * self.roundings();
        let gain = |(links, weight): (&Vec<(u32, f64)>, &f64)| {
            of_weight * weight + of_edges * links.iter().map(|&(_, edges)| edges).sum::<f64>()
        };
        self.links.iter().zip(&self.weights).map(gain).collect()
    }

    /// What a change has to save for each edge it touches to be more than rounding. O(k²).
    pub(super) fn least_gain_of_edges(&self) -> f64 {
        self.prices.iter().copied().fold(0.0, f64::max) * self.roundings()
    }

    fn roundings(&self) -> f64 {
        8.0 * (self.unit_count() + self.parts.len()) as f64 * f64::EPSILON
    }

    /// The model of some units on groups of parts, all groups of one size.
    ///
    /// Groups of s parts with weights W_g and mean W̄_g cost Σ (W_g − W̄_g)² / s where parts share them, and s times as
    /// much as wholes; an edge between two groups costs the mean over their parts; edges to other units are left out.
    pub(crate) fn grouped(&self, units: &[usize], groups: &[Range<usize>], judged: GroupWeights) -> Self {
        let mut index = vec![u32::MAX; self.unit_count()];
        units.iter().enumerate().for_each(|(i, &u)| index[u] = i as u32);
        let among = |&(v, edges): &(u32, f64)| Some((index[v as usize], edges)).filter(|&(i, _)| i != u32::MAX);
        let links = units.iter().map(|&u| self.links[u].iter().filter_map(among).collect()).collect();
        let size = groups.first().map_or(1.0, |group| group.len() as f64);
        let price = |a: usize, b: usize| {
            let pairs = groups[a].clone().flat_map(|d| groups[b].clone().map(move |e| (d, e)));
            pairs.map(|(d, e)| self.price(d, e)).sum::<f64>() / size.powi(2)
        };
        let limit = |group: &Range<usize>| group.clone().map(|d| self.parts[d].limit).sum();
        let parts = groups.iter().enumerate().map(|(kind, group)| Part { kind, limit: limit(group) }).collect();
        let least = |u: usize, group: &Range<usize>| {
            group.clone().filter_map(|d| self.need(u, d)).min_by(|a, b| a.total_cmp(b))
        };
        let needs = groups.iter().map(|group| units.iter().map(|&u| least(u, group)).collect()).collect();
        let weights = units.iter().map(|&u| self.weights[u]).collect();
        let variance = match judged {
            GroupWeights::Shared => self.variance / size,
            GroupWeights::Whole => self.variance,
        };
        Self::new(weights, links, variance, price, parts, needs)
    }
}
