//! The tables of the scalar programs over ideals.

use super::lattice::Lattice;

/// The least costs of a program: those of ideals, and those of sets that are open at a cut by the memory that they hold.
/// A row has a place for each number of accelerators used.
#[derive(Debug)]
pub(super) struct Table {
    places: usize,
    steps: usize,
    classes: usize,
    ideals: Vec<f64>,
    open: Vec<f64>,
}

impl Table {
    /// Infinite costs everywhere: for so many classes, steps of memory and places.
    pub fn new(lattice: &Lattice, classes: usize, steps: usize, places: usize) -> Self {
        let ideals = vec![f64::INFINITY; lattice.len() * places];
        let open = vec![f64::INFINITY; lattice.cuts.len() * classes * steps * places];
        Self { places, steps, classes, ideals, open }
    }

    /// The row of an ideal.
    #[inline]
    pub fn ideal(&self, i: usize) -> &[f64] {
        &self.ideals[i * self.places..(i + 1) * self.places]
    }

    /// The same, to be lowered.
    #[inline]
    pub fn ideal_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.ideals[i * self.places..(i + 1) * self.places]
    }

    /// The row of the sets of a class that hold so many steps at a cut.
    #[inline]
    pub fn open(&self, cut: usize, class: usize, step: usize) -> &[f64] {
        let at = self.open_at(cut, class, step);
        &self.open[at..at + self.places]
    }

    /// The same, to be lowered, with the row of an ideal.
    pub fn open_and_ideal(&mut self, (cut, class, step): (usize, usize, usize), i: usize) -> (&mut [f64], &mut [f64]) {
        let (at, to) = (self.open_at(cut, class, step), i * self.places);
        (&mut self.open[at..at + self.places], &mut self.ideals[to..to + self.places])
    }

    /// The same, to be lowered, with the row of one step less.
    pub fn open_steps(&mut self, cut: usize, class: usize, step: usize) -> (&mut [f64], &mut [f64]) {
        let at = self.open_at(cut, class, step);
        let (less, more) = self.open.split_at_mut(at);
        (&mut less[at - self.places..], &mut more[..self.places])
    }

    fn open_at(&self, cut: usize, class: usize, step: usize) -> usize {
        ((cut * self.classes + class) * self.steps + step) * self.places
    }

    /// The row of the sets of some step at a cut, and that of those of another step at the next one.
    pub fn open_pair(&mut self, cut: usize, class: usize, (step, next): (usize, usize)) -> (&mut [f64], &mut [f64]) {
        let (at, after) = (self.open_at(cut, class, step), self.open_at(cut + 1, class, next));
        let (before, rest) = self.open.split_at_mut(after);
        (&mut before[at..at + self.places], &mut rest[..self.places])
    }
}
