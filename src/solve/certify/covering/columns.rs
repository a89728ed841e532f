//! Columns: sets of units that one device can hold.

use rustc_hash::FxHashSet;

use super::devices::{Decision, Devices};
use crate::solve::certify::pricing::ROOM;

/// A set of units that a device of some kind can hold, and its load.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Index of the device kind.
    pub kind: usize,
    /// The units, ascending.
    pub units: Vec<usize>,
    /// The load of a device that holds them.
    pub load: f64,
}

impl Column {
    /// Whether the set holds `unit`.
    pub fn holds(&self, unit: usize) -> bool {
        self.units.binary_search(&unit).is_ok()
    }
}

/// Every column found so far, whatever the target.
#[derive(Debug, Default)]
pub struct Pool {
    columns: Vec<Column>,
    known: FxHashSet<(usize, Vec<usize>)>,
}

impl Pool {
    /// Takes up a set; `None` where it is known.
    pub fn add(&mut self, devices: &Devices, kind: usize, units: Vec<usize>) -> Option<&Column> {
        if !self.known.insert((kind, units.clone())) {
            return None;
        }
        let load = devices.load(kind, &units);
        self.columns.push(Column { kind, units, load });
        self.columns.last()
    }

    /// The columns of splits below `target`, with the room that pricing leaves for rounding, that obey the decisions.
    pub fn below(&self, target: f64, decisions: &[Decision]) -> Vec<&Column> {
        let is_active =
            |c: &&Column| c.load <= target * ROOM && decisions.iter().all(|decision| decision.allows(c.kind, &c.units));
        self.columns.iter().filter(is_active).collect()
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.columns.len()
    }
}
