//! Pareto fronts of (consumption, profit).

use super::lagrangian::Prices;

/// One way to fill part of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label<const D: usize> {
    /// Consumption of each resource.
    pub used: [f64; D],
    /// Profit of the units inside.
    pub profit: f64,
}

impl<const D: usize> Label<D> {
    /// Both together.
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        Self { used: std::array::from_fn(|r| self.used[r] + other.used[r]), profit: self.profit + other.profit }
    }

    /// Profit less priced consumption.
    #[inline]
    pub fn value(&self, prices: &Prices<D>) -> f64 {
        self.profit - prices.cost(&self.used)
    }

    /// Becomes a label that no set of either exceeds.
    fn merge(&mut self, other: &Self) {
        (0..D).for_each(|r| self.used[r] = self.used[r].min(other.used[r]));
        self.profit = self.profit.max(other.profit);
    }

    fn dominates(&self, other: &Self) -> bool {
        self.profit >= other.profit && self.used.iter().zip(&other.used).all(|(a, b)| a <= b)
    }
}

/// How a front is kept short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Not at all.
    Exact,
    /// At most so many labels: the best profits stay, so that every label is a real set.
    Thinned(usize),
    /// At most so many labels: neighbours become one of the least consumption and the largest profit, so that the best
    /// profit is never underestimated.
    Optimistic(usize),
    /// Whole numbers instead of fronts: costs rounded down to a lattice, next to exact; thinned to so many labels where
    /// that is not possible.
    Lattice(usize),
}

/// What a label has to satisfy to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a, const D: usize> {
    /// Profits and prices of consumption.
    pub prices: Prices<'a, D>,
    /// The most of each resource that may be used.
    pub capacity: [f64; D],
    /// Only sets of more profit matter.
    pub threshold: f64,
}

impl<const D: usize> Window<'_, D> {
    /// What profit less priced consumption must exceed where the rest adds at most `rest`.
    #[inline]
    pub fn floor(&self, rest: f64) -> f64 {
        self.threshold - self.prices.cost(&self.capacity) - rest
    }

    #[inline]
    pub fn admits(&self, label: &Label<D>, floor: f64) -> bool {
        label.used.iter().zip(&self.capacity).all(|(used, capacity)| used <= capacity)
            && label.value(&self.prices) > floor
    }
}

/// All sums of a label of `a` and one of `b` that the window admits, as a front.
pub fn combine<const D: usize>(
    a: &[Label<D>],
    b: &[Label<D>],
    window: &Window<D>,
    floor: f64,
    rounding: Rounding,
) -> Vec<Label<D>> {
    let mut sums = Sums::new(a, b, window, rounding);
    for x in a {
        for y in b {
            let sum = x.plus(y);
            // Fronts ascend in the first resource.
            if sum.used[0] > window.capacity[0] {
                break;
            }
            if window.admits(&sum, floor) {
                sums.add(sum);
            }
        }
    }
    let sums = sums.into_labels();
    if a.len() == 1 || b.len() == 1 { sums } else { front(sums, &window.prices, rounding) }
}

/// Sums of labels, in cells of the first resource that hold one label each where fronts may be rounded.
struct Sums<'w, const D: usize> {
    prices: &'w Prices<'w, D>,
    labels: Vec<Label<D>>,
    /// Where the cells begin, how many there are of them per unit of the resource, and the label in each.
    cells: Option<(f64, f64, Vec<Option<Label<D>>>)>,
    is_optimistic: bool,
}

/// Cells for each label of a rounded front.
const CELLS_PER_LABEL: usize = 8;

impl<'w, const D: usize> Sums<'w, D> {
    fn new(a: &[Label<D>], b: &[Label<D>], window: &'w Window<'w, D>, rounding: Rounding) -> Self {
        let (most, is_optimistic) = match rounding {
            Rounding::Exact | Rounding::Lattice(_) => (usize::MAX, false),
            Rounding::Thinned(most) => (most, false),
            Rounding::Optimistic(most) => (most, true),
        };
        let cells = most.saturating_mul(CELLS_PER_LABEL);
        let span = a.first().zip(b.first()).zip(a.last().zip(b.last()));
        let cells = span.filter(|_| a.len() * b.len() > cells).map(|((a0, b0), (a1, b1))| {
            let low = a0.used[0] + b0.used[0];
            let high = (a1.used[0] + b1.used[0]).min(window.capacity[0]);
            (low, cells as f64 / (high - low).max(f64::MIN_POSITIVE), vec![None; cells + 1])
        });
        Self { prices: &window.prices, labels: Vec::with_capacity(a.len().max(b.len())), cells, is_optimistic }
    }

    #[inline]
    fn add(&mut self, label: Label<D>) {
        let Some((low, per_unit, cells)) = &mut self.cells else { return self.labels.push(label) };
        let i = (((label.used[0] - *low) * *per_unit) as usize).min(cells.len() - 1);
        match &mut cells[i] {
            None => cells[i] = Some(label),
            Some(known) if self.is_optimistic => known.merge(&label),
            Some(known) => {
                if label.value(self.prices) > known.value(self.prices) {
                    *known = label;
                }
            }
        }
    }

    fn into_labels(self) -> Vec<Label<D>> {
        match self.cells {
            None => self.labels,
            Some((_, _, cells)) => cells.into_iter().flatten().collect(),
        }
    }
}

/// The labels that no other dominates, ascending in the first resource, as few as `rounding` asks for.
pub fn front<const D: usize>(mut labels: Vec<Label<D>>, prices: &Prices<D>, rounding: Rounding) -> Vec<Label<D>> {
    labels.sort_unstable_by(|a, b| {
        let used = a.used.iter().zip(&b.used).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
        used.unwrap_or(std::cmp::Ordering::Equal).then(b.profit.total_cmp(&a.profit))
    });
    let mut kept: Vec<Label<D>> = Vec::with_capacity(labels.len().min(64));
    let mut stairs = Stairs::default();
    for label in labels {
        let dominated = match D {
            1 => kept.last().is_some_and(|last| last.profit >= label.profit),
            2 => !stairs.rise(label.used[D - 1], label.profit),
            _ => kept.iter().rev().any(|other| other.dominates(&label)),
        };
        if !dominated {
            kept.push(label);
        }
    }
    let best = |group: &[Label<D>]| group.iter().copied().max_by(|a, b| a.value(prices).total_cmp(&b.value(prices)));
    let union = |group: &[Label<D>]| {
        let mut sum = *group.first()?;
        group.iter().for_each(|label| sum.merge(label));
        Some(sum)
    };
    match rounding {
        Rounding::Thinned(most) if kept.len() > most => shorten(&kept, prices, most, best),
        Rounding::Optimistic(most) if kept.len() > most => shorten(&kept, prices, most, union),
        _ => kept,
    }
}

/// The most profit of labels that use at most so much of a resource: it rises with each step.
#[derive(Default)]
struct Stairs(Vec<(f64, f64)>);

impl Stairs {
    /// Takes up a label; whether it earns more than all that use as little.
    fn rise(&mut self, used: f64, profit: f64) -> bool {
        let at = self.0.partition_point(|step| step.0 <= used);
        if at > 0 && self.0[at - 1].1 >= profit {
            return false;
        }
        let end = at + self.0[at..].partition_point(|step| step.1 <= profit);
        self.0.splice(at..end, [(used, profit)]);
        true
    }
}

/// Makes one label of each group of neighbours, of which there are at most `most`: the narrowest groups that suffice.
fn shorten<const D: usize>(
    front: &[Label<D>],
    prices: &Prices<D>,
    most: usize,
    merge: impl Fn(&[Label<D>]) -> Option<Label<D>>,
) -> Vec<Label<D>> {
    // Grows along a front of one resource, so that a narrow group is narrow in consumption and in profit.
    let position = |label: &Label<D>| if D == 1 { prices.cost(&label.used) + label.profit } else { label.used[0] };
    let groups = |width: f64| {
        let mut start = f64::NEG_INFINITY;
        let mut ends = Vec::with_capacity(most);
        for (i, label) in front.iter().enumerate() {
            if position(label) > start + width {
                start = position(label);
                ends.push(i);
            }
        }
        ends
    };
    let (Some(first), Some(last)) = (front.first(), front.last()) else { return Vec::new() };
    let (mut low, mut high) = (0.0, position(last) - position(first));
    for _ in 0..WIDTH_STEPS {
        let width = 0.5 * (low + high);
        if groups(width).len() > most { low = width } else { high = width }
    }
    let starts = groups(high);
    let ends = starts.iter().skip(1).copied().chain([front.len()]);
    starts.iter().zip(ends).filter_map(|(&start, end)| merge(&front[start..end])).collect()
}

/// Steps of the search for the width of groups.
const WIDTH_STEPS: usize = 12;
