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
    /// How much of them devices take at most.
    pub speeds: Speeds,
}

/// How much of what is left devices take at most, as parts of their load.
#[derive(Debug, Clone)]
pub struct Speeds {
    /// For each kind of device, what one takes by how much is left before it: in equal steps, and in the last one with all that is more.
    pub of: Vec<Vec<f64>>,
    /// How much a step is, as a part of the load, too; infinite where there is one alone.
    pub step: f64,
}

impl Speeds {
    /// The same however much is left.
    pub fn constant(of: Vec<f64>) -> Self {
        Self { of: of.into_iter().map(|speed| vec![speed]).collect(), step: f64::INFINITY }
    }

    /// The most that a device of each kind takes.
    pub fn most(&self) -> Vec<f64> {
        self.of.iter().map(|steps| steps.iter().copied().fold(0.0, f64::max)).collect()
    }

    /// The most that may be left before a device of a kind if no more than `after` may be left after it.
    pub fn most_before(&self, kind: usize, after: f64) -> f64 {
        let steps = &self.of[kind];
        let of_step = |(step, speed): (usize, &f64)| {
            let end = if step + 1 < steps.len() { (step + 1) as f64 * self.step } else { f64::INFINITY };
            let most = (after + speed).min(end);
            (step == 0 || most >= step as f64 * self.step).then_some(most)
        };
        steps.iter().enumerate().filter_map(of_step).fold(after, f64::max)
    }
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
        Self { units, nets, speeds: Speeds::constant(speeds) }
    }

    /// Profits in place of shares; what devices earn of them is not known yet.
    pub fn of_profits(profits: Vec<f64>, reduced: &Reduced) -> Self {
        let speeds = Speeds::constant(vec![0.0; reduced.kinds.len()]);
        Self { units: profits, nets: vec![0.0; reduced.nets.len()], speeds }
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
