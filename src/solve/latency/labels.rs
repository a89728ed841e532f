//! Pareto sets of labels: what is known of the ways to reach a state of the dynamic program.

/// Numbers of accelerators used, by class: one lane of 16 bits each, the highest of which stays clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used(u64);

const HIGHEST: u64 = 0x8000_8000_8000_8000;

impl Used {
    /// The most classes that can be counted.
    pub const MAX_CLASSES: usize = 4;

    /// The most accelerators of a class that can be counted.
    pub const MAX_COUNT: usize = 0x7fff;

    /// With one more accelerator of `class`.
    #[inline]
    pub fn plus_one(self, class: usize) -> Self {
        Self(self.0 + (1 << (16 * class)))
    }

    /// The accelerators used of `class`.
    #[inline]
    pub fn of(self, class: usize) -> usize {
        (self.0 >> (16 * class)) as usize & Self::MAX_COUNT
    }

    /// The accelerators used of all classes.
    pub fn total(self) -> usize {
        (0..Self::MAX_CLASSES).map(|class| self.of(class)).sum()
    }

    /// Whether no class has more used than in `other`.
    #[inline]
    pub fn is_within(self, other: Self) -> bool {
        ((other.0 | HIGHEST) - self.0) & HIGHEST == HIGHEST
    }
}

/// A label of another state, and what was done from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The state.
    pub state: u32,
    /// The label's place among the state's labels.
    pub label: u32,
}

/// The Pareto set of one state: no label's values and counts are all at least those of another.
///
/// Labels are in the order of their sums: those that dominate a label come before it, and the likeliest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    width: usize,
    values: Vec<f64>,
    sums: Vec<f64>,
    used: Vec<Used>,
    origins: Vec<Origin>,
}

impl Labels {
    /// No label yet; each will have `width` values, which are better the smaller they are.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Drops all labels; those to come have `width` values.
    pub fn clear(&mut self, width: usize) {
        self.truncate(0);
        self.width = width;
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// The values of label `i`.
    #[inline]
    pub fn values(&self, i: usize) -> &[f64] {
        &self.values[i * self.width..(i + 1) * self.width]
    }

    /// The accelerators that label `i` uses.
    #[inline]
    pub fn used(&self, i: usize) -> Used {
        self.used[i]
    }

    /// Where label `i` comes from.
    pub fn origin(&self, i: usize) -> Origin {
        self.origins[i]
    }

    /// Adds a label unless another dominates it; drops those that it dominates. Whether it was added.
    pub fn insert(&mut self, values: &[f64], used: Used, origin: Origin) -> bool {
        // The sums of values that are nowhere larger are no larger, for all the rounding.
        let sum: f64 = values.iter().sum();
        let end = self.sums.partition_point(|&other| other <= sum);
        let dominates = |i: usize| is_below(self.values(i), values) && self.used[i].is_within(used);
        if (0..end).any(dominates) {
            return false;
        }
        let first = self.sums.partition_point(|&other| other < sum);
        let mut kept = first;
        for i in first..self.len() {
            if !(is_below(values, self.values(i)) && used.is_within(self.used[i])) {
                self.move_label(i, kept);
                kept += 1;
            }
        }
        self.truncate(kept);
        let place = self.sums.partition_point(|&other| other <= sum);
        self.values.extend_from_slice(values);
        self.values[place * self.width..].rotate_right(self.width);
        self.sums.insert(place, sum);
        self.used.insert(place, used);
        self.origins.insert(place, origin);
        true
    }

    /// Keeps the `most` labels of least first value; whether any was dropped.
    pub fn keep_best(&mut self, most: usize) -> bool {
        if self.len() <= most {
            return false;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&a, &b| self.values(a)[0].total_cmp(&self.values(b)[0]));
        order.truncate(most);
        order.sort_unstable();
        order.into_iter().enumerate().for_each(|(to, from)| self.move_label(from, to));
        self.truncate(most);
        true
    }

    fn move_label(&mut self, from: usize, to: usize) {
        if from != to {
            self.values.copy_within(from * self.width..(from + 1) * self.width, to * self.width);
            self.sums[to] = self.sums[from];
            self.used[to] = self.used[from];
            self.origins[to] = self.origins[from];
        }
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len * self.width);
        self.sums.truncate(len);
        self.used.truncate(len);
        self.origins.truncate(len);
    }
}

/// Whether no value is above the other.
#[inline]
fn is_below(values: &[f64], others: &[f64]) -> bool {
    values.iter().zip(others).all(|(value, other)| value <= other)
}
