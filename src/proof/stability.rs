//! How far a split can be from the best one while times move, and a proof of that (`docs/proofs.md`, "Stability").

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use dagsplit_check::{check, check_device};
use serde_json::{Value, json};

use super::statement::{Statement, places};
use super::{Asked, Proof, Unproven, sought};
use crate::cost::KindCost;
use crate::instance::{Edge, Instance};
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Solution};
use crate::search::SearchContext;
use crate::verify;

/// By how much times move, up and down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// Each by this part of itself.
    Part(f64),
    /// Those of accelerators by what their measurements spread (`time_spread`), and no others.
    Measured,
}

/// A scenario: what one device of the split pays for takes as long as it may, and all else as short.
#[derive(Clone)]
pub struct Scenario {
    /// The workload with these times.
    pub instance: Instance,
    /// The problem made of it.
    pub problem: Problem,
    /// The split's load there, in the instance's time unit.
    pub load: f64,
}

/// A split whose stability is asked for.
pub struct Stability<'a> {
    asked: &'a Asked<'a>,
    spread: Spread,
    /// The question, which proofs have words for.
    statement: Statement,
    devices: Vec<&'a DeviceAssignment>,
    /// One for each device that holds nodes.
    pub scenarios: Vec<Scenario>,
}

impl<'a> Stability<'a> {
    /// The scenarios of a split that the verifier has passed. O(devices · (n + m)) besides the problems.
    ///
    /// # Errors
    /// The question is none of those whose stability is known by these scenarios.
    pub fn new(asked: &'a Asked<'a>, split: &'a Solution, spread: Spread) -> Result<Self, Unproven> {
        takes(asked.problem)?;
        let statement = Statement::new(asked)?;
        let devices: Vec<&DeviceAssignment> = split.devices.iter().filter(|device| !device.nodes.is_empty()).collect();
        // What it claims is its load at other times.
        let unclaimed = Solution { objective: None, ..split.clone() };
        let scenario = |device: &&DeviceAssignment| {
            let instance = moved(asked.instance, spread, device);
            let spec = asked.problem.spec.clone();
            let load = verify::check(&instance, &spec, &unclaimed).ok().map(|verified| verified.objective());
            let problem = Problem::new(&instance, spec).ok();
            let all = problem.zip(load).map(|(problem, load)| Scenario { instance, problem, load });
            all.ok_or(Unproven::Inexpressible("times that leave the range of instances"))
        };
        let scenarios = devices.iter().map(scenario).collect::<Result<_, _>>()?;
        Ok(Self { asked, spread, statement, devices, scenarios })
    }

    /// The most that the split's load is ever above that of the best one, in the instance's time unit, where no split of each
    /// scenario has a load below its bound.
    pub fn regret(&self, bounds: &[f64]) -> f64 {
        self.scenarios.iter().zip(bounds).map(|(scenario, bound)| scenario.load - bound).fold(0.0, f64::max)
    }

    /// The same in parts of the best load at the same times, where no split has a load below `bound` at the workload's own
    /// times; `None` where that may be nothing.
    pub fn relative(&self, regret: f64, bound: f64) -> Option<f64> {
        let most = match self.spread {
            Spread::Part(part) => part,
            Spread::Measured => largest_part(self.asked.instance),
        };
        // No time is less than so much of its own, and so no load.
        let least = (1.0 - most) * bound;
        (least > 0.0).then(|| regret / least)
    }

    /// A proof, as the checker has accepted it, that the split's load is never further above the best one's.
    ///
    /// # Errors
    /// Why there is none.
    pub fn prove(&self, regret: f64, cx: &SearchContext) -> Result<Proof, Unproven> {
        let mut statement = self.statement(regret);
        let mut lines = String::new();
        for (device, scenario) in self.scenarios.iter().enumerate().filter(|(_, own)| own.load > regret * MARGIN) {
            let of_device =
                |reason: &str| reason.lines().map(|line| format!("{{\"device\":{device},{}\n", &line[1..])).collect();
            let accepts = |statement: &Statement, reason: &str| {
                let more: String = of_device(reason);
                check_device(self.asked.text, &format!("{}\n{lines}{more}", statement.line()), device).map(|()| more)
            };
            let more = sought(&scenario.problem, &mut statement, scenario.load - regret, cx, accepts)?;
            lines += &more;
        }
        let text = format!("{}\n{lines}", statement.line());
        let begun = Instant::now();
        match check(self.asked.text, &text, None) {
            Ok(_) => Ok(Proof { text, checked_in: begun.elapsed() }),
            Err(error) => Err(Unproven::NoReason(error)),
        }
    }

    /// The first line.
    fn statement(&self, regret: f64) -> Statement {
        let position: HashMap<u64, usize> = self.asked.instance.nodes.iter().map(|node| node.id).zip(0..).collect();
        let classes = self.asked.problem.spec.platform.accelerators.len();
        let device = |device: &&DeviceAssignment| {
            let kind = if let DeviceKind::Accelerator(class) = device.kind { class } else { classes };
            json!({"kind": kind, "nodes": device.nodes.iter().map(|id| position[id]).collect::<Vec<_>>()})
        };
        let devices: Vec<Value> = self.devices.iter().map(device).collect();
        let spreads = self.asked.instance.nodes.iter().filter_map(|node| node.time_spread);
        let (spread, digits) = match self.spread {
            Spread::Part(part) => (json!(part), self.statement.digits + places(part)),
            Spread::Measured => {
                (json!("measured"), self.statement.digits + spreads.map(places).max().unwrap_or_default())
            }
        };
        let mut statement = self.statement.about_stability(json!({"spread": spread, "devices": devices}), digits);
        statement.claim = (regret * MARGIN * 10_f64.powi(statement.digits as i32)).ceil() as i128;
        statement
    }
}

/// What is proven is more than what is known by so much: sums of floating-point numbers are no whole numbers of units.
const MARGIN: f64 = 1.0 + 1e-9;

/// Whether these scenarios are the worst ones: all devices pay alike for a transfer, so that what raises one load raises no other
/// one more.
fn takes(problem: &Problem) -> Result<(), Unproven> {
    let spec = &problem.spec;
    let is_plain = spec.objective == Objective::Throughput && spec.replication.is_none();
    let accelerators = &problem.costs.kinds[..spec.platform.accelerators.len()];
    let pays = |kind: &KindCost| match kind.pieces[..] {
        [piece] => (piece.comm_in == piece.comm_out).then_some(piece.comm_in),
        _ => None,
    };
    let first = accelerators.first().map_or(Some(0.0), pays);
    match is_plain && first.is_some() && accelerators.iter().all(|kind| pays(kind) == first) {
        true => Ok(()),
        false => Err(Unproven::Inexpressible("the stability of such splits")),
    }
}

/// The workload in the scenario of a device.
fn moved(instance: &Instance, spread: Spread, device: &DeviceAssignment) -> Instance {
    let held: HashSet<u64> = device.nodes.iter().copied().collect();
    let is_cut = |edge: &&Edge| held.contains(&edge.source) != held.contains(&edge.target);
    let cut: HashSet<u64> = match device.kind {
        DeviceKind::Accelerator(_) => instance.edges.iter().filter(is_cut).map(|edge| edge.source).collect(),
        DeviceKind::Cpu => HashSet::new(),
    };
    let mut scenario = instance.clone();
    for node in &mut scenario.nodes {
        let is_held = held.contains(&node.id);
        let measured = node.time_spread.unwrap_or_default();
        let moved = |time: f64, measured: f64, is_up: bool| {
            let by = if let Spread::Part(part) = spread { part * time } else { measured };
            if is_up { time + by } else { (time - by).max(0.0) }
        };
        for (class, time) in node.accelerator_times.iter_mut().enumerate() {
            let is_up = is_held && device.kind == DeviceKind::Accelerator(class);
            *time = time.map(|time| moved(time, measured, is_up));
        }
        node.cpu_time = node.cpu_time.map(|time| moved(time, 0.0, is_held && device.kind == DeviceKind::Cpu));
        node.transfer_time = moved(node.transfer_time, 0.0, cut.contains(&node.id));
    }
    scenario
}

/// The largest part of its time by which a measured one moves.
fn largest_part(instance: &Instance) -> f64 {
    let parts = instance.nodes.iter().flat_map(|node| {
        let spread = node.time_spread.unwrap_or_default();
        node.accelerator_times.iter().flatten().filter(|&&time| time > 0.0).map(move |time| spread / time)
    });
    parts.fold(0.0, f64::max).min(1.0)
}
