//! Profits that refute a target, case by case, for whoever checks proofs.

use super::assignment::Setting;
use super::branching::{Branching, Fractions};
use super::covering::{Decision, Devices, MARGIN, Query, Verdict};
use super::root::{Resolution, Root};
use crate::preprocess::{KindCosts, Reduced, Unordered};
use crate::problem::{DeviceKind, NodeId, Problem};
use crate::search::SearchContext;

/// Why no split is within a target: in each of some cases, which are all that there are, all devices together cannot hold as
/// much profit as there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Profits {
    /// The cases; one without decisions where the root refutes the target.
    pub cases: Vec<Case>,
    /// The nodes in an order that leaves few of them tied to later ones.
    pub order: Vec<NodeId>,
}

/// What profits show where some decisions hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The decisions, in the order in which they were taken.
    pub decisions: Vec<Choice>,
    /// Profit of each node.
    pub of_nodes: Vec<f64>,
    /// What each kind of device can hold of them.
    pub earnings: Vec<Earning>,
}

/// What one device can hold within the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Earning {
    /// The kind of device.
    pub kind: DeviceKind,
    /// The most profit.
    pub most: f64,
    /// The price of the first piece of its load at which profits less prices bound that best.
    pub price: f64,
}

/// A decision on splits, by a node of each unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Both nodes share a device.
    Together(NodeId, NodeId),
    /// They are on different devices.
    Apart(NodeId, NodeId),
    /// The node is on a device of this kind.
    On(NodeId, DeviceKind),
    /// It is on no device of this kind.
    NotOn(NodeId, DeviceKind),
}

/// What is looked for, and with what patience.
struct Attempt {
    /// By what part of what devices can hold units have to be worth more: where there is room, few sets have to be told apart.
    room: f64,
    /// The most rounds of pricing for a case.
    max_rounds: usize,
    /// The most cases.
    most_cases: usize,
}

/// Room is worth some rounds, and no case distinction if it is much. It is looked for where loads alone refute a target though
/// memory is limited: who checks that has sets of as much load and fewer bytes to tell apart, too.
const MUCH_ROOM: Attempt = Attempt { room: 0.03, max_rounds: 256, most_cases: 1 };
const SOME_ROOM: Attempt = Attempt { room: 1e-3, max_rounds: usize::MAX, most_cases: MOST_CASES };
const NO_ROOM: Attempt = Attempt { room: MARGIN, ..SOME_ROOM };

/// A proof of more cases is too long for anybody.
const MOST_CASES: usize = 4096;

impl Profits {
    /// Profits that refute `target` for a problem that [`takes`](super::takes) accepts; `None` where none are found, or `cx`
    /// says to stop.
    pub fn refuting(problem: &Problem, target: f64, cx: &SearchContext) -> Option<Self> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let devices = Devices::new(&setting, cx)?;
        let units = &unordered.units;
        let order = devices.narrow_order().into_iter().flat_map(|unit| units.members[unit].iter().copied()).collect();
        let free = devices.without_limits(cx);
        let mut of_loads = free.as_ref().and_then(|free| Root::new(free, cx));
        if let Some(root) = &mut of_loads {
            begin(root, target, cx);
            if let Some(cases) = refuting_cases(root, target, &[MUCH_ROOM], cx) {
                return Some(Self { cases, order });
            }
        }
        let mut root = Root::new(&devices, cx)?;
        match of_loads {
            Some(known) => root.center = known.center,
            None => begin(&mut root, target, cx),
        }
        Some(Self { cases: refuting_cases(&mut root, target, &[SOME_ROOM, NO_ROOM], cx)?, order })
    }
}

/// Good profits to begin with, where they are quickly found.
fn begin(root: &mut Root, target: f64, cx: &SearchContext) {
    for cells in [Resolution::ROUGH, Resolution::FINE] {
        root.ascend((0.0, target, target), (cells, usize::MAX), &mut |_| (), cx);
    }
}

/// Cases that refute `target`, by the first attempt that finds some.
fn refuting_cases(root: &mut Root, target: f64, attempts: &[Attempt], cx: &SearchContext) -> Option<Vec<Case>> {
    let devices = root.generation.devices;
    attempts.iter().find_map(|attempt| cases(root, devices, target, attempt, cx))
}

/// The cases that the tree of branch and price comes to, depth first; `None` where the attempt's patience ends before.
fn cases(root: &mut Root, devices: &Devices, target: f64, attempt: &Attempt, cx: &SearchContext) -> Option<Vec<Case>> {
    root.generation.margin = attempt.room;
    let mut cases = Vec::new();
    let mut stack: Vec<Vec<Decision>> = vec![Vec::new()];
    while let Some(decisions) = stack.pop() {
        if cx.should_stop() || cases.len() + stack.len() >= attempt.most_cases {
            return None;
        }
        let mut pricers = devices.pricers(&decisions, cx)?;
        let mut center = root.center.clone();
        let query = Query { target, decisions: &decisions, max_rounds: attempt.max_rounds };
        match root.generation.refute(query, &mut pricers, &mut center, &mut || true) {
            Verdict::Refuted => {
                let most = root.generation.most(&center, target, &mut pricers);
                let earned: Vec<(f64, f64)> = most.into_iter().zip(pricers.iter().map(|p| p.price_of_load())).collect();
                cases.push(Case::new(&devices.setting().unordered.units, &decisions, &center.profit, &earned));
                continue;
            }
            Verdict::Limit => return None,
            Verdict::Open => {}
        }
        let columns = root.generation.pool.below(target, &decisions);
        match Fractions::new(devices, &columns)?.branching(devices) {
            Branching::Decide(first, second) => {
                for decision in [second, first] {
                    stack.push(decisions.iter().copied().chain([decision]).collect());
                }
            }
            Branching::Split(_) | Branching::Nothing => return None,
        }
    }
    Some(cases)
}

impl Case {
    fn new(units: &Reduced, decisions: &[Decision], profit: &[f64], earned: &[(f64, f64)]) -> Self {
        let (node, kind) = (|u: usize| units.members[u][0], |k: usize| units.kinds[k].kind);
        let choice = |decision: &Decision| match *decision {
            Decision::Together(u, v) => Choice::Together(node(u), node(v)),
            Decision::Apart(u, v) => Choice::Apart(node(u), node(v)),
            Decision::On(u, k) => Choice::On(node(u), kind(k)),
            Decision::NotOn(u, k) => Choice::NotOn(node(u), kind(k)),
        };
        let mut of_nodes = vec![0.0; units.members.iter().map(Vec::len).sum()];
        profit.iter().enumerate().for_each(|(u, &profit)| of_nodes[node(u)] = profit);
        let earning = |(kind, &(most, price)): (&KindCosts, &(f64, f64))| Earning { kind: kind.kind, most, price };
        let earnings = units.kinds.iter().zip(earned).map(earning).collect();
        Self { decisions: decisions.iter().map(choice).collect(), of_nodes, earnings }
    }
}
