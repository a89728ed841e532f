//! A bound by copies that follow one another in a ring.
//!
//! Two such copies have their neighbours on devices apart. Where they are so near each other that both want the same
//! devices for them, one takes longer; where they are farther from each other, their link in the ring does.

use super::super::assignment::Assignment;
use super::super::model::{Link, Model, Ring};
use super::super::symmetry::Orbits;
use super::super::{LEAST_STEP, Proof};
use crate::small_set::Set;

/// The most neighbours of a stage: assignments of more take long.
const MOST_NEIGHBOURS: usize = 12;

impl<const W: usize> Proof<'_, W> {
    /// Raises the bound to what copies that follow one another take at least, where messages and rings count.
    pub(in super::super) fn bound_by_neighbours(&mut self) {
        let model = self.knowledge.model;
        let colours = vec![0; model.devices()];
        let Some(orbits) = self.knowledge.symmetry.as_mut().map(|symmetry| symmetry.orbits(&colours, self.race.cx))
        else {
            return;
        };
        for stage in 0..model.stages.len() {
            let Some(mut pairs) = Pairs::new(model, stage, &orbits) else { continue };
            let refuted = pairs.least_time(self.bound()) * (1.0 - LEAST_STEP);
            if refuted > self.bound() {
                self.raise(self.next_time(refuted));
            }
        }
        self.tell("bounding");
    }
}

/// Pairs of copies of one stage.
struct Pairs<'m, 'a, const W: usize> {
    model: &'m Model<'a, W>,
    stage: usize,
    ring: Ring,
    /// By device: one that is interchangeable with it.
    orbits: &'m Orbits,
    /// By such a device: the least load of a copy there, infinite where it does not fit.
    loads: Vec<f64>,
    assignment: Assignment,
}

impl<'m, 'a, const W: usize> Pairs<'m, 'a, W> {
    /// `None` where the stage has no ring or no neighbours, too many of them, or loads of several pieces.
    fn new(model: &'m Model<'a, W>, stage: usize, orbits: &'m Orbits) -> Option<Self> {
        let (row, ring) = (&model.stages[stage], model.stages[stage].ring?);
        let [piece] = row.pieces.as_slice() else { return None };
        if !(1..=MOST_NEIGHBOURS).contains(&piece.links.len()) {
            return None;
        }
        let mut pairs = Self { model, stage, ring, orbits, loads: Vec::new(), assignment: Assignment::default() };
        let load = |device: usize| match orbits[device] == device && row.fits.contains(device) {
            true => pairs.least_load(&[device]).unwrap_or(f64::INFINITY),
            false => f64::INFINITY,
        };
        pairs.loads = (0..model.devices()).map(load).collect();
        Some(pairs)
    }

    /// What copies on these devices take at least together, without the ring, where all neighbours are on devices apart.
    fn least_load(&mut self, devices: &[usize]) -> Option<f64> {
        let piece = &self.model.stages[self.stage].pieces[0];
        let links: Vec<(usize, Link)> =
            devices.iter().flat_map(|&device| piece.links.iter().map(move |&(_, link)| (device, link))).collect();
        let others = Set::below(self.model.devices()).minus(&devices.iter().copied().collect());
        self.assignment.reset(links.len());
        for (index, &(device, link)) in links.iter().enumerate() {
            let nearest = self.model.relations[link.relation].nearest(device, others).take(links.len());
            nearest.for_each(|(cost, other)| self.assignment.offer(index, other, cost * link.scale));
        }
        let compute: f64 = devices.iter().map(|&device| piece.compute[device]).sum();
        Some(compute + self.assignment.solve()?)
    }

    /// No ring of the stage's copies takes less: so many devices have two others that may be beside them. Where that is no
    /// more than what is `known` already, some time up to that.
    fn least_time(&mut self, known: f64) -> f64 {
        let fits = self.model.stages[self.stage].fits;
        let first: Vec<usize> = fits.iter().filter(|&device| self.orbits[device] == device).collect();
        let mut times = vec![f64::INFINITY; self.model.devices()];
        first.into_iter().for_each(|device| times[device] = self.least_beside(device, known));
        let mut times: Vec<f64> = fits.iter().map(|device| times[self.orbits[device]]).collect();
        times.sort_by(f64::total_cmp);
        times[self.model.replicas() - 1]
    }

    /// What a copy on a device takes at least with those beside it in the ring, or one of these; up to what is `known`, some
    /// time up to that.
    fn least_beside(&mut self, device: usize, known: f64) -> f64 {
        let (model, link) = (self.model, self.ring.next);
        let least = self.loads.iter().copied().fold(f64::INFINITY, f64::min);
        // With two copies the one is on both sides of the other.
        let sides = (model.replicas() - 1).min(2);
        let mut beside = [f64::INFINITY; 2];
        let nearest = model.relations[link.relation].nearest(device, model.stages[self.stage].fits);
        for (cost, other) in nearest {
            let ring = cost * link.scale;
            let mean = |loads: f64| if model.adds_ring() { 0.5 * loads + ring } else { (0.5 * loads).max(ring) };
            let worst = beside[sides - 1];
            if worst <= known || mean(self.loads[device] + least) >= worst {
                break;
            }
            if mean(self.loads[device] + self.loads[self.orbits[other]]) < worst {
                let loads = self.least_load(&[device, other]).unwrap_or(f64::INFINITY);
                beside = match mean(loads) {
                    time if time < beside[0] => [time, beside[0]],
                    time => [beside[0], time.min(beside[1])],
                };
            }
        }
        beside[sides - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::state::State;
    use super::super::super::symmetry::Symmetry;
    use super::*;
    use crate::cost::Synchronisation;
    use crate::mapping::samples::{problem, torus};
    use crate::mapping::{Counted, Exhaustive, Mapper, MappingProblem, Message, Stage, StageCost, StageGraph};
    use crate::solve::SearchContext;

    fn bounds(problem: &MappingProblem) -> Vec<f64> {
        let cx = SearchContext::new();
        let model = Model::<1>::new(problem, &cx).unwrap();
        let orbits = Symmetry::new(&problem.topology, &cx).orbits(&vec![0; model.devices()], &cx);
        let pairs = (0..model.stages.len()).filter_map(|stage| Pairs::new(&model, stage, &orbits));
        pairs.map(|mut pairs| pairs.least_time(0.0)).collect()
    }

    #[test]
    fn no_optimum_is_below_the_bound() {
        let (cx, mut looked, mut reached) = (SearchContext::new(), 0, 0);
        for seed in 0..600 {
            let mut problem = problem(seed);
            let synchronisation = if seed % 3 == 0 { Synchronisation::Overlapped } else { Synchronisation::Added };
            problem.cost = StageCost { synchronisation, ..StageCost::additive(Counted::Both) };
            let stages = problem.stages.stages.iter_mut().enumerate();
            stages.for_each(|(index, stage)| stage.parameter_bytes = 3.0 * (seed as usize % 4 + index) as f64);
            if !Model::<1>::new(&problem, &SearchContext::new()).unwrap().form.symmetric {
                continue;
            }
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            for bound in bounds(&problem) {
                assert!(bound <= optimum * (1.0 + 1e-12), "{bound} above {optimum} of seed {seed}");
                looked += 1;
                reached += usize::from(bound >= optimum * (1.0 - 1e-12));
            }
        }
        assert!(looked > 200 && reached > 0, "{reached} of {looked} reach the optimum");
    }

    #[test]
    fn stages_with_many_neighbours_are_apart_in_their_ring() {
        // A copy and its four neighbours are a cross. Centres of crosses are three hops apart at least, of which the ring
        // takes 2 for each. A centre beside another would leave out a neighbour, one hop and 4 more for it.
        let centre = Stage { parameter_bytes: 2.0, ..Stage::default() };
        let message = |target: usize| Message { source: 0, target, bytes: 4.0 };
        let stages = StageGraph {
            name: "cross".into(),
            stages: [vec![centre], vec![Stage::default(); 4]].concat(),
            messages: (1..5).map(message).collect(),
        };
        let cost = StageCost::additive(Counted::Both);
        let problem = MappingProblem { stages, replicas: 2, topology: torus(5, 5), cost };
        assert_eq!(bounds(&problem), [16.0 + 6.0]);
        let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
        assert!(State::new(&model, 16.0 + 2.0).propagate(&SearchContext::new()).is_ok());
    }
}
