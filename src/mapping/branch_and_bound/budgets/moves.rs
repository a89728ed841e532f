//! Which devices exchange their contents next.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use super::super::model::Model;
use super::super::state::around;
use super::placement::{FREE, Placement};

/// Part of the moves that turn round a part of the rings of all stages that messages tie together, or else of one.
const REVERSALS: f64 = 0.03;

/// Part of the moves that exchange some stages in a row of two pipelines.
const EXCHANGES: f64 = 0.05;

/// Part of the other moves that are about a copy that is late, where one is soon found.
const LATE: f64 = 0.7;

/// How many copies are looked at for one that is late.
const LOOKS: usize = 8;

/// Part of these moves that take the copy near a neighbour.
const NEAR: f64 = 0.8;

/// Draws moves.
pub struct Picker {
    /// By device: the nearer half of the others, the nearest first.
    near: Vec<Vec<usize>>,
    has_rings: bool,
    has_messages: bool,
}

impl Picker {
    /// A picker for a model. O(D² log D).
    pub fn new<const W: usize>(model: &Model<W>) -> Self {
        let near = |device: usize| {
            let mut others: Vec<usize> = (0..model.devices()).filter(|&other| other != device).collect();
            if let Some(relation) = model.relations.first() {
                others.sort_by(|&a, &b| relation.cost(device, a).total_cmp(&relation.cost(device, b)));
            }
            others.truncate(others.len().div_ceil(2));
            others
        };
        Self {
            near: (0..model.devices()).map(near).collect(),
            has_rings: model.stages.iter().any(|row| row.ring.is_some()),
            has_messages: model.stages.iter().any(|row| !row.neighbours.is_empty()),
        }
    }

    /// Draws a move: pairs of devices whose contents are swapped, one pair after the other. All copies still fit after it.
    pub fn pick<const W: usize>(
        &self,
        placement: &Placement<W>,
        rng: &mut Xoshiro256PlusPlus,
        swaps: &mut Vec<(usize, usize)>,
    ) {
        swaps.clear();
        let replicas = placement.model.replicas();
        let draw = rng.random::<f64>();
        if self.has_rings && replicas > 3 && draw < REVERSALS {
            self.reverse(placement, rng, swaps);
        } else if replicas > 1 && draw < REVERSALS + EXCHANGES {
            exchange(placement, rng, swaps);
        } else {
            swaps.extend(self.swap(placement, rng));
        }
    }

    fn reverse<const W: usize>(
        &self,
        placement: &Placement<W>,
        rng: &mut Xoshiro256PlusPlus,
        swaps: &mut Vec<(usize, usize)>,
    ) {
        let (stages, replicas) = (placement.model.stages.len(), placement.model.replicas());
        let (start, length) = (rng.random_range(0..replicas), rng.random_range(2..=replicas / 2));
        let one = rng.random_range(0..stages);
        for stage in if self.has_messages { 0..stages } else { one..one + 1 } {
            let device = |step: usize| placement.devices[stage * replicas + (start + step) % replicas];
            swaps.extend((0..length / 2).map(|step| (device(step), device(length - 1 - step))));
        }
    }

    /// A copy and the device that it may go to.
    fn swap<const W: usize>(&self, placement: &Placement<W>, rng: &mut Xoshiro256PlusPlus) -> Option<(usize, usize)> {
        let copies = placement.devices.len();
        let mut copy = rng.random_range(0..copies);
        if rng.random_bool(LATE) {
            let looks = (0..LOOKS).map(|_| rng.random_range(0..copies));
            copy = looks.into_iter().find(|&copy| placement.is_late(copy)).unwrap_or(copy);
        }
        let neighbour = if rng.random_bool(NEAR) { neighbour(placement, copy, rng) } else { None };
        let to = match neighbour {
            Some(neighbour) => {
                let near = &self.near[placement.devices[neighbour]];
                // The nearest are the likeliest.
                near.get((rng.random::<f64>().powi(2) * near.len() as f64) as usize).copied()?
            }
            None => rng.random_range(0..placement.copies.len()),
        };
        let (from, other) = (placement.devices[copy], placement.copies[to]);
        let fits = |copy: usize, device: usize| {
            copy == FREE || placement.model.stages[copy / placement.model.replicas()].fits.contains(device)
        };
        (from != to && fits(copy, to) && fits(other, from)).then_some((from, to))
    }
}

/// Some stages in a row of two pipelines.
fn exchange<const W: usize>(placement: &Placement<W>, rng: &mut Xoshiro256PlusPlus, swaps: &mut Vec<(usize, usize)>) {
    let (stages, replicas) = (placement.model.stages.len(), placement.model.replicas());
    let (one, other) = (rng.random_range(0..replicas), rng.random_range(0..replicas));
    let (a, b) = (rng.random_range(0..stages), rng.random_range(0..stages));
    if one != other {
        let device = |stage: usize, replica: usize| placement.devices[stage * replicas + replica];
        swaps.extend((a.min(b)..=a.max(b)).map(|stage| (device(stage, one), device(stage, other))));
    }
}

/// One of the copies that `copy` exchanges messages with or that are beside it in its ring.
fn neighbour<const W: usize>(placement: &Placement<W>, copy: usize, rng: &mut Xoshiro256PlusPlus) -> Option<usize> {
    let replicas = placement.model.replicas();
    let row = &placement.model.stages[copy / replicas];
    let messages = row.neighbours.len();
    let count = messages + if row.ring.is_some() { 2 } else { 0 };
    if count == 0 {
        return None;
    }
    let (next, previous) = around(copy, replicas);
    Some(match rng.random_range(0..count) {
        index if index < messages => row.neighbours[index] * replicas + copy % replicas,
        index if index == messages => next,
        _ => previous,
    })
}
