//! Profits that refute a target, for whoever checks proofs.

use super::assignment::Setting;
use super::covering::{Devices, Verdict};
use super::root::Root;
use crate::preprocess::Unordered;
use crate::problem::{DeviceKind, NodeId, Problem};
use crate::search::SearchContext;

/// Profits that show that no split is within a target: all devices together cannot hold as much as there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Profits {
    /// Profit of each node.
    pub of_nodes: Vec<f64>,
    /// The kinds of devices with the most profit that one of each can hold within the target.
    pub most: Vec<(DeviceKind, f64)>,
    /// The nodes in an order that leaves few of them tied to later ones.
    pub order: Vec<NodeId>,
}

impl Profits {
    /// Profits that refute `target` for a problem that [`takes`](super::takes) accepts, where the root of branch and price
    /// finds some.
    pub fn refuting(problem: &Problem, target: f64, cx: &SearchContext) -> Option<Self> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let devices = Devices::new(&setting, cx)?;
        let mut root = Root::new(&devices, cx)?;
        let verdict = root.ascend((target, target), &mut || true, cx).map(|(verdict, _)| verdict);
        if verdict != Some(Verdict::Refuted) && root.refute(target, usize::MAX, &mut || true) != Verdict::Refuted {
            return None;
        }
        let units = &unordered.units;
        let mut of_nodes = vec![0.0; problem.node_count()];
        for (members, profit) in units.members.iter().zip(&root.center.profit) {
            of_nodes[members[0]] = *profit;
        }
        let most = units.kinds.iter().map(|kind| kind.kind).zip(root.most(target)).collect();
        let order = devices.narrow_order().into_iter().flat_map(|unit| units.members[unit].iter().copied()).collect();
        Some(Self { of_nodes, most, order })
    }
}
