//! Bounds by single pipelines.
//!
//! Where messages count, one pipeline by itself is a small problem, which searches soon solve. Where so few devices are left
//! over that some pipeline uses a block, no mapping is better than the best pipeline that does. And fractions of pipelines
//! have to find room in the blocks: pipelines are priced by searches whose devices may cost only so much together, so that
//! no device counts twice, and links inside blocks count for what they are.

use super::Proof;
use super::blocks::Partition;
use super::model::Model;
use super::search::{Knowledge, Order, Search, Verdict};
use super::set::Set;
use super::state::{Domains, Price, State};
use crate::mapping::packing::{Found, Rooms};
use crate::mapping::{Mapping, MappingProblem};
use crate::solve::SearchContext;

/// Decisions of one search for a pipeline.
const DECISIONS: u64 = 2000;

/// The part of the bound by which targets lie above it at first, and at least.
const FIRST_STEP: f64 = 0.01;
const LAST_STEP: f64 = 1e-4;

const FIRST_STEP_THROUGH: f64 = 1e-3;

/// How much shorter steps get when a target stays open.
const SHORTER: f64 = 4.0;

/// Searches for single pipelines of a problem.
struct Pipelines<'s, 'p, const W: usize> {
    knowledge: Knowledge<'p, W>,
    /// The latest target, and what propagation leaves of the domains under it; `None` where that is nothing.
    root: (f64, Option<Domains<W>>),
    /// The stages, those first that were found in a block last.
    stages: Vec<usize>,
    cx: &'s SearchContext,
}

impl<'s, 'p, const W: usize> Pipelines<'s, 'p, W> {
    fn new(model: &'p Model<'p, W>, cx: &'s SearchContext) -> Self {
        let stages = (0..model.stages.len()).collect();
        Self { knowledge: Knowledge::new(model), root: (f64::NAN, None), stages, cx }
    }

    /// A search for a pipeline within a target; `None` where there is none.
    fn search(&mut self, target: f64) -> Option<Search<'_, 'p, W>> {
        let model = self.knowledge.model;
        if self.root.0 != target {
            let mut state = State::new(model, target);
            self.root = (target, state.propagate().is_ok().then_some(state.domains));
        }
        let domains = self.root.1.as_ref()?;
        Some(Search::new(&mut self.knowledge, target, DECISIONS, Order::Fresh, self.cx).from(domains))
    }

    /// A pipeline's time and the zones of its devices.
    fn found(&self, mapping: &Mapping, zones: &[usize]) -> Found {
        let zones = mapping.devices.iter().map(|&device| zones[device]).collect();
        (self.knowledge.model.problem.objective(mapping), zones)
    }

    /// Searches for a pipeline within a target that has a copy on one of these devices.
    fn through(&mut self, devices: &Set<W>, target: f64) -> Verdict {
        for rank in 0..self.stages.len() {
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

    /// A pipeline within a target whose devices cost at most `most`, where those of a zone cost the same; nothing where that
    /// stays open.
    fn below(&mut self, values: &[f64], zones: &[usize], most: f64, target: f64) -> Option<Option<Found>> {
        let costs = zones.iter().map(|&zone| values[zone]).collect();
        let Some(search) = self.search(target) else { return Some(None) };
        match search.below(Price::new(costs, most)).run() {
            Verdict::Refuted => Some(None),
            Verdict::Found(mapping) => Some(Some(self.found(&mapping, zones))),
            Verdict::Unknown => None,
        }
    }
}

impl<const W: usize> Proof<'_, W> {
    /// Bounds the time by pipelines through each block and by packing pipelines into blocks, until searches have taken so many
    /// decisions.
    pub(super) fn bound_by_pipelines(&mut self, decisions: u64) {
        let problem = self.knowledge.model.problem;
        let Some(partition) = self.knowledge.partitions.first().cloned() else { return };
        if self.is_done() || !problem.cost.counted.messages() {
            return;
        }
        let single = MappingProblem { replicas: 1, ..problem.clone() };
        let model = Model::<W>::new(&single);
        let mut pipelines = Pipelines::new(&model, self.cx);
        let mut worst = self.bound_through(&partition, &mut pipelines);
        self.tell("pipelines");
        let worst = worst.take().unwrap_or(0);
        let zones = zones(problem, &partition, worst);
        let count = zones.iter().max().map_or(0, |last| last + 1);
        let size = |zone: usize| zones.iter().filter(|&&other| other == zone).count();
        let mut rooms = Rooms::new((0..count).map(size));
        let devices = &self.annealer.best().0.devices;
        for replica in 0..problem.replicas {
            let devices = devices.iter().skip(replica).step_by(problem.replicas).copied().collect();
            rooms.learn(pipelines.found(&Mapping { devices }, &zones));
        }
        let mut step = FIRST_STEP;
        while step > LAST_STEP && !self.is_done() {
            let target = (self.bound * (1.0 + step)).min(self.better());
            let t0 = std::time::Instant::now();
            let refuted = rooms.refutes(target, problem.replicas, |values, most| {
                if pipelines.knowledge.nodes > decisions { None } else { pipelines.below(values, &zones, most, target) }
            });
            eprintln!("   {target} {refuted:?} {} {:?}", pipelines.knowledge.nodes, t0.elapsed());
            if refuted == Some(true) {
                self.bound = target;
                step *= 2.0;
            } else {
                step /= SHORTER;
            }
        }
        self.knowledge.nodes += pipelines.knowledge.nodes;
        self.tell("pipelines");
    }

    /// Bounds the time by pipelines through each block; the block that did most, if one did.
    fn bound_through(&mut self, partition: &Partition<W>, pipelines: &mut Pipelines<W>) -> Option<usize> {
        let problem = self.knowledge.model.problem;
        let left_over = problem.topology.len() - problem.copies();
        let mut worst = None;
        for (index, block) in partition.blocks.iter().enumerate().filter(|(_, block)| block.len() > left_over) {
            let (mut above, mut target) = (self.better(), self.bound * (1.0 + FIRST_STEP_THROUGH));
            while above - self.bound > LAST_STEP * above && !self.cx.should_stop() {
                target = target.min(above);
                match pipelines.through(block, target) {
                    Verdict::Refuted => (self.bound, worst) = (target, Some(index)),
                    Verdict::Found(mapping) => above = target.min(pipelines.knowledge.model.problem.objective(&mapping)),
                    Verdict::Unknown => above = target,
                }
                target = f64::midpoint(self.bound, above);
            }
        }
        worst
    }
}

/// By device: the number of its block among those near the worst one, or one number for all that are far from it.
fn zones<const W: usize>(problem: &MappingProblem, partition: &Partition<W>, worst: usize) -> Vec<usize> {
    let first = |block: usize| partition.blocks[block].first().unwrap_or_default();
    let time = |block: usize| if block == worst { 0.0 } else { problem.topology.message_time(first(worst), first(block), 1.0) };
    let mut blocks: Vec<usize> = (0..partition.blocks.len()).collect();
    blocks.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
    let (mut numbers, mut devices) = (vec![0; blocks.len()], 0);
    let most = std::env::var("ZONE").ok().map_or(4, |v| v.parse().unwrap()) * problem.stages.stages.len();
    let mut last = 0;
    for (rank, &block) in blocks.iter().enumerate() {
        if devices <= most { last = rank; }
        numbers[block] = last;
        devices += partition.blocks[block].len();
    }
    partition.block.iter().map(|&block| numbers[block]).collect()
}
