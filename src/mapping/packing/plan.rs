//! In which order pricing places the stages of a pipeline, and what each costs on each class.

use super::classes::Classes;
use crate::cost::Piece;
use crate::mapping::MappingProblem;
use crate::mapping::local::{LocalCost, Traffic};

/// The most stages that may wait for neighbours at once.
pub const MOST_OPEN: usize = 4;

/// The most stages whose orders are looked through: that takes the fifth power of their number.
const MOST_STAGES: usize = 48;

/// The most entries of a step's tables, for all steps together.
const MOST_ENTRIES: usize = 1 << 23;

/// Costs of ordered pairs of classes, seen from the first.
#[derive(Debug, Clone)]
pub struct Table {
    classes: usize,
    costs: Vec<f64>,
}

impl Table {
    /// What the first of two classes pays for the link to the second; infinite where there is no such link.
    #[inline]
    pub fn cost(&self, a: usize, b: usize) -> f64 {
        self.costs[a * self.classes + b]
    }

    fn least(&self, a: usize) -> f64 {
        self.costs[a * self.classes..(a + 1) * self.classes].iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A message between the stage of a step and one that waits.
#[derive(Debug, Clone)]
pub struct Tie {
    /// The slot of the one that waits.
    pub slot: usize,
    /// What the step's stage pays.
    pub here: Table,
    /// What the other pays beyond the least it could.
    pub there: Table,
}

/// The placing of one stage.
#[derive(Debug, Clone)]
pub struct Step {
    /// The stage.
    pub stage: usize,
    /// By class: compute, and the least that messages to later stages can take; infinite where it does not fit.
    pub base: Vec<f64>,
    /// The messages to stages that wait.
    pub ties: Vec<Tie>,
    /// The slots that go on waiting, in order; they become the first slots.
    pub kept: Vec<usize>,
    /// Whether the stage waits itself, in the slot after the kept ones.
    pub waits: bool,
}

/// The steps, one for each stage.
#[derive(Debug, Clone)]
pub struct Plan {
    /// In order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The plan of a problem whose loads have one piece. Where too many stages would wait at once, messages between stages
    /// that do not follow one another count at their least. `None` where there are too many stages or classes.
    pub fn new(problem: &MappingProblem, classes: &Classes) -> Option<Self> {
        let [piece] = problem.cost.pieces[..] else { return None };
        let cost = LocalCost::new(problem);
        let count = problem.stages.stages.len();
        if count > MOST_STAGES || classes.len() * classes.len() * count > MOST_ENTRIES {
            return None;
        }
        let linked = |a: usize, b: usize| cost.traffic(a).iter().any(|traffic| traffic.stage == b);
        let orders = (0..count).map(|first| narrow_order(count, first, linked));
        let best = orders.min_by_key(|order| width(order, linked))?;
        let is_narrow = width(&best, linked).0 <= MOST_OPEN;
        let builder = Builder { problem, classes, cost, piece };
        match is_narrow {
            true => Some(builder.plan(&best, |_, _| true)),
            false => Some(builder.plan(&(0..count).collect::<Vec<_>>(), |a, b| a.abs_diff(b) == 1)),
        }
    }

    /// The plan of a problem in which all messages count, however many stages wait at once: those first that send the most.
    /// `None` where loads have several pieces, or there are too many stages or classes.
    pub fn whole(problem: &MappingProblem, classes: &Classes) -> Option<Self> {
        let [piece] = problem.cost.pieces[..] else { return None };
        let cost = LocalCost::new(problem);
        let count = problem.stages.stages.len();
        if count > MOST_STAGES || classes.len() * classes.len() * count > MOST_ENTRIES {
            return None;
        }
        let order = heavy_order(count, &cost);
        Some(Builder { problem, classes, cost, piece }.plan(&order, |_, _| true))
    }

    /// The least that the slowest copy of a pipeline takes whose stages are in these classes.
    pub fn load(&self, classes: &[usize]) -> f64 {
        let mut loads = vec![0.0; classes.len()];
        let mut open: Vec<usize> = Vec::new();
        for step in &self.steps {
            let here = classes[step.stage];
            loads[step.stage] += step.base[here];
            for tie in &step.ties {
                let other = open[tie.slot];
                loads[step.stage] += tie.here.cost(here, classes[other]);
                loads[other] += tie.there.cost(classes[other], here);
            }
            open = step.kept.iter().map(|&slot| open[slot]).chain(step.waits.then_some(step.stage)).collect();
        }
        loads.into_iter().fold(0.0, f64::max)
    }
}

/// An order of the stages: each time the one that exchanges the most with those before it, at first the one that exchanges
/// the most with all.
fn heavy_order(count: usize, cost: &LocalCost) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(count);
    while order.len() < count {
        let bytes = |stage: usize, counts: &dyn Fn(usize) -> bool| {
            let tied = cost.traffic(stage).iter().filter(|traffic| counts(traffic.stage));
            tied.map(|traffic| traffic.out + traffic.back).sum::<f64>()
        };
        let weight = |stage: usize| (bytes(stage, &|other| order.contains(&other)), bytes(stage, &|_| true));
        let rest = (0..count).filter(|stage| !order.contains(stage)).map(|stage| (weight(stage), stage));
        let next = rest.max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        order.extend(next.map(|(_, stage)| stage));
    }
    order
}

/// An order from `first` on in which few stages wait: each time the one that leaves the fewest waiting.
fn narrow_order(count: usize, first: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order = vec![first];
    while order.len() < count {
        let rest = (0..count).filter(|stage| !order.contains(stage));
        let open = |next: usize| {
            let order: Vec<usize> = order.iter().copied().chain([next]).collect();
            let is_tied = order.iter().any(|&stage| linked(stage, next));
            (waiting(&order, count, &linked).len(), !is_tied, next)
        };
        order.extend(rest.min_by_key(|&next| open(next)));
    }
    order
}

/// The stages of `order` that have neighbours outside.
fn waiting(order: &[usize], count: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let is_open = |&stage: &usize| (0..count).any(|other| linked(stage, other) && !order.contains(&other));
    order.iter().copied().filter(is_open).collect()
}

/// The most stages that wait at once, and how many wait in all steps together.
fn width(order: &[usize], linked: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let counts = (1..=order.len()).map(|end| waiting(&order[..end], order.len(), &linked).len());
    counts.fold((0, 0), |(most, sum), count| (most.max(count), sum + count))
}

struct Builder<'a> {
    problem: &'a MappingProblem,
    classes: &'a Classes,
    cost: LocalCost<'a>,
    piece: Piece,
}

impl Builder<'_> {
    fn plan(&self, order: &[usize], counts: impl Fn(usize, usize) -> bool) -> Plan {
        let linked = |a: usize, b: usize| counts(a, b) && self.cost.traffic(a).iter().any(|traffic| traffic.stage == b);
        let mut open: Vec<usize> = Vec::new();
        let mut steps = Vec::new();
        for (index, &stage) in order.iter().enumerate() {
            let later = waiting(&order[..=index], order.len(), linked);
            let ties = open.iter().enumerate().filter(|&(_, &other)| linked(stage, other));
            let ties: Vec<Tie> = ties.map(|(slot, &other)| self.tie(slot, stage, other)).collect();
            let tied = |other: usize| linked(stage, other) && open.contains(&other);
            let kept: Vec<usize> = (0..open.len()).filter(|&slot| later.contains(&open[slot])).collect();
            let waits = later.contains(&stage);
            steps.push(Step { stage, base: self.base(stage, tied), ties, kept: kept.clone(), waits });
            open = kept.into_iter().map(|slot| open[slot]).chain(waits.then_some(stage)).collect();
        }
        Plan { steps }
    }

    /// By class: what the stage takes at least, but for the messages to stages that are `tied`.
    fn base(&self, stage: usize, tied: impl Fn(usize) -> bool) -> Vec<f64> {
        let messages: Vec<Table> =
            self.cost.traffic(stage).iter().filter(|t| !tied(t.stage)).map(|t| self.table(t)).collect();
        let compute = self.problem.stages.stages[stage].compute();
        let time = |(class, members): (usize, &Vec<usize>)| {
            let fitting = members.iter().filter(|&&device| self.problem.fits(stage, device));
            let speed = fitting.map(|&device| self.problem.topology.devices[device].speed).fold(0.0, f64::max);
            let messages: f64 = messages.iter().map(|table| table.least(class)).sum();
            if speed > 0.0 { self.piece.compute * compute / speed + messages } else { f64::INFINITY }
        };
        self.classes.members.iter().enumerate().map(time).collect()
    }

    fn tie(&self, slot: usize, stage: usize, other: usize) -> Tie {
        let table = |from: usize, to: usize| {
            let traffic = self.cost.traffic(from).iter().find(|traffic| traffic.stage == to);
            self.table(traffic.unwrap_or(&Traffic { stage: to, out: 0.0, back: 0.0 }))
        };
        let mut there = table(other, stage);
        for class in 0..self.classes.len() {
            let least = there.least(class);
            let row = &mut there.costs[class * self.classes.len()..][..self.classes.len()];
            row.iter_mut().for_each(|cost| *cost -= least);
        }
        Tie { slot, here: table(stage, other), there }
    }

    fn table(&self, traffic: &Traffic) -> Table {
        let (count, topology) = (self.classes.len(), &self.problem.topology);
        let cost = |a: usize, b: usize| {
            self.piece.comm_out * topology.message_time(a, b, traffic.out)
                + self.piece.comm_in * topology.message_time(b, a, traffic.back)
        };
        let least = |pair: usize| self.classes.least(pair / count, pair % count, cost);
        Table { classes: count, costs: (0..count * count).map(least).collect() }
    }
}
