//! Labels by the order of their bounds.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::canonical::{Key, canonise};
use super::ideals::{Arc, Ideals};
use super::label::{Extension, Label};
use super::symmetry::Symmetry;
use super::{JointError, JointPlan, JointProblem, JointRun, JointSearch};
use crate::mapping::Mapping;
use crate::search::{Outcome, Race, SEARCH_TOLERANCE, SearchContext, Stats};

/// How many labels are extended between two looks at the clock.
const PAUSE: usize = 64;

/// How far above the first bound beam searches look for an incumbent, one after another.
const REACHES: [f64; 6] = [1.05, 1.2, 1.5, 2.0, 4.0, 16.0];

pub(super) struct LabelSearch<'a> {
    options: &'a JointSearch,
    problem: &'a JointProblem,
    ideals: Ideals<'a>,
    symmetry: Symmetry,
    arcs: FxHashMap<(u32, u32), Rc<Arc>>,
    race: Race<'a, JointPlan, ()>,
    /// Plans that are not faster than this are not looked for.
    reach: f64,
}

/// Labels that no other one dominates.
#[derive(Default)]
struct Kept {
    labels: Vec<Label>,
    dominated: Vec<bool>,
    by_key: FxHashMap<Key, Vec<u32>>,
}

/// A label that is to be extended: the least bound first, then the longest pipeline, then the oldest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    bound: f64,
    stages: Reverse<usize>,
    label: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(self.stages.cmp(&other.stages)).then(self.label.cmp(&other.label))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> LabelSearch<'a> {
    pub fn new(options: &'a JointSearch, problem: &'a JointProblem, cx: &'a SearchContext) -> Result<Self, JointError> {
        let ideals = Ideals::new(problem, options.max_ideals)?;
        let symmetry = Symmetry::new(&problem.topology);
        let race = Race::new(0.0, (), cx);
        Ok(Self { options, problem, ideals, symmetry, arcs: FxHashMap::default(), race, reach: f64::MAX })
    }

    pub fn run(mut self) -> Result<JointRun, JointError> {
        let copies = self.problem.stages * self.problem.replicas;
        let least = self.ideals.behind[self.problem.stages][0].filter(|_| copies <= self.problem.topology.len());
        let Some(least) = least else {
            return Ok(JointRun { outcome: Outcome::Infeasible, stats: Stats::default() });
        };
        for reach in REACHES.iter().map(|reach| reach * least).chain([f64::MAX]) {
            self.reach = reach;
            if self.race.solution().is_none() {
                self.beam();
            }
        }
        self.race.raise(least, ());
        let (is_complete, labels) = self.best_first(least);
        if is_complete && let Some(time) = self.race.objective() {
            self.race.raise(time * (1.0 - SEARCH_TOLERANCE), ());
        }
        let (best, bound, ()) = self.race.finish();
        let outcome = match best {
            Some((time, plan)) => Outcome::found(plan, time, bound),
            None if is_complete => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(JointRun { outcome, stats: Stats::of([("labels", labels as f64)]) })
    }

    /// What a plan has to be better than to count.
    fn cutoff(&self) -> f64 {
        self.race.objective().map_or(self.reach, |time| time * (1.0 - SEARCH_TOLERANCE))
    }

    /// Extends the best labels of each number of stages.
    fn beam(&mut self) {
        let mut kept = Kept::default();
        let mut layer = vec![kept.add(Label::root(), &self.symmetry, self.problem.replicas).unwrap_or(0)];
        for _ in 0..self.problem.stages {
            let mut next = Vec::new();
            for &label in &layer {
                if self.race.cx.should_stop() {
                    return;
                }
                self.extend(label, &mut kept, &mut |entry| next.push(entry));
            }
            next.sort_unstable();
            next.truncate(self.options.beam);
            layer = next.into_iter().map(|entry| entry.label).collect();
        }
    }

    /// Whether the search came to its end, and the number of labels kept.
    fn best_first(&mut self, least: f64) -> (bool, usize) {
        let mut kept = Kept::default();
        let mut queue = BinaryHeap::new();
        let root = kept.add(Label::root(), &self.symmetry, self.problem.replicas).unwrap_or(0);
        queue.push(Reverse(Entry { bound: least, stages: Reverse(0), label: root }));
        let mut extended = 0;
        while let Some(Reverse(entry)) = queue.pop() {
            if entry.bound >= self.cutoff() {
                break;
            }
            self.race.raise(entry.bound, ());
            if kept.dominated[entry.label as usize] {
                continue;
            }
            if extended % PAUSE == 0 {
                self.race.report("joint search");
                if self.race.is_done() || kept.labels.len() >= self.options.max_labels {
                    return (false, kept.labels.len());
                }
            }
            extended += 1;
            if !self.extend(entry.label, &mut kept, &mut |entry| queue.push(Reverse(entry))) {
                return (false, kept.labels.len());
            }
        }
        (true, kept.labels.len())
    }

    /// Adds every label with one stage more, and takes complete ones as plans. Whether it came to its end.
    fn extend(&mut self, from: u32, kept: &mut Kept, found: &mut impl FnMut(Entry)) -> bool {
        let label = kept.labels[from as usize].clone();
        let replicas = self.problem.replicas;
        let stages = label.devices.len() / replicas + 1;
        let left = self.problem.stages - stages;
        for index in 0..self.ideals.stages[label.ideal as usize].len() {
            let (to, time) = self.ideals.stages[label.ideal as usize][index];
            let cutoff = self.cutoff();
            let behind = self.ideals.behind[left][to as usize];
            if !behind.is_some_and(|behind| behind.max(time) < cutoff) {
                continue;
            }
            if self.race.cx.should_stop() {
                return false;
            }
            let arc = self.arc(label.ideal, to);
            let extension = Extension { problem: self.problem, ideals: &self.ideals, symmetry: &self.symmetry };
            let mut complete: Option<Label> = None;
            extension.extend(&label, &arc, cutoff, &mut |mut next| {
                next.parent = Some(from);
                next.bound = next.bound.max(label.bound);
                if left == 0 {
                    if complete.as_ref().is_none_or(|best| next.settled < best.settled) {
                        complete = Some(next);
                    }
                    return;
                }
                let bound = next.bound;
                if let Some(label) = kept.add(next, &self.symmetry, replicas) {
                    found(Entry { bound, stages: Reverse(stages), label });
                }
            });
            if let Some(label) = complete {
                self.take(&label, kept);
            }
        }
        true
    }

    fn arc(&mut self, from: u32, to: u32) -> Rc<Arc> {
        let ideals = &self.ideals;
        Rc::clone(self.arcs.entry((from, to)).or_insert_with(|| Rc::new(ideals.arc(from as usize, to as usize))))
    }

    /// Takes the plan of a complete label where it is the best so far.
    fn take(&mut self, label: &Label, kept: &Kept) {
        let mut chain = vec![label.ideal as usize];
        let mut parent = label.parent;
        while let Some(index) = parent {
            let label = &kept.labels[index as usize];
            chain.push(label.ideal as usize);
            parent = label.parent;
        }
        chain.reverse();
        let sets = &self.ideals.sets;
        let stages: Vec<Vec<usize>> =
            chain.windows(2).map(|pair| sets[pair[1]].difference(&sets[pair[0]]).iter().collect()).collect();
        let mapping = Mapping { devices: label.devices.iter().map(|&device| device.into()).collect() };
        let time = self.problem.mapping_problem(&stages).objective(&mapping);
        self.race.offer(time, JointPlan { stages, mapping, time });
    }
}

impl Kept {
    /// Keeps `label` and gives its number, unless another one dominates it.
    fn add(&mut self, mut label: Label, symmetry: &Symmetry, replicas: usize) -> Option<u32> {
        let key = canonise(&mut label, symmetry, replicas);
        let same = self.by_key.entry(key).or_default();
        if same.iter().any(|&other| self.labels[other as usize].dominates(&label)) {
            return None;
        }
        same.retain(|&other| {
            let worse = label.dominates(&self.labels[other as usize]);
            self.dominated[other as usize] |= worse;
            !worse
        });
        let index = self.labels.len() as u32;
        same.push(index);
        self.labels.push(label);
        self.dominated.push(false);
        Some(index)
    }
}
