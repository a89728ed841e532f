//! Joins groups of stages to pipelines.

use std::collections::BTreeMap;

use super::groups::bits;
use crate::mapping::{Mapping, MappingProblem};

/// How many groups may be tried for one pipeline.
const PATIENCE: usize = 2000;

/// The groups of whole pipelines, one after the other, as far as they are found. What is left of `groups`, which says how
/// many there are by members, makes up none.
pub fn pipelines(all: u64, groups: &mut BTreeMap<u64, usize>) -> Vec<Vec<u64>> {
    let mut pipelines = Vec::new();
    loop {
        let mut chosen = Vec::new();
        if !join(all, groups, &mut chosen, &mut PATIENCE.clone()) {
            return pipelines;
        }
        for members in &chosen {
            if let Some(count) = groups.get_mut(members) {
                *count -= 1;
            }
        }
        groups.retain(|_, count| *count > 0);
        pipelines.push(chosen);
    }
}

/// Chooses groups that make up the stages of `rest`, those of which there are the most first.
fn join(rest: u64, groups: &BTreeMap<u64, usize>, chosen: &mut Vec<u64>, patience: &mut usize) -> bool {
    if rest == 0 {
        return true;
    }
    let first = rest & rest.wrapping_neg();
    let fits = |members: u64| members & first != 0 && members & !rest == 0;
    let ways = groups.iter().filter(|&(&members, _)| fits(members));
    let mut ways: Vec<(usize, u64)> = ways.map(|(&members, &count)| (count, members)).collect();
    ways.sort_unstable_by(|a, b| b.cmp(a));
    for (_, members) in ways {
        let Some(left) = patience.checked_sub(1) else { return false };
        *patience = left;
        chosen.push(members);
        if join(rest & !members, groups, chosen, patience) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// Groups with their devices.
pub struct Joining<'a> {
    problem: &'a MappingProblem,
    /// By members: the devices of each such group, by stage.
    groups: BTreeMap<u64, Vec<Vec<usize>>>,
    /// Whether a device is in no group.
    free: Vec<bool>,
}

impl<'a> Joining<'a> {
    /// No groups yet.
    pub fn new(problem: &'a MappingProblem) -> Self {
        Self { problem, groups: BTreeMap::new(), free: vec![true; problem.topology.len()] }
    }

    /// Adds a group on these devices, one for each of its stages.
    pub fn add(&mut self, members: u64, devices: &[usize]) {
        devices.iter().for_each(|&device| self.free[device] = false);
        self.groups.entry(members).or_default().push(devices.to_vec());
    }

    /// The mapping. Where groups make up no pipeline, they are broken up, and copies in no group get any free devices. `None`
    /// where a copy does not fit.
    pub fn mapping(mut self) -> Option<Mapping> {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        let mut counts = self.groups.iter().map(|(&members, groups)| (members, groups.len())).collect();
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); stages];
        for members in pipelines(all(stages), &mut counts).into_iter().flatten() {
            self.place(members, &mut places);
        }
        for (members, count) in counts {
            (0..count).for_each(|_| self.place(members, &mut places));
        }
        let mut free = (0..self.free.len()).filter(|&device| self.free[device]);
        for places in &mut places {
            places.extend(free.by_ref().take(replicas - places.len()));
        }
        let devices: Vec<usize> = places.concat();
        self.problem.all_fit(&devices).then_some(Mapping { devices })
    }

    /// Gives the stages of one of these groups their devices.
    fn place(&mut self, members: u64, places: &mut [Vec<usize>]) {
        let Some(groups) = self.groups.get_mut(&members) else { return };
        if let Some(devices) = groups.pop() {
            bits(members).zip(devices).for_each(|(stage, device)| places[stage].push(device));
        }
    }
}

/// The first so many stages.
pub fn all(stages: usize) -> u64 {
    u64::MAX >> (64 - stages.clamp(1, 64))
}
