//! What a group of units asks of a device.

use crate::preprocess::Reduced;
use crate::problem::fits;

/// Compute time and memory of some units.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Time on the kinds of device that run the units fastest, in the instance's time unit.
    pub compute: f64,
    /// Bytes on each kind of device; `None` where it cannot run some unit.
    memory: Vec<Option<f64>>,
}

impl Demand {
    /// The demand of each unit on those of the device `kinds`.
    pub fn of_units(reduced: &Reduced, kinds: &[usize]) -> Vec<Self> {
        (0..reduced.unit_count()).map(|u| Self::of_unit(reduced, kinds, u)).collect()
    }

    fn of_unit(reduced: &Reduced, kinds: &[usize], u: usize) -> Self {
        let times = kinds.iter().filter_map(|&kind| reduced.kinds[kind].times[u]);
        let compute = times.map(|time| time.total()).min_by(f64::total_cmp).unwrap_or(0.0);
        let memory = |&kind: &usize| reduced.kinds[kind].times[u].map(|_| reduced.kinds[kind].memory[u]);
        Self { compute, memory: kinds.iter().map(memory).collect() }
    }

    /// The demand of some units together, by that of each; `None` where there are none.
    pub fn sum(of_units: &[Self], units: &[usize]) -> Option<Self> {
        units.iter().map(|&u| of_units[u].clone()).reduce(|sum, unit| sum.with(&unit))
    }

    /// The demand of both together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let memory = self.memory.iter().zip(&other.memory).map(|(a, b)| Some((*a)? + (*b)?)).collect();
        Self { compute: self.compute + other.compute, memory }
    }

    /// The demand without a part of it, of units that every kind can run. Sums of whole bytes stay exact.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let memory = self.memory.iter().zip(&part.memory).map(|(a, b)| Some((*a)? - (*b)?)).collect();
        Self { compute: self.compute - part.compute, memory }
    }

    /// Whether a device of one of the kinds, whose memory is given, can hold it.
    pub fn is_met(&self, limits: &[Option<f64>]) -> bool {
        self.is_met_beside(0.0, limits)
    }

    /// Whether a device of one of the kinds, whose memory is given, can hold it beside bytes for the edges that it cuts.
    pub fn is_met_beside(&self, boundary: f64, limits: &[Option<f64>]) -> bool {
        self.memory.iter().zip(limits).any(|(memory, &limit)| memory.is_some_and(|bytes| fits(bytes + boundary, limit)))
    }
}

/// Memory of each of the device `kinds`.
pub fn limits(reduced: &Reduced, kinds: &[usize]) -> Vec<Option<f64>> {
    kinds.iter().map(|&kind| reduced.kinds[kind].memory_limit).collect()
}
