//! What the binaries x stand for: units, devices, names and numbers of the columns; and splits from and to their values.

use super::devices::Devices;
use crate::graph::NodeId;
use crate::preprocess::{KindCosts, Unordered};
use crate::problem::{DeviceAssignment, Objective, Problem, Scope, Solution};
use crate::solve::objective::{Held, all_fit, objective};

/// The units and devices of a program.
pub(super) struct Layout<'a> {
    pub problem: &'a Problem,
    /// Colour classes as units, so that their nodes share a device by construction. For the latency each node by
    /// itself, since a class may lie in several subgraphs of one accelerator.
    pub units: Unordered,
    pub devices: Devices,
    /// Units as they stand in names: `v` and the id of the first node.
    pub labels: Vec<String>,
}

/// Measured on NASNets of 900 and 1,800 nodes, in the first 15 s of HiGHS.
const BYTES_PER_COLUMN: usize = 12_000;

impl<'a> Layout<'a> {
    pub fn new(problem: &'a Problem) -> Self {
        let (units, devices) = match problem.spec.objective {
            Objective::Latency { subgraphs } => {
                let mut apart = problem.clone();
                apart.color_class.fill(None);
                apart.given_class.fill(None);
                // Subgraphs have to be convex in every scope.
                apart.spec.scope = Scope::Convex;
                // CPU nodes run side by side, so one CPU does what several do.
                (Unordered::new(&apart), Devices::new(problem, subgraphs, 1))
            }
            Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Sharding(_) => {
                (Unordered::new(problem), Devices::new(problem, 1, usize::MAX))
            }
        };
        let labels = units.units.members.iter().map(|nodes| format!("v{}", problem.ids[nodes[0]])).collect();
        Self { problem, units, devices, labels }
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.labels.len()
    }

    /// About how many bytes the program takes, HiGHS' part included: placements and a pair of communication variables
    /// for each net are its columns.
    pub fn bytes(&self) -> usize {
        let columns = (self.unit_count() + 2 * self.units.units.nets.len()) * self.devices.list.len();
        columns.saturating_mul(BYTES_PER_COLUMN)
    }

    /// The unit of each node.
    pub fn unit_of(&self) -> Vec<usize> {
        let mut unit_of = vec![0; self.problem.node_count()];
        for (unit, nodes) in self.units.units.members.iter().enumerate() {
            nodes.iter().for_each(|&v| unit_of[v] = unit);
        }
        unit_of
    }

    /// The costs of the units on device `i`.
    pub fn costs(&self, i: usize) -> &KindCosts {
        &self.units.units.kinds[self.devices.list[i].kind_index]
    }

    /// The name of x_{v,i}.
    pub fn name(&self, unit: usize, i: usize) -> String {
        format!("x_{}_{}", self.labels[unit], self.devices.list[i].name)
    }

    /// The column of x_{v,i}: a program's first columns are these, unit by unit.
    pub fn column(&self, unit: usize, i: usize) -> usize {
        unit * self.devices.list.len() + i
    }

    /// The units by falling time on a kind of device.
    pub fn heaviest_first(&self, kind: usize) -> Vec<usize> {
        let times = &self.units.units.kinds[kind].times;
        let weight = |unit: usize| times[unit].map_or(-1.0, |time| time.total());
        let mut units: Vec<usize> = (0..times.len()).collect();
        units.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)).then(a.cmp(&b)));
        units
    }

    /// The values of x in a split, its devices numbered as symmetry breaking wants them; `None` where the split does not
    /// fit the devices.
    pub fn start_values(&self, split: &Solution) -> Option<Vec<(usize, f64)>> {
        let index = self.problem.index_of_ids();
        // The assignment of each node, and which of its subgraphs it is in.
        let mut place_of = vec![None; self.problem.node_count()];
        for (d, device) in split.devices.iter().enumerate() {
            device.nodes.iter().try_for_each(|id| index.get(id).map(|&v| place_of[v] = Some((d, 0))))?;
            for (s, subgraph) in device.subgraphs.iter().enumerate() {
                subgraph.iter().try_for_each(|id| index.get(id).map(|&v| place_of[v] = Some((d, s))))?;
            }
        }
        let place_of: Vec<(usize, usize)> =
            self.units.units.members.iter().map(|nodes| place_of[nodes[0]]).collect::<Option<_>>()?;
        let owner_of = self.number(split, &place_of)?;
        let mut entries = Vec::new();
        for (unit, &(d, subgraph)) in place_of.iter().enumerate() {
            let owner = &self.devices.owners[owner_of[d]?].0;
            let held_by = Some(owner.start + subgraph).filter(|i| owner.contains(i))?;
            let of_unit = |i| (self.column(unit, i), f64::from(u8::from(i == held_by)));
            entries.extend((0..self.devices.list.len()).map(of_unit));
        }
        Some(entries)
    }

    /// Numbers the devices of a split, those of each kind by the heaviest unit on them; the CPUs of a latency are one.
    fn number(&self, split: &Solution, place_of: &[(usize, usize)]) -> Option<Vec<Option<usize>>> {
        let mut owner_of = vec![None; split.devices.len()];
        for (kind, owners) in self.devices.of_kind.iter().enumerate() {
            let costs = &self.units.units.kinds[kind];
            let merges = costs.count > owners.len();
            let mut free = owners.clone();
            for unit in self.heaviest_first(kind) {
                let d = place_of[unit].0;
                if owner_of[d].is_none() && split.devices[d].kind == costs.kind {
                    owner_of[d] = Some(if merges { owners.start } else { free.next()? });
                }
            }
        }
        Some(owner_of)
    }

    /// The units on each device where x has these values, rounded.
    pub fn units_of(&self, values: &[f64]) -> Vec<Vec<usize>> {
        let mut units_of = vec![Vec::new(); self.devices.list.len()];
        for unit in 0..self.unit_count() {
            let value = |&i: &usize| values[self.column(unit, i)];
            let held_by = (0..units_of.len()).max_by(|i, j| value(i).total_cmp(&value(j)));
            held_by.iter().for_each(|&i| units_of[i].push(unit));
        }
        units_of
    }

    /// The split in which x has these values, rounded, with its objective by the cost model; `None` where it is none.
    pub fn split(&self, values: &[f64]) -> Option<Solution> {
        let members = &self.units.units.members;
        let nodes = |units: &Vec<usize>| -> Vec<NodeId> { units.iter().flat_map(|&u| members[u].clone()).collect() };
        let nodes_of: Vec<Vec<NodeId>> = self.units_of(values).iter().map(nodes).collect();
        let held: Vec<Held> = self
            .devices
            .owners
            .iter()
            .map(|(parts, _)| {
                let subgraphs = nodes_of[parts.clone()].iter().filter(|nodes| !nodes.is_empty()).cloned().collect();
                Held::new(self.devices.list[parts.start].kind, subgraphs)
            })
            .filter(|held| !held.subgraphs.is_empty())
            .collect();
        let fits = all_fit(self.problem, &held);
        let objective = objective(self.problem, &held).filter(|_| fits)?;
        Some(Solution { devices: held.iter().map(|held| self.assignment(held)).collect(), objective: Some(objective) })
    }

    fn assignment(&self, held: &Held) -> DeviceAssignment {
        let ids = |nodes: &Vec<NodeId>| -> Vec<u64> { nodes.iter().map(|&v| self.problem.ids[v]).collect() };
        let mut nodes: Vec<u64> = held.subgraphs.iter().flat_map(ids).collect();
        nodes.sort_unstable();
        let subgraphs = if held.subgraphs.len() > 1 { held.subgraphs.iter().map(ids).collect() } else { Vec::new() };
        DeviceAssignment { subgraphs, ..DeviceAssignment::new(held.kind, nodes) }
    }
}
