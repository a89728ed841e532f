//! What is left to do above an ideal at least, in terms of what a device can do.

use super::lattice::Lattice;
use super::loads::contains;
use crate::bound::{self, leading_piece};
use crate::preprocess::{KindCosts, Reduced};

/// What units and nets add to the loads of their stages at least, whatever kinds of device these are on.
#[derive(Debug, Clone)]
pub struct Rests {
    /// What each unit adds.
    pub units: Vec<f64>,
    /// What each net takes at least of a stage that it enters.
    nets: Vec<f64>,
    /// How much of the units' shares a device of each kind takes at most, as a part of its load.
    pub speeds: Vec<f64>,
}

impl Rests {
    /// The shares on a problem. O(kinds · (n + pins)).
    pub fn new(reduced: &Reduced) -> Self {
        let shares = bound::Shares::new(reduced);
        let units: Vec<f64> = (0..reduced.unit_count()).map(|u| shares.least(u).unwrap_or(f64::INFINITY)).collect();
        let speed = |kind: usize| {
            let of_one =
                |(share, least): (&Option<f64>, &f64)| share.map(|share| if share > 0.0 { least / share } else { 1.0 });
            shares.kinds[kind].of.iter().zip(&units).filter_map(of_one).fold(0.0, f64::max)
        };
        let entering = |kind: &KindCosts, e: usize| leading_piece(kind).comm_in * kind.transfers[e];
        let entering = |e| reduced.kinds.iter().map(|kind| entering(kind, e)).fold(f64::INFINITY, f64::min);
        let nets: Vec<f64> = (0..reduced.nets.len()).map(entering).collect();
        let is_moved = nets.iter().any(|&time| time > 0.0);
        let speeds = (0..reduced.kinds.len()).map(|kind| if is_moved { 1.0 } else { speed(kind) }).collect();
        Self { units, nets, speeds }
    }

    /// Profits in place of shares; what devices earn of them is not known yet.
    pub fn of_profits(profits: Vec<f64>, reduced: &Reduced) -> Self {
        Self { units: profits, nets: vec![0.0; reduced.nets.len()], speeds: vec![0.0; reduced.kinds.len()] }
    }

    /// The shares above each ideal, added up: those of its units, and of each net that comes from below once.
    pub fn above_each(&self, reduced: &Reduced, lattice: &Lattice) -> Vec<f64> {
        let mut rest = vec![0.0; lattice.count()];
        for ideal in (0..lattice.count()).rev() {
            let Some(&(u, larger)) = lattice.above(ideal).first() else { continue };
            let (u, without) = (u as usize, lattice.bits(ideal));
            rest[ideal] = rest[larger as usize] + self.units[u];
            for &e in reduced.nets_of.row(u) {
                let (net, time) = (&reduced.nets[e as usize], self.nets[e as usize]);
                if time == 0.0 {
                    continue;
                }
                // It enters what is above an ideal that holds its source but not all of its pins.
                let others_above = net.pins.iter().any(|&p| p as usize != u && !contains(without, p as usize));
                if net.source as usize == u {
                    rest[ideal] -= if others_above { time } else { 0.0 };
                } else if contains(without, net.source as usize) && !others_above {
                    rest[ideal] += time;
                }
            }
        }
        rest
    }
}
