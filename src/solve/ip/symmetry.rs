//! Interchangeable devices are numbered by what they hold.

use std::ops::Range;

use good_lp::{Expression, constraint};

use super::builder::Builder;

/// How many units for each device name the devices; the others say little that is new. With none, proofs of contiguous
/// splits of the published operator graphs take 6 to 10 times as long.
const UNITS_PER_DEVICE: usize = 4;

impl Builder<'_> {
    /// Numbers the devices of each kind by the first of the heaviest units that they hold: a unit is on device i only
    /// if a heavier one is on device i − 1. Every split has a numbering that fits.
    pub fn break_symmetry(&mut self) {
        let layout = self.layout;
        for (kind, owners) in layout.devices.of_kind.iter().enumerate() {
            let mut units = layout.heaviest_first(kind);
            units.truncate(UNITS_PER_DEVICE * owners.len());
            for (r, &unit) in units.iter().enumerate() {
                for pair in layout.devices.owners[owners.clone()].windows(2) {
                    let heavier: Expression = units[..r].iter().map(|&earlier| self.held(earlier, &pair[0].0)).sum();
                    let held = self.held(unit, &pair[1].0);
                    let name = format!("first_{}_{}", layout.labels[unit], pair[1].1);
                    self.model.row(name, constraint!(held <= heavier));
                }
            }
        }
    }

    /// Whether a unit is on an accelerator or CPU: in any of its subgraphs.
    pub fn held(&self, unit: usize, parts: &Range<usize>) -> Expression {
        self.x[unit][parts.clone()].iter().sum()
    }
}
