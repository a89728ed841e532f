//! What the programs for loads and for latency share: placement, memory and communication.

use good_lp::{Expression, Variable, constraint, variable};

use super::layout::Layout;
use super::model::{Model, weighted};
use super::wires::Wire;
use super::{Asked, Bounds};
use crate::cost::{Piece, compute_load};
use crate::preprocess::UnitTime;
use crate::problem::fits;

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

/// Whether a load is not above a limit.
fn is_within(load: f64, limit: Option<f64>) -> bool {
    limit.is_none_or(|limit| load <= limit * (1.0 + LIMIT_TOLERANCE))
}

/// A program under construction. Its times are the instance's divided by `scale`.
pub(super) struct Builder<'a> {
    pub layout: &'a Layout<'a>,
    pub wires: Vec<Wire>,
    pub scale: f64,
    /// Times above are those of variables that are 0.
    most: f64,
    pub model: Model,
    /// `x[v][i]`: unit v is on device i.
    pub x: Vec<Vec<Variable>>,
    /// `comm_in[w][i]`: the data of wire w comes into device i, where i pays for it.
    pub comm_in: Vec<Vec<Option<Variable>>>,
    /// `comm_out[w][i]`: the data of wire w leaves device i, where i pays for it.
    pub comm_out: Vec<Vec<Option<Variable>>>,
}

impl<'a> Builder<'a> {
    /// Adds x with Σ_i x_{v,i} = 1, memory and communication. What a device cannot hold or pay for, by itself or with a
    /// `limit` on its load in the instance's time, is fixed at 0.
    pub fn new(asked: &Asked<'a>, wires: Vec<Wire>) -> Self {
        let &Asked { layout, scale, bounds: Bounds { limit, .. }, .. } = asked;
        let (model, x, comm_in, comm_out) = (Model::default(), Vec::new(), Vec::new(), Vec::new());
        let most = limit.map_or(f64::INFINITY, |limit| limit * (1.0 + LIMIT_TOLERANCE));
        let mut builder = Self { layout, wires, scale, most, model, x, comm_in, comm_out };
        builder.place(limit);
        asked.memory.add(&mut builder.model, layout, &builder.x);
        builder.communicate(limit);
        builder
    }

    /// Whether device `i` can hold a unit, alone at least.
    fn can_hold(&self, i: usize, unit: usize, limit: Option<f64>) -> bool {
        let costs = self.layout.costs(i);
        costs.times[unit].is_some_and(|time| {
            let load = compute_load(&costs.pieces, time.total());
            fits(costs.memory[unit], costs.memory_limit) && is_within(load, limit)
        })
    }

    fn place(&mut self, limit: Option<f64>) {
        for unit in 0..self.layout.unit_count() {
            let mut row = Vec::with_capacity(self.layout.devices.list.len());
            for i in 0..self.layout.devices.list.len() {
                let most = u8::from(self.can_hold(i, unit, limit));
                row.push(self.model.variable(self.layout.name(unit, i), variable().integer().min(0).max(most)));
            }
            let held: Expression = row.iter().sum();
            self.model.row(format!("one_{}", self.layout.labels[unit]), constraint!(held == 1));
            self.x.push(row);
        }
    }

    /// Adds CommIn_{u,i} ≥ x_{v,i} − x_{u,i} and CommOut_{u,i} ≥ x_{u,i} − x_{v,i} for every consumer v of a producer u.
    fn communicate(&mut self, limit: Option<f64>) {
        for w in 0..self.wires.len() {
            let into = self.side(w, "in", |piece| piece.comm_in, 1.0, limit);
            let out = self.side(w, "out", |piece| piece.comm_out, -1.0, limit);
            self.comm_in.push(into);
            self.comm_out.push(out);
        }
    }

    fn side(
        &mut self,
        w: usize,
        side: &str,
        pays: fn(&Piece) -> f64,
        sign: f64,
        limit: Option<f64>,
    ) -> Vec<Option<Variable>> {
        let (layout, wire) = (self.layout, &self.wires[w]);
        let mut moved_of = Vec::with_capacity(layout.devices.list.len());
        for (i, device) in layout.devices.list.iter().enumerate() {
            let weight = layout.costs(i).pieces.iter().map(pays).fold(0.0, f64::max);
            let time = weight * wire.transfers[device.kind_index];
            moved_of.push((time > 0.0).then(|| {
                let name = format!("{side}_v{}_{}", wire.id, device.name);
                let most = u8::from(is_within(time, limit));
                let moved = self.model.variable(name.clone(), variable().min(0).max(most));
                for &consumer in &wire.consumers {
                    let crossed = self.x[consumer][i] - self.x[wire.source][i];
                    let row = format!("{name}_{}", layout.labels[consumer]);
                    self.model.row(row, constraint!(moved >= sign * crossed));
                }
                moved
            }));
        }
        moved_of
    }

    /// What `piece` charges device `i` in a pass: compute, data in and data out.
    pub fn time(&self, i: usize, piece: &Piece, pass: Pass) -> Expression {
        let kind = self.layout.devices.list[i].kind_index;
        let times = self.layout.costs(i).times.iter().zip(&self.x);
        let mut sum = weighted(
            times.filter_map(|(time, row)| Some((self.scaled(piece.compute * pass.time(time.as_ref()?)), row[i]))),
        );
        for (w, wire) in self.wires.iter().enumerate().filter(|(_, wire)| pass.counts(wire)) {
            let (into, out) = (piece.comm_in * wire.transfers[kind], piece.comm_out * wire.transfers[kind]);
            sum += weighted([(self.scaled(into), self.comm_in[w][i]), (self.scaled(out), self.comm_out[w][i])]);
        }
        sum
    }

    fn scaled(&self, time: f64) -> f64 {
        time.min(self.most) / self.scale
    }
}
