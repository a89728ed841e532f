//! Consistency of one copy's time with the domains around it.
//!
//! On each of its devices a copy pays at least the cheapest link to each neighbour's domain, all to different devices.
//! What the target leaves above that sum limits every single link, and with it the neighbour's devices.

use super::model::{Link, PieceRow, Ring};
use super::state::{Conflict, Scratch, State, around};
use crate::small_set::Set;

/// What one device of a copy costs it at least.
struct Least {
    load: f64,
    ring: f64,
}

impl<const W: usize> State<'_, W> {
    /// Takes from `copy` the devices on which it takes too long, and from its neighbours those that it cannot reach.
    pub(super) fn revise(&mut self, copy: usize) -> Result<(), Conflict> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.revise_with(copy, &mut scratch);
        self.scratch = scratch;
        result
    }

    fn revise_with(&mut self, copy: usize, scratch: &mut Scratch<W>) -> Result<(), Conflict> {
        let model = self.model;
        let (stage, replica) = (copy / model.replicas(), copy % model.replicas());
        let row = &model.stages[stage];
        let links = row.neighbours.len() + if row.ring.is_some() { 2 } else { 0 };
        scratch.support.clear();
        scratch.support.resize(links, Set::EMPTY);
        let (floor, mut kept) = (self.floor(copy), Set::EMPTY);
        let mut least = Least { load: f64::MAX, ring: f64::MAX };
        for device in self.domains.devices[copy].iter() {
            if let Some(here) = self.look(copy, device, &floor, scratch) {
                kept.insert(device);
                least = Least { load: least.load.min(here.load), ring: least.ring.min(here.ring) };
                scratch.support.iter_mut().zip(&scratch.reach).for_each(|(support, reach)| *support |= *reach);
            }
        }
        self.keep(copy, &kept)?;
        for (index, &neighbour) in row.neighbours.iter().enumerate() {
            self.keep(neighbour * model.replicas() + replica, &scratch.support[index])?;
        }
        if row.ring.is_some() {
            let (next, previous) = around(copy, model.replicas());
            self.keep(next, &scratch.support[links - 2])?;
            self.keep(previous, &scratch.support[links - 1])?;
            self.raise(copy, &floor, &least);
        }
        Ok(())
    }

    /// The device on which a copy takes the least as far as is known.
    pub fn cheapest_device(&self, copy: usize) -> Option<usize> {
        let (floor, mut scratch) = (self.floor(copy), Scratch::default());
        let mut time = |device: usize| {
            let least = self.look(copy, device, &floor, &mut scratch);
            (least.map_or(f64::MAX, |least| least.load + least.ring), device)
        };
        let timed: Vec<(f64, usize)> = self.domains.devices[copy].iter().map(&mut time).collect();
        timed.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, device)| device)
    }

    /// How few devices `copy` leaves its neighbours where it takes the least: the logarithms of their parts of all.
    pub fn tightness(&self, copy: usize) -> f64 {
        let (floor, mut scratch) = (self.floor(copy), Scratch::default());
        let Some(device) = self.cheapest_device(copy) else { return 0.0 };
        if self.look(copy, device, &floor, &mut scratch).is_none() {
            return 0.0;
        }
        let devices = self.model.devices() as f64;
        scratch.reach.iter().map(|reach| (devices / (reach.len().max(1) as f64)).ln().max(0.0)).sum()
    }

    /// What the copies of the stage are known to cost at least.
    fn floor(&self, copy: usize) -> Least {
        let replicas = self.model.replicas();
        let ring = copy / replicas * replicas..copy / replicas * replicas + replicas;
        let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        match self.model.stages[copy / replicas].ring {
            Some(_) => Least {
                load: largest(&self.domains.least_load[ring.clone()]),
                ring: largest(&self.domains.least_ring[ring]),
            },
            None => Least { load: 0.0, ring: 0.0 },
        }
    }

    /// Keeps what is now known of a copy's least times, and wakes its ring where that is news to it.
    fn raise(&mut self, copy: usize, floor: &Least, least: &Least) {
        let raised = |known: &mut f64, value: f64| *known = known.max(value);
        raised(&mut self.domains.least_load[copy], least.load);
        raised(&mut self.domains.least_ring[copy], least.ring);
        if least.load > floor.load || least.ring > floor.ring {
            self.enqueue_ring(copy);
        }
    }

    /// What `copy` costs on `device` at least, its neighbours' devices left in `scratch.reach`; `None` where that is
    /// too much.
    fn look(&self, copy: usize, device: usize, floor: &Least, scratch: &mut Scratch<W>) -> Option<Least> {
        let model = self.model;
        let row = &model.stages[copy / model.replicas()];
        let ring = match &row.ring {
            Some(ring) => self.least_ring(ring, copy, device)?,
            None => 0.0,
        };
        let longest_ring = ring.max(floor.ring);
        if longest_ring > self.limit {
            return None;
        }
        let budget = if model.adds_ring() { self.limit - longest_ring } else { self.limit };
        scratch.reach.clear();
        scratch.reach.resize(row.neighbours.len(), Set::FULL);
        let mut load = 0.0f64;
        for piece in &row.pieces {
            load = load.max(self.look_at_piece(piece, copy, device, budget, scratch)?);
        }
        if let Some(ring) = &row.ring {
            let budget = if model.adds_ring() { self.limit - load.max(floor.load) } else { self.limit };
            let within = |link: &Link| model.relations[link.relation].within(device, budget / link.scale);
            scratch.reach.extend([within(&ring.next), within(&ring.previous)]);
        }
        Some(Least { load, ring })
    }

    /// The least value of `piece` on `device`; `None` where it is above the budget. Limits `scratch.reach`.
    fn look_at_piece(
        &self,
        piece: &PieceRow,
        copy: usize,
        device: usize,
        budget: f64,
        scratch: &mut Scratch<W>,
    ) -> Option<f64> {
        let model = self.model;
        let row = &model.stages[copy / model.replicas()];
        let domain = |neighbour: usize| {
            &self.domains.devices[row.neighbours[neighbour] * model.replicas() + copy % model.replicas()]
        };
        scratch.cheapest.clear();
        let mut sum = piece.compute[device];
        for &(neighbour, link) in &piece.links {
            let (cost, other) = model.relations[link.relation].cheapest(device, domain(neighbour))?;
            sum += cost * link.scale;
            scratch.cheapest.push((cost * link.scale, other));
        }
        if sum > budget {
            return None;
        }
        if can_differ(&scratch.cheapest) {
            for (index, &(neighbour, link)) in piece.links.iter().enumerate() {
                let limit = budget - (sum - scratch.cheapest[index].0);
                scratch.reach[neighbour] &= model.relations[link.relation].within(device, limit / link.scale);
            }
            return Some(sum);
        }
        let Scratch { reach, assignment, .. } = scratch;
        assignment.reset(piece.links.len());
        for (index, &(neighbour, link)) in piece.links.iter().enumerate() {
            let nearest = model.relations[link.relation].nearest(device, *domain(neighbour));
            let within =
                nearest.map(|(cost, other)| (cost * link.scale, other)).take_while(|(cost, _)| *cost <= budget);
            within.take(piece.links.len()).for_each(|(cost, other)| assignment.offer(index, other, cost));
        }
        let sum = piece.compute[device] + assignment.solve()?;
        if sum > budget {
            return None;
        }
        for (index, &(neighbour, link)) in piece.links.iter().enumerate() {
            let relation = &model.relations[link.relation];
            let limit = budget - (sum - assignment.value(index));
            reach[neighbour] &= relation.within(device, limit / link.scale);
            for (other, besides) in assignment.contested() {
                if other != device && relation.cost(device, other) * link.scale + besides > limit {
                    reach[neighbour].remove(other);
                }
            }
        }
        Some(sum)
    }

    /// The least time of a copy's two links in its ring.
    fn least_ring(&self, ring: &Ring, copy: usize, device: usize) -> Option<f64> {
        let (next, previous) = around(copy, self.model.replicas());
        let cheapest = |link: &Link, copy: usize, without: Option<&Set<W>>| {
            let domain = self.domains.devices[copy];
            let domain = without.map_or(domain, |without| domain.minus(without));
            let (cost, other) = self.model.relations[link.relation].cheapest(device, &domain)?;
            Some((cost * link.scale, other))
        };
        let (to_next, after) = cheapest(&ring.next, next, None)?;
        let (to_previous, before) = cheapest(&ring.previous, previous, None)?;
        let time = to_next.max(to_previous);
        if next == previous || (after | before).single().is_none() {
            return Some(time);
        }
        let evade =
            |link: &Link, copy: usize, other: f64| cheapest(link, copy, Some(&after)).map(|(cost, _)| cost.max(other));
        match (evade(&ring.next, next, to_previous), evade(&ring.previous, previous, to_next)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Whether links can each lead to one of their cheapest devices, and no two to the same: found where the first that is left
/// will do for each, those with the fewest first.
fn can_differ<const W: usize>(cheapest: &[(f64, Set<W>)]) -> bool {
    let mut taken = Set::EMPTY;
    let mut take = |devices: &Set<W>| devices.minus(&taken).first().map(|device| taken.insert(device)).is_some();
    let is_single = |devices: &Set<W>| devices.single().is_some();
    cheapest.iter().filter(|(_, devices)| is_single(devices)).all(|(_, devices)| take(devices))
        && cheapest.iter().filter(|(_, devices)| !is_single(devices)).all(|(_, devices)| take(devices))
}
