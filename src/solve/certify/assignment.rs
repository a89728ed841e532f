//! Splits of units over devices, one device at a time, and what they cost.

use crate::cost::{Terms, max_of_pieces};
use crate::graph::{Csr, Graph};
use crate::preprocess::{KindCosts, Unordered, joint};
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Scope, Solution, fits};
use crate::solve::dp::loads::{Value, objective, worse};

/// A split: the device of each unit, as numbered by a [`Setting`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The device of each unit.
    pub device_of: Vec<u32>,
}

/// A problem with its units and with its devices one by one.
///
/// Devices are numbered kind by kind, in the order of [`Problem::device_kinds`]: accelerators class by class, CPUs
/// last. Of each kind there are no more than could hold a unit each.
pub struct Setting<'a> {
    /// The problem on the original nodes.
    pub problem: &'a Problem,
    /// The problem on units.
    pub unordered: &'a Unordered,
    /// For each device the index of its kind in [`Reduced::kinds`](crate::preprocess::Reduced::kinds).
    pub kind_of: Vec<usize>,
    /// Successors in the order graph, where sets have to be convex.
    order: Option<Csr>,
}

impl<'a> Setting<'a> {
    /// The devices of `problem`, contracted to `unordered`. O(n + m log m).
    pub fn new(problem: &'a Problem, unordered: &'a Unordered) -> Self {
        let useful = unordered.units.unit_count().max(1);
        let kinds = unordered.units.kinds.iter().enumerate();
        let kind_of = kinds.flat_map(|(i, kind)| std::iter::repeat_n(i, kind.count.min(useful))).collect();
        let order = unordered.order.as_ref().filter(|_| problem.spec.scope != Scope::Arbitrary);
        let order = order.map(|order| Csr::new(order.node_count, order.edges.iter().copied()));
        Self { problem, unordered, kind_of, order }
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.kind_of.len()
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.unordered.units.unit_count()
    }

    /// What the units cost on this device.
    pub fn kind(&self, device: usize) -> &'a KindCosts {
        &self.unordered.units.kinds[self.kind_of[device]]
    }

    /// Whether this device is a CPU.
    pub fn is_cpu(&self, device: usize) -> bool {
        self.kind(device).kind == DeviceKind::Cpu
    }

    /// What a device of this kind with these terms (forward, backward) contributes to the objective.
    pub fn value_of(&self, kind: &KindCosts, terms: &[Terms; 2]) -> Value {
        match self.problem.spec.objective {
            Objective::Throughput | Objective::Step { .. } | Objective::Latency { .. } | Objective::Sharding(_) => {
                [max_of_pieces(&kind.pieces, &joint(terms)), 0.0]
            }
            Objective::GPipe => terms.each_ref().map(|pass| max_of_pieces(&kind.pieces, pass)),
        }
    }

    /// The value of each device; `None` where a unit is on a device that cannot run it.
    ///
    /// A net whose pins lie on several devices costs each of them once: the device that holds its source sends, the
    /// others receive. O(n + pins · log pins).
    pub fn loads(&self, split: &Assignment) -> Option<Vec<Value>> {
        let units = &self.unordered.units;
        let mut terms = vec![[Terms::default(); 2]; self.device_count()];
        for (u, &device) in split.device_of.iter().enumerate() {
            let own = self.kind(device as usize).terms(u)?;
            terms[device as usize].iter_mut().zip(&own).for_each(|(sum, own)| sum.add(own));
        }
        let mut touched: Vec<u32> = Vec::new();
        for (e, net) in units.nets.iter().enumerate() {
            touched.clear();
            touched.extend(net.pins.iter().map(|&u| split.device_of[u as usize]));
            touched.sort_unstable();
            touched.dedup();
            if touched.len() < 2 {
                continue;
            }
            let home = split.device_of[net.source as usize];
            for &device in &touched {
                let pass = &mut terms[device as usize][usize::from(net.backward)];
                let side = if device == home { &mut pass.comm_out } else { &mut pass.comm_in };
                *side += self.kind(device as usize).transfers[e];
            }
        }
        Some(terms.iter().enumerate().map(|(d, terms)| self.value_of(self.kind(d), terms)).collect())
    }

    /// Bytes that its units occupy on each device.
    pub fn memory(&self, split: &Assignment) -> Vec<f64> {
        let mut used = vec![0.0; self.device_count()];
        for (u, &device) in split.device_of.iter().enumerate() {
            used[device as usize] += self.kind(device as usize).memory[u];
        }
        used
    }

    /// Whether the units of `device` are convex in the order graph, where the scope asks for it: no path leaves them
    /// and returns. O(n + m).
    pub fn is_convex(&self, split: &Assignment, device: usize) -> bool {
        let (Some(successors), Some(order)) = (&self.order, &self.unordered.order) else { return true };
        let inside = |x: usize| split.device_of[order.group_of[x]] as usize == device;
        let mut seen = vec![false; order.node_count];
        let mut stack: Vec<usize> = (0..order.node_count).filter(|&x| inside(x)).collect();
        while let Some(x) = stack.pop() {
            for &y in successors.row(x) {
                let y = y as usize;
                if inside(y) {
                    if !inside(x) {
                        return false;
                    }
                } else if !std::mem::replace(&mut seen[y], true) {
                    stack.push(y);
                }
            }
        }
        true
    }

    /// Whether the devices can be ordered so that each prefix holds an ideal, where the scope asks for it. O(n + m).
    fn is_acyclic(&self, split: &Assignment) -> bool {
        let (Scope::Acyclic, Some(order)) = (&self.problem.spec.scope, &self.unordered.order) else { return true };
        let device = |x: usize| split.device_of[order.group_of[x]] as usize;
        let feeds = order.edges.iter().map(|&(x, y)| (device(x), device(y))).filter(|(from, to)| from != to);
        Graph::new(self.device_count(), &feeds.collect::<Vec<_>>()).is_ok()
    }

    /// The worst value of the split; `None` where a unit is unsupported, memory does not suffice or the scope is left.
    ///
    /// O(n + pins · log pins), and O(devices · (n + m)) more where sets have to be convex.
    pub fn value(&self, split: &Assignment) -> Option<Value> {
        let worst = self.loads(split)?.into_iter().fold([0.0; 2], worse);
        let memory = self.memory(split);
        let is_valid =
            (0..self.device_count()).all(|d| fits(memory[d], self.kind(d).memory_limit) && self.is_convex(split, d));
        (is_valid && self.is_acyclic(split)).then_some(worst)
    }

    /// The objective of the split; `None` where it is not valid, as in [`Self::value`].
    pub fn objective(&self, split: &Assignment) -> Option<f64> {
        self.value(split).map(objective)
    }

    /// The split on original nodes, with its objective as the claim. Devices without units are left out.
    pub fn to_solution(&self, split: &Assignment) -> Solution {
        let mut nodes = vec![Vec::new(); self.device_count()];
        for (u, &device) in split.device_of.iter().enumerate() {
            nodes[device as usize].extend(&self.unordered.units.members[u]);
        }
        let device = |(d, mut nodes): (usize, Vec<usize>)| {
            nodes.sort_unstable();
            let nodes = nodes.into_iter().map(|v| self.problem.ids[v]).collect();
            DeviceAssignment::new(self.kind(d).kind, nodes)
        };
        let used = nodes.into_iter().enumerate().filter(|(_, nodes)| !nodes.is_empty());
        Solution { devices: used.map(device).collect(), objective: self.objective(split) }
    }

    /// The split of units that puts each original node where `device_of` does; `None` where it parts a unit or has more
    /// devices of a kind than there are.
    ///
    /// Devices are given by their kind and their original nodes. O(n).
    pub fn assignment<'n>(&self, devices: impl Iterator<Item = (DeviceKind, &'n [usize])>) -> Option<Assignment> {
        const NOWHERE: u32 = u32::MAX;
        let mut device_of_node = vec![NOWHERE; self.problem.node_count()];
        let mut is_taken = vec![false; self.device_count()];
        for (kind, nodes) in devices.filter(|(_, nodes)| !nodes.is_empty()) {
            let free = (0..self.device_count()).find(|&d| !is_taken[d] && self.kind(d).kind == kind)?;
            is_taken[free] = true;
            nodes.iter().for_each(|&v| device_of_node[v] = free as u32);
        }
        let device_of_unit = |nodes: &Vec<usize>| {
            let device = device_of_node[*nodes.first()?];
            let is_whole = device != NOWHERE && nodes.iter().all(|&v| device_of_node[v] == device);
            is_whole.then_some(device)
        };
        let device_of = self.unordered.units.members.iter().map(device_of_unit).collect::<Option<_>>()?;
        Some(Assignment { device_of })
    }
}
