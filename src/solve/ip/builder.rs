//! What the programs for loads and for latency share: placement, memory and communication.

use good_lp::{Expression, Variable, constraint, variable};

use super::devices::{Device, Devices};
use super::model::{Model, weighted};
use super::wires::Wire;
use crate::cost::Piece;
use crate::preprocess::{KindCosts, UnitTime, Unordered};
use crate::problem::{Problem, fits};

/// Memory is met up to this part of it, as everywhere in this crate ([`fits`]).
const MEMORY_TOLERANCE: f64 = 1e-9;

/// Loads up to this part above a limit are kept, for the rounding of sums.
const LIMIT_TOLERANCE: f64 = 1e-9;

/// The nodes and producers that a load counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Both,
    Forward,
    Backward,
}

impl Pass {
    fn time(self, time: &UnitTime) -> f64 {
        match self {
            Pass::Both => time.total(),
            Pass::Forward => time.forward,
            Pass::Backward => time.backward,
        }
    }

    fn counts(self, wire: &Wire) -> bool {
        self == Pass::Both || wire.backward == (self == Pass::Backward)
    }
}

/// A program under construction. Its times are the instance's divided by `scale`.
pub(super) struct Builder<'a> {
    pub problem: &'a Problem,
    pub units: Unordered,
    pub devices: Devices,
    pub wires: Vec<Wire>,
    pub scale: f64,
    pub model: Model,
    /// As it stands in names: the id of each unit's first node.
    pub labels: Vec<String>,
    /// `x[v][i]`: unit v is on device i. Colour classes are units, so their nodes share a device by construction.
    pub x: Vec<Vec<Variable>>,
    /// `comm_in[w][i]`: the data of wire w comes into device i, where i pays for it.
    pub comm_in: Vec<Vec<Option<Variable>>>,
    /// `comm_out[w][i]`: the data of wire w leaves device i, where i pays for it.
    pub comm_out: Vec<Vec<Option<Variable>>>,
}

impl<'a> Builder<'a> {
    /// Adds x with Σ_i x_{v,i} = 1, memory and communication. What a device cannot hold, by itself or with a `limit` on
    /// its load in the instance's time, is fixed at 0.
    pub fn new(problem: &'a Problem, devices: Devices, wires: Vec<Wire>, scale: f64, limit: Option<f64>) -> Self {
        let units = Unordered::new(problem);
        let labels = units.units.members.iter().map(|nodes| format!("v{}", problem.ids[nodes[0]])).collect();
        let mut builder = Self {
            problem,
            units,
            devices,
            wires,
            scale,
            model: Model::default(),
            labels,
            x: Vec::new(),
            comm_in: Vec::new(),
            comm_out: Vec::new(),
        };
        builder.place(limit);
        builder.bound_memory();
        builder.communicate();
        builder
    }

    /// The costs of the units on a device.
    pub fn costs(&self, device: &Device) -> &KindCosts {
        &self.units.units.kinds[device.kind_index]
    }

    /// Whether a device of these costs can hold a unit, alone at least.
    fn can_hold(&self, device: &Device, unit: usize, limit: Option<f64>) -> bool {
        let costs = self.costs(device);
        costs.times[unit].is_some_and(|time| {
            let load = costs.pieces.iter().map(|piece| piece.compute * time.total()).fold(0.0, f64::max);
            fits(costs.memory[unit], costs.memory_limit)
                && limit.is_none_or(|limit| load <= limit * (1.0 + LIMIT_TOLERANCE))
        })
    }

    fn place(&mut self, limit: Option<f64>) {
        for unit in 0..self.labels.len() {
            let mut row = Vec::with_capacity(self.devices.list.len());
            for i in 0..self.devices.list.len() {
                let device = &self.devices.list[i];
                let most = f64::from(u8::from(self.can_hold(device, unit, limit)));
                let name = format!("x_{}_{}", self.labels[unit], device.name);
                row.push(self.model.variable(name, variable().integer().min(0).max(most)));
            }
            let held: Expression = row.iter().sum();
            self.model.row(format!("one_{}", self.labels[unit]), constraint!(held == 1));
            self.x.push(row);
        }
    }

    /// Adds Σ_v m_v x_{v,i} ≤ M for each accelerator, over all its subgraphs, in parts of M.
    fn bound_memory(&mut self) {
        for (parts, name) in &self.devices.owners {
            let costs = self.costs(&self.devices.list[parts.start]);
            let Some(limit) = costs.memory_limit.filter(|&limit| limit > 0.0) else { continue };
            let used = weighted(parts.clone().flat_map(|i| {
                let shares = costs.memory.iter().map(move |bytes| bytes / limit);
                shares.zip(self.x.iter().map(move |row| row[i]))
            }));
            self.model.row(format!("memory_{name}"), constraint!(used <= 1.0 + MEMORY_TOLERANCE));
        }
    }

    /// Adds CommIn_{u,i} ≥ x_{v,i} − x_{u,i} and CommOut_{u,i} ≥ x_{u,i} − x_{v,i} for every consumer v of a producer u.
    fn communicate(&mut self) {
        for w in 0..self.wires.len() {
            let into = self.side(w, "in", |piece| piece.comm_in, 1.0);
            let out = self.side(w, "out", |piece| piece.comm_out, -1.0);
            self.comm_in.push(into);
            self.comm_out.push(out);
        }
    }

    fn side(&mut self, w: usize, side: &str, pays: fn(&Piece) -> f64, sign: f64) -> Vec<Option<Variable>> {
        let wire = &self.wires[w];
        let mut moved_of = Vec::with_capacity(self.devices.list.len());
        for (i, device) in self.devices.list.iter().enumerate() {
            let costs = &self.units.units.kinds[device.kind_index];
            let is_paid = wire.transfers[device.kind_index] > 0.0 && costs.pieces.iter().any(|piece| pays(piece) > 0.0);
            moved_of.push(is_paid.then(|| {
                let name = format!("{side}_v{}_{}", wire.id, device.name);
                let moved = self.model.variable(name.clone(), variable().min(0).max(1));
                for &consumer in &wire.consumers {
                    let crossed = self.x[consumer][i] - self.x[wire.source][i];
                    let row = format!("{name}_{}", self.labels[consumer]);
                    self.model.row(row, constraint!(moved >= sign * crossed));
                }
                moved
            }));
        }
        moved_of
    }

    /// What `piece` charges device `i` in a pass: compute, data in and data out.
    pub fn time(&self, i: usize, piece: &Piece, pass: Pass) -> Expression {
        let device = &self.devices.list[i];
        let times = self.costs(device).times.iter().zip(&self.x);
        let compute =
            times.filter_map(|(time, row)| Some((piece.compute * pass.time(time.as_ref()?) / self.scale, row[i])));
        let mut sum = weighted(compute);
        for (w, wire) in self.wires.iter().enumerate().filter(|(_, wire)| pass.counts(wire)) {
            let time = wire.transfers[device.kind_index] / self.scale;
            let sides = [(piece.comm_in, self.comm_in[w][i]), (piece.comm_out, self.comm_out[w][i])];
            sum += weighted(sides.into_iter().filter_map(|(weight, moved)| Some((weight * time, moved?))));
        }
        sum
    }
}
