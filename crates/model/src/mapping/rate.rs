//! Bandwidths with their unit.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The units of a rate by name, longest first, in bytes.
const UNITS: [(&str, f64); 4] = [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("GB", 1e9), ("MB", 1e6)];

/// Bytes per second in a unit of its own, such as `11GiB`. The figures of Liu et al. (2024) are in binary units: they
/// take 1 GB/s for 1024/10⁶ MB/µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    amount: f64,
    unit: usize,
}

impl Rate {
    /// So many times 2³⁰ bytes per second.
    pub const fn gib(amount: f64) -> Self {
        Self { amount, unit: 0 }
    }

    /// So many times 2²⁰ bytes per second.
    pub const fn mib(amount: f64) -> Self {
        Self { amount, unit: 1 }
    }

    /// So many times 10⁹ bytes per second.
    pub const fn gb(amount: f64) -> Self {
        Self { amount, unit: 2 }
    }

    /// Bytes per millisecond, the unit of [`super::Topology`].
    pub fn bytes_per_ms(self) -> f64 {
        self.amount * (UNITS[self.unit].1 / 1e3)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.amount, UNITS[self.unit].0)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_end_matches("/s");
        let with_unit = UNITS.iter().enumerate().find_map(|(unit, (name, _))| Some((number.strip_suffix(name)?, unit)));
        let rate = with_unit.and_then(|(amount, unit)| Some(Self { amount: amount.trim().parse().ok()?, unit }));
        let sensible = rate.filter(|rate| (1.0..=1e15).contains(&rate.bytes_per_ms()));
        sensible.ok_or_else(|| "give bytes per second with their unit, such as `11GiB`, `25GB` or `100MiB`".to_owned())
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for rate in [Rate::gib(1.1), Rate::mib(100.0), Rate::gb(450.0)] {
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        assert_eq!("11 GiB/s".parse::<Rate>().map(Rate::bytes_per_ms), Ok(11.0 * 1_073_741.824));
        for bad in ["", "11", "GB", "-1GB", "nanGB", "infGiB", "0GB", "1e300GB", "11TB"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }
}
