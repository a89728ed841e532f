//! Published figures of named devices.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize, Serializer};

use super::Checks;
use crate::generate::MAX_NODES;
use crate::instance::{AcceleratorClass, Platform};

/// An accelerator, with the figures of its maker's data sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// NVIDIA V100 SXM2, 16 GB (2017).
    #[default]
    V100,
    /// NVIDIA A100 SXM4, 40 GB (2020).
    A100,
    /// NVIDIA H100 SXM5, 80 GB (2022).
    H100,
}

/// The width of numbers, and with it the units that compute matrix products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bytes; matrix products on the ordinary units.
    #[default]
    Fp32,
    /// Two bytes; matrix products on tensor cores.
    Fp16,
}

/// How an accelerator is reached; bandwidth is that of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// PCIe 3.0 x16, 15.75 GB/s.
    Pcie3,
    /// PCIe 4.0 x16, 31.5 GB/s.
    Pcie4,
    /// PCIe 5.0 x16, 63 GB/s.
    Pcie5,
    /// All NVLink lanes of the accelerator: 150, 300 and 450 GB/s on V100, A100 and H100.
    Nvlink,
}

/// A CPU socket, with base clock times widest fused multiply-adds and the bandwidth of all its memory channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Cpu {
    /// Intel Xeon E5-2698 v4, 20 cores at 2.2 GHz with AVX2, four channels of DDR4-2400: the host of a DGX-1.
    XeonE5,
    /// AMD EPYC 7742, 64 cores at 2.25 GHz with AVX2, eight channels of DDR4-3200: the host of a DGX A100.
    Epyc7742,
    /// Intel Xeon Platinum 8480C, 56 cores at 2.0 GHz with AVX-512, eight channels of DDR5-4800: that of a DGX H100.
    Xeon8480,
}

/// The devices that a workload's costs are modelled for.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Hardware {
    /// The kind of the accelerators.
    #[arg(long, value_enum, default_value_t = Self::default().accelerator)]
    pub accelerator: Accelerator,
    /// Accelerators of other kinds beside them, as classes of their own: `a100:32` for 32 of one.
    #[arg(long, value_name = "KIND:K,...", value_delimiter = ',', value_parser = OtherAccelerators::parse)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_accelerators: Vec<OtherAccelerators>,
    /// The width of numbers.
    #[arg(long, value_enum, default_value_t = Self::default().precision)]
    pub precision: Precision,
    /// The link to host memory; when left out, PCIe of the accelerator's own generation.
    #[arg(long, value_enum)]
    pub link: Option<Link>,
    /// The CPU; when left out, the host of the accelerator's DGX server.
    #[arg(long, value_enum)]
    pub cpu: Option<Cpu>,
    /// The share of the peak that matrix products reach, on any device.
    #[arg(long, default_value_t = Self::default().efficiency)]
    pub efficiency: f64,
}

impl Default for Hardware {
    fn default() -> Self {
        let (accelerator, precision) = Default::default();
        Self { accelerator, other_accelerators: Vec::new(), precision, link: None, cpu: None, efficiency: 0.6 }
    }
}

/// Accelerators of one more kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherAccelerators {
    /// Their kind.
    pub accelerator: Accelerator,
    /// How many there are.
    pub count: u32,
}

impl OtherAccelerators {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no kind and number, such as `a100:32`");
        let (kind, count) = text.split_once(':').ok_or_else(wrong)?;
        let accelerator = Accelerator::from_str(kind, true)?;
        Ok(Self { accelerator, count: count.parse().map_err(|_| wrong())? })
    }
}

impl Serialize for OtherAccelerators {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.accelerator.to_string().to_lowercase(), self.count))
    }
}

/// What a roofline needs to know of a device.
pub(super) struct Roofline {
    /// Operations per second of matrix products.
    pub matrix_flops: f64,
    /// Operations per second of everything else.
    pub vector_flops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds to start one kernel.
    pub launch: f64,
}

impl Accelerator {
    /// Bytes of device memory.
    pub fn memory(self) -> f64 {
        let gib = match self {
            Self::V100 => 16.0,
            Self::A100 => 40.0,
            Self::H100 => 80.0,
        };
        gib * f64::from(1 << 30)
    }

    fn roofline(self, precision: Precision) -> Roofline {
        let (fp32, fp16_tensor, bandwidth) = match self {
            Self::V100 => (15.7e12, 125e12, 900e9),
            Self::A100 => (19.5e12, 312e12, 1555e9),
            Self::H100 => (66.9e12, 989.4e12, 3350e9),
        };
        let matrix_flops = match precision {
            Precision::Fp32 => fp32,
            Precision::Fp16 => fp16_tensor,
        };
        Roofline { matrix_flops, vector_flops: fp32, bandwidth, launch: 5e-6 }
    }

    /// Bytes per second of all its NVLink lanes, one direction.
    pub(super) fn nvlink(self) -> f64 {
        match self {
            Self::V100 => 150e9,
            Self::A100 => 300e9,
            Self::H100 => 450e9,
        }
    }

    fn host(self) -> (Link, Cpu) {
        match self {
            Self::V100 => (Link::Pcie3, Cpu::XeonE5),
            Self::A100 => (Link::Pcie4, Cpu::Epyc7742),
            Self::H100 => (Link::Pcie5, Cpu::Xeon8480),
        }
    }
}

impl Precision {
    /// Bytes of one number.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Fp16 => 2.0,
        }
    }
}

impl Cpu {
    /// CPUs compute both precisions at the rate of the wider one.
    fn roofline(self) -> Roofline {
        let (flops, bandwidth) = match self {
            Self::XeonE5 => (1.408e12, 76.8e9),
            Self::Epyc7742 => (4.608e12, 204.8e9),
            Self::Xeon8480 => (7.168e12, 307.2e9),
        };
        Roofline { matrix_flops: flops, vector_flops: flops, bandwidth, launch: 1e-6 }
    }
}

impl Hardware {
    /// Bytes per second between an accelerator and host memory.
    pub fn link_bandwidth(&self) -> f64 {
        match self.link() {
            Link::Pcie3 => 15.75e9,
            Link::Pcie4 => 31.5e9,
            Link::Pcie5 => 63e9,
            Link::Nvlink => self.accelerator.nvlink(),
        }
    }

    /// The devices in words.
    pub fn describe(&self) -> String {
        let kinds: Vec<String> = self.kinds().map(|kind| kind.to_string()).collect();
        format!("{} over {}; CPU {}", kinds.join(" and "), self.link(), self.cpu())
    }

    pub(in crate::generate) fn check(&self, checks: &mut Checks) {
        if !(self.efficiency > 0.0 && self.efficiency <= 1.0) {
            checks.problem(
                "efficiency",
                format!("{} is no share", self.efficiency),
                "give a number above 0, at most 1",
            );
        }
        for other in &self.other_accelerators {
            checks.within("other-accelerators", other.count, 0, MAX_NODES as u64);
        }
    }

    /// The kind of each class of accelerators.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Accelerator> {
        std::iter::once(self.accelerator).chain(self.other_accelerators.iter().map(|other| other.accelerator))
    }

    /// So many accelerators with so much memory, or their own, those of other kinds, and CPUs.
    pub(in crate::generate) fn platform(&self, accelerators: usize, memory: Option<f64>, cpus: usize) -> Platform {
        let others = self.other_accelerators.iter().map(|other| other.count as usize);
        let class = |(count, kind): (usize, Accelerator)| AcceleratorClass {
            name: Some(kind.to_string()),
            count,
            memory: Some(memory.unwrap_or(kind.memory())),
            load: None,
        };
        let accelerators = std::iter::once(accelerators).chain(others).zip(self.kinds()).map(class).collect();
        Platform { accelerators, cpus, bandwidth: Some(self.link_bandwidth() / 1e3) }
    }

    pub(super) fn accelerator_rooflines(&self) -> Vec<Roofline> {
        self.kinds().map(|kind| self.with_efficiency(kind.roofline(self.precision))).collect()
    }

    pub(super) fn cpu_roofline(&self) -> Roofline {
        self.with_efficiency(self.cpu().roofline())
    }

    fn with_efficiency(&self, peak: Roofline) -> Roofline {
        let Roofline { matrix_flops, vector_flops, .. } = peak;
        Roofline { matrix_flops: matrix_flops * self.efficiency, vector_flops: vector_flops * self.efficiency, ..peak }
    }

    fn link(&self) -> Link {
        self.link.unwrap_or(self.accelerator.host().0)
    }

    fn cpu(&self) -> Cpu {
        self.cpu.unwrap_or(self.accelerator.host().1)
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V100 => "V100",
            Self::A100 => "A100",
            Self::H100 => "H100",
        })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcie3 => "PCIe 3.0 x16",
            Self::Pcie4 => "PCIe 4.0 x16",
            Self::Pcie5 => "PCIe 5.0 x16",
            Self::Nvlink => "NVLink",
        })
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::XeonE5 => "Xeon E5-2698 v4",
            Self::Epyc7742 => "EPYC 7742",
            Self::Xeon8480 => "Xeon Platinum 8480C",
        })
    }
}
