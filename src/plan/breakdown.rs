//! Where the time of the devices goes.

use crate::simulate::{DeviceWork, Simulation};

/// Device time of a step, summed over devices. All candidates take the same batch, so that the differences say why one is
/// better than another.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Breakdown {
    /// Computing.
    pub compute: f64,
    /// Computing activations once more.
    pub recompute: f64,
    /// Moving data between stages, where devices pay for it.
    pub messages: f64,
    /// Bringing gradients together.
    pub all_reduce: f64,
    /// Waiting.
    pub idle: f64,
}

impl Breakdown {
    /// The breakdown of a simulation on some of so many `devices`, each of which stands for `size` of them; those that it leaves
    /// out wait all the time.
    pub fn of(simulation: &Simulation, devices: usize, size: usize) -> Self {
        let work: Vec<DeviceWork> = simulation.work();
        let sum = |part: fn(&DeviceWork) -> f64| size as f64 * work.iter().map(part).sum::<f64>();
        let all = devices as f64 * simulation.makespan();
        Self {
            compute: sum(|work| work.compute),
            recompute: sum(|work| work.recompute),
            messages: sum(|work| work.transfers),
            all_reduce: sum(|work| work.all_reduces),
            // Where nobody waits the difference is rounding.
            idle: Some(all - sum(DeviceWork::busy)).filter(|idle| *idle > 1e-9 * all).unwrap_or(0.0),
        }
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, time)| time).sum()
    }

    /// Its parts by name.
    pub fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("compute", self.compute),
            ("recomputation", self.recompute),
            ("messages", self.messages),
            ("all-reduce", self.all_reduce),
            ("waiting", self.idle),
        ]
    }
}
