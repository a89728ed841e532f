//! The boundary relaxation: a pipeline whose boundaries may cross.
//!
//! A split is a chain of ideals ∅ = I₀ ⊆ I₁ ⊆ … ⊆ V. Each stage binds its two boundaries by one inequality,
//! upper(Iᵢ) − lower(Iᵢ₋₁) ≤ target ([`super::stage::Variant`]). Forgetting that the ideals are nested leaves a boundary
//! nothing but its Pareto front of (lower, upper) over all ideals, and a pipeline is feasible for a target exactly
//! when greedy steps along the fronts reach the end. The least feasible target bounds every acyclic split.

use super::consumption::Consumption;
use super::pareto_fronts::{Label, largest_x, smallest_y};
use super::stage::{Bounds, Potential, StageKind};
use crate::solve::SearchContext;

/// Rounding room: sums of floating-point costs may differ by this part of the total between two orders of adding.
pub(super) const ROUNDING: f64 = 1e-11;

/// Uses of devices times pairs of variants of a large relaxation.
const LARGE: usize = 1 << 14;

/// What is known of all ideals at a boundary between two potentials.
pub enum Front<'a> {
    /// The Pareto front, both coordinates ascending.
    Labels(&'a [Label]),
    /// No net is charged on either side: only the ratio of the two weights is known.
    Ratio(Ratio),
}

/// Bounds between two weights of one ideal.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// Largest weight above per weight below, over units; `None` when unbounded.
    most: Option<f64>,
    /// Smallest weight above per weight below, over units.
    least: f64,
    total_above: f64,
    total_below: f64,
}

impl Ratio {
    /// The ratio bounds of two potentials.
    pub fn new(below: &Potential, above: &Potential) -> Self {
        let pairs = || above.weight.iter().zip(&below.weight);
        let unbounded = pairs().any(|(&x, &y)| y == 0.0 && x > 0.0);
        let ratios = || pairs().filter(|&(_, &y)| y > 0.0).map(|(&x, &y)| x / y);
        Self {
            most: (!unbounded).then(|| ratios().fold(0.0, f64::max)),
            least: ratios().reduce(f64::min).unwrap_or(0.0),
            total_above: above.total(),
            total_below: below.total(),
        }
    }

    fn largest_x(&self, limit: f64) -> Option<f64> {
        let limit = limit.min(self.total_below);
        let by_most = self.most.map_or(f64::MAX, |most| most * limit);
        let by_rest = self.total_above - self.least * (self.total_below - limit);
        (limit >= 0.0).then(|| by_most.min(by_rest))
    }

    fn smallest_y(&self, need: f64) -> Option<f64> {
        if need > self.total_above {
            return None;
        }
        let by_most = self.most.filter(|&most| most > 0.0).map_or(0.0, |most| need / most);
        let by_rest = if self.least > 0.0 { self.total_below - (self.total_above - need) / self.least } else { 0.0 };
        Some(by_most.max(by_rest).max(0.0))
    }
}

impl Front<'_> {
    fn largest_x(&self, limit: f64) -> Option<f64> {
        match self {
            Front::Labels(labels) => largest_x(labels, limit),
            Front::Ratio(ratio) => ratio.largest_x(limit),
        }
    }

    fn smallest_y(&self, need: f64) -> Option<f64> {
        match self {
            Front::Labels(labels) => smallest_y(labels, need),
            Front::Ratio(ratio) => ratio.smallest_y(need),
        }
    }
}

/// The relaxation of one problem: its variants and the front between each pair of them.
pub struct Relaxation<'a> {
    /// The stage kinds.
    pub stages: &'a [StageKind],
    /// The variants and their potentials.
    pub bounds: &'a Bounds,
    /// How many devices of each kind there are, and the index of each use of them.
    pub consumption: &'a Consumption,
    /// Fronts by potential below · number of potentials + potential above.
    pub fronts: Vec<Front<'a>>,
    /// By variant: the potential of all units.
    totals: Vec<f64>,
    /// By variant: room for rounding.
    slack: Vec<f64>,
}

/// What the relaxation says of boundaries at one target.
#[derive(Debug, Clone)]
pub struct Windows {
    /// The target.
    pub target: f64,
    /// By use so far and variant of the next stage: the largest lower value a boundary can have.
    reach: Vec<Option<f64>>,
    /// By use still allowed and variant of the next stage: the least lower value from which the end is in reach.
    need: Vec<Option<f64>>,
    variants: usize,
}

impl Windows {
    /// The largest lower value for a next stage of variant `t` after `used`.
    pub fn reach(&self, used: usize, t: usize) -> Option<f64> {
        self.reach[used * self.variants + t]
    }

    /// The least lower value for a next stage of variant `t` with `left` devices left.
    pub fn need(&self, left: usize, t: usize) -> Option<f64> {
        self.need[left * self.variants + t]
    }
}

impl<'a> Relaxation<'a> {
    /// The relaxation with these fronts; `slack` is what each potential's differences may be off by.
    pub fn new(
        stages: &'a [StageKind],
        bounds: &'a Bounds,
        consumption: &'a Consumption,
        fronts: Vec<Front<'a>>,
        slack: &[f64],
    ) -> Self {
        let totals: Vec<f64> = (0..bounds.variants.len()).map(|t| bounds.of(t).total()).collect();
        let slack =
            bounds.variants.iter().zip(&totals).map(|(v, total)| slack[v.potential] + ROUNDING * total).collect();
        Self { stages, bounds, consumption, fronts, totals, slack }
    }

    /// How many variants there are.
    pub fn variant_count(&self) -> usize {
        self.bounds.variants.len()
    }

    /// The stage kind of variant `t`.
    pub fn stage(&self, t: usize) -> StageKind {
        self.stages[self.bounds.variants[t].stage]
    }

    /// The most that upper(J) − lower(A) may be for variant `t` at `target`, with room for rounding.
    pub fn allowance(&self, t: usize, target: f64) -> f64 {
        self.bounds.allowance(t, target) + self.slack[t]
    }

    /// Whether stages of variants `below` and `above` can share a boundary.
    pub fn meet(&self, below: usize, above: usize) -> bool {
        self.stage(below).meets(&self.stage(above))
    }

    /// The index of the front between variants `below` and `above`.
    pub fn front_index(&self, below: usize, above: usize) -> usize {
        let variants = &self.bounds.variants;
        variants[below].potential * self.bounds.potentials.len() + variants[above].potential
    }

    fn front(&self, below: usize, above: usize) -> &Front<'a> {
        &self.fronts[self.front_index(below, above)]
    }

    /// Whether some relaxed pipeline meets `target`.
    pub fn is_feasible(&self, target: f64) -> bool {
        let reach = self.reach(target);
        self.consumption.all().any(|used| self.ends(&reach, used, target))
    }

    /// Whether one more stage after `used` can end the pipeline.
    fn ends(&self, reach: &[Option<f64>], used: usize, target: f64) -> bool {
        (0..self.variant_count()).any(|t| {
            let from = reach[used * self.variant_count() + t];
            self.consumption.add(used, self.stage(t)).is_some()
                && from.is_some_and(|x| self.totals[t] - x <= self.allowance(t, target))
        })
    }

    fn reach(&self, target: f64) -> Vec<Option<f64>> {
        let v = self.variant_count();
        let mut reach = vec![None; self.consumption.count() * v];
        reach[..v].fill(Some(0.0));
        for used in self.consumption.all() {
            for below in 0..v {
                let Some(from) = reach[used * v + below] else { continue };
                let Some(next) = self.consumption.add(used, self.stage(below)) else { continue };
                for above in (0..v).filter(|&above| self.meet(below, above)) {
                    let x = self.front(below, above).largest_x(from + self.allowance(below, target));
                    raise(&mut reach[next * v + above], x);
                }
            }
        }
        reach
    }

    fn need(&self, target: f64) -> Vec<Option<f64>> {
        let v = self.variant_count();
        let mut need: Vec<Option<f64>> = vec![None; self.consumption.count() * v];
        for left in self.consumption.all() {
            for t in 0..v {
                let Some(rest) = self.consumption.take(left, self.stage(t)) else { continue };
                let allowance = self.allowance(t, target);
                let mut least = self.totals[t] - allowance;
                for above in (0..v).filter(|&above| self.meet(t, above)) {
                    let y = need[rest * v + above].and_then(|x| self.front(t, above).smallest_y(x));
                    least = y.map_or(least, |y| least.min(y - allowance));
                }
                need[left * v + t] = Some(least);
            }
        }
        need
    }

    /// Whether it takes long to tell whether a target is feasible.
    fn is_large(&self) -> bool {
        self.consumption.count().saturating_mul(self.variant_count().pow(2)) >= LARGE
    }

    /// What boundaries can be at `target`.
    pub fn windows(&self, target: f64) -> Windows {
        Windows { target, reach: self.reach(target), need: self.need(target), variants: self.variant_count() }
    }

    /// The least feasible target between `low` and `high`, to one part in 10¹², from below, or farther below where a
    /// limit comes first. `high` is feasible.
    pub fn least_target(&self, low: f64, high: f64, cx: &SearchContext) -> f64 {
        if self.is_feasible(low) {
            return low;
        }
        let (mut low, mut high) = (low, high);
        while high - low > 1e-12 * high && !(self.is_large() && cx.should_stop()) {
            let middle = 0.5 * (low + high);
            if self.is_feasible(middle) { high = middle } else { low = middle }
        }
        low
    }
}

/// Raises `best` to `x`.
pub(super) fn raise(best: &mut Option<f64>, x: Option<f64>) {
    *best = match (*best, x) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
}
