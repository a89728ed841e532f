//! Mappings as files state them, to be held against a problem.

use std::collections::BTreeMap;

use super::{Mapping, MappingProblem};

/// Where a copy of a stage is said to be.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedCopy {
    /// Index of the stage.
    pub stage: usize,
    /// Number of the copy, from 0.
    pub replica: usize,
    /// Index of the device.
    pub device: usize,
    /// The time that it is said to take.
    pub time: Option<f64>,
}

/// What somebody says of a mapping; nothing of it is checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClaimedMapping {
    /// The copies in any order.
    pub copies: Vec<PlacedCopy>,
    /// The time that the slowest copy is said to take.
    pub objective: Option<f64>,
    /// What the stages and the devices are said to be called.
    pub names: ClaimedNames,
}

/// Names that a mapping states, so that it is not taken for one of other stages or of another topology.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimedNames {
    /// The topology's.
    pub topology: Option<String>,
    /// Those of stages, by index.
    pub stages: BTreeMap<usize, String>,
    /// Those of devices, by index.
    pub devices: BTreeMap<usize, String>,
}

impl ClaimedMapping {
    /// The same places, with nothing said of times.
    #[must_use]
    pub fn without_times(self) -> Self {
        let copies = self.copies.into_iter().map(|copy| PlacedCopy { time: None, ..copy });
        Self { copies: copies.collect(), objective: None, names: self.names }
    }

    /// The mapping of `problem` that it tells of; `None` where a copy is missing, told twice, or none of the problem's.
    pub fn to_mapping(&self, problem: &MappingProblem) -> Option<Mapping> {
        let mut devices = vec![None; problem.copies()];
        for copy in &self.copies {
            let number = copy.stage.checked_mul(problem.replicas)?.checked_add(copy.replica)?;
            let known = devices.get_mut(number).filter(|_| copy.replica < problem.replicas)?;
            if known.replace(copy.device).is_some() {
                return None;
            }
        }
        Some(Mapping { devices: devices.into_iter().collect::<Option<_>>()? })
    }

    /// How many copies of each stage there are by the largest number named; at least 1.
    pub fn replicas(&self) -> usize {
        self.copies.iter().map(|copy| copy.replica.saturating_add(1)).max().unwrap_or(1)
    }

    /// What a mapper says of its `mapping` of `problem`, with the times of the shared cost model.
    pub fn new(problem: &MappingProblem, mapping: &Mapping) -> Self {
        let times = problem.times(mapping);
        let replicas = problem.replicas;
        let copy = |(copy, &device): (usize, &usize)| PlacedCopy {
            stage: copy / replicas,
            replica: copy % replicas,
            device,
            time: Some(times[copy]),
        };
        let copies = mapping.devices.iter().enumerate().map(copy).collect();
        let objective = Some(times.iter().copied().fold(0.0, f64::max));
        Self { copies, objective, names: ClaimedNames::default() }
    }
}
