//! A random bandwidth for every pair of devices.

use std::ops::RangeInclusive;

use rand::RngExt;
use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng};

/// uniform_dist: a bandwidth drawn uniformly for every pair, the same both ways (Liu et al. 2024, appendix D-B). The
/// paper's range is 1e-5 to 1e-2 MB/µs, which is 10 to 10 000 MiB/s.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct UniformDist {
    /// How many devices there are.
    #[arg(long, default_value_t = Self::default().devices)]
    pub devices: usize,
    /// The least bandwidth, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().slowest)]
    pub slowest: Rate,
    /// The largest bandwidth, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().fastest)]
    pub fastest: Rate,
}

impl Default for UniformDist {
    fn default() -> Self {
        Self { devices: 64, slowest: Rate::mib(10.0), fastest: Rate::mib(10_000.0) }
    }
}

/// A value for each unordered pair of devices.
pub(super) struct Pairs(Vec<f64>);

impl Pairs {
    /// The pairs (a, b) with a > b, in the order in which they are drawn.
    pub fn all(devices: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..devices).flat_map(|a| (0..a).map(move |b| (a, b)))
    }

    pub fn draw(devices: usize, range: RangeInclusive<f64>, rng: &mut Rng) -> Self {
        Self(Self::all(devices).map(|_| rng.random_range(range.clone())).collect())
    }

    pub fn get(&self, a: usize, b: usize) -> f64 {
        let (high, low) = (a.max(b), a.min(b));
        self.0[high * (high - 1) / 2 + low]
    }
}

pub(super) fn check_range(slowest: Rate, fastest: Rate, checks: &mut Checks) {
    if slowest.bytes_per_ms() > fastest.bytes_per_ms() {
        let cause = format!("{slowest} is more than the fastest, {fastest}");
        checks.problem("slowest", cause, "give the smaller of the two");
    }
}

impl Layout for UniformDist {
    fn name(&self) -> String {
        format!("uniform-dist-{}", self.devices)
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("devices", self.devices as u64);
        check_range(self.slowest, self.fastest, checks);
    }

    fn devices(&self) -> usize {
        self.devices
    }

    fn draw(&self, rng: &mut Rng) -> Links {
        let pairs = Pairs::draw(self.devices, self.slowest.bytes_per_ms()..=self.fastest.bytes_per_ms(), rng);
        Links::new(move |a, b| pairs.get(a, b))
    }
}
