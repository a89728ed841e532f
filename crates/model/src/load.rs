//! Loads: maxima of linear pieces, shared by replicas. Users reach them in [`cost`](crate::cost).

use serde::{Deserialize, Serialize};

/// Compute and communication of a set of nodes on a device, in time units.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// Time to process the nodes.
    pub compute: f64,
    /// Transfer times of outside producers with a consumer inside.
    pub comm_in: f64,
    /// Transfer times of inside producers with a consumer outside.
    pub comm_out: f64,
}

impl Terms {
    /// What goes out, or what comes in.
    #[inline]
    pub fn side(&mut self, is_out: bool) -> &mut f64 {
        if is_out { &mut self.comm_out } else { &mut self.comm_in }
    }

    /// Adds other terms.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.compute += other.compute;
        self.comm_in += other.comm_in;
        self.comm_out += other.comm_out;
    }
}

/// Coefficients of one linear piece of a load; all are finite and at least zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Coefficient of the compute time.
    #[serde(default)]
    pub compute: f64,
    /// Coefficient of the communication in.
    #[serde(default, rename = "in")]
    pub comm_in: f64,
    /// Coefficient of the communication out.
    #[serde(default, rename = "out")]
    pub comm_out: f64,
}

/// The most linear pieces of a load.
pub const MAX_PIECES: usize = 8;

/// The largest coefficient of a piece.
pub const MAX_COEFFICIENT: f64 = 1e6;

/// What keeps these pieces from being a load, and the cure.
pub(crate) fn wrong_pieces(pieces: &[Piece]) -> Option<(String, String)> {
    if !(1..=MAX_PIECES).contains(&pieces.len()) {
        return Some((format!("its load has {} pieces", pieces.len()), format!("give from 1 to {MAX_PIECES}")));
    }
    let mut coefficients = pieces.iter().flat_map(|piece| [piece.compute, piece.comm_in, piece.comm_out]);
    let wrong = coefficients.find(|coefficient| !(0.0..=MAX_COEFFICIENT).contains(coefficient))?;
    Some((format!("a coefficient of its load is {wrong}"), format!("give numbers from 0 to {MAX_COEFFICIENT}")))
}

impl Piece {
    /// Compute time alone: the only piece of a CPU's load.
    pub const COMPUTE: Self = Self::new(1.0, 0.0, 0.0);

    /// Compute and all transfers, one after another: the only piece of the additive load.
    pub const ADDITIVE: Self = Self::new(1.0, 1.0, 1.0);

    /// The piece with these coefficients.
    pub const fn new(compute: f64, comm_in: f64, comm_out: f64) -> Self {
        Self { compute, comm_in, comm_out }
    }

    /// The piece's value.
    #[inline]
    pub fn value(&self, t: &Terms) -> f64 {
        self.compute * t.compute + self.comm_in * t.comm_in + self.comm_out * t.comm_out
    }
}

/// How the weight synchronisation of replicas combines with the rest of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronisation {
    /// Its time is added.
    Added,
    /// It runs beside the rest: the larger of the two counts.
    Overlapped,
}

/// The largest of the pieces' values: the load of a device with these terms.
#[inline]
pub fn max_of_pieces(pieces: &[Piece], terms: &Terms) -> f64 {
    pieces.iter().map(|piece| piece.value(terms)).fold(0.0, f64::max)
}

/// The load of a device that computes for this time and moves no data.
#[inline]
pub fn compute_load(pieces: &[Piece], compute: f64) -> f64 {
    max_of_pieces(pieces, &Terms { compute, ..Terms::default() })
}

/// Time of a ring all-reduce of `bytes` over `replicas` at `bandwidth` bytes per time unit: 2(r−1)/r · bytes / bandwidth.
pub fn ring_all_reduce(bytes: f64, replicas: usize, bandwidth: f64) -> f64 {
    let r = replicas as f64;
    2.0 * (r - 1.0) / r * bytes / bandwidth
}

/// The load of one of `replicas` devices that share a stage: the load over r, and the weights' synchronisation.
pub fn replicated_load(load: f64, replicas: usize, all_reduce: f64, how: Synchronisation) -> f64 {
    if replicas == 1 {
        return load;
    }
    let share = load / replicas as f64;
    match how {
        Synchronisation::Added => share + all_reduce,
        Synchronisation::Overlapped => share.max(all_reduce),
    }
}
