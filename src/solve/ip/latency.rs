//! The program for the latency of one sample (Tarnawski 2020, section 4).
//!
//! Node v is ready at L_v, subgraph i runs from S_i to F_i:
//! - F_i ≥ S_i + compute, data in and data out of i, for each piece of the load;
//! - L_v ≥ L_u + q_v x_{v,CPU} along each edge (u, v), and L_v ≥ F_i where v is in i;
//! - S_i ≥ L_u where u is outside i and a consumer of u inside;
//! - S_i ≥ F_j where j is the subgraph before i on its accelerator.
//!
//! The conditional rows hold by big-M: no time exceeds the latency of a known split.

use good_lp::{Expression, Variable, constraint, variable};

use super::builder::{Builder, Pass};
use super::{Asked, Form, wires};
use crate::cost::{Transfer, compute_load};
use crate::graph::order_graph::Groups;
use crate::graph::{paths, topological};
use crate::problem::{DeviceKind, Problem};

/// The variables of one schedule, in whatever unit its durations have.
struct Schedule {
    ready: Vec<Variable>,
    starts: Vec<Option<Variable>>,
    finishes: Vec<Option<Variable>>,
}

/// Writes the program. Its big-M is the least of the bounds, where there are some, and the latency of a split that exists.
pub(super) fn formulate<'a>(asked: &Asked<'a>) -> Builder<'a> {
    let &Asked { layout, form, bounds, scale, .. } = asked;
    let problem = layout.problem;
    let mut builder = Builder::new(asked, wires::of_transfers(layout));
    share_devices(&mut builder);
    let order = layout.units.order.as_ref();
    let is_subgraph = |i: &usize| layout.devices.list[*i].kind != DeviceKind::Cpu;
    let subgraphs: Vec<usize> = (0..layout.devices.list.len()).filter(is_subgraph).collect();
    if let Some(order) = order {
        subgraphs.iter().for_each(|&i| builder.make_convex(i, order));
    }
    let latencies = bounds.upper.into_iter().chain(bounds.limit).chain([serial_latency(problem)]);
    let horizon = latencies.fold(f64::INFINITY, f64::min) / scale;
    let heads: Vec<f64> = match form {
        Form::Published => vec![0.0; problem.node_count()],
        Form::Strong => earliest(problem).into_iter().map(|time| (time / scale).min(horizon)).collect(),
    };
    let schedule = add_schedule(&mut builder, "", horizon, &heads);
    for (i, (&start, &finish)) in schedule.starts.iter().zip(&schedule.finishes).enumerate() {
        let (Some(start), Some(finish)) = (start, finish) else { continue };
        let name = &layout.devices.list[i].name;
        for (p, piece) in layout.costs(i).pieces.iter().enumerate() {
            let time = builder.time(i, piece, Pass::Both);
            builder.model.row(format!("run_{name}_{p}"), constraint!(finish >= start + time));
        }
    }
    let cpu_times: Vec<f64> = (0..problem.node_count())
        .map(|v| problem.costs.node(v, DeviceKind::Cpu).map_or(0.0, |c| c.compute / scale))
        .collect();
    run_nodes(&mut builder, "", &schedule, &cpu_times);
    if may_wait_in_circles(problem) {
        forbid_circles(&mut builder);
    }
    let latency = variable().min(bounds.lower.unwrap_or(0.0) / scale).max(horizon);
    let latency = builder.model.variable("latency".into(), latency);
    for (v, &ready) in schedule.ready.iter().enumerate() {
        builder.model.row(format!("last_{}", layout.labels[v]), constraint!(ready <= latency));
    }
    builder.model.minimise(latency);
    if form == Form::Strong {
        builder.break_symmetry();
    }
    builder
}

/// Nodes of a colour class share an accelerator, whichever of its subgraphs they are in.
fn share_devices(builder: &mut Builder) {
    let layout = builder.layout;
    for members in Groups::new(&layout.problem.color_class).members {
        for pair in members.windows(2) {
            for (parts, name) in &layout.devices.owners {
                let (first, second) = (builder.held(pair[0], parts), builder.held(pair[1], parts));
                let row = format!("color_{}_{}_{name}", layout.labels[pair[0]], layout.labels[pair[1]]);
                builder.model.row(row, constraint!(first == second));
            }
        }
    }
}

/// Adds times from 0 to `horizon`: when nodes are ready, not before `heads`, and when subgraphs start and finish.
fn add_schedule(builder: &mut Builder, prefix: &str, horizon: f64, heads: &[f64]) -> Schedule {
    let layout = builder.layout;
    let label = |v: usize| &layout.labels[v];
    let model = &mut builder.model;
    let ready: Vec<Variable> = (0..heads.len())
        .map(|v| model.variable(format!("{prefix}ready_{}", label(v)), variable().min(heads[v]).max(horizon)))
        .collect();
    let mut schedule = Schedule { ready, starts: Vec::new(), finishes: Vec::new() };
    for device in &layout.devices.list {
        let mut time = |what: &str| {
            let name = format!("{prefix}{what}_{}", device.name);
            (device.kind != DeviceKind::Cpu).then(|| model.variable(name, variable().min(0).max(horizon)))
        };
        schedule.starts.push(time("start"));
        schedule.finishes.push(time("finish"));
    }
    for (i, (&start, &finish)) in schedule.starts.iter().zip(&schedule.finishes).enumerate() {
        let (Some(start), Some(finish)) = (start, finish) else { continue };
        let device = &layout.devices.list[i].name;
        for (v, &ready) in schedule.ready.iter().enumerate() {
            let (x, most) = (builder.x[v][i], horizon - heads[v]);
            let row = format!("{prefix}ends_{}_{device}", label(v));
            builder.model.row(row, constraint!(ready >= finish - most + most * x));
        }
        for (u, v) in layout.problem.graph.edges() {
            let enters = builder.x[v][i] - builder.x[u][i];
            let row = format!("{prefix}enters_{}_{}_{device}", label(u), label(v));
            builder.model.row(row, constraint!(start >= schedule.ready[u] - horizon + horizon * enters));
        }
    }
    for (parts, _) in &layout.devices.owners {
        for i in parts.clone().skip(1) {
            if let (Some(before), Some(start)) = (schedule.finishes[i - 1], schedule.starts[i]) {
                let row = format!("{prefix}turn_{}", layout.devices.list[i].name);
                builder.model.row(row, constraint!(start >= before));
            }
        }
    }
    schedule
}

/// Nodes are ready once their producers are, and after their time where they are on the CPU.
fn run_nodes(builder: &mut Builder, prefix: &str, schedule: &Schedule, cpu_times: &[f64]) {
    let layout = builder.layout;
    let cpu = layout.devices.list.iter().position(|device| device.kind == DeviceKind::Cpu);
    let graph = &layout.problem.graph;
    for (v, &ready) in schedule.ready.iter().enumerate() {
        let time: Expression = cpu.map_or_else(Expression::default, |cpu| cpu_times[v] * builder.x[v][cpu]);
        let label = &layout.labels[v];
        builder.model.row(format!("{prefix}runs_{label}"), constraint!(ready >= time.clone()));
        for &u in graph.predecessors(v) {
            let before = schedule.ready[u as usize];
            let row = format!("{prefix}after_{}_{label}", layout.labels[u as usize]);
            builder.model.row(row, constraint!(ready >= before + time.clone()));
        }
    }
}

/// Whether subgraphs that take no time might wait for each other: a node of no time that consumes what is free to move.
fn may_wait_in_circles(problem: &Problem) -> bool {
    let kinds: Vec<DeviceKind> = problem.device_kinds();
    let is_free = |kind: DeviceKind, u: usize, v: usize| {
        let costs = problem.costs.kind(kind);
        let mut moved = problem.costs.transfers_from(u).filter(|&t| problem.costs.transfers[t].reaches(v));
        costs.nodes[v].is_some_and(|cost| cost.compute == 0.0) && moved.all(|t| costs.transfers[t] == 0.0)
    };
    problem.graph.edges().any(|(u, v)| kinds.iter().any(|&kind| kind != DeviceKind::Cpu && is_free(kind, u, v)))
}

/// A second schedule, in which everything takes a step, keeps subgraphs that take no time from waiting for each other.
fn forbid_circles(builder: &mut Builder) {
    let layout = builder.layout;
    let n = layout.problem.node_count();
    let schedule = add_schedule(builder, "step_", (n + layout.devices.list.len()) as f64, &vec![0.0; n]);
    for (i, (&start, &finish)) in schedule.starts.iter().zip(&schedule.finishes).enumerate() {
        if let (Some(start), Some(finish)) = (start, finish) {
            let name = &layout.devices.list[i].name;
            builder.model.row(format!("step_run_{name}"), constraint!(finish >= start + 1));
        }
    }
    run_nodes(builder, "step_", &schedule, &vec![0.0; n]);
}

/// No optimal split takes longer: everything one after another, each node where it is slowest and each producer moved
/// to every consumer. On CPUs alone, where these run all nodes, the longest path.
fn serial_latency(problem: &Problem) -> f64 {
    let kinds = problem.device_kinds();
    let pieces = kinds.iter().flat_map(|&kind| problem.costs.pieces(kind));
    let weight = pieces.flat_map(|piece| [piece.compute, piece.comm_in, piece.comm_out]).fold(1.0, f64::max);
    let slowest = |v: usize| {
        let times = kinds.iter().filter_map(|&kind| problem.costs.node(v, kind));
        times.map(|cost| cost.compute).fold(0.0, f64::max)
    };
    let moved = |(t, transfer): (usize, &Transfer)| {
        (1 + transfer.consumers.len()) as f64 * problem.costs.longest_transfer(t, &kinds)
    };
    let moved: f64 = problem.costs.transfers.iter().enumerate().map(moved).sum();
    let serial = weight * ((0..problem.node_count()).map(slowest).sum::<f64>() + moved);
    let cpu_time = |v: usize| problem.costs.node(v, DeviceKind::Cpu).map(|cost| cost.compute);
    let on_cpu: Option<Vec<f64>> = (0..problem.node_count()).map(cpu_time).collect();
    match on_cpu.filter(|_| problem.spec.platform.cpus > 0) {
        Some(times) => serial.min(longest_paths(problem, &times).into_iter().fold(0.0, f64::max)),
        None => serial,
    }
}

/// When each node can be ready at best: a longest path of least times.
fn earliest(problem: &Problem) -> Vec<f64> {
    let kinds = problem.device_kinds();
    let least = |v: usize| {
        let on =
            |&kind: &DeviceKind| Some(compute_load(problem.costs.pieces(kind), problem.costs.node(v, kind)?.compute));
        kinds.iter().filter_map(on).min_by(f64::total_cmp).unwrap_or(0.0)
    };
    longest_paths(problem, &(0..problem.node_count()).map(least).collect::<Vec<_>>())
}

/// The longest path that ends with each node, the node included.
fn longest_paths(problem: &Problem, times: &[f64]) -> Vec<f64> {
    paths::longest_to(&problem.graph, &topological::smallest_first(&problem.graph), times)
}
