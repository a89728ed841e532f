//! Pricing: the pipeline within the target whose devices are worth the least.
//!
//! Stages are placed one after the other. A label is a way to place the first of them. What goes on from it depends on
//! the classes of the stages that wait for neighbours, and on the time that these have left. A label with less value and
//! more time dominates another. That a pipeline needs different devices is kept up among the stages that wait and the one
//! that stopped waiting last; the rest may meet again, which makes the least value a bound (ng-routes, Baldacci, Mingozzi
//! and Roberti 2011).

use super::plan::{MOST_OPEN, Plan, Step};

/// Marks no class.
const NONE: u16 = u16::MAX;

/// The class of each stage of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// By stage.
    pub classes: Vec<usize>,
}

/// What is asked of pricing.
#[derive(Debug, Clone, Copy)]
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
    /// The most labels that may be tried.
    pub effort: u64,
}

/// What pricing found.
#[derive(Debug, Clone)]
pub struct Priced {
    /// Pipelines below the cutoff by value, the least first.
    pub patterns: Vec<(f64, Pattern)>,
    /// Whether no pipeline is worth less than the first of them, or than the cutoff where there are none.
    pub is_exact: bool,
    /// How many labels were tried.
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
        effort += (stages.last().map_or(0, Vec::len) * query.room.len()) as u64;
        if effort > query.effort {
            return Priced { patterns: Vec::new(), is_exact: false, effort };
        }
        let mut next = extend(step, &stages, rest, query);
        thin(&mut next);
        if next.len() > query.width {
            next.select_nth_unstable_by(query.width, |a, b| a.value.total_cmp(&b.value));
            next.truncate(query.width);
            is_exact = false;
        }
        stages.push(next);
    }
    let mut last: Vec<Label> = stages.last().cloned().unwrap_or_default();
    last.sort_by(|a, b| a.value.total_cmp(&b.value));
    let patterns = last.iter().take(MOST_PATTERNS).map(|label| (label.value, pattern(plan, &stages, label)));
    Priced { patterns: patterns.collect(), is_exact, effort }
}

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

/// All labels that place the stage of `step` after one of the latest labels.
fn extend(step: &Step, stages: &[Vec<Label>], rest: &[f64], query: &Query) -> Vec<Label> {
    let mut next = Vec::new();
    let labels = stages.last().map_or(&[][..], |labels| labels);
    let classes: Vec<usize> = (0..query.room.len())
        .filter(|&class| step.base[class] <= query.limit && query.room[class] > 0 && rest[class].is_finite())
        .collect();
    for (parent, label) in labels.iter().enumerate() {
        for &class in &classes {
            let value = label.value + query.profit[step.stage][class];
            if value + rest[class] >= query.cutoff {
                continue;
            }
            if query.is_strict && way(stages, label).filter(|&other| other == class).count() >= query.room[class] {
                continue;
            }
            next.extend(placed(step, label, class, query).map(|label| Label { value, parent: parent as u32, ..label }));
        }
    }
    next
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

/// Takes out the labels that are dominated. One label alone does not dominate where it remembers another class than the
/// one it is compared with; two that remember different classes do together.
fn thin(labels: &mut Vec<Label>) {
    labels.sort_unstable_by(|a, b| a.open.cmp(&b.open).then(a.value.total_cmp(&b.value)));
    let mut kept: Vec<Label> = Vec::with_capacity(labels.len() / 4);
    let mut start = 0;
    for label in labels.iter() {
        if kept.get(start).is_some_and(|first| first.open != label.open) {
            start = kept.len();
        }
        let mut seen = NONE;
        let is_dominated = kept[start..].iter().filter(|other| other.dominates(label)).any(|other| {
            let alone = other.closed == NONE || other.closed == label.closed;
            let together = seen != NONE && seen != other.closed;
            seen = other.closed;
            alone || together
        });
        if !is_dominated {
            kept.push(*label);
        }
    }
    *labels = kept;
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
