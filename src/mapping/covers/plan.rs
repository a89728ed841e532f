//! In which order enumeration places the stages of a pipeline, and what each costs on each device.

use crate::cost::Piece;
use crate::mapping::MappingProblem;
use crate::mapping::local::{LocalCost, Traffic};

/// Costs of ordered pairs of devices, seen from the first.
#[derive(Debug, Clone)]
pub struct Table {
    devices: usize,
    costs: Vec<f64>,
}

impl Table {
    /// What the first of two devices pays for the link to the second; infinite for a device and itself.
    #[inline]
    pub fn cost(&self, a: usize, b: usize) -> f64 {
        self.costs[a * self.devices + b]
    }

    fn least(&self, a: usize) -> f64 {
        self.costs[a * self.devices..(a + 1) * self.devices].iter().copied().fold(f64::INFINITY, f64::min)
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
    /// By device: compute, and the least that messages to later stages can take; infinite where it does not fit.
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
    /// The plan of a problem, in which those stages come first that send the most. `None` where loads have several pieces.
    /// O(stages³ + messages · D²).
    pub fn new(problem: &MappingProblem) -> Option<Self> {
        let [piece] = problem.cost.pieces[..] else { return None };
        let cost = LocalCost::new(problem);
        let order = heavy_order(problem.stages.stages.len(), &cost);
        Some(Builder { problem, cost, piece }.plan(&order))
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

/// The stages of `order` that have neighbours outside.
fn waiting(order: &[usize], count: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let is_open = |&stage: &usize| (0..count).any(|other| linked(stage, other) && !order.contains(&other));
    order.iter().copied().filter(is_open).collect()
}

struct Builder<'a> {
    problem: &'a MappingProblem,
    cost: LocalCost<'a>,
    piece: Piece,
}

impl Builder<'_> {
    fn plan(&self, order: &[usize]) -> Plan {
        let linked = |a: usize, b: usize| self.cost.traffic(a).iter().any(|traffic| traffic.stage == b);
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

    /// By device: what the stage takes at least, but for the messages to stages that are `tied`.
    fn base(&self, stage: usize, tied: impl Fn(usize) -> bool) -> Vec<f64> {
        let messages: Vec<Table> =
            self.cost.traffic(stage).iter().filter(|t| !tied(t.stage)).map(|t| self.table(t)).collect();
        let compute = self.piece.compute * self.problem.stages.stages[stage].compute();
        let time = |device: usize| match self.problem.fits(stage, device) {
            true => {
                let messages: f64 = messages.iter().map(|table| table.least(device)).sum();
                compute / self.problem.topology.devices[device].speed + messages
            }
            false => f64::INFINITY,
        };
        (0..self.problem.topology.len()).map(time).collect()
    }

    fn tie(&self, slot: usize, stage: usize, other: usize) -> Tie {
        let table = |from: usize, to: usize| {
            let traffic = self.cost.traffic(from).iter().find(|traffic| traffic.stage == to);
            self.table(traffic.unwrap_or(&Traffic { stage: to, out: 0.0, back: 0.0 }))
        };
        let mut there = table(other, stage);
        for device in 0..there.devices {
            let least = there.least(device);
            let row = &mut there.costs[device * there.devices..][..there.devices];
            row.iter_mut().for_each(|cost| *cost -= least);
        }
        Tie { slot, here: table(stage, other), there }
    }

    fn table(&self, traffic: &Traffic) -> Table {
        let topology = &self.problem.topology;
        let devices = topology.len();
        let cost = |a: usize, b: usize| {
            self.piece.comm_out * topology.message_time(a, b, traffic.out)
                + self.piece.comm_in * topology.message_time(b, a, traffic.back)
        };
        let pairs = (0..devices).flat_map(|a| (0..devices).map(move |b| (a, b)));
        Table { devices, costs: pairs.map(|(a, b)| if a == b { f64::INFINITY } else { cost(a, b) }).collect() }
    }
}
