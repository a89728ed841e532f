//! Whether some split has no stage above a target: labels over the sets of a lattice, from the last stage to the first.
//!
//! A label is a list of last stages, of which only the sum of data degrees and the number of devices matter for those before
//! them: more of either is never better, for it leaves fewer devices and puts more microbatches in flight. So each set keeps
//! the labels that no other dominates. For a stage and a tensor degree the least data degree that is within the target and
//! the memory dominates all larger ones.

use super::front::{Front, Label};
use super::model::{Model, Sums};
use super::stage::{Chooser, Stage};
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::loads::{contains, zeros};

/// Sums of floats that are off by less than this part count as equal.
const ROUNDING: f64 = 1e-12;

/// Steps between two looks at the limits, of which each may solve a knapsack.
const STEPS_PER_LOOK: usize = 1 << 8;

/// A stage of a split that was found: its units, with the indices of their options, and its degrees.
pub struct Found {
    pub units: Vec<usize>,
    pub options: Vec<usize>,
    pub tensor: usize,
    pub data: usize,
    /// Its time.
    pub time: f64,
}

/// One search below one target.
struct LabelSearch<'a, 'b> {
    lattice: &'a Lattice,
    /// Whether a stage may begin at each set; empty where it may at all of them.
    ends: &'a [bool],
    chooser: &'a mut Chooser<'b>,
    target: f64,
    cx: &'a SearchContext,
    labels: Vec<Label>,
    fronts: Vec<Front>,
    /// By set: the set from which it was last reached, so that each is reached once.
    reached_from: Vec<u32>,
    /// The data degrees that the stage at hand may have by its time alone.
    within: Vec<usize>,
    steps: usize,
}

/// A set that a stage may reach, and what the stage takes at each tensor degree.
struct Reached {
    set: usize,
    sums: Vec<Sums>,
}

/// The first stage of a label, which lies before the stages that hold the units of `set`.
fn stage_before(lattice: &Lattice, set: u32, label: Label) -> Stage<'_> {
    Stage {
        sets: (set, label.set),
        without: lattice.bits(set as usize),
        with: lattice.bits(label.set as usize),
        tensor: label.tensor,
        data: label.data,
        in_flight: label.parts.div_ceil(label.data),
    }
}

/// The stages of a split within `target`, in pipeline order; `None` where no split into sets of the lattice has one. The
/// lattice is one of the sets that may lie at the end of the pipeline; `ends` says which of them a stage may begin at, all
/// where it is empty.
///
/// # Errors
/// A limit came first.
pub fn split_within(
    lattice: &Lattice,
    ends: &[bool],
    chooser: &mut Chooser,
    target: f64,
    cx: &SearchContext,
) -> Result<Option<Vec<Found>>, Stopped> {
    let count = lattice.count();
    let none = Label { parts: 0, devices: 0, set: 0, behind: 0, tensor: 0, data: 0 };
    let mut fronts = vec![Front::default(); count];
    fronts[0].insert(0, 0, 0);
    let mut search = LabelSearch {
        lattice,
        ends,
        chooser,
        target: target * (1.0 + ROUNDING),
        cx,
        labels: vec![none],
        fronts,
        reached_from: vec![u32::MAX; count],
        within: Vec::new(),
        steps: 0,
    };
    for set in 0..count - 1 {
        search.extend(set)?;
        search.fronts[set] = Front::default();
        if let Some(&(_, _, label)) = search.fronts[count - 1].labels().first() {
            return search.trace(label);
        }
    }
    Ok(None)
}

impl<'b> LabelSearch<'_, 'b> {
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
        let Some(&(parts, ..)) = front.labels().first() else { return Ok(()) };
        let devices = front.labels().last().map_or(0, |&(_, devices, _)| devices);
        let behind = (parts, devices);
        let mut queue = vec![Reached { set, sums: vec![Sums::NONE; self.model().degrees.len()] }];
        let mut next = 0;
        while next < queue.len() {
            self.look()?;
            let Reached { set: reached, sums } = &queue[next];
            let (reached, sums) = (*reached, sums.clone());
            next += 1;
            if reached != set {
                if self.ends.get(reached).is_none_or(|&may| may) {
                    self.take(&front, (set, reached), &sums, behind)?;
                }
                if !self.may_grow(&sums, behind) {
                    continue;
                }
            }
            for &(unit, larger) in self.lattice.above(reached) {
                if std::mem::replace(&mut self.reached_from[larger as usize], set as u32) != set as u32 {
                    let sums = self.grown(&sums, unit as usize, (set, reached));
                    queue.push(Reached { set: larger as usize, sums });
                }
            }
        }
        Ok(())
    }

    fn grown(&self, sums: &[Sums], unit: usize, (set, reached): (usize, usize)) -> Vec<Sums> {
        let (without, with) = (self.lattice.bits(set), self.lattice.bits(reached));
        let is_inside = |u: usize| contains(with, u) && !contains(without, u);
        let all = sums.iter().enumerate();
        all.map(|(t, sums)| if sums.is_possible { self.model().grown(t, sums, unit, is_inside) } else { *sums })
            .collect()
    }

    /// Whether larger stages can be within the target and the memory before labels of at least so many parts and devices.
    fn may_grow(&self, sums: &[Sums], (parts, devices): (usize, usize)) -> bool {
        let model = self.model();
        let in_flight = if parts == 0 { 1 } else { 2 };
        let may = |t: usize, sums: &Sums| {
            let most = (model.parts - parts).min((model.devices - devices) / model.degrees[t].degree);
            sums.is_possible
                && most > 0
                && sums.compute <= self.target * most as f64
                && sums.least_bytes(in_flight) <= model.memory
        };
        sums.iter().enumerate().any(|(t, sums)| may(t, sums))
    }

    /// Puts the stage between two sets before each of these labels, of which the least parts and devices are given.
    fn take(
        &mut self,
        front: &Front,
        (set, reached): (usize, usize),
        sums: &[Sums],
        (parts, devices): (usize, usize),
    ) -> Result<(), Stopped> {
        let model = self.model();
        let left = self.devices_left(reached);
        for (t, sums) in sums.iter().enumerate().filter(|(_, sums)| sums.is_possible) {
            let tensor = model.degrees[t].degree;
            let most = (model.parts - parts).min(left.saturating_sub(devices) / tensor);
            let target = self.target;
            self.within.clear();
            let degrees = model.costs.data_degrees.iter().take_while(|&&d| d <= most);
            self.within.extend(degrees.filter(|&&d| model.least_time(sums, d) <= target));
            if self.within.is_empty() {
                continue;
            }
            for &(parts, devices, behind) in front.labels() {
                let label = Label { parts, devices, set: reached as u32, behind, tensor: t, data: 0 };
                self.put(label, set, sums, left)?;
            }
        }
        Ok(())
    }

    /// Puts the stage before a label, whose parts and devices are given, with the least data degree that will do.
    fn put(&mut self, behind: Label, set: usize, sums: &Sums, left: usize) -> Result<(), Stopped> {
        self.look()?;
        let (model, reached) = (self.model(), behind.set);
        let tensor = model.degrees[behind.tensor].degree;
        for i in 0..self.within.len() {
            let data = self.within[i];
            let (parts, devices) = (behind.parts + data, behind.devices + tensor * data);
            if parts > model.parts || devices > left || self.fronts[reached as usize].dominates(parts, devices) {
                return Ok(());
            }
            let label = Label { parts, devices, data, ..behind };
            let stage = stage_before(self.lattice, set as u32, label);
            if self.chooser.is_within(&stage, sums, self.target, self.cx)? {
                self.fronts[reached as usize].insert(parts, devices, self.labels.len() as u32);
                self.labels.push(label);
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many devices the stages of a set may use, so that those left are enough for the work of all others.
    fn devices_left(&self, set: usize) -> usize {
        let model = self.model();
        let bits = self.lattice.bits(set);
        let work: f64 = zeros(bits, model.work.len()).map(|unit| model.work[unit]).sum();
        let needed = work / self.target * (1.0 - ROUNDING);
        // Without a target there is no need; work without time, at a target of none, needs nothing either.
        let needed = if needed.is_finite() { (needed - ROUNDING).ceil().max(0.0) as usize } else { 0 };
        model.devices.saturating_sub(needed)
    }

    /// The stages of a label, the first one first.
    fn trace(&self, last: u32) -> Result<Option<Vec<Found>>, Stopped> {
        let mut found = Vec::new();
        let mut at = last;
        while at != 0 {
            let label = self.labels[at as usize];
            let set = self.labels[label.behind as usize].set;
            let stage = stage_before(self.lattice, set, label);
            let Some((time, options)) = self.chooser.options(&stage, self.target, self.cx)? else { return Ok(None) };
            let tensor = self.model().degrees[label.tensor].degree;
            found.push(Found { units: stage.units().collect(), options, tensor, data: label.data, time });
            at = label.behind;
        }
        Ok(Some(found))
    }
}
