//! Reasons to try, as lines of a proof: what the checker accepts is one.

use serde_json::json;

use super::statement::Statement;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceKind, NodeId, Problem, Scope};
use crate::search::SearchContext;
use crate::solve::certify::{self, Profits};

/// Heavy units of which is asked whether few of them fit together, and the most of them in a crowd.
const HEAVIEST: usize = 20;

/// What the profits of all nodes are scaled to.
const TOTAL_PROFIT: f64 = 1e10;

/// A price is a quotient of whole numbers of which the numerator is about this.
const PRICE: i128 = 1_000_000;

/// How far below the split's load profits are looked for: further than the room that pricing leaves for rounding.
const BELOW: f64 = 1.0 - 2e-10;

/// Reasons that need no search, the quickest first.
pub fn without_search(problem: &Problem) -> Vec<String> {
    let weights = weights(problem);
    let mut reasons = vec![json!({"reason": "work", "weights": weights}).to_string()];
    if problem.spec.replication.is_none() {
        reasons.extend(crowds(problem));
    }
    if problem.spec.scope == Scope::Acyclic {
        reasons.push(json!({"reason": "ideals", "weights": weights}).to_string());
    }
    reasons
}

/// All kinds of devices, in the order of the format.
fn kinds(problem: &Problem) -> Vec<DeviceKind> {
    (0..problem.spec.platform.accelerators.len()).map(DeviceKind::Accelerator).chain([DeviceKind::Cpu]).collect()
}

/// The time of a node on a kind of device.
fn time(problem: &Problem, kind: DeviceKind, v: NodeId) -> Option<f64> {
    problem.costs.kind(kind).nodes[v].map(|cost| cost.compute)
}

/// How quick the kinds of devices are, in parts of the quickest: what work on them is worth.
fn weights(problem: &Problem) -> Vec<u64> {
    const FINE: f64 = 1000.0;
    let all = |kind| (0..problem.node_count()).filter_map(|v| time(problem, kind, v)).sum::<f64>();
    let sums: Vec<f64> = kinds(problem).into_iter().map(all).collect();
    let least = sums.iter().copied().filter(|&sum| sum > 0.0).fold(f64::INFINITY, f64::min);
    sums.iter().map(|&sum| if sum > 0.0 { (FINE * least / sum).round() as u64 } else { FINE as u64 }).collect()
}

/// Crowds of heavy units: one that no device can hold, or one more than all can hold one or two of.
fn crowds(problem: &Problem) -> Vec<String> {
    let groups = Groups::new(&problem.color_class);
    let least = |v: NodeId| {
        kinds(problem).into_iter().filter_map(|kind| time(problem, kind, v)).min_by(f64::total_cmp).unwrap_or_default()
    };
    let mut heaviest: Vec<(f64, NodeId)> =
        groups.members.iter().map(|members| (members.iter().map(|&v| least(v)).sum::<f64>(), members[0])).collect();
    heaviest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let nodes: Vec<NodeId> = heaviest.into_iter().map(|(_, v)| v).take(HEAVIEST).collect();
    let kinds = kinds(problem);
    let crowd = |nodes: &[NodeId], most: &[usize]| json!({"reason": "crowd", "nodes": nodes, "most": most}).to_string();
    let mut crowds: Vec<String> = nodes.iter().map(|&v| crowd(&[v], &vec![0; kinds.len()])).collect();
    for each in [1, 2] {
        for on_cpu in [0, each] {
            let most: Vec<usize> =
                kinds.iter().map(|&kind| if kind == DeviceKind::Cpu { on_cpu } else { each }).collect();
            let held = kinds.iter().zip(&most).map(|(&kind, most)| most.saturating_mul(problem.device_count(kind)));
            let size = held.fold(1, usize::saturating_add);
            if size <= nodes.len() {
                crowds.push(crowd(&nodes[..size], &most));
            }
        }
    }
    crowds
}

/// The order of nodes and the line of profits that refute every load below the claim, where branch and price finds some.
pub fn profits(problem: &Problem, statement: &Statement, cx: &SearchContext) -> Option<(Vec<NodeId>, String)> {
    certify::takes(problem).ok()?;
    let value = statement.claim as f64 * 0.1_f64.powi(statement.digits as i32);
    let found = Profits::refuting(problem, value * BELOW, cx)?;
    let scale = TOTAL_PROFIT / found.of_nodes.iter().sum::<f64>();
    let of_nodes: Vec<i128> = found.of_nodes.iter().map(|profit| (profit * scale).round() as i128).collect();
    let most = |kind: DeviceKind| {
        let known = found.most.iter().find(|(known, _)| *known == kind);
        known.map_or(0, |(_, most)| (most * scale).ceil() as i128)
    };
    let kinds = kinds(problem);
    let devices: i128 = kinds.iter().map(|&kind| problem.device_count(kind) as i128).sum();
    let held: i128 = kinds.iter().map(|&kind| most(kind) * problem.device_count(kind) as i128).sum();
    // What all units are worth beyond what the devices hold may as well be held: sets need not be told apart so finely.
    let slack = (of_nodes.iter().sum::<i128>() - 1 - held).max(0) / devices;
    let earning = |&kind: &DeviceKind| {
        let pieces = problem.costs.kind(kind).pieces.len();
        let weights: Vec<u8> = std::iter::once(1).chain(std::iter::repeat_n(0, pieces)).collect();
        let most = if problem.device_count(kind) > 0 { most(kind) + slack } else { 0 };
        let worth = (statement.claim.saturating_mul(PRICE) / most.max(1)).max(1);
        json!({"weights": weights, "price": [PRICE.to_string(), worth.to_string()], "most": most.to_string()})
    };
    let line = json!({
        "reason": "profits",
        "profits": of_nodes.iter().map(i128::to_string).collect::<Vec<_>>(),
        "kinds": kinds.iter().map(earning).collect::<Vec<_>>(),
    });
    Some((found.order, unquoted(&line.to_string())))
}

/// The line with its numbers as numbers: those beyond 64 bits were written as text.
fn unquoted(line: &str) -> String {
    let mut parts = line.split('"');
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(text), Some(between)) = (parts.next(), parts.next()) {
        let is_number = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'-');
        let quote = if is_number { "" } else { "\"" };
        out.extend([quote, text, quote, between]);
    }
    out
}
