//! Large neighbourhood search by propagation (Shaw 1998).
//!
//! The slowest copies, their neighbours and some others give up their devices, and a short search looks for other places on
//! these devices below a target that only the slowest were above. All other copies stay, which leaves propagation little to
//! do.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::search::{Knowledge, Order, Search};
use super::set::Set;
use super::state::around;
use crate::mapping::Mapping;
use crate::search::{SearchContext, Verdict};

/// The most copies that a target is above.
const LATE: usize = 3;

/// How many copies are set free at first, at least and at most.
const FIRST: f64 = 12.0;
const LEAST: f64 = 4.0;
const MOST: f64 = 80.0;

/// How the number of copies set free changes when a search ends or does not.
const GROWTH: f64 = 1.02;

/// So many copies are looked at for each that is to be set free.
const TRIES: usize = 10;

/// The least part by which a search is to better the objective.
const LEAST_GAIN: f64 = 1e-9;

/// Decisions of one search.
const DECISIONS: u64 = 30;

/// Neighbourhoods of mappings of one problem.
pub struct Neighbourhoods {
    size: f64,
    rng: Xoshiro256PlusPlus,
}

impl Neighbourhoods {
    /// Nothing searched yet.
    pub fn new(seed: u64) -> Self {
        Self { size: FIRST, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Betters a mapping by searches with so many decisions, each of them one besides its own, until it is no longer than
    /// `bound`, or a limit comes.
    pub fn better<const W: usize>(
        &mut self,
        knowledge: &mut Knowledge<W>,
        mapping: &Mapping,
        bound: f64,
        decisions: u64,
        cx: &SearchContext,
    ) -> Mapping {
        let problem = knowledge.model.problem;
        let mut mapping = mapping.clone();
        let mut times = problem.times(&mapping);
        let mut slowest = by_time(&times);
        let mut left = decisions;
        while left > 0 && !cx.should_stop() {
            let objective = times[slowest[0]];
            if objective <= bound {
                break;
            }
            let late = self.rng.random_range(1..=LATE);
            let target = slowest.get(late).map_or(bound, |&copy| times[copy]);
            let target = target.clamp(bound, bound.max(objective * (1.0 - LEAST_GAIN)));
            let free = self.free(knowledge, &mapping, &slowest[..late.min(slowest.len())]);
            let before = knowledge.nodes;
            let verdict = search(knowledge, &mapping, &free, target, cx);
            left = left.saturating_sub(1 + knowledge.nodes - before);
            match verdict {
                Verdict::Found(found) => {
                    mapping = found;
                    times = problem.times(&mapping);
                    slowest = by_time(&times);
                }
                Verdict::Refuted => self.size = (self.size * GROWTH).min(MOST),
                Verdict::Unknown => self.size = (self.size / GROWTH).max(LEAST),
            }
        }
        mapping
    }

    /// The copies that give up their devices: those given, and one after the other some that have to do with one of them.
    fn free<const W: usize>(&mut self, knowledge: &Knowledge<W>, mapping: &Mapping, late: &[usize]) -> Vec<usize> {
        let mut owners = vec![None; knowledge.model.devices()];
        mapping.devices.iter().enumerate().for_each(|(copy, &device)| owners[device] = Some(copy));
        let mut free = late.to_vec();
        let size = self.size as usize;
        for _ in 0..TRIES * size {
            if free.len() >= size {
                break;
            }
            let copy = free[self.rng.random_range(0..free.len())];
            let other = match self.rng.random_bool(0.5) {
                true => self.partner(knowledge, copy),
                false => self.near(knowledge, mapping.devices[copy], copy).and_then(|device| owners[device]),
            };
            free.extend(other.filter(|other| !free.contains(other)));
        }
        free
    }

    /// A neighbour of a copy in its pipeline or its ring.
    fn partner<const W: usize>(&mut self, knowledge: &Knowledge<W>, copy: usize) -> Option<usize> {
        let replicas = knowledge.model.replicas();
        let row = &knowledge.model.stages[copy / replicas];
        let pipeline = row.neighbours.iter().map(|stage| stage * replicas + copy % replicas);
        let (next, previous) = around(copy, replicas);
        let ring = row.ring.iter().flat_map(|_| [next, previous]);
        let partners: Vec<usize> = pipeline.chain(ring).collect();
        (!partners.is_empty()).then(|| partners[self.rng.random_range(0..partners.len())])
    }

    /// A device near that of a copy, the nearer the more likely.
    fn near<const W: usize>(&mut self, knowledge: &Knowledge<W>, device: usize, copy: usize) -> Option<usize> {
        let model = knowledge.model;
        let row = &model.stages[copy / model.replicas()];
        let link = row.pieces.first().and_then(|piece| piece.links.first()).map(|(_, link)| *link);
        let link = link.or(row.ring.map(|ring| ring.next))?;
        let rank = (self.rng.random::<f64>() * (model.devices() as f64 / 2.0).log2()).exp2() as usize;
        model.relations[link.relation].nearest(device, Set::below(model.devices())).nth(rank).map(|(_, other)| other)
    }
}

/// The copies from the slowest on.
fn by_time(times: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[b].total_cmp(&times[a]));
    order
}

/// Searches for other places for some copies, on their devices and those that no copy has.
fn search<const W: usize>(
    knowledge: &mut Knowledge<W>,
    mapping: &Mapping,
    free: &[usize],
    target: f64,
    cx: &SearchContext,
) -> Verdict<Mapping> {
    let model = knowledge.model;
    let mut is_free = vec![false; model.copies()];
    free.iter().for_each(|&copy| is_free[copy] = true);
    let kept = mapping.devices.iter().zip(&is_free).filter(|(_, is_free)| !**is_free);
    let open = Set::below(model.devices()).minus(&kept.map(|(&device, _)| device).collect());
    let domain = |(copy, &device): (usize, &usize)| match is_free[copy] {
        true => open & model.stages[copy / model.replicas()].fits,
        false => Set::only(device),
    };
    let domains = mapping.devices.iter().enumerate().map(domain).collect();
    Search::new(knowledge, target, DECISIONS, Order::Fresh, cx).among(domains)
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::*;
    use crate::mapping::samples::{is_mapping, problem};
    use crate::mapping::{Counted, Exhaustive, Mapper, MappingProblem, StageCost};

    #[test]
    fn neighbourhoods_keep_devices_apart_and_most_often_lead_to_the_optimum() {
        let cx = SearchContext::new();
        let (mut found, mut looked, mut bettered) = (0, 0, 0);
        for seed in 0..150 {
            let counted = [Counted::Messages, Counted::AllReduce, Counted::Both][seed as usize % 3];
            let mut problem = MappingProblem { cost: StageCost::additive(counted), ..problem(seed) };
            let stages = problem.stages.stages.iter_mut().enumerate();
            stages.for_each(|(index, stage)| stage.parameter_bytes = 3.0 * index as f64);
            let first = Mapping { devices: (0..problem.copies()).collect() };
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run
                .outcome
                .solution()
                .map(|mapping| problem.objective(mapping))
                .filter(|_| is_mapping(&problem, &first))
            else {
                continue;
            };
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let mut knowledge = Knowledge::new(&model, &SearchContext::new());
            let mapping = Neighbourhoods::new(seed).better(&mut knowledge, &first, optimum, 1000, &cx);
            assert!(is_mapping(&problem, &mapping), "no mapping of seed {seed}");
            let (before, after) = (problem.objective(&first), problem.objective(&mapping));
            assert!((optimum * (1.0 - 1e-12)..=before).contains(&after), "{after} from {before} for {optimum}");
            found += usize::from(after <= optimum * (1.0 + 1e-9));
            bettered += usize::from(after < before);
            looked += 1;
        }
        assert!(found * 10 > 9 * looked && 2 * bettered > looked, "{found} of {looked} are found, {bettered} bettered");
    }
}
