//! Between splits and values of the binaries.

use rustc_hash::FxHashMap;

use super::builder::Builder;
use super::evaluate;
use crate::graph::NodeSet;
use crate::problem::{DeviceAssignment, Solution};

impl Builder<'_> {
    /// The column of x_{v,i}: these are the first that were added.
    fn column(&self, unit: usize, device: usize) -> usize {
        unit * self.devices.list.len() + device
    }

    /// The values of x in a split, its devices numbered as symmetry breaking wants them; `None` where the split does not
    /// fit the devices.
    pub fn start_values(&self, split: &Solution) -> Option<Vec<(usize, f64)>> {
        let device_of = self.device_of_units(split)?;
        let entries = device_of.iter().enumerate().flat_map(|(unit, &held_by)| {
            let of_unit = move |i| (self.column(unit, i), f64::from(u8::from(i == held_by)));
            (0..self.devices.list.len()).map(of_unit)
        });
        Some(entries.collect())
    }

    fn device_of_units(&self, split: &Solution) -> Option<Vec<usize>> {
        let index: FxHashMap<u64, usize> = self.problem.ids.iter().copied().zip(0..).collect();
        let mut assignment_of = vec![None; self.problem.node_count()];
        for (d, device) in split.devices.iter().enumerate() {
            for id in &device.nodes {
                assignment_of[*index.get(id)?] = Some(d);
            }
        }
        let of_unit = |nodes: &Vec<usize>| assignment_of[nodes[0]];
        let held_by: Vec<usize> = self.units.units.members.iter().map(of_unit).collect::<Option<_>>()?;
        let mut number_of = vec![None; split.devices.len()];
        for (kind, owners) in self.devices.of_kind.iter().enumerate() {
            let mut free = owners.clone().map(|owner| self.devices.owners[owner].0.start);
            for unit in self.heaviest_first(kind) {
                let d = held_by[unit];
                if number_of[d].is_none() && split.devices[d].kind == self.units.units.kinds[kind].kind {
                    number_of[d] = Some(free.next()?);
                }
            }
        }
        held_by.into_iter().map(|d| number_of[d]).collect()
    }

    /// The split in which the binaries have these values, rounded, with its objective by the cost model; `None` where a
    /// device cannot hold its set.
    pub fn split(&self, values: &[f64]) -> Option<Solution> {
        let mut nodes_of = vec![Vec::new(); self.devices.list.len()];
        for (unit, members) in self.units.units.members.iter().enumerate() {
            let held_by = (0..nodes_of.len())
                .max_by(|&i, &j| values[self.column(unit, i)].total_cmp(&values[self.column(unit, j)]))?;
            nodes_of[held_by].extend_from_slice(members);
        }
        let used = || self.devices.list.iter().zip(&nodes_of).filter(|(_, nodes)| !nodes.is_empty());
        let n = self.problem.node_count();
        let sets: Vec<_> =
            used().map(|(device, nodes)| (device.kind, NodeSet::from_nodes(n, nodes.iter().copied()))).collect();
        let objective = evaluate::objective(self.problem, &sets)?;
        let devices = sets.iter().map(|(kind, set)| DeviceAssignment {
            kind: *kind,
            replicas: 1,
            server: None,
            nodes: set.iter().map(|v| self.problem.ids[v]).collect(),
        });
        Some(Solution { devices: devices.collect(), objective: Some(objective) })
    }
}
