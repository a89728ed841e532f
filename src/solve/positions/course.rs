//! What the looks at all chains tell apart, one after another.

use super::marks::Marks;
use super::windows::Windows;

/// What the next look tells apart: smaller cells, or more marked units, whichever helps.
pub struct Course {
    /// Positions that there are, about.
    pub cells: usize,
    /// The units that are marked.
    pub marks: Marks,
    /// Where chains can be.
    pub windows: Windows,
    bound: f64,
    units: usize,
    /// Units to mark next, and how many of those marked are new.
    next: Vec<usize>,
    added: usize,
    /// Looks with more marks since one helped; `None` while cells get smaller.
    in_vain: Option<usize>,
}

impl Course {
    /// The first look, by position alone, of so many units.
    pub fn new(units: usize, windows: Windows) -> Self {
        Self {
            cells: FIRST_CELLS,
            marks: Marks::default(),
            windows,
            bound: 0.0,
            units,
            next: Vec::new(),
            added: 0,
            in_vain: None,
        }
    }

    /// Decides on the next look, given what the last one showed and the units at which its best chain does not fit; `false` where nothing
    /// is left to tell apart.
    ///
    /// Cells get smaller while units have few of them, and while that helps. Where it does not, cells are as they were before, and more
    /// units are marked, until that has not helped for a while.
    pub fn goes_on(&mut self, bound: f64, windows: Windows, next: Vec<usize>) -> bool {
        let least_cut = match self.in_vain {
            Some(_) => Some(LEAST_CUT_BY_MARKS),
            None => (self.cells < MANY_CELLS * self.units).then_some(LEAST_CUT_BY_CELLS),
        };
        let is_cut = least_cut.is_some_and(|least| windows.size() <= self.windows.size() * (1.0 - least));
        let helped = is_cut || bound >= self.bound * (1.0 + LEAST_RISE);
        (self.windows, self.bound, self.next) = (windows, self.bound.max(bound), next);
        match self.in_vain {
            None if helped || self.cells < FEW_CELLS * self.units => self.refine(),
            None => {
                self.cells = (self.cells / 2).max(FIRST_CELLS);
                self.mark(0)
            }
            Some(_) if helped => self.mark(0),
            Some(looks) if looks < MOST_IN_VAIN => self.mark(looks + 1),
            Some(_) => self.refine(),
        }
    }

    /// Makes the next look less work: with fewer new marks, or else with larger cells; `false` where it cannot be less.
    pub fn takes_less(&mut self) -> bool {
        if self.added > 1 {
            self.added /= 2;
            self.marks.take_back(self.added);
            return true;
        }
        if self.cells == FIRST_CELLS {
            return false;
        }
        self.cells /= 2;
        self.in_vain.is_some() || self.mark(0)
    }

    /// Smaller cells, or more marks where cells are the smallest.
    fn refine(&mut self) -> bool {
        if self.cells == MOST_CELLS {
            return self.mark(0);
        }
        self.cells *= 2;
        (self.in_vain, self.added) = (None, 0);
        true
    }

    /// More marks, if there are any, after so many looks in vain.
    fn mark(&mut self, in_vain: usize) -> bool {
        self.in_vain = Some(in_vain);
        self.added = self.marks.extend(std::mem::take(&mut self.next));
        self.added > 0
    }
}

/// Positions of the first look, and the most.
const FIRST_CELLS: usize = 64;
const MOST_CELLS: usize = 1 << 17;

/// With fewer cells for a unit, marks tell apart what cells would tell apart for less; with more, cells that do not raise the bound cut off
/// nothing but what they round.
const FEW_CELLS: usize = 4;
const MANY_CELLS: usize = 32;

/// A look helps where it raises the bound by this part of it, or cuts off so much of the windows: more of them where the next look has
/// four times as many pairs of positions.
const LEAST_RISE: f64 = 1e-5;
const LEAST_CUT_BY_MARKS: f64 = 0.05;
const LEAST_CUT_BY_CELLS: f64 = 0.3;

/// So many looks with more marks may not have helped, until cells get smaller.
const MOST_IN_VAIN: usize = 4;
