//! The devices of a program, one by one.

use std::ops::Range;

use crate::problem::{DeviceKind, Problem};

/// One device, or one of the subgraphs that an accelerator runs one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    pub kind: DeviceKind,
    /// Position of the kind in [`Problem::device_kinds`].
    pub kind_index: usize,
    /// As it stands in names: `a3`, `a3_s1` or `c0`.
    pub name: String,
}

/// The devices of every kind; those of one kind and the subgraphs of one accelerator stand side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Devices {
    pub list: Vec<Device>,
    /// The accelerators or CPUs themselves: the subgraphs of each, and its name.
    pub owners: Vec<(Range<usize>, String)>,
    /// The owners of each kind.
    pub of_kind: Vec<Range<usize>>,
}

impl Devices {
    /// Accelerators with this many subgraphs each, numbered through all classes, and at most `cpus` CPUs.
    pub fn new(problem: &Problem, subgraphs: usize, cpus: usize) -> Self {
        let mut devices = Self::default();
        for (kind_index, kind) in problem.device_kinds().into_iter().enumerate() {
            let first = devices.owners.len();
            let (count, letter, parts) = match kind {
                DeviceKind::Accelerator(_) => (problem.device_count(kind), 'a', subgraphs),
                DeviceKind::Cpu => (problem.device_count(kind).min(cpus), 'c', 1),
            };
            let offset = if kind == DeviceKind::Cpu { 0 } else { first };
            for i in 0..count {
                devices.add(kind, kind_index, format!("{letter}{}", offset + i), parts);
            }
            devices.of_kind.push(first..devices.owners.len());
        }
        devices
    }

    fn add(&mut self, kind: DeviceKind, kind_index: usize, owner: String, parts: usize) {
        let first = self.list.len();
        for part in 0..parts {
            let name = if parts == 1 { owner.clone() } else { format!("{owner}_s{part}") };
            self.list.push(Device { kind, kind_index, name });
        }
        self.owners.push((first..self.list.len(), owner));
    }
}
