//! Whether some split has a value within a target: labels over the sets of a lattice, from the last stage to the first.
//!
//! A label is a list of last stages, of which only the sum of data degrees and the number of devices matter for those
//! before them, and for a step their times: more of any is never better, for it leaves fewer devices and less time, and
//! puts more microbatches in flight. So each set keeps the labels that no other dominates. Without times the least data
//! degree of a stage and shape that is within the target and the memory dominates all larger ones.

use std::ops::{Range, RangeInclusive};

use super::front::{Found, Front, Label, Taken};
use super::model::{Model, Sums};
use super::rest::Rest;
use super::shape::Need;
use super::stage::{Chooser, Stage};
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::loads::contains;

/// The first targets where no split is known, as multiples of the bound: optima mostly lie near it, and low targets are quickly decided.
pub const FIRST_TARGETS: [f64; 6] = [1.1, 1.3, 2.0, 4.0, 32.0, f64::INFINITY];

/// Sums of floats that are off by less than this part count as equal.
const ROUNDING: f64 = 1e-12;

/// What sums that grow unit by unit may have lost, where the options of a stage are chosen for good.
pub const LOOSE: f64 = 1e-10;

/// Steps between two looks at the limits, of which each may solve a knapsack.
const STEPS_PER_LOOK: usize = 1 << 8;

/// The sets that may lie at the end of the pipeline.
pub struct Sets {
    pub lattice: Lattice,
    /// Whether a stage may begin at each set; empty where it may at all of them.
    pub ends: Vec<bool>,
    /// What the units outside of each set take.
    pub rests: Vec<Rest>,
    /// How many nodes of each kind each set has, where there are not too many kinds.
    pub counts: Option<Vec<u32>>,
}

/// One search below one target.
struct LabelSearch<'a, 'b> {
    sets: &'a Sets,
    chooser: &'a mut Chooser<'b>,
    target: f64,
    /// The most that all data degrees may add up to, by which microbatches are in flight where all stages count.
    parts: usize,
    cx: &'a SearchContext,
    labels: Vec<Label>,
    fronts: Vec<Front>,
    /// What is left where the stage at hand begins.
    room: Room,
    /// By set: the set from which it was last reached, so that each is reached once.
    reached_from: Vec<u32>,
    /// The sets that a stage before the set at hand may reach, each with where in `sums` it begins.
    reached: Vec<(u32, usize)>,
    /// What that stage takes at each shape that it may have, by their indices.
    sums: Vec<(usize, Sums)>,
    /// The same of the stage that grows.
    growing: Vec<(usize, Sums)>,
    /// The data degrees that the stage at hand may have by its least time alone, each with that time.
    within: Vec<(usize, f64)>,
    steps: usize,
}

/// What labels leave a stage before them, at most.
#[derive(Default)]
struct Room {
    parts: usize,
    /// Its time for each sample: all of its devices are busy with the batch.
    time: f64,
    /// Devices, by their weights.
    capacity: f64,
    /// Its data degree by the index of its shape.
    data: Vec<usize>,
}

/// The stages of a split within `target`, in pipeline order; `None` where no split into sets of the lattice has one.
///
/// # Errors
/// A limit came first.
pub fn split_within(
    sets: &Sets,
    chooser: &mut Chooser,
    target: f64,
    cx: &SearchContext,
) -> Result<Option<Vec<Found>>, Stopped> {
    for parts in sums_of_degrees(chooser.model, target) {
        if let Some(found) = LabelSearch::new(sets, chooser, (target, parts), cx).run()? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What the data degrees may add up to in splits within `target`: all of it where all stages count for the memory, else
/// the most.
fn sums_of_degrees(model: &Model, target: f64) -> RangeInclusive<usize> {
    if model.shapes.iter().all(|shape| shape.memory.is_infinite()) || !model.costs.in_flight.depends_on_all() {
        return model.parts..=model.parts;
    }
    let largest = model.costs.data_degrees.last().map_or(0, |&degree| degree);
    let shortest = model.shortest.iter().sum::<f64>() * (1.0 - ROUNDING);
    let fewest = (shortest / model.most_time(target) - ROUNDING).ceil() as usize;
    fewest.max(1)..=model.parts.min(largest * model.members.len())
}

impl<'a, 'b> LabelSearch<'a, 'b> {
    fn new(sets: &'a Sets, chooser: &'a mut Chooser<'b>, (target, parts): (f64, usize), cx: &'a SearchContext) -> Self {
        let count = sets.lattice.count();
        let none = Label { taken: Taken::NOTHING, set: 0, behind: 0, shape: 0, data: 0, time: 0.0 };
        let mut fronts = vec![Front::default(); count];
        fronts[0].insert(none.taken, 0);
        Self {
            sets,
            chooser,
            target: target * (1.0 + ROUNDING),
            parts,
            cx,
            labels: vec![none],
            fronts,
            room: Room::default(),
            reached_from: vec![u32::MAX; count],
            reached: Vec::new(),
            sums: Vec::new(),
            growing: Vec::new(),
            within: Vec::new(),
            steps: 0,
        }
    }

    fn run(mut self) -> Result<Option<Vec<Found>>, Stopped> {
        let last = self.fronts.len() - 1;
        for set in 0..last {
            self.extend(set)?;
            self.fronts[set] = Front::default();
            let value = |taken: &Taken| taken.once + taken.more;
            let found = self.fronts[last].labels().iter();
            if let Some(&(_, label)) = found.min_by(|(a, _), (b, _)| value(a).total_cmp(&value(b))) {
                return self.trace(label).map(Some);
            }
        }
        Ok(None)
    }

    fn model(&self) -> &'b Model<'b> {
        self.chooser.model
    }

    fn look(&mut self) -> Result<(), Stopped> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && self.cx.should_stop() { Err(Stopped) } else { Ok(()) }
    }

    /// Puts every stage before each label of a set.
    fn extend(&mut self, set: usize) -> Result<(), Stopped> {
        let front = std::mem::take(&mut self.fronts[set]);
        let Some(behind) = Taken::least(front.labels().iter().map(|&(taken, _)| taken)) else { return Ok(()) };
        self.enter(&behind);
        self.reached.clear();
        self.sums.clear();
        self.growing.clear();
        self.growing.extend((0..self.model().shapes.len()).map(|shape| (shape, Sums::none())));
        self.grow(set, set);
        let mut next = 0;
        while let Some(&(reached, _)) = self.reached.get(next) {
            self.look()?;
            let (reached, range) = (reached as usize, self.sums_at(next));
            if self.sets.ends.get(reached).is_none_or(|&may| may) {
                self.take(&front, (set, reached), range.clone())?;
            }
            self.growing.clear();
            for at in range {
                let (shape, sums) = self.sums[at];
                if self.may_grow(shape, &sums, reached) {
                    self.growing.push((shape, sums));
                }
            }
            self.grow(set, reached);
            next += 1;
        }
        Ok(())
    }

    /// Takes the room before labels that take this at least.
    fn enter(&mut self, behind: &Taken) {
        let model = self.model();
        self.room.parts = behind.parts;
        self.room.time = self.most_time(behind);
        self.room.capacity = model.capacity(&behind.devices);
        self.room.data.clear();
        self.room.data.extend((0..model.shapes.len()).map(|shape| model.most_data(behind, self.parts, shape)));
    }

    /// Where in `sums` the set of this place among those that are reached has its own.
    fn sums_at(&self, place: usize) -> Range<usize> {
        let end = self.reached.get(place + 1).map_or(self.sums.len(), |&(_, begin)| begin);
        self.reached[place].1..end
    }

    /// Lets the stage from a set to another, which may grow, do so by each unit that may join it.
    fn grow(&mut self, set: usize, reached: usize) {
        if self.growing.is_empty() {
            return;
        }
        let (lattice, model) = (&self.sets.lattice, self.model());
        let (without, with) = (lattice.bits(set), lattice.bits(reached));
        let is_inside = |u: usize| contains(with, u) && !contains(without, u);
        for &(unit, larger) in lattice.above(reached) {
            if std::mem::replace(&mut self.reached_from[larger as usize], set as u32) != set as u32 {
                self.reached.push((larger, self.sums.len()));
                let grown = |&(shape, sums): &(usize, Sums)| {
                    Some((shape, model.grown(shape, &sums, unit as usize, is_inside)?))
                };
                self.sums.extend(self.growing.iter().filter_map(grown));
            }
        }
    }

    /// The most time for each sample of a stage before stages that take this: all devices of that stage are busy with
    /// the batch.
    fn most_time(&self, behind: &Taken) -> f64 {
        self.model().most_time(self.target - behind.once)
    }

    #[inline]
    fn in_flight(&self, data: usize, parts: usize) -> usize {
        let costs = self.model().costs;
        costs.in_flight.count(data, parts, self.parts, costs.microbatches)
    }

    /// Whether larger stages of this shape than that which takes these sums, and reaches a set, can be within the
    /// target and the memory.
    fn may_grow(&self, shape: usize, sums: &Sums, reached: usize) -> bool {
        let (model, &Room { parts, time, capacity, ref data }) = (self.model(), &self.room);
        let (of, most) = (&model.shapes[shape], data[shape]);
        // What the stage works grows at least as that of the rest becomes less.
        let work = sums.compute * of.weight + self.sets.rests[reached].work;
        most > 0
            && sums.compute <= time * most as f64
            && work <= time * capacity * (1.0 + ROUNDING)
            && sums.least.bytes(self.in_flight(most, parts + most), most) <= of.memory
    }

    /// Puts the stage between two sets, which takes the sums of this range, before each of these labels.
    fn take(&mut self, front: &Front, (set, reached): (usize, usize), range: Range<usize>) -> Result<(), Stopped> {
        let model = self.model();
        let rest = self.sets.rests[reached];
        let time = self.room.time;
        let need = rest.need(time);
        let left = (self.room.capacity - need.devices).max(0.0) * (1.0 + LOOSE);
        for at in range {
            let (shape, sums) = self.sums[at];
            let most = self.room.data[shape].min((left / model.shapes[shape].weight) as usize);
            let least = model.least_data(&sums, time);
            if least > most as f64 {
                continue;
            }
            self.within.clear();
            let degrees = model.costs.data_degrees.iter().filter(|&&d| d as f64 >= least).take_while(|&&d| d <= most);
            let timed = degrees.map(|&d| (d, model.least_time(&sums, d)));
            self.within.extend(timed.filter(|&(_, least)| least <= time));
            if self.within.is_empty() {
                continue;
            }
            for &(taken, behind) in front.labels() {
                let time = self.most_time(&taken);
                let label = Label { taken, set: reached as u32, behind, shape, data: 0, time };
                self.put(label, set, &sums, (rest, need))?;
            }
        }
        Ok(())
    }

    /// Puts the stage before a label, of which what it takes is given, with each data degree that may do.
    fn put(&mut self, behind: Label, set: usize, sums: &Sums, (rest, need): (Rest, Need)) -> Result<(), Stopped> {
        self.look()?;
        let (model, reached) = (self.model(), behind.set as usize);
        for i in 0..self.within.len() {
            let (data, least) = self.within[i];
            let least = model.taken_before(&behind.taken, behind.shape, data, least);
            if least.parts > self.parts || !model.suffice(&least.devices, &need) {
                return Ok(());
            }
            let is_dominated = self.fronts[reached].dominates(&least);
            if is_dominated && !model.is_step {
                return Ok(()); // Where times do not count, so are all larger degrees.
            }
            if is_dominated || !self.may_end(&least, rest) {
                continue;
            }
            let in_flight = self.in_flight(data, least.parts);
            let stage = stage_before(&self.sets.lattice, set as u32, Label { data, ..behind }, in_flight);
            let Some(time) = self.chooser.time(&stage, sums, behind.time, self.cx)? else { continue };
            if !model.is_step {
                self.insert(Label { taken: least, data, ..behind });
                return Ok(());
            }
            let taken = model.taken_before(&behind.taken, behind.shape, data, time);
            if self.may_end(&taken, rest) && !self.fronts[reached].dominates(&taken) {
                self.insert(Label { taken, data, time, ..behind });
            }
        }
        Ok(())
    }

    fn insert(&mut self, label: Label) {
        self.fronts[label.set as usize].insert(label.taken, self.labels.len() as u32);
        self.labels.push(label);
    }

    /// Whether stages that take this may be the last ones of a split within the target, with those of the rest before
    /// them.
    fn may_end(&self, taken: &Taken, rest: Rest) -> bool {
        !self.model().is_step
            || taken.once + rest.shortest + taken.more <= self.target
                && self.model().suffice(&taken.devices, &rest.need(self.most_time(taken)))
    }

    /// The stages of a label, the first one first.
    fn trace(&self, last: u32) -> Result<Vec<Found>, Stopped> {
        let mut found = Vec::new();
        let mut at = last;
        while at != 0 {
            let label = self.labels[at as usize];
            let set = self.labels[label.behind as usize].set;
            let in_flight = self.in_flight(label.data, label.taken.parts);
            let stage = stage_before(&self.sets.lattice, set, label, in_flight);
            let within = label.time * (1.0 + LOOSE);
            found.push(stage.found(self.model(), self.chooser.options(&stage, within, self.cx)?));
            at = label.behind;
        }
        Ok(found)
    }
}

/// The first stage of a label, which lies before the stages that hold the units of `set`.
fn stage_before(lattice: &Lattice, set: u32, label: Label, in_flight: usize) -> Stage<'_> {
    Stage {
        sets: (set, label.set),
        without: lattice.bits(set as usize),
        with: lattice.bits(label.set as usize),
        shape: label.shape,
        data: label.data,
        in_flight,
    }
}
