//! The memory of devices, as programs state it.
//!
//! A split fits where its sums are within a part of 1e-9 of the limits. HiGHS cannot tell sums apart that are so near a
//! limit, and has called what fits infeasible. It is asked for a little less, and told which sets of units do not fit once it
//! gives one of them to a device: a row of whole numbers (a cover inequality), about which nothing is to be rounded.

use std::ops::Range;

use good_lp::{Expression, Variable, constraint};

use super::layout::Layout;
use super::model::{Model, weighted};
use crate::problem::fits;

/// How memory is stated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MemoryRows {
    /// Limits are exceeded by this part at most.
    pub tolerance: f64,
    /// Sums are counted in parts of the limit, of which there are so many.
    pub parts: f64,
    /// Units that no device of a kind, by its position in [`Problem::device_kinds`](crate::problem::Problem::device_kinds),
    /// holds all of.
    pub covers: Vec<(usize, Vec<usize>)>,
}

impl MemoryRows {
    /// As splits are judged: for programs that others solve.
    pub fn exact() -> Self {
        Self { tolerance: 1e-9, parts: 1.0, covers: Vec::new() }
    }

    /// With room for HiGHS' tolerances.
    pub fn loose() -> Self {
        Self { tolerance: 1e-6, parts: 1024.0, covers: Vec::new() }
    }

    /// Learns from the placement of all units by device what does not fit; whether it did.
    pub fn learn(&mut self, layout: &Layout, units_of: &[Vec<usize>]) -> bool {
        let before = self.covers.len();
        for (owner, _) in &layout.devices.owners {
            let units: Vec<usize> = owner.clone().flat_map(|i| units_of[i].iter().copied()).collect();
            let cover = cover(layout, owner, units).map(|units| (layout.devices.list[owner.start].kind_index, units));
            let is_new = |cover: &(usize, Vec<usize>)| !self.covers.contains(cover);
            self.covers.extend(cover.filter(is_new));
        }
        self.covers.len() > before
    }

    /// Adds Σ_v m_v x_{v,i} ≤ M for each accelerator, over all its subgraphs, and Σ_v x_{v,i} ≤ |C| − 1 for each cover C.
    pub fn add(&self, model: &mut Model, layout: &Layout, x: &[Vec<Variable>]) {
        for (owner, name) in &layout.devices.owners {
            let costs = layout.costs(owner.start);
            let Some(limit) = costs.memory_limit.filter(|&limit| limit > 0.0) else { continue };
            let used = weighted(owner.clone().flat_map(|i| {
                let shares = costs.memory.iter().map(move |bytes| bytes / limit * self.parts);
                shares.zip(x.iter().map(move |row| row[i]))
            }));
            model.row(format!("memory_{name}"), constraint!(used <= self.parts * (1.0 + self.tolerance)));
            let kind = layout.devices.list[owner.start].kind_index;
            for (c, (_, units)) in self.covers.iter().enumerate().filter(|(_, (of, _))| *of == kind) {
                let held: Expression = units.iter().flat_map(|&unit| owner.clone().map(move |i| x[unit][i])).sum();
                model.row(format!("cover_{name}_{c}"), constraint!(held <= (units.len() - 1) as f64));
            }
        }
    }
}

/// As few of these units as do not fit a device together; `None` where all do.
fn cover(layout: &Layout, owner: &Range<usize>, mut units: Vec<usize>) -> Option<Vec<usize>> {
    let costs = layout.costs(owner.start);
    let fit = |units: &[usize]| fits(units.iter().map(|&unit| costs.memory[unit]).sum(), costs.memory_limit);
    if fit(&units) {
        return None;
    }
    units.sort_by(|&a, &b| costs.memory[a].total_cmp(&costs.memory[b]).then(a.cmp(&b)));
    for unit in units.clone() {
        let rest: Vec<usize> = units.iter().copied().filter(|&other| other != unit).collect();
        if !fit(&rest) {
            units = rest;
        }
    }
    units.sort_unstable();
    Some(units)
}
