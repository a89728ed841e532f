//! Mappings that a group of automorphisms takes to themselves.
//!
//! Where the group's elements move every device, what one device of an orbit holds says what all of them hold. So a few
//! pipelines are placed, each stage on any device of an orbit of its own, and their images are the others. Translations of
//! a torus make lattices of tiles of any shape; turns and reflections bring copies together in the middle of a mesh.

use super::automorphisms::{groups, identity};
use super::{LARGEST, MOVES, restricted, shortest_ring};
use crate::mapping::annealing::Annealer;
use crate::mapping::group_action::{Closing, GroupAction, Image};
use crate::mapping::local::LocalCost;
use crate::mapping::{Mapping, MappingProblem};
use crate::solve::SearchContext;

/// The most copies of all stages that annealing places.
const COPIES: usize = 32;

impl<'a> GroupAction<'a> {
    /// The actions that place at most so many copies of each stage as `most` says of the fewest, those with the fewest
    /// first, and of these the most promising. None where devices would be left over.
    pub fn all(problem: &'a MappingProblem, most: impl Fn(usize) -> usize, cx: &SearchContext) -> Vec<Self> {
        let (stages, replicas, devices) = (problem.stages.stages.len(), problem.replicas, problem.topology.len());
        if stages < 2 || replicas < 2 || stages * replicas != devices || devices > LARGEST {
            return Vec::new();
        }
        let groups = groups(&problem.topology, replicas);
        let placed = |group: &Vec<Image>| replicas / group.len();
        let Some(fewest) = groups.iter().map(placed).min() else { return Vec::new() };
        let cost = LocalCost::new(problem);
        let ways = |group: &[Image]| {
            let turns = cost.has_rings() && group.len() < replicas && group.len().is_multiple_of(2);
            if turns { [false, true].as_slice() } else { &[false] }
        };
        let mut actions: Vec<(f64, Self)> = groups
            .into_iter()
            .filter(|group| placed(group) <= most(fewest))
            .flat_map(|group| ways(&group).iter().map(move |&is_snake| (group.clone(), is_snake)))
            .map(|(group, is_snake)| Self::new(problem, group, is_snake, cx))
            .map(|action| (action.estimate(&cost), action))
            .collect();
        actions.sort_by(|(a, one), (b, other)| one.placed.cmp(&other.placed).then(a.total_cmp(b)));
        actions.into_iter().map(|(_, action)| action).collect()
    }

    /// Those with the fewest copies to be placed, where these are few enough for annealing.
    pub fn smallest(problem: &'a MappingProblem, cx: &SearchContext) -> Vec<Self> {
        let is_small = |fewest: usize| fewest * problem.stages.stages.len() <= COPIES;
        Self::all(problem, |fewest| if is_small(fewest) { fewest } else { 0 }, cx)
    }

    fn new(problem: &'a MappingProblem, group: Vec<Image>, is_snake: bool, cx: &SearchContext) -> Self {
        let devices = problem.topology.len();
        let first = |device: usize| group.iter().map(|image| image[device]).min().unwrap_or(device);
        let orbits = (0..devices).map(first).collect();
        let placed = problem.replicas / group.len();
        let images = in_ring_order(problem, group, cx);
        let mut closing: Vec<Closing> = Vec::new();
        for (index, (here, next)) in images.iter().zip(images.iter().cycle().skip(1)).enumerate() {
            // The inverse of the element that leads here takes the link to the first image.
            let mut back = identity(devices);
            here.iter().enumerate().for_each(|(from, &to)| back[to] = from);
            let image = next.iter().map(|&device| back[device]).collect();
            let (from, to) = match (is_snake, index % 2) {
                (false, _) => (placed - 1, 0),
                (true, 0) => (placed - 1, placed - 1),
                (true, _) => (0, 0),
            };
            let link = Closing { from, to, image };
            if !closing.contains(&link) {
                closing.push(link);
            }
        }
        Self { problem, images, orbits, placed, is_snake, closing }
    }

    /// About how long the slowest stage takes: as if each had the device with the shortest links to its images, and the
    /// nearest of other orbits for its neighbours.
    fn estimate(&self, cost: &LocalCost) -> f64 {
        let topology = &self.problem.topology;
        let centre = centre(self.problem, &self.images);
        let mut nearest = vec![f64::INFINITY; self.orbits.len()];
        for other in (0..self.orbits.len()).filter(|&other| self.orbits[other] != self.orbits[centre]) {
            let link = topology.message_time(centre, other, 0.5) + topology.message_time(other, centre, 0.5);
            nearest[self.orbits[other]] = nearest[self.orbits[other]].min(link);
        }
        nearest.sort_by(f64::total_cmp);
        let time = |stage: usize| {
            let traffic = cost.traffic(stage);
            let bytes: f64 = traffic.iter().map(|traffic| traffic.out + traffic.back).sum();
            let links = nearest[..traffic.len()].iter().sum::<f64>() / traffic.len().max(1) as f64;
            let ring = if cost.has_rings() { self.link_time(stage, 0, &vec![centre; self.placed]) } else { 0.0 };
            self.problem.stages.stages[stage].compute() + bytes * links + ring
        };
        (0..self.problem.stages.stages.len()).map(time).fold(0.0, f64::max)
    }

    /// A good mapping among those that the group takes to themselves; `None` where copies do not fit.
    pub fn mapping(&self, bound: f64, cx: &SearchContext) -> Option<Mapping> {
        let quotient = MappingProblem { replicas: self.placed, ..self.problem.clone() };
        let devices = (0..self.orbits.len()).filter(|&device| self.orbits[device] == device).collect();
        let first = Some(Mapping { devices }).filter(|first| self.objective(first).is_finite())?;
        let mut annealer = Annealer::of_action(&quotient, self, cx.seed);
        let mut race = annealer.race(&first, bound, cx);
        annealer.anneal(&mut race, MOVES.saturating_mul(quotient.copies() as u64));
        race.solution().map(|mapping| self.expanded(mapping))
    }
}

/// The device with the shortest links to its images.
fn centre(problem: &MappingProblem, group: &[Image]) -> usize {
    let topology = &problem.topology;
    let time = |device: usize, image: &Image| topology.message_time(device, image[device], 1.0);
    let moved = |device: usize| group.iter().filter(move |image| image[device] != device);
    let spread = |device: usize| moved(device).map(|image| time(device, image)).sum::<f64>();
    (0..topology.len()).min_by(|&a, &b| spread(a).total_cmp(&spread(b))).unwrap_or(0)
}

/// The elements in the order of a short closed way through the images of the centre.
fn in_ring_order(problem: &MappingProblem, group: Vec<Image>, cx: &SearchContext) -> Vec<Image> {
    if !problem.cost.counted.all_reduce() {
        return group;
    }
    let centre = centre(problem, &group);
    let devices: Vec<usize> = group.iter().map(|image| image[centre]).collect();
    let ring = shortest_ring(&restricted(&problem.topology, &devices), cx);
    ring.into_iter().map(|index| group[index].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Tiling;
    use super::super::tests::{circle, star};
    use super::*;
    use crate::mapping::samples::{grid, torus};

    fn best(problem: &MappingProblem, mappings: impl Iterator<Item = Mapping>) -> f64 {
        mappings.map(|mapping| problem.objective(&mapping)).fold(f64::INFINITY, f64::min)
    }

    fn is_permutation(mapping: &Mapping) -> bool {
        let mut devices = mapping.devices.clone();
        devices.sort_unstable();
        devices.into_iter().eq(0..mapping.devices.len())
    }

    #[test]
    fn lattices_repeat_tiles_of_any_shape() {
        let (problem, cx) = (star(4, 16, torus(8, 8)), SearchContext::new());
        let of_action: Vec<Mapping> =
            GroupAction::smallest(&problem, &cx).iter().filter_map(|action| action.mapping(0.0, &cx)).collect();
        assert!(of_action.iter().all(is_permutation));
        // All three neighbours are next to the first stage, which no rectangle of four devices allows.
        assert_eq!(best(&problem, of_action.into_iter()), 6.0);
        let tiled = Tiling::all(&problem).into_iter().filter_map(|tiling| tiling.mapping(&problem, 0.0, &cx));
        assert_eq!(best(&problem, tiled), 8.0);
    }

    #[test]
    fn rings_through_the_images_take_what_all_copies_say() {
        let problems = [circle(4, 4, grid(4, 4)), circle(4, 8, grid(4, 8)), circle(4, 8, torus(4, 8))];
        for (problem, placed) in problems.iter().zip([1, 2, 1]) {
            let actions = GroupAction::smallest(problem, &SearchContext::new());
            assert!(!actions.is_empty());
            for action in actions {
                assert_eq!(action.placed, placed);
                let devices = (0..problem.topology.len()).filter(|&device| action.orbits[device] == device).collect();
                let first = Mapping { devices };
                let mapping = action.expanded(&first);
                assert!(is_permutation(&mapping));
                for (stage, devices) in first.devices.chunks(placed).enumerate() {
                    let links = (0..placed).map(|copy| action.link_time(stage, copy, devices));
                    assert_eq!(links.fold(0.0, f64::max), problem.ring_time(&mapping, stage));
                }
            }
        }
    }

    #[test]
    fn memory_is_kept() {
        let mut problem = circle(4, 4, grid(4, 4));
        problem.topology.devices.iter_mut().for_each(|device| device.memory = Some(1.0));
        problem.stages.stages[2].memory = 2.0;
        let cx = SearchContext::new();
        assert!(GroupAction::smallest(&problem, &cx).iter().all(|action| action.mapping(0.0, &cx).is_none()));
    }
}
