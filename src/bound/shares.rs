//! What each unit takes at least of the time of the devices of each kind.

use crate::cost::Piece;
use crate::preprocess::{KindCosts, Reduced, joint};
use crate::problem::fits;

/// The least shares of units on the devices of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindShares {
    /// How many devices of the kind there are.
    pub count: usize,
    /// The share of each unit: devices of the kind that hold it pay that much for it between them, however often it is
    /// replicated. `None` where the kind cannot hold it.
    pub of: Vec<Option<f64>>,
}

/// The least shares of units on each kind of device, as in [`Reduced::kinds`].
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// By kind of device.
    pub kinds: Vec<KindShares>,
}

impl Shares {
    /// The shares of the units by themselves.
    pub fn new(reduced: &Reduced) -> Self {
        let of = |costs: &KindCosts| {
            let (piece, capacity) = (leading_piece(costs), costs.capacity(costs.count));
            let is_held = |u: usize| costs.count > 0 && fits(costs.memory[u], capacity);
            let share = |u| Some(piece.value(&joint(&costs.terms(u).filter(|_| is_held(u))?)));
            (0..reduced.unit_count()).map(share).collect()
        };
        Self { kinds: reduced.kinds.iter().map(|costs| KindShares { count: costs.count, of: of(costs) }).collect() }
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.kinds.first().map_or(0, |kind| kind.of.len())
    }

    /// The least share of unit `u` on any kind.
    pub fn least(&self, u: usize) -> Option<f64> {
        self.kinds.iter().filter_map(|kind| kind.of[u]).min_by(f64::total_cmp)
    }

    /// The units that a device can hold, the one of the largest least share first.
    pub fn heaviest_first(&self) -> Vec<usize> {
        let mut units: Vec<(f64, usize)> =
            (0..self.unit_count()).filter_map(|u| self.least(u).map(|share| (share, u))).collect();
        units.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        units.into_iter().map(|(_, u)| u).collect()
    }
}

/// The piece under which shares add up to a load: the one that weighs compute most.
pub fn leading_piece(costs: &KindCosts) -> Piece {
    let heavier = |a: Piece, b: Piece| if b.compute > a.compute { b } else { a };
    costs.pieces.iter().copied().reduce(heavier).unwrap_or(Piece::new(0.0, 0.0, 0.0))
}
