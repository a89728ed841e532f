//! Bounds by single pipelines.
//!
//! Where messages count, one pipeline by itself is a small problem, which searches soon solve. Where so few devices are left
//! over that some pipeline uses a block, no mapping is better than the best pipeline that does. And fractions of pipelines
//! have to find room in the blocks: pipelines are priced by searches whose devices may cost only so much together, so that
//! no device counts twice, and links inside blocks count for what they are.

use super::super::Proof;
use super::super::blocks::Partition;
use super::super::model::Model;
use super::super::search::{BranchingOrder, DepthFirstSearch, Knowledge};
use super::super::state::{Domains, Price, State};
use crate::mapping::zone_packing::{Found, Wanted, ZonePacking};
use crate::mapping::{Counted, Mapping, MappingProblem, StageCost, Topology};
use crate::search::{SearchContext, Verdict};
use crate::small_set::Set;

/// Decisions of one search for a pipeline.
const DECISIONS: u64 = 2000;

/// The part of the bound by which targets lie above it at first, where blocks are packed and where pipelines through one are
/// looked for, and at least.
const FIRST_STEP: f64 = 0.03;
const FIRST_THROUGH: f64 = 1e-3;
const LAST_STEP: f64 = 1e-4;

/// How much shorter steps get when a target stays open.
const SHORTER: f64 = 4.0;

/// Searches for single pipelines of a problem.
struct Pipelines<'s, 'p, const W: usize> {
    knowledge: Knowledge<'p, W>,
    /// The latest target, and what propagation leaves of the domains under it; `None` where that is nothing.
    root: (f64, Option<Domains<W>>),
    /// The stages, those first that were found in a block last.
    stages: Vec<usize>,
    /// After so many decisions there are no more searches, each of which is one besides its own.
    end: u64,
    searches: u64,
    cx: &'s SearchContext,
}

impl<'s, 'p, const W: usize> Pipelines<'s, 'p, W> {
    fn new(model: &'p Model<'p, W>, decisions: u64, cx: &'s SearchContext) -> Self {
        let stages = (0..model.stages.len()).collect();
        Self { knowledge: Knowledge::new(model, cx), root: (f64::NAN, None), stages, end: decisions, searches: 0, cx }
    }

    /// A search for a pipeline within a target; `None` where there is none.
    fn search(&mut self, target: f64) -> Option<DepthFirstSearch<'_, 'p, W>> {
        let model = self.knowledge.model;
        if self.root.0 != target {
            let mut state = State::new(model, target);
            self.root = (target, state.propagate(self.cx).is_ok().then_some(state.domains));
        }
        let domains = self.root.1.as_ref()?;
        self.searches += 1;
        Some(
            DepthFirstSearch::new(&mut self.knowledge, target, DECISIONS, BranchingOrder::Fresh, self.cx).from(domains),
        )
    }

    /// Whether there may be more searches.
    fn has_effort(&self) -> bool {
        self.effort() < self.end && !self.cx.should_stop()
    }

    fn effort(&self) -> u64 {
        self.knowledge.nodes + self.searches
    }

    /// The time of a pipeline's slowest copy.
    fn time(&self, pipeline: &Mapping) -> f64 {
        self.knowledge.model.problem.objective(pipeline)
    }

    /// A pipeline's time and the zones of its devices.
    fn found(&self, pipeline: &Mapping, zones: &Zones) -> Found {
        (self.time(pipeline), pipeline.devices.iter().map(|&device| zones.zone[device]).collect())
    }

    /// Searches for a pipeline within a target that has a copy on one of these devices.
    fn through(&mut self, devices: &Set<W>, target: f64) -> Verdict<Mapping> {
        for rank in 0..self.stages.len() {
            if !self.has_effort() {
                return Verdict::Unknown;
            }
            let stage = self.stages[rank];
            let Some(search) = self.search(target) else { return Verdict::Refuted };
            let verdict = search.within(stage, devices).run();
            if verdict != Verdict::Refuted {
                self.stages[..=rank].rotate_right(1);
                return verdict;
            }
        }
        Verdict::Refuted
    }

    /// A pipeline within a target that is as it is wanted; nothing where that stays open.
    fn wanted(&mut self, wanted: &Wanted, zones: &Zones, target: f64) -> Option<Option<Found>> {
        if !self.has_effort() {
            return None;
        }
        let price = |cost: &dyn Fn(usize) -> f64, most: f64| {
            Price::new(zones.zone.iter().map(|&zone| cost(zone)).collect(), most)
        };
        let Some(mut search) = self.search(target) else { return Some(None) };
        search = search.below(price(&|zone| wanted.values[zone], wanted.most));
        for (capped, most) in &wanted.caps {
            search = search.below(price(&|zone| f64::from(u8::from(capped.contains(&zone))), *most as f64));
        }
        match search.run() {
            Verdict::Refuted => Some(None),
            Verdict::Found(mapping) => Some(Some(self.found(&mapping, zones))),
            Verdict::Unknown => None,
        }
    }
}

impl<const W: usize> Proof<'_, W> {
    /// Bounds the time by pipelines through each block, and then by packing pipelines into the blocks around the worst of
    /// them, ever more of them, until each of the two has taken so many decisions. The next time goes on from there.
    pub(in super::super) fn bound_by_pipelines(&mut self, decisions: u64) {
        let problem = self.knowledge.model.problem;
        let Some(partition) = self.knowledge.partitions.first().cloned() else { return };
        let most = 2 * problem.topology.len();
        if self.room >= most {
            return;
        }
        let cost = StageCost { counted: Counted::Messages, ..problem.cost.clone() };
        let single = MappingProblem { replicas: 1, cost, ..problem.clone() };
        let Some(model) = Model::<W>::new(&single, self.race.cx) else { return };
        let mut pipelines = Pipelines::new(&model, decisions, self.race.cx);
        let worst = self.bound_through_blocks(&partition, &mut pipelines);
        pipelines.end = pipelines.effort() + decisions;
        while self.room < most && pipelines.has_effort() && !self.is_done() {
            self.bound_in_zones(&Zones::around(worst, &partition, &problem.topology, self.room), &mut pipelines);
            if pipelines.has_effort() {
                self.room *= 2;
            }
        }
        self.knowledge.nodes += pipelines.knowledge.nodes;
        self.tell("pipelines");
    }

    /// Bounds the time by the best pipelines through each block that some pipeline uses. Returns the block that did most, or
    /// an outer one.
    fn bound_through_blocks(&mut self, partition: &Partition<W>, pipelines: &mut Pipelines<W>) -> usize {
        let problem = self.knowledge.model.problem;
        let left_over = problem.topology.len() - problem.copies();
        let mut worst = partition.line(&problem.topology).first().map_or(0, |&device| partition.block[device]);
        for (index, block) in partition.blocks.iter().enumerate().filter(|(_, block)| block.len() > left_over) {
            let (mut above, mut target) = (self.better(), self.bound() * (1.0 + FIRST_THROUGH));
            while above - self.bound() > LAST_STEP * above && !self.is_done() {
                target = target.min(above);
                match pipelines.through(block, target) {
                    Verdict::Refuted => {
                        self.raise(target);
                        worst = index;
                    }
                    Verdict::Found(mapping) => above = target.min(pipelines.time(&mapping)),
                    Verdict::Unknown => above = target,
                }
                target = f64::midpoint(self.bound(), above);
            }
        }
        self.tell("pipelines");
        worst
    }

    /// Bounds the time by packing fractions of pipelines into zones, by steps that get longer where that goes well.
    fn bound_in_zones(&mut self, zones: &Zones, pipelines: &mut Pipelines<W>) {
        let replicas = self.knowledge.model.problem.replicas;
        let mut rooms = ZonePacking::new(&zones.sizes);
        let devices = self.best().devices;
        for replica in 0..replicas {
            let devices = devices.iter().skip(replica).step_by(replicas).copied().collect();
            rooms.learn(pipelines.found(&Mapping { devices }, zones));
        }
        let mut step = FIRST_STEP;
        // Steps are parts of the bound.
        while self.bound() > 0.0 && step > LAST_STEP && pipelines.has_effort() && !self.is_done() {
            let target = (self.bound() * (1.0 + step)).min(self.better());
            let refutes = rooms.refutes(target, replicas, |wanted| pipelines.wanted(wanted, zones, target));
            if refutes == Some(true) {
                self.raise(target);
                step *= 2.0;
            } else {
                step /= SHORTER;
            }
            self.tell("pipelines");
        }
    }
}

/// Blocks that are told apart, and all others as one.
struct Zones {
    /// By device.
    zone: Vec<usize>,
    /// By zone: how many devices it has.
    sizes: Vec<usize>,
}

impl Zones {
    /// One block and those nearest to it, as many as hold at most so many devices together, each a zone, and all others.
    fn around<const W: usize>(block: usize, partition: &Partition<W>, topology: &Topology, room: usize) -> Self {
        let first = |block: usize| partition.blocks[block].first().unwrap_or_default();
        let time =
            |other: usize| if other == block { 0.0 } else { topology.message_time(first(block), first(other), 1.0) };
        let mut blocks: Vec<usize> = (0..partition.blocks.len()).collect();
        blocks.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        let (mut zones, mut sizes, mut held) = (vec![0; blocks.len()], Vec::<usize>::new(), 0);
        for block in blocks {
            let (size, before) = (partition.blocks[block].len(), held);
            held += size;
            match sizes.last_mut() {
                // Once one is too large, so are all that follow.
                Some(others) if before > room => *others += size,
                _ => sizes.push(size),
            }
            zones[block] = sizes.len() - 1;
        }
        Self { zone: partition.block.iter().map(|&block| zones[block]).collect(), sizes }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::mapping::{Device, Exhaustive, Mapper, Message, Stage, StageGraph, samples};
    use crate::search::Race;

    /// Two pipelines of four stages on eight devices, or of three stages on seven. Their blocks are in a row, and links between
    /// them are the slower the farther they lead.
    fn problem(seed: u64) -> MappingProblem {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (count, size) = [(4, 8), (3, 7)][usize::from(rng.random_bool(0.2))];
        let mut messages = Vec::new();
        for (source, target) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))) {
            if source == target + 1 || rng.random_bool(0.5) {
                messages.push(Message { source, target, bytes: f64::from(rng.random_range(1..20_u8)) });
            }
        }
        let mut place = 0;
        let mut places = vec![0; size];
        for other in places.iter_mut().skip(1) {
            place += usize::from(rng.random_bool(0.4));
            *other = place;
        }
        let inside: Vec<f64> = (0..64).map(|_| f64::from(rng.random_range(3..=9_u8))).collect();
        let devices = (0..size).map(|index| Device::new(index.to_string())).collect();
        let bandwidth = |a: usize, b: usize| match places[a].abs_diff(places[b]) {
            0 => inside[8 * a.min(b) + a.max(b)],
            distance => 2.0 / distance as f64,
        };
        MappingProblem {
            stages: StageGraph {
                stages: vec![Stage { forward: 1.0, ..Stage::default() }; count],
                messages,
                ..samples::problem(seed).stages
            },
            replicas: 2,
            topology: Topology::new("row", "", devices, bandwidth),
            cost: StageCost::additive(Counted::Messages),
        }
    }

    #[test]
    fn pipelines_bound_no_optimum_away_and_tell_more_than_propagation() {
        let cx = SearchContext::new();
        let (mut looked, mut open, mut raised, mut tight) = (0, 0, 0, 0);
        for (seed, is_row) in (0..300).flat_map(|seed| [(seed, false), (seed, seed < 80)]) {
            let problem = if is_row { problem(seed) } else { samples::problem(seed) };
            let run = Exhaustive.map(&problem, &cx);
            let Some(least) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            let first = Mapping { devices: (0..problem.copies()).collect() };
            if !problem.all_fit(&first.devices) {
                continue;
            }
            let model = Model::<1>::new(&problem, &cx).unwrap();
            let mut proof = Proof::new(Knowledge::new(&model, &cx), &first, &cx);
            if proof.knowledge.partitions.is_empty() || problem.replicas < 2 {
                continue;
            }
            proof.bisect(0, 1e-6);
            let before = proof.bound();
            // A bound above the optimum shows where no mapping found so far is the best.
            proof.race = Race::new(0.5 * least, (), &cx);
            proof.offer(&first);
            proof.bound_by_pipelines(10_000);
            let bound = proof.bound();
            assert!(bound <= least * (1.0 + 1e-9), "{bound} is above {least} of seed {seed}");
            looked += 1;
            open += usize::from(proof.objective() > least * (1.0 + 1e-3));
            raised += usize::from(bound > before * (1.0 + 1e-3));
            tight += usize::from(bound > least * (1.0 - 1e-3));
        }
        assert!(
            looked > 100 && 10 * raised > looked && 2 * tight > looked,
            "{open} open, {raised} raised, {tight} tight of {looked}"
        );
    }

    #[test]
    fn zones_hold_all_devices_and_few_are_told_apart() {
        let problem = problem(1);
        let partition = Partition::<1>::all(&problem.topology, &SearchContext::new()).pop().expect("there are blocks");
        for room in 0..8 {
            let zones = Zones::around(0, &partition, &problem.topology, room);
            assert_eq!(zones.sizes.iter().sum::<usize>(), problem.topology.len());
            let held = |zone: usize| zones.zone.iter().filter(|&&other| other == zone).count();
            assert!((0..zones.sizes.len()).all(|zone| held(zone) == zones.sizes[zone]));
            let apart = zones.sizes.len() - 1;
            assert!(apart <= 1 || zones.sizes[..apart].iter().sum::<usize>() <= room);
        }
    }
}
