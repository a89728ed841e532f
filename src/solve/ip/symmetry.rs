//! Interchangeable devices are numbered by what they hold.

use good_lp::{Expression, constraint};

use super::builder::Builder;

/// How many units for each device name the devices; the others say little that is new.
const UNITS_PER_DEVICE: usize = 4;

impl Builder<'_> {
    /// Numbers the devices of each kind by the first of the heaviest units that they hold: a unit is on device i only
    /// if a heavier one is on device i − 1. Every split has a numbering that fits.
    pub fn break_symmetry(&mut self) {
        for (kind, owners) in self.devices.of_kind.clone().into_iter().enumerate() {
            let devices: Vec<usize> = owners.map(|owner| self.devices.owners[owner].0.start).collect();
            let mut units = self.heaviest_first(kind);
            units.truncate(UNITS_PER_DEVICE * devices.len());
            for (r, &unit) in units.iter().enumerate() {
                for pair in devices.windows(2) {
                    let heavier: Expression = units[..r].iter().map(|&earlier| self.x[earlier][pair[0]]).sum();
                    let x = self.x[unit][pair[1]];
                    let name = format!("first_{}_{}", self.labels[unit], self.devices.list[pair[1]].name);
                    self.model.row(name, constraint!(x <= heavier));
                }
            }
        }
    }

    /// The units by falling time on a kind of device.
    pub fn heaviest_first(&self, kind: usize) -> Vec<usize> {
        let times = &self.units.units.kinds[kind].times;
        let weight = |unit: usize| times[unit].map_or(-1.0, |time| time.total());
        let mut units: Vec<usize> = (0..times.len()).collect();
        units.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)).then(a.cmp(&b)));
        units
    }
}
