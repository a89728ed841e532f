//! The Lagrangian of a pricing problem: profit less priced consumption, maximised exactly.

use super::elimination::{Bucket, Plan};
use super::network::INSIDE;

/// What profit and consumption are worth together.
#[derive(Debug, Clone, Copy)]
pub struct Prices<'a, const D: usize> {
    /// Profit of each unit inside, at least zero.
    pub profit: &'a [f64],
    /// Price of each resource, at least zero.
    pub lambda: [f64; D],
}

impl<const D: usize> Prices<'_, D> {
    /// Profit of a bucket's own variable at `value`.
    #[inline]
    pub fn profit_of(&self, bucket: &Bucket<D>, value: usize) -> f64 {
        match bucket.variable {
            Some(v) if v < self.profit.len() && value == usize::from(INSIDE) => self.profit[v],
            _ => 0.0,
        }
    }

    /// What consumption costs.
    #[inline]
    pub fn cost(&self, consumption: &[f64; D]) -> f64 {
        consumption.iter().zip(&self.lambda).map(|(c, l)| c * l).sum()
    }
}

/// The best value of everything below each bucket, by the joint value of its separator; −∞ where none is allowed.
pub struct Inward {
    /// By bucket and row.
    pub best: Vec<Vec<f64>>,
}

impl Inward {
    /// One pass over the buckets. O(table entries).
    pub fn new<const D: usize>(plan: &Plan<D>, prices: &Prices<D>) -> Self {
        let mut best: Vec<Vec<f64>> = Vec::with_capacity(plan.buckets.len());
        for bucket in &plan.buckets {
            let row = |row: usize| {
                (0..bucket.values)
                    .map(|value| entry(bucket, prices, &best, row, value))
                    .fold(f64::NEG_INFINITY, f64::max)
            };
            let message = (0..bucket.rows).map(row).collect();
            best.push(message);
        }
        Self { best }
    }

    /// The best value of all.
    pub fn optimum(&self) -> f64 {
        self.best.last().map_or(0.0, |root| root[0])
    }

    /// Units inside in a best solution, and what it consumes.
    pub fn solution<const D: usize>(&self, plan: &Plan<D>, prices: &Prices<D>) -> (Vec<usize>, [f64; D]) {
        let mut row = vec![0; plan.buckets.len()];
        let mut consumption = [0.0; D];
        let mut inside = Vec::new();
        for (b, bucket) in plan.buckets.iter().enumerate().rev() {
            let value_of = |value: usize| entry(bucket, prices, &self.best, row[b], value);
            let value = (0..bucket.values).max_by(|&x, &y| value_of(x).total_cmp(&value_of(y))).unwrap_or_default();
            let at = row[b] * bucket.values + value;
            if let Some(base) = &bucket.base[at] {
                (0..D).for_each(|r| consumption[r] += base[r]);
            }
            if let Some(v) = bucket.variable
                && v < plan.units
                && value == usize::from(INSIDE)
            {
                inside.push(v);
            }
            bucket.children.iter().for_each(|child| row[child.bucket] = child.rows[at] as usize);
        }
        inside.sort_unstable();
        (inside, consumption)
    }
}

/// Value of one entry of a bucket's table.
#[inline]
fn entry<const D: usize>(bucket: &Bucket<D>, prices: &Prices<D>, best: &[Vec<f64>], row: usize, value: usize) -> f64 {
    let at = row * bucket.values + value;
    let Some(base) = &bucket.base[at] else { return f64::NEG_INFINITY };
    let below: f64 = bucket.children.iter().map(|child| best[child.bucket][child.rows[at] as usize]).sum();
    prices.profit_of(bucket, value) - prices.cost(base) + below
}

/// The best value of everything that is not below each bucket, by the joint value of its separator.
pub struct Outward {
    /// By bucket and row.
    pub best: Vec<Vec<f64>>,
}

impl Outward {
    /// One pass over the buckets from the root down. O(table entries).
    pub fn new<const D: usize>(plan: &Plan<D>, prices: &Prices<D>, inward: &Inward) -> Self {
        let mut best: Vec<Vec<f64>> = plan.buckets.iter().map(|bucket| vec![f64::NEG_INFINITY; bucket.rows]).collect();
        if let Some(root) = best.last_mut() {
            root[0] = 0.0;
        }
        for (b, bucket) in plan.buckets.iter().enumerate().rev() {
            for row in 0..bucket.rows {
                for value in 0..bucket.values {
                    let at = row * bucket.values + value;
                    let total = best[b][row] + entry(bucket, prices, &inward.best, row, value);
                    if total == f64::NEG_INFINITY {
                        continue;
                    }
                    for child in &bucket.children {
                        let below = child.rows[at] as usize;
                        let outside = total - inward.best[child.bucket][below];
                        let known = &mut best[child.bucket][below];
                        *known = known.max(outside);
                    }
                }
            }
        }
        Self { best }
    }
}
