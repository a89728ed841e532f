//! Both sides of the best split of a large graph of successive layers: stages that go as far as they can.
//!
//! Let a stage move what borders of the kinds of its ends move at least ([`borders`](super::borders)), and its options be those of the
//! relaxed knapsack ([`relaxation`](super::relaxation)). What it takes then only grows with it. So of two sets that stages from
//! the end of the pipeline hold on as many devices, with as many parts of the batch, the larger is no worse for the stages before them
//! if its border is of a kind that moves no more; and a stage goes to the largest set of each kind that is within the target.
//! That leaves a few sets for each number of devices and parts where a search among all sets has thousands. A set between
//! two narrow ones is reached from another such set next to it by their union, which is one of them or the narrow set after them.
//! If such stages do not hold all units, none do.
//!
//! The same with what sets really move, and with options that the relaxed knapsack finds, makes splits: good ones, if no proof.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::borders::Borders;
use super::front::{Devices, Found, SplitRace, Taken};
use super::model::Model;
use super::relaxation::Relaxed;
use super::stage::{Chooser, Stage};
use super::target::{FIRST_TARGETS, Sets};
use crate::graph::is_subset;
use crate::search::{SearchContext, Stopped};
use crate::solve::BoundSource;
use crate::solve::dp::lattice::Lattice;

/// What sums of floats may be off by, as a part of them.
const ROUNDING: f64 = 1e-9;

/// How near bound and split come to the best ones that there are of this kind.
const PRECISION: f64 = 1e-3;

/// A set, and the kind of its border.
type End = (u32, u32);

/// A stage but for where it ends: its beginning, shape, data degree and microbatches in flight.
type Begin = (End, usize, usize, usize);

/// Stages that hold a set, from the end of the pipeline.
#[derive(Clone, Copy)]
struct Held {
    end: End,
    devices: Devices,
    parts: usize,
    /// Those without the first of them, by their number; nothing names itself.
    behind: usize,
    /// The first stage.
    first: Begin,
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq)]
enum Aim {
    /// Whether there may be a split within the target.
    Refute,
    /// Some split within it.
    Split,
}

struct Furthest<'a> {
    sets: &'a Sets,
    model: &'a Model<'a>,
    borders: &'a Borders,
    relaxed: Relaxed<'a>,
    target: f64,
    aim: Aim,
    /// Where stages end that begin alike.
    ends: FxHashMap<Begin, Vec<End>>,
}

/// The stages of a split, the first one first: each with the set where it ends.
type Path = Vec<(Begin, u32)>;

/// Brings bound and split near to each other, by targets in between; whether there is no split. For a step the bound is less near.
///
/// # Errors
/// A limit came first.
pub fn run(sets: &Sets, model: &Model, race: &mut SplitRace, targets: &mut usize) -> Result<bool, Stopped> {
    let Some(counts) = &sets.counts else { return Ok(false) };
    let borders = Borders::new(&sets.lattice, model);
    let within = |target: Option<f64>, aim: Aim, cx: &SearchContext| {
        let relaxed = Relaxed::new(model, counts);
        let search = |target| {
            Furthest { sets, model, borders: &borders, relaxed, target, aim, ends: FxHashMap::default() }.path(cx)
        };
        target.map(search).transpose()
    };
    let least = race.bound().max(f64::MIN_POSITIVE);
    let mut first = FIRST_TARGETS.iter().map(|factor| factor * least);
    // Targets within which there may be a split, and those within which none of this kind was found.
    let (mut open, mut missed) = (f64::INFINITY, race.bound());
    while !race.is_settled() {
        let next = match race.objective() {
            None => first.next().map(|target| [Some(target); 2]),
            Some(best) => {
                let between = |low: f64, high: f64| (high - low > PRECISION * best).then(|| f64::midpoint(low, high));
                let refute = between(race.bound(), open.min(best));
                let split = between(missed.max(race.bound()), best);
                (refute.is_some() || split.is_some()).then_some([refute, split])
            }
        };
        let Some([refute, split]) = next else { return Ok(false) };
        let (may_be, is_found) =
            rayon::join(|| within(refute, Aim::Refute, race.cx), || within(split, Aim::Split, race.cx));
        *targets += [refute, split].into_iter().flatten().count();
        match (refute, may_be?) {
            (Some(target), Some(None)) if target.is_infinite() => return Ok(true),
            (Some(target), Some(None)) => {
                race.raise(target, BoundSource::Refuted);
            }
            (Some(target), Some(Some(_))) => open = open.min(target),
            _ => {}
        }
        match (split, is_found?) {
            (Some(target), Some(Some(path))) => {
                let stages = found(sets, model, &path, race.cx)?;
                let objective = model.objective(&stages);
                // A step is longer than what its slowest stage says by itself.
                if !race.offer(objective, stages) || objective > target {
                    missed = target;
                }
            }
            (Some(target), Some(None)) => missed = target,
            _ => {}
        }
        race.report("furthest stages");
    }
    Ok(false)
}

/// The stages of a path.
fn found(sets: &Sets, model: &Model, path: &Path, cx: &SearchContext) -> Result<Vec<Found>, Stopped> {
    let chooser = Chooser::new(model, None);
    let found = |&((set, shape, data, in_flight), end): &(Begin, u32)| {
        let bits = |set: u32| sets.lattice.bits(set as usize);
        let (without, with) = (bits(set.0), bits(end));
        let stage = Stage { sets: (set.0, end), without, with, shape, data, in_flight };
        Ok(stage.found(model, chooser.least(&stage, cx)?.ok_or(Stopped)?))
    };
    path.iter().map(found).collect()
}

impl Furthest<'_> {
    /// Stages within the target that hold all units, where there are such.
    fn path(mut self, cx: &SearchContext) -> Result<Option<Path>, Stopped> {
        let last = self.sets.lattice.count() as u32 - 1;
        let none = Held { end: (0, 0), devices: Devices::default(), parts: 0, behind: 0, first: ((0, 0), 0, 0, 0) };
        // Those with fewer devices first: more stages take more.
        let mut open = BTreeMap::from([((0, none.devices, 0), vec![none])]);
        let mut kept: Vec<Held> = Vec::new();
        while let Some((_, all)) = open.pop_first() {
            for held in all {
                if kept.iter().any(|other| self.is_no_better(&held, other)) {
                    continue;
                }
                if cx.should_stop() {
                    return Err(Stopped);
                }
                kept.push(held);
                for next in self.extended(&held, kept.len() - 1) {
                    if next.end.0 == last {
                        return Ok(Some(path(&kept, next)));
                    }
                    let key = (next.devices.iter().sum::<u32>(), next.devices, next.parts);
                    let alike = open.entry(key).or_default();
                    if !alike.iter().any(|other| self.is_no_better(&next, other)) {
                        alike.retain(|other| !self.is_no_better(other, &next));
                        alike.push(next);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Each of the stages that may come before these, which have this number.
    fn extended(&mut self, held: &Held, number: usize) -> Vec<Held> {
        let (model, mut all) = (self.model, Vec::new());
        let taken = Taken { parts: held.parts, devices: held.devices, ..Taken::NOTHING };
        for shape in 0..model.shapes.len() {
            let most = model.most_data(&taken, model.parts, shape);
            for &data in model.costs.data_degrees.iter().take_while(|&&data| data <= most) {
                let Taken { parts, devices, .. } = model.taken_before(&taken, shape, data, 0.0);
                // Stages that are yet to come only add to what is in flight.
                let most_parts = if self.aim == Aim::Refute { parts } else { model.parts };
                let in_flight = model.costs.in_flight.count(data, parts, most_parts, model.costs.microbatches);
                let first = (held.end, shape, data, in_flight);
                let time = model.most_time(self.target);
                let may_be = |end: &End| model.suffice(&devices, &self.sets.rests[end.0 as usize].need(time));
                let ends = self.ends(first).into_iter().filter(may_be);
                all.extend(ends.map(|end| Held { end, devices, parts, behind: number, first }));
            }
        }
        all
    }

    /// The largest sets of each kind where a stage may end.
    fn ends(&mut self, begin: Begin) -> Vec<End> {
        if let Some(known) = self.ends.get(&begin) {
            return known.clone();
        }
        let all = (self.sets.lattice.count() as u32 - 1, 0);
        let ends = if self.fits(begin, all) { vec![all] } else { self.narrow_ends(begin) };
        self.ends.insert(begin, ends.clone());
        ends
    }

    fn narrow_ends(&mut self, begin: Begin) -> Vec<End> {
        let (borders, mut ends, mut largest) = (self.borders, Vec::new(), begin.0.0);
        for (sets, kind) in borders.narrow.iter().zip(1..) {
            let larger = &sets[sets.partition_point(|&set| set <= largest)..];
            let count = larger.partition_point(|&set| self.fits(begin, (set, kind)));
            if let Some(&set) = larger[..count].last() {
                largest = set;
                ends.push((set, kind));
            }
        }
        self.wide_ends(begin, &mut ends);
        ends
    }

    /// Adds the largest wide sets; for a stage that begins at one also the narrow set after it, if none is larger.
    fn wide_ends(&mut self, begin: Begin, ends: &mut Vec<End>) {
        let (lattice, borders, (from, _)) = (&self.sets.lattice, self.borders, begin.0);
        let (kind, narrower) = (borders.wide_kind(), ends.len());
        let sizes = borders.wide_beyond(borders.size(from));
        let count = sizes.partition_point(|&size| {
            borders.of_size(size).any(|set| is_within(lattice, from, set) && self.fits(begin, (set, kind)))
        });
        for &size in sizes[..count].iter().rev() {
            let mut is_any_new = false;
            for set in borders.of_size(size).filter(|&set| is_within(lattice, from, set)) {
                if !ends[narrower..].iter().any(|end| is_within(lattice, set, end.0)) {
                    is_any_new = true;
                    if self.fits(begin, (set, kind)) {
                        ends.push((set, kind));
                    }
                }
            }
            if !is_any_new {
                break;
            }
        }
        if let Some(next) = borders.next_narrow(from)
            && ends[narrower..].iter().all(|end| is_within(lattice, end.0, next))
            && self.fits(begin, (next, kind))
        {
            ends.truncate(narrower);
            ends.push((next, kind));
        }
    }

    /// Whether a stage may end there, as far as its time goes that is known.
    fn fits(&mut self, (begin, shape, data, in_flight): Begin, end: End) -> bool {
        let (model, rests) = (self.model, &self.sets.rests);
        let moved = match self.aim {
            Aim::Refute => self.borders.least_moved(shape, begin, end),
            Aim::Split => self.borders.most_moved(shape, begin.0, end.0),
        };
        let base = model.time(0.0, moved, 0.0, data);
        let bounds = self.relaxed.bounds((begin.0, end.0), (shape, data, in_flight), base);
        let time = if self.aim == Aim::Refute { bounds.lower } else { bounds.upper };
        // A step also takes a microbatch's way through all other stages.
        let others = if model.is_step {
            rests[0].shortest - (rests[begin.0 as usize].shortest - rests[end.0 as usize].shortest)
        } else {
            0.0
        };
        time.is_finite() && time <= model.most_time(self.target - others) * (1.0 + ROUNDING)
    }

    /// Whether these stages leave those before them no more than others do.
    fn is_no_better(&self, held: &Held, other: &Held) -> bool {
        other.end.1 <= held.end.1
            && other.parts <= held.parts
            && other.devices.iter().zip(&held.devices).all(|(other, own)| other <= own)
            && is_within(&self.sets.lattice, held.end.0, other.end.0)
    }
}

/// The stages that end with these.
fn path(kept: &[Held], mut held: Held) -> Path {
    let mut path = Vec::new();
    while held.end.0 != 0 {
        path.push((held.first, held.end.0));
        held = kept[held.behind];
    }
    path
}

/// Whether a set is part of another.
fn is_within(lattice: &Lattice, set: u32, other: u32) -> bool {
    set <= other && is_subset(lattice.bits(set as usize), lattice.bits(other as usize))
}
