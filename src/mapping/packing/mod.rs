//! Packing pipelines: branch and price where messages count.
//!
//! Devices that nothing tells apart form a class. Where no all-reduce ties pipelines together, a mapping is a choice of
//! pipelines, each a class for every stage, that find room in the classes together. Whether fractions of pipelines do is a
//! linear program, solved by column generation ([`generation`], [`pricing`]); where they do not, the target is refuted.
//! Otherwise pipelines are fixed one after the other, and failing that, it is decided how often a stage is in a class.
//! Blocks whose devices differ may be taken for classes, too, which tells less about each of them but more of all.
//!
//! Where no two devices are alike and each gets a copy, a mapping is an exact [`mod@cover`] of the devices. Where a target leaves
//! few pipelines, these are enumerated ([`enumeration`]), and a search for covers soon ends. With an all-reduce, covers are
//! drawn until the pipelines of one can be put in an order that makes fast rings ([`rings`]).

mod classes;
mod cover;
mod enumeration;
mod generation;
mod master;
mod plan;
mod pricing;
mod rings;
mod rooms;
#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::{Mapping, MappingProblem};
use crate::solve::SearchContext;
use classes::Classes;
use cover::{Covered, cover};
use enumeration::Pipelines;
use generation::{Generation, Order, Packed};
use master::{Row, Use};
use plan::Plan;
use pricing::Pattern;

pub use rings::RingCover;
pub use rooms::{Found, Rooms, Wanted};

/// What a search found out about its target.
#[derive(Debug, Clone, PartialEq)]
pub enum Packing {
    /// No mapping is within the target.
    Refuted,
    /// This one is.
    Found(Mapping),
    /// A limit came first. Most pipelines of the mapping, if there is one, are within the target.
    Unknown(Option<Mapping>),
    /// Too many pipelines are within the target, and within all higher ones.
    Crowded,
}

/// Branch and price over the pipelines of a problem.
pub struct Packer<'a> {
    problem: &'a MappingProblem,
    classes: Classes,
    generation: Generation,
    /// How pipelines are enumerated, where they are to cover all devices and no two of these are alike.
    covering: Option<Plan>,
    /// The room in the classes.
    rows: Vec<Row>,
    /// The fullest mapping so far that fixing pipelines came to, and how many it fixed.
    draft: Option<(usize, Mapping)>,
    /// Programs solved so far.
    pub nodes: u64,
}

/// Sums of few terms are exact to this part.
const ROUNDING: f64 = 1e-12;

/// How often a stage is in a class counts as whole to this part.
const WHOLE: f64 = 1e-6;

/// One search takes one of so many parts of the effort that is left.
const PARTS: u64 = 4;

/// Enumerating pipelines takes at most one of so many parts of the effort for covers.
const ENUMERATED: u64 = 4;

/// Pipelines that fractions take at least this part of the most may be fixed.
const LIKELY: f64 = 0.5;

/// How many pipelines are tried as the next one.
const TRIES: usize = 3;

/// To what part the largest refuted target is found.
const PRECISION: f64 = 1e-5;

/// Bisections for the largest target that values refute.
const STEPS: usize = 8;

/// How pipelines are enumerated that are to cover all devices; `None` where devices are left over, alike or many.
fn covering(problem: &MappingProblem, classes: &Classes) -> Option<Plan> {
    let devices = problem.topology.len();
    let is_cover = classes.len() == devices && problem.copies() == devices;
    let is_cover = is_cover && (1..=Pipelines::MOST_DEVICES).contains(&devices);
    if is_cover { Plan::whole(problem, classes) } else { None }
}

impl<'a> Packer<'a> {
    /// A packer into classes of like devices, and where `blocks` are fewer than these, one into the blocks, whose links count
    /// at their least: bounds hold for any blocks, but mappings may take longer than their pipelines. Then the former is left
    /// out where it has more than `most` classes. None where an all-reduce counts or loads have several pieces, or there are
    /// too many stages or classes. O(D² · (classes + messages) + stages⁵).
    pub fn all(problem: &'a MappingProblem, blocks: Option<Vec<Vec<usize>>>, most: usize) -> Vec<Self> {
        if problem.cost.counted.all_reduce() && problem.replicas > 1 {
            return Vec::new();
        }
        let fine = Classes::new(&problem.topology);
        let coarse = blocks.and_then(|blocks| fine.merged(blocks));
        let fine = Some(fine).filter(|fine| coarse.is_none() || fine.len() <= most);
        fine.into_iter().chain(coarse).filter_map(|classes| Self::new(problem, classes)).collect()
    }

    fn new(problem: &'a MappingProblem, classes: Classes) -> Option<Self> {
        let generation = Generation::new(Plan::new(problem, &classes)?);
        let room = classes.members.iter().map(Vec::len).enumerate();
        let rows = room.map(|(class, most)| Row { what: Use::Room(class), most }).collect();
        let covering = covering(problem, &classes);
        Some(Self { problem, classes, generation, covering, rows, draft: None, nodes: 0 })
    }

    /// Whether a mapping is an exact cover.
    pub fn can_cover(&self) -> bool {
        self.covering.is_some()
    }

    /// Takes up the pipelines of a mapping.
    pub fn learn(&mut self, mapping: &Mapping) {
        let (class, replicas) = (self.classes.by_device(), self.problem.replicas);
        for replica in 0..replicas {
            let devices = mapping.devices.iter().skip(replica).step_by(replicas);
            self.generation.add(&Pattern { classes: devices.map(|&device| class[device]).collect() });
        }
    }

    /// Nearly the largest target from `low` to below `high` that no fractions of pipelines keep, as far as so much effort
    /// tells.
    pub fn bound(&mut self, mut low: f64, mut high: f64, effort: u64, cx: &SearchContext) -> f64 {
        self.generation.effort = effort;
        let rows = self.rows.clone();
        let order = |target: f64| Order {
            limit: target * (1.0 + ROUNDING),
            count: self.problem.replicas,
            rows: &rows,
            is_strict: false,
        };
        while high - low > PRECISION * high && self.generation.effort > 0 && !cx.should_stop() {
            let target = f64::midpoint(low, high);
            self.nodes += 1;
            match self.generation.pack(order(target), cx) {
                Packed::Refuted(values) => {
                    low = target;
                    let mut above = high;
                    for _ in 0..STEPS {
                        let target = f64::midpoint(low, above);
                        if self.generation.effort == 0 || cx.should_stop() {
                            break;
                        }
                        let is_refuted = self.generation.refutes(&order(target), &values, cx);
                        *(if is_refuted { &mut low } else { &mut above }) = target;
                    }
                }
                Packed::Open(_) | Packed::Unknown => high = target,
            }
        }
        low
    }

    /// Searches for a mapping within a target, with a part of what is left of an effort: labels that pricing tries.
    pub fn search(&mut self, target: f64, effort: &mut u64, cx: &SearchContext) -> Packing {
        self.draft = None;
        let part = effort.div_ceil(PARTS);
        self.generation.effort = part;
        let packing = self.explore(&mut self.rows.clone(), target * (1.0 + ROUNDING), cx);
        *effort -= part - self.generation.effort;
        match packing {
            Packing::Unknown(_) => Packing::Unknown(self.draft.take().map(|(_, mapping)| mapping)),
            packing => packing,
        }
    }

    /// Searches for a mapping within a target among the exact covers by all pipelines within it, where these are few, with
    /// a part of what is left of an effort.
    pub fn cover(&mut self, target: f64, effort: &mut u64, cx: &SearchContext) -> Packing {
        let part = effort.div_ceil(PARTS);
        let mut left = part / ENUMERATED;
        let rest = part - left;
        let plan = self.covering.as_ref();
        let pipelines = plan.and_then(|plan| Pipelines::within(plan, target * (1.0 + ROUNDING), &mut left, cx));
        let Some(pipelines) = pipelines else {
            *effort -= part / ENUMERATED - left;
            return Packing::Crowded;
        };
        self.nodes += 1;
        left += rest;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed);
        let all = Pipelines::all_devices(self.classes.len());
        let covered = cover(&pipelines.sets, all, &mut left, &mut rng, cx);
        *effort -= part - left;
        match covered {
            Covered::Not => Packing::Refuted,
            Covered::By(sets) => {
                let patterns: Vec<Pattern> = sets.iter().filter_map(|&set| pipelines.pattern(set).cloned()).collect();
                self.mapping(&patterns).map_or(Packing::Unknown(None), Packing::Found)
            }
            Covered::Unknown => Packing::Unknown(None),
        }
    }

    fn explore(&mut self, rows: &mut Vec<Row>, limit: f64, cx: &SearchContext) -> Packing {
        self.nodes += 1;
        let replicas = self.problem.replicas;
        let parts = match self.generation.pack(Order { limit, count: replicas, rows, is_strict: false }, cx) {
            Packed::Refuted(_) => return Packing::Refuted,
            Packed::Unknown => return Packing::Unknown(None),
            Packed::Open(parts) => parts,
        };
        let undecided = self.undecided(&parts);
        // Fixing takes long: it is for the first program, and for those that leave nothing to decide.
        if rows.len() == self.rows.len() || undecided.is_none() {
            let rest = self.generation.effort / 2;
            self.generation.effort -= rest;
            let found = self.fix(rows, limit, &mut Vec::new(), cx);
            self.generation.effort += rest;
            if let Some(mapping) = found {
                return Packing::Found(mapping);
            }
        }
        let Some((stage, class, times)) = undecided else { return Packing::Unknown(None) };
        let least = times.ceil() as usize;
        let ways =
            [(Use::Outside(stage, class), replicas.saturating_sub(least)), (Use::Inside(stage, class), least - 1)];
        let mut packing = Packing::Refuted;
        for (what, most) in ways {
            if self.generation.effort == 0 || cx.should_stop() {
                return Packing::Unknown(None);
            }
            rows.push(Row { what, most });
            let found = self.explore(rows, limit, cx);
            rows.pop();
            match found {
                Packing::Refuted => (),
                Packing::Found(_) => return found,
                Packing::Unknown(_) | Packing::Crowded => packing = found,
            }
        }
        packing
    }

    /// The stage and the class of which it is least clear how often they come together, and how often in fractions.
    fn undecided(&self, parts: &[(f64, Pattern)]) -> Option<(usize, usize, f64)> {
        let mut times = vec![vec![0.0; self.classes.members.len()]; self.problem.stages.stages.len()];
        for (weight, pattern) in parts {
            pattern.classes.iter().enumerate().for_each(|(stage, &class)| times[stage][class] += weight);
        }
        let doubt = |times: f64| (times - times.round()).abs();
        let all = times
            .iter()
            .enumerate()
            .flat_map(|(stage, row)| row.iter().enumerate().map(move |(class, &times)| (stage, class, times)));
        all.filter(|cell| doubt(cell.2) > WHOLE).max_by(|a, b| doubt(a.2).total_cmp(&doubt(b.2)))
    }

    /// Fixes one more pipeline after those of `fixed` and packs the rest anew, and takes it back where the rest finds no
    /// room: those first that make use of small classes, which are the hardest to use up.
    fn fix(&mut self, rows: &[Row], limit: f64, fixed: &mut Vec<Pattern>, cx: &SearchContext) -> Option<Mapping> {
        let replicas = self.problem.replicas;
        let count = replicas - fixed.len();
        if count == 0 {
            let mapping = self.mapping(fixed)?;
            // Where messages count at their least, it may take longer than its pipelines did.
            if self.problem.objective(&mapping) <= limit {
                return Some(mapping);
            }
            let objective = |mapping: &Mapping| self.problem.objective(mapping);
            let betters =
                |(count, known): &(usize, Mapping)| *count < replicas || objective(&mapping) < objective(known);
            if self.draft.as_ref().is_none_or(betters) {
                self.draft = Some((replicas, mapping));
            }
            return None;
        }
        let parts = match self.generation.pack(Order { limit, count, rows, is_strict: true }, cx) {
            Packed::Open(parts) => parts,
            Packed::Refuted(_) | Packed::Unknown => Vec::new(),
        };
        let has_room = parts.iter().map(|(weight, _)| weight).sum::<f64>() > count as f64 - WHOLE;
        if parts.is_empty() || !has_room && self.draft.is_some() {
            self.put_aside(fixed);
            return None;
        }
        for pattern in self.likely(parts) {
            let mut rows = rows.to_vec();
            rows.iter_mut().for_each(|row| row.most -= row.uses(&pattern));
            fixed.push(pattern);
            let found = self.fix(&rows, limit, fixed, cx);
            fixed.pop();
            if found.is_some() || cx.should_stop() || self.generation.effort == 0 {
                return found;
            }
        }
        None
    }

    /// The pipelines of which fractions take much, those before that make use of small classes.
    fn likely(&self, parts: Vec<(f64, Pattern)>) -> Vec<Pattern> {
        let most = parts.iter().map(|(weight, _)| *weight).fold(0.0, f64::max);
        let share = |class: usize| 1.0 / self.classes.members[class].len() as f64;
        let scatter = |pattern: &Pattern| pattern.classes.iter().map(|&class| share(class)).sum::<f64>();
        let likely = parts.into_iter().filter(|(weight, _)| *weight >= LIKELY * most);
        let mut likely: Vec<Pattern> = likely.map(|(_, pattern)| pattern).collect();
        likely.sort_by(|a, b| scatter(b).total_cmp(&scatter(a)));
        likely.truncate(TRIES);
        likely
    }

    /// Keeps pipelines that leave no room for the rest, where they are the most so far.
    fn put_aside(&mut self, pipelines: &[Pattern]) {
        if self.draft.as_ref().map_or(0, |(count, _)| *count) < pipelines.len() {
            self.draft = self.mapping(pipelines).map(|mapping| (pipelines.len(), mapping));
        }
    }

    /// The mapping of these pipelines, which find room together, and of others on the devices that they leave. `None`
    /// where a copy does not fit.
    fn mapping(&self, pipelines: &[Pattern]) -> Option<Mapping> {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        let mut free = self.classes.members.clone();
        let mut devices = vec![0; self.problem.copies()];
        for replica in 0..replicas {
            for stage in 0..stages {
                let class = pipelines.get(replica).map(|pattern| pattern.classes[stage]);
                let class = class.or_else(|| free.iter().position(|members| !members.is_empty()))?;
                let device = free[class].pop()?;
                devices[stage * replicas + replica] = device;
                if !self.problem.fits(stage, device) {
                    return None;
                }
            }
        }
        Some(Mapping { devices })
    }
}
