//! Rings on what their target leaves of the links.
//!
//! A stage whose all-reduce has little time left can only use fast links, and these may fall into several components, such
//! as the nodes of a cluster, or parts that a single device holds together. Its ring lies within one of them. A component of
//! n devices has room for ⌊n / R⌋ rings, so that too many such stages are a conflict although there are devices enough.

use super::components::biconnected;
use super::model::{Link, Ring};
use super::state::{Conflict, State};
use crate::small_set::Set;

impl<const W: usize> State<'_, W> {
    /// Keeps every ring within one component of its links, and checks that all rings find room.
    pub(super) fn pack_rings(&mut self) -> Result<(), Conflict> {
        let mut tight: Vec<(f64, usize)> = Vec::new();
        for stage in 0..self.model.stages.len() {
            let Some(ring) = self.ring(stage) else { continue };
            let longest = self.longest_link(stage);
            if self.connects_all(&ring, longest) {
                continue;
            }
            self.keep_in_components(stage, &ring, longest)?;
            tight.push((longest / ring.next.scale, stage));
        }
        tight.sort_by(|a, b| a.0.total_cmp(&b.0));
        (0..tight.len()).try_for_each(|count| self.find_room(&tight[..=count]))
    }

    /// The longest time that the all-reduce of `stage` may take.
    pub(super) fn longest_link(&self, stage: usize) -> f64 {
        let replicas = self.model.replicas();
        let loads = &self.domains.least_load[stage * replicas..(stage + 1) * replicas];
        let load = loads.iter().copied().fold(0.0, f64::max);
        if self.model.adds_ring() { self.limit - load } else { self.limit }
    }

    /// The devices that a device may be joined to in a ring.
    fn joined(&self, ring: &Ring, longest: f64, device: usize) -> Set<W> {
        let within = |link: &Link| self.model.relations[link.relation].within(device, longest / link.scale);
        within(&ring.next) | within(&ring.previous)
    }

    fn connects_all(&self, ring: &Ring, longest: f64) -> bool {
        self.joined(ring, longest, 0).len() + 1 == self.model.devices()
    }

    /// The parts of the devices of `all` that rings can lie in.
    fn components(&self, ring: &Ring, longest: f64, all: &Set<W>) -> Vec<Set<W>> {
        biconnected(all, |device| self.joined(ring, longest, device) & *all)
    }

    fn keep_in_components(&mut self, stage: usize, ring: &Ring, longest: f64) -> Result<(), Conflict> {
        let replicas = self.model.replicas();
        let copies = stage * replicas..(stage + 1) * replicas;
        let all = copies.clone().fold(Set::EMPTY, |all, copy| all | self.domains.devices[copy]);
        let mut allowed = Set::EMPTY;
        for component in self.components(ring, longest, &all) {
            let meets_all = copies.clone().all(|copy| self.domains.devices[copy].meets(&component));
            if component.len() >= replicas && meets_all {
                allowed |= component;
            }
        }
        copies.into_iter().try_for_each(|copy| self.keep(copy, &allowed))
    }

    /// Whether the stages of `tight`, the tightest first, find room in the components of the last one's links beside the
    /// copies of other stages that must be there.
    fn find_room(&mut self, tight: &[(f64, usize)]) -> Result<(), Conflict> {
        let Some((&(_, loosest), ring)) = tight.last().zip(tight.last().and_then(|&(_, stage)| self.ring(stage)))
        else {
            return Ok(());
        };
        // Links are ordered alike only by the same relation.
        let is_alike = |stage: usize| self.ring(stage).is_some_and(|other| other.next.relation == ring.next.relation);
        let inside: Vec<usize> = tight.iter().map(|&(_, stage)| stage).filter(|&stage| is_alike(stage)).collect();
        let replicas = self.model.replicas();
        let longest = self.longest_link(loosest);
        let mut room = 0;
        for component in self.components(&ring, longest, &Set::below(self.model.devices())) {
            let others = (0..self.model.copies()).filter(|copy| !inside.contains(&(copy / replicas)));
            let taken = others.filter(|&copy| self.domains.devices[copy].is_within(&component)).count();
            room += component.len().saturating_sub(taken) / replicas;
        }
        if room < inside.len() { Err(Conflict) } else { Ok(()) }
    }

    fn ring(&self, stage: usize) -> Option<Ring> {
        self.model.stages[stage].ring
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::super::state::State;
    use crate::mapping::{Counted, Device, MappingProblem, Stage, StageCost, StageGraph, Topology};
    use crate::solve::SearchContext;

    #[test]
    fn no_ring_leads_twice_through_the_one_device_between_two_parts() {
        // Two triangles of fast links that share device 2: fast rings of three, but none of four.
        let is_fast = |a: usize, b: usize| a.max(b) <= 2 || a.min(b) >= 2;
        let devices = (0..5).map(|index| Device::new(index.to_string())).collect();
        let stage = Stage { parameter_bytes: 1.0, ..Stage::default() };
        let mut problem = MappingProblem {
            stages: StageGraph { name: "one".into(), stages: vec![stage], messages: Vec::new() },
            replicas: 3,
            topology: Topology::new("triangles", "", devices, |a, b| if is_fast(a, b) { 10.0 } else { 1.0 }),
            cost: StageCost::additive(Counted::AllReduce),
        };
        for replicas in [3, 4] {
            problem.replicas = replicas;
            let slow = problem.all_reduce_time(0, 0, 3);
            let cx = SearchContext::new();
            let model = Model::<1>::new(&problem, &cx).unwrap();
            assert_eq!(State::new(&model, 0.99 * slow).propagate(&cx).is_ok(), replicas == 3);
            assert!(State::new(&model, slow).propagate(&cx).is_ok());
        }
    }
}
