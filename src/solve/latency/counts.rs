//! Numbers of accelerators used, as places of a row.

use std::ops::Range;

use super::labels::Used;
use super::model::Model;

/// The most cells of a table: with more, accelerators are not counted. 128 MB.
const MAX_CELLS: usize = 1 << 24;

/// The numbers of accelerators used, by class, as one number in mixed radix.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// For each class the step of one accelerator more, and how many there are. Nothing is counted where there are none.
    classes: Vec<(usize, usize)>,
    places: usize,
}

impl Counts {
    /// The counts of `model` for so many rows; where there would be too many, one place for all: a relaxation.
    pub fn new(model: &Model, rows: usize) -> Self {
        let places = model.classes.iter().try_fold(1usize, |places, class| places.checked_mul(class.count + 1));
        let is_counted = places.and_then(|places| places.checked_mul(rows)).is_some_and(|cells| cells <= MAX_CELLS);
        let mut places = 1;
        let mut step = |count: usize| {
            let before = places;
            places *= count + 1;
            (before, count)
        };
        let classes = model.classes.iter().filter(|_| is_counted).map(|class| step(class.count)).collect();
        Self { classes, places }
    }

    /// How many places a row has.
    #[inline]
    pub fn places(&self) -> usize {
        self.places
    }

    /// The place of these accelerators.
    #[inline]
    pub fn place(&self, used: Used) -> usize {
        self.classes.iter().enumerate().map(|(class, (step, count))| step * used.of(class).min(*count)).sum()
    }

    /// The place with one more of `class`, where there is one.
    pub fn plus_one(&self, place: usize, class: usize) -> Option<usize> {
        let Some((step, count)) = self.classes.get(class) else { return Some(place) };
        (place / step % (count + 1) < *count).then_some(place + step)
    }

    /// Ranges of equal length: places with room for one more of `class`, and the places with it.
    #[inline]
    fn pairs(&self, class: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let (step, count) = self.classes.get(class).copied().unwrap_or((0, 0));
        let (block, length) = if step == 0 { (1, 1) } else { (step * (count + 1), step * count) };
        let starts = (0..self.places).step_by(block);
        starts.map(move |start| (start..start + length, start + step..start + step + length))
    }

    /// Lowers each place of `before` to what `after` has with one more of `class`, and `cost`.
    #[inline]
    pub fn lower(&self, class: usize, before: &mut [f64], after: &[f64], cost: f64) {
        for (one, other) in self.pairs(class) {
            lower(&mut before[one], &after[other], cost);
        }
    }

    /// Lowers each place of `after` with one more of `class` to what `before` has without it, and `cost`.
    #[inline]
    pub fn lower_after(&self, class: usize, before: &[f64], after: &mut [f64], cost: f64) {
        for (one, other) in self.pairs(class) {
            lower(&mut after[other], &before[one], cost);
        }
    }

    /// Whether some place of `before`, and what `after` has with one more of `class`, come below `most`.
    #[inline]
    pub fn is_below(&self, class: usize, before: &[f64], after: &[f64], most: f64) -> bool {
        self.pairs(class).any(|(one, other)| is_below(&before[one], &after[other], most))
    }
}

/// Lowers each value to the other and `cost`.
#[inline]
pub(super) fn lower(values: &mut [f64], others: &[f64], cost: f64) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value = value.min(cost + other));
}

/// Whether two values of one place come below `most`.
#[inline]
pub(super) fn is_below(values: &[f64], others: &[f64], most: f64) -> bool {
    values.iter().zip(others).any(|(value, other)| value + other < most)
}
