//! Pricing: the pipeline within the target whose devices are worth the least.
//!
//! Stages are placed one after the other. A label is a way to place the first of them. What goes on from it depends on
//! the classes of the stages that wait for neighbours, and on the time that these have left. A label with less value and
//! more time dominates another. That a pipeline needs different devices is kept up among the stages that wait and the one
//! that stopped waiting last; the rest may meet again, which makes the least value a bound (ng-routes, Baldacci, Mingozzi
//! and Roberti 2011).

use super::plan::{MOST_OPEN, Plan, Step};
use crate::solve::SearchContext;

/// Marks no class.
const NONE: u16 = u16::MAX;

/// The class of each stage of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// By stage.
    pub classes: Vec<usize>,
}

/// What is asked of pricing.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// By stage and class: what it is worth to have the stage there; at least 0.
    pub profit: &'a [Vec<f64>],
    /// By class: how many devices there are.
    pub room: &'a [usize],
    /// No copy may take longer.
    pub limit: f64,
    /// Pipelines worth at least this are of no interest.
    pub cutoff: f64,
    /// Whether no pipeline may use more of a class than there is; the search is no proof then.
    pub is_strict: bool,
    /// The most labels of a step; the search is no proof where they do not suffice.
    pub width: usize,
    /// The most labels that may be tried and compared.
    pub effort: u64,
    /// Whose limits end the search, which is no proof then.
    pub cx: &'a SearchContext,
}

/// What pricing found.
#[derive(Debug, Clone)]
pub struct Priced {
    /// Pipelines below the cutoff by value, the least first.
    pub patterns: Vec<(f64, Pattern)>,
    /// Whether no pipeline is worth less than the first of them, or than the cutoff where there are none.
    pub is_exact: bool,
    /// How many labels were tried and compared.
    pub effort: u64,
}

#[derive(Debug, Clone, Copy)]
struct Label {
    value: f64,
    /// Classes of the stages that wait, by slot.
    open: [u16; MOST_OPEN],
    /// The time that these have left beyond the least that later messages take.
    left: [f64; MOST_OPEN],
    /// The class of a stage that stopped waiting at the last step.
    closed: u16,
    class: u16,
    parent: u32,
}

impl Label {
    const FIRST: Self =
        Self { value: 0.0, open: [NONE; MOST_OPEN], left: [0.0; MOST_OPEN], closed: NONE, class: NONE, parent: 0 };

    fn dominates(&self, other: &Self) -> bool {
        self.value <= other.value && self.left.iter().zip(&other.left).all(|(a, b)| a >= b)
    }
}

/// The pipelines of least value.
pub fn price(plan: &Plan, query: &Query) -> Priced {
    let rest = least_rest(plan, query);
    let mut stages: Vec<Vec<Label>> = vec![vec![Label::FIRST]];
    let (mut is_exact, mut effort) = (!query.is_strict, 0);
    for (step, rest) in plan.steps.iter().zip(&rest) {
        let mut next = Front { query, labels: Vec::new(), is_whole: true, compared: 0 };
        effort += (stages.last().map_or(0, Vec::len) * query.room.len()) as u64;
        if effort > query.effort || !next.extend(step, &stages, rest) {
            return Priced { patterns: Vec::new(), is_exact: false, effort };
        }
        next.thin();
        is_exact &= next.is_whole;
        effort += next.compared / COMPARED;
        stages.push(next.labels);
    }
    let mut last: Vec<Label> = stages.last().cloned().unwrap_or_default();
    last.sort_by(|a, b| a.value.total_cmp(&b.value));
    let patterns = last.iter().take(MOST_PATTERNS).map(|label| (label.value, pattern(plan, &stages, label)));
    Priced { patterns: patterns.collect(), is_exact, effort }
}

/// So many comparisons of labels take as long as one is tried.
const COMPARED: u64 = 8;

/// Labels are thinned out at the latest when there are so many times as many as may stay.
const CROWD: usize = 8;

/// Labels from which are gone on between two looks at the clock.
const PATIENCE: usize = 1 << 10;

/// How many pipelines one call returns.
const MOST_PATTERNS: usize = 24;

/// By step: by class of its stage, the least value of the later stages, each of which only minds the one before it.
fn least_rest(plan: &Plan, query: &Query) -> Vec<Vec<f64>> {
    let count = query.room.len();
    let mut rest = vec![vec![0.0; count]; plan.steps.len()];
    for index in (1..plan.steps.len()).rev() {
        let (step, before) = (&plan.steps[index], &plan.steps[index - 1]);
        let value: Vec<f64> = (0..count)
            .map(|class| match step.base[class] <= query.limit && query.room[class] > 0 {
                true => query.profit[step.stage][class] + rest[index][class],
                false => f64::INFINITY,
            })
            .collect();
        let tie = step.ties.iter().find(|tie| before.waits && tie.slot == before.kept.len());
        let any = value.iter().copied().fold(f64::INFINITY, f64::min);
        rest[index - 1] = match tie {
            None => vec![any; count],
            Some(tie) => {
                let reach = |from: usize| {
                    let allows = |&to: &usize| {
                        before.base[from] + tie.there.cost(from, to) <= query.limit
                            && step.base[to] + tie.here.cost(to, from) <= query.limit
                            && (from != to || query.room[from] > 1)
                    };
                    (0..count).filter(allows).map(|to| value[to]).fold(f64::INFINITY, f64::min)
                };
                (0..count).map(reach).collect()
            }
        };
    }
    rest
}

/// The labels of a step.
struct Front<'a> {
    query: &'a Query<'a>,
    labels: Vec<Label>,
    /// Whether none was left out but those that are dominated.
    is_whole: bool,
    /// Comparisons of labels.
    compared: u64,
}

impl Front<'_> {
    /// Takes up all labels that place the stage of `step` after one of the latest labels. False where a limit came first.
    fn extend(&mut self, step: &Step, stages: &[Vec<Label>], rest: &[f64]) -> bool {
        let query = self.query;
        let labels = stages.last().map_or(&[][..], |labels| labels);
        let classes: Vec<usize> = (0..query.room.len())
            .filter(|&class| step.base[class] <= query.limit && query.room[class] > 0 && rest[class].is_finite())
            .collect();
        for (parent, label) in labels.iter().enumerate() {
            if parent % PATIENCE == PATIENCE - 1 && query.cx.should_stop() {
                return false;
            }
            for &class in &classes {
                let value = label.value + query.profit[step.stage][class];
                if value + rest[class] >= query.cutoff {
                    continue;
                }
                if query.is_strict && way(stages, label).filter(|&other| other == class).count() >= query.room[class] {
                    continue;
                }
                let placed = placed(step, label, class, query);
                self.labels.extend(placed.map(|label| Label { value, parent: parent as u32, ..label }));
            }
            if self.labels.len() > CROWD * query.width {
                self.thin();
            }
        }
        true
    }

    /// Takes out the labels that are dominated, and the worst of those that are too many. One label alone does not dominate
    /// where it remembers another class than the one it is compared with; two that remember different classes do together.
    fn thin(&mut self) {
        self.labels.sort_unstable_by(|a, b| a.open.cmp(&b.open).then(a.value.total_cmp(&b.value)));
        let mut kept: Vec<Label> = Vec::with_capacity(self.labels.len() / 4);
        let mut start = 0;
        for label in &self.labels {
            if kept.get(start).is_some_and(|first| first.open != label.open) {
                start = kept.len();
            }
            let mut seen = NONE;
            let compared = &mut self.compared;
            let is_dominated = kept[start..].iter().any(|other| {
                *compared += 1;
                if !other.dominates(label) {
                    return false;
                }
                let alone = other.closed == NONE || other.closed == label.closed;
                let together = seen != NONE && seen != other.closed;
                seen = other.closed;
                alone || together
            });
            if !is_dominated {
                kept.push(*label);
            }
        }
        if kept.len() > self.query.width {
            kept.select_nth_unstable_by(self.query.width, |a, b| a.value.total_cmp(&b.value));
            kept.truncate(self.query.width);
            self.is_whole = false;
        }
        self.labels = kept;
    }
}

/// `label` with the stage of `step` placed in `class`, where that is possible.
#[inline]
fn placed(step: &Step, label: &Label, class: usize, query: &Query) -> Option<Label> {
    let mut here = query.limit - step.base[class];
    let mut left = label.left;
    for tie in &step.ties {
        let other = label.open[tie.slot] as usize;
        here -= tie.here.cost(class, other);
        left[tie.slot] -= tie.there.cost(other, class);
        if here < 0.0 || left[tie.slot] < 0.0 {
            return None;
        }
    }
    let taken = label.open.iter().chain([&label.closed]).filter(|&&other| usize::from(other) == class).count();
    if taken >= query.room[class] {
        return None;
    }
    let mut next = Label { class: class as u16, ..Label::FIRST };
    for (slot, &kept) in step.kept.iter().enumerate() {
        (next.open[slot], next.left[slot]) = (label.open[kept], left[kept]);
    }
    if step.waits {
        (next.open[step.kept.len()], next.left[step.kept.len()]) = (class as u16, here);
    } else {
        next.closed = class as u16;
    }
    let closes = |slot: &usize| label.open[*slot] != NONE && !step.kept.contains(slot);
    if let Some(slot) = (0..MOST_OPEN).find(closes) {
        next.closed = label.open[slot];
    }
    // A class with room for all that it may be compared with need not be remembered.
    if next.closed != NONE && query.room[usize::from(next.closed)] > MOST_OPEN + 1 {
        next.closed = NONE;
    }
    Some(next)
}

/// The classes on the way to a label of the last of these steps, its own first.
fn way(stages: &[Vec<Label>], label: &Label) -> impl Iterator<Item = usize> {
    let mut label = *label;
    stages.iter().rev().skip(1).map(move |before| {
        let class = usize::from(label.class);
        label = before[label.parent as usize];
        class
    })
}

fn pattern(plan: &Plan, stages: &[Vec<Label>], last: &Label) -> Pattern {
    let mut classes = vec![0; plan.steps.len()];
    for (step, class) in plan.steps.iter().rev().zip(way(stages, last)) {
        classes[step.stage] = class;
    }
    Pattern { classes }
}
