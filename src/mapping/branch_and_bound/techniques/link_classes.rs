//! Links that differ by noise, taken for alike.
//!
//! Measured links all differ by a few percent, which hides blocks, levels and symmetries. Where their bandwidths lie in
//! classes that are narrow and far from each other, each link is first given the bandwidth of the fastest of its class, and
//! the latency of the shortest. No mapping takes longer then, so that bounds hold for the links as they are, and good
//! mappings are good for them but for the noise.

use super::super::{BranchAndBound, Proof};
use crate::mapping::{Mapper, MappingProblem, Topology};

/// Links whose bandwidths or latencies differ by less than this part are of one class, as are those between them.
const STEP: f64 = 0.03;

/// The widest class: so many times as much as its least the most may be.
const WIDTH: f64 = 1.15;

/// Nearer than this to the optimum of classes there is nothing to be had for the links as they are.
const NEAR: f64 = 0.005;

impl<const W: usize> Proof<'_, W> {
    /// Bounds the time by the problem whose links are as fast as the fastest of their class, and offers its best mapping, in
    /// half of the time that is left.
    pub(in super::super) fn bound_by_classes(&mut self) {
        let problem = self.knowledge.model.problem;
        let Some(topology) = classed(&problem.topology) else { return };
        let alike = MappingProblem { topology, ..problem.clone() };
        self.tell("classes of links");
        let mut cx = self.race.cx.part(self.race.cx.remaining().map(|left| left / 2));
        cx.gap = cx.gap.max(NEAR);
        let run = BranchAndBound { without: self.without.clone(), ..BranchAndBound::default() }.map(&alike, &cx);
        self.knowledge.nodes += run.stats.get("decisions").unwrap_or(0.0) as u64;
        run.outcome.solution().iter().for_each(|mapping| self.offer(mapping));
        run.outcome.bound().iter().for_each(|&&bound| self.raise(bound));
        self.tell("classes of links");
    }
}

/// The topology with the best link of each class in place of each link; `None` where links are of no such classes, or
/// classes hold nothing but equals. O(D² log D).
fn classed(topology: &Topology) -> Option<Topology> {
    let devices = 0..topology.len();
    let pairs: Vec<(usize, usize)> =
        devices.clone().flat_map(|a| devices.clone().map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    // Inverse, so that the least of a class is the best.
    let costs = Classes::new(pairs.iter().map(|&(a, b)| 1.0 / topology.bandwidth(a, b)).collect())?;
    let latencies = Classes::new(pairs.iter().map(|&(a, b)| topology.latency(a, b)).collect())?;
    if costs.are_equals() && latencies.are_equals() {
        return None;
    }
    let classed = Topology::new(topology.name.clone(), topology.source.clone(), topology.devices.clone(), |a, b| {
        1.0 / costs.least(1.0 / topology.bandwidth(a, b))
    });
    Some(classed.with_latency(|a, b| latencies.least(topology.latency(a, b))))
}

/// Values in classes.
struct Classes {
    /// The first and last value of each class, ascending.
    ranges: Vec<(f64, f64)>,
}

impl Classes {
    /// `None` where a class is too wide.
    fn new(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let mut ranges: Vec<(f64, f64)> = Vec::new();
        for value in values {
            match ranges.last_mut() {
                Some((_, last)) if value <= *last * (1.0 + STEP) => *last = value,
                _ => ranges.push((value, value)),
            }
        }
        ranges.iter().all(|(first, last)| *last <= first * WIDTH).then_some(Self { ranges })
    }

    fn are_equals(&self) -> bool {
        self.ranges.iter().all(|(first, last)| first == last)
    }

    /// The least value of the class of one of the values.
    fn least(&self, value: f64) -> f64 {
        let next = self.ranges.partition_point(|&(first, _)| first <= value);
        self.ranges[next.saturating_sub(1)].0
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::mapping::{Device, Exhaustive, samples};
    use crate::search::SearchContext;

    /// The topology, each of whose bandwidths is measured a little too high or too low.
    fn measured(topology: &Topology, noise: f64, seed: u64) -> Topology {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let count = topology.len();
        let factors: Vec<f64> = (0..count * count).map(|_| rng.random_range(1.0 - noise..1.0 + noise)).collect();
        Topology::new("measured", "", topology.devices.clone(), |a, b| {
            topology.bandwidth(a, b) * factors[a * count + b]
        })
        .with_latency(|a, b| topology.latency(a, b))
    }

    #[test]
    fn noise_is_taken_off_and_nothing_else() {
        let devices: Vec<Device> = (0..8).map(|index| Device::new(index.to_string())).collect();
        let nodes = Topology::new("nodes", "", devices, |a, b| if a / 4 == b / 4 { 100.0 } else { 10.0 });
        assert_eq!(classed(&nodes), None);
        let classes = classed(&measured(&nodes, 0.03, 1)).expect("two narrow classes");
        for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let (like_a, like_b) = if a / 4 == b / 4 { (0, 1) } else { (0, 4) };
            assert_eq!(classes.bandwidth(a, b), classes.bandwidth(like_a, like_b));
        }
        // No classes: everything between the slowest and the fastest.
        let slope = Topology::new("slope", "", nodes.devices.clone(), |a, b| 10.0 + 0.1 * (8 * a + b) as f64);
        assert_eq!(classed(&slope), None);
    }

    #[test]
    fn bounds_by_classes_are_below_the_optimum_and_near_it() {
        let (cx, mut looked, mut used) = (SearchContext::new(), 0, 0);
        for seed in 0..150 {
            let exact = samples::problem(seed);
            let problem = MappingProblem { topology: measured(&exact.topology, 0.02, seed), ..exact };
            let Some(alike) = classed(&problem.topology) else { continue };
            let optimum = |problem: &MappingProblem| {
                let run = Exhaustive.map(problem, &cx);
                run.outcome.solution().map(|mapping| problem.objective(mapping))
            };
            let Some(least) = optimum(&problem) else { continue };
            let run = BranchAndBound::default().map(&problem, &cx);
            let found = run.outcome.solution().map(|mapping| problem.objective(mapping));
            assert!(found.is_some_and(|found| found <= least * (1.0 + 1e-9)), "{found:?} for {least}, seed {seed}");
            used += usize::from(run.stats.techniques.iter().any(|technique| technique.name == "link-classes"));
            let bound = optimum(&MappingProblem { topology: alike, ..problem }).unwrap_or(f64::INFINITY);
            let is_near = (least / WIDTH..=least * (1.0 + 1e-12)).contains(&bound);
            assert!(is_near, "{bound} for {least} of seed {seed}");
            looked += 1;
        }
        assert!(looked > 50 && used > 20, "{looked} problems, {used} by classes");
    }
}
