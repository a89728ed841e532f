//! The program for the largest load (Tarnawski 2020, section 5.1.3) and for GPipe's sum of two.

use good_lp::{Variable, constraint, variable};

use super::builder::{Builder, Pass};
use super::devices::Devices;
use super::{Bounds, Form, wires};
use crate::graph::order_graph::Groups;
use crate::problem::{Objective, Problem};

/// Writes the program: one row for each device and piece of its load.
pub(super) fn formulate(problem: &Problem, form: Form, bounds: Bounds, scale: f64) -> Builder<'_> {
    let unit_of = Groups::new(&problem.color_class).of_node;
    let (wires, limit) = match form {
        Form::Published => (wires::of_producers(problem, &unit_of), None),
        Form::Strong => (wires::merged(problem, &unit_of), bounds.upper),
    };
    let devices = Devices::new(problem, 1, usize::MAX);
    let mut builder = Builder::new(problem, devices, wires, scale, limit);
    if let Some(order) = builder.units.order.clone() {
        (0..builder.devices.list.len()).for_each(|i| builder.make_convex(i, &order));
    }
    match problem.spec.objective {
        Objective::GPipe => {
            let unbounded = Bounds::default();
            let forward = bound_loads(&mut builder, "forward", Pass::Forward, unbounded);
            let backward = bound_loads(&mut builder, "backward", Pass::Backward, unbounded);
            if let Some(lower) = bounds.lower {
                builder.model.row("least".into(), constraint!(forward + backward >= lower / scale));
            }
            if let Some(upper) = bounds.upper {
                builder.model.row("most".into(), constraint!(forward + backward <= upper / scale));
            }
            builder.model.minimise(forward + backward);
        }
        Objective::Throughput | Objective::Latency { .. } => {
            let largest = bound_loads(&mut builder, "load", Pass::Both, bounds);
            builder.model.minimise(largest);
        }
    }
    if form == Form::Strong {
        builder.break_symmetry();
    }
    builder
}

/// Adds a variable that no device's load in `pass` exceeds, between bounds in the instance's time.
fn bound_loads(builder: &mut Builder, name: &str, pass: Pass, bounds: Bounds) -> Variable {
    let mut largest = variable().min(bounds.lower.unwrap_or(0.0) / builder.scale);
    if let Some(upper) = bounds.upper {
        largest = largest.max(upper / builder.scale);
    }
    let largest = builder.model.variable(format!("max_{name}"), largest);
    for i in 0..builder.devices.list.len() {
        let device = builder.devices.list[i].clone();
        for (p, piece) in builder.problem.cost.pieces(device.kind).iter().enumerate() {
            let load = builder.time(i, piece, pass);
            builder.model.row(format!("{name}_{}_{p}", device.name), constraint!(load <= largest));
        }
    }
    largest
}
