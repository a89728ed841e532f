//! Reasons to try, as lines of a proof: what the checker accepts is one.

use serde_json::{Value, json};

use crate::graph::order_graph::Groups;
use crate::problem::{DeviceKind, NodeId, Problem, Scope};
use crate::search::SearchContext;
use crate::solve::certify::{self, Case, Choice, Profits};

/// Heavy units of which is asked whether few of them fit together, and the most of them in a crowd.
const HEAVIEST: usize = 20;

/// What the profits of all nodes are scaled to: so much that roundings are nothing beside what refutes a target.
const TOTAL_PROFIT: f64 = 1e15;

/// A price is a quotient of whole numbers of which the numerator is about this.
const PRICE: f64 = 1e6;

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

/// The order of nodes and lines of profits that refute every load below the target, where branch and price finds some; loads
/// count so many decimals.
pub fn profits(problem: &Problem, digits: u32, target: f64, cx: &SearchContext) -> Option<(Vec<NodeId>, String)> {
    certify::takes(problem).ok()?;
    let found = Profits::refuting(problem, target * BELOW, cx)?;
    let lines: Vec<String> = found.cases.iter().map(|case| line(problem, digits, case)).collect();
    Some((found.order, lines.join("\n")))
}

/// The line of a case: its profits in whole numbers, and what devices can hold of them.
fn line(problem: &Problem, digits: u32, case: &Case) -> String {
    let scale = TOTAL_PROFIT / case.of_nodes.iter().sum::<f64>();
    let of_nodes: Vec<i64> = case.of_nodes.iter().map(|profit| (profit * scale).round() as i64).collect();
    let kinds = kinds(problem);
    let count = |kind: DeviceKind| problem.device_count(kind) as i64;
    let of = |kind: DeviceKind| case.earnings.iter().find(|earning| earning.kind == kind);
    let most = |kind: DeviceKind| of(kind).map_or(0, |earning| (earning.most * scale).ceil() as i64);
    let held: i64 = kinds.iter().map(|&kind| most(kind) * count(kind)).sum();
    // What all units are worth beyond what the devices hold may as well be held: sets need not be told apart so finely.
    let slack = (of_nodes.iter().sum::<i64>() - 1 - held).max(0) / kinds.iter().map(|&kind| count(kind)).sum::<i64>();
    let earning = |&kind: &DeviceKind| {
        let pieces = problem.costs.kind(kind).pieces.len();
        let weights: Vec<String> = (0..pieces).map(|i| u8::from(i == 0).to_string()).collect();
        let most = if count(kind) > 0 { most(kind) + slack } else { 0 };
        // Of load in units of the claim: such numbers may leave 64 bits, so that they are written one by one.
        let per_unit = of(kind).map_or(0.0, |earning| earning.price * scale) * 0.1_f64.powi(digits as i32);
        let price = if per_unit > 0.0 { (PRICE as i128, (PRICE / per_unit) as i128) } else { (0, 1) };
        let weights = weights.join(",");
        format!(r#"{{"weights":[{weights}],"price":[{},{}],"most":{most}}}"#, price.0, price.1.max(1))
    };
    let under: Vec<Value> = case.decisions.iter().map(|&choice| decision(choice, &kinds)).collect();
    let earnings: Vec<String> = kinds.iter().map(earning).collect();
    let (under, of_nodes) = (json!(under), json!(of_nodes));
    format!(r#"{{"reason":"profits","under":{under},"profits":{of_nodes},"kinds":[{}]}}"#, earnings.join(","))
}

/// A decision as a line states it.
fn decision(choice: Choice, kinds: &[DeviceKind]) -> Value {
    let number = |kind| kinds.iter().position(|&known| known == kind);
    match choice {
        Choice::Together(u, v) => json!(["together", u, v]),
        Choice::Apart(u, v) => json!(["apart", u, v]),
        Choice::On(v, kind) => json!(["on", v, number(kind)]),
        Choice::NotOn(v, kind) => json!(["not_on", v, number(kind)]),
    }
}
