//! The device that holds what the others leave.

use super::super::covering::{Decision, Devices};
use super::super::pricing::ROOM;
use super::Query;
use crate::small_set::Set;

/// A device that pays for no nets, where there is one.
pub struct Rest<const W: usize> {
    /// Its kind.
    pub kind: Option<usize>,
    /// The units that it may hold.
    pub can_hold: Set<W>,
    times: Vec<f64>,
    profit: Vec<f64>,
    /// The most that it can earn.
    most: f64,
    /// The most that it has time for.
    room: f64,
    /// The units that it may hold and that earn something, those first that earn most in their time.
    dense: Vec<usize>,
}

/// What it is known to hold.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Held {
    /// How long that takes.
    pub time: f64,
    profit: f64,
}

impl<const W: usize> Rest<W> {
    /// That of the last kind of devices that pay for no nets, where each kind can earn so much at `most`.
    pub fn new(query: &Query, most: &[f64]) -> Self {
        let Query { devices, decisions, profit, target, .. } = *query;
        let kind = (0..most.len()).rev().find(|&kind| devices.counts[kind] > 0 && devices.pays_no_nets(kind));
        let room = target * ROOM;
        let time = |u: usize| kind.and_then(|kind| devices.time(kind, u)).unwrap_or(f64::INFINITY);
        let times: Vec<f64> = (0..profit.len()).map(time).collect();
        let is_allowed = |u: usize, decision: &Decision| match decision {
            Decision::On(..) | Decision::NotOn(..) => kind.is_some_and(|kind| decision.allows(kind, &[u])),
            Decision::Together(..) | Decision::Apart(..) => true,
        };
        let can_hold = |&u: &usize| times[u] <= room && decisions.iter().all(|decision| is_allowed(u, decision));
        let able: Vec<usize> = (0..profit.len()).filter(can_hold).collect();
        let mut dense: Vec<usize> = able.iter().copied().filter(|&u| profit[u] > 0.0).collect();
        dense.sort_by(|&u, &v| (profit[v] / times[v]).total_cmp(&(profit[u] / times[u])));
        let (can_hold, most) = (able.into_iter().collect(), kind.map_or(0.0, |kind| most[kind]));
        Self { kind, can_hold, times, profit: profit.to_vec(), most, room, dense }
    }

    /// How many devices of a kind are others.
    pub fn others(&self, devices: &Devices, kind: usize) -> usize {
        devices.counts[kind] - usize::from(self.kind == Some(kind))
    }

    /// Whether it has time for these units besides.
    pub fn has_time(&self, units: &Set<W>, held: Held) -> bool {
        units.minus(&self.can_hold).is_empty()
            && held.time + units.iter().map(|u| self.times[u]).sum::<f64>() <= self.room
    }

    /// The same with another unit; `None` where it has no time for that.
    pub fn with(&self, held: Held, unit: usize) -> Option<Held> {
        let more = Held { time: held.time + self.times[unit], profit: held.profit + self.profit[unit] };
        (self.can_hold.contains(unit) && more.time <= self.room).then_some(more)
    }

    /// What it falls short by at least where these units are taken, some of them by itself: a fractional knapsack of the others.
    pub fn missing(&self, taken: &Set<W>, held: Held) -> f64 {
        let (mut time, mut earned) = (self.room - held.time, held.profit);
        for &u in &self.dense {
            if taken.contains(u) {
                continue;
            }
            if self.times[u] > time {
                earned += self.profit[u] * (time / self.times[u]);
                break;
            }
            time -= self.times[u];
            earned += self.profit[u];
        }
        (self.most - earned).max(0.0)
    }
}
