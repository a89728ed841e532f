//! The program for the largest load (Tarnawski 2020, section 5.1.3) and for GPipe's sum of two.

use good_lp::{Variable, constraint, variable};

use super::builder::{Builder, Pass};
use super::{Asked, Bounds, Form, wires};
use crate::problem::Objective;

/// Writes the program: one row for each device and piece of its load.
pub(super) fn formulate<'a>(asked: &Asked<'a>) -> Builder<'a> {
    let &Asked { layout, form, bounds, scale, .. } = asked;
    let wires = match form {
        Form::Published => wires::of_transfers(layout),
        Form::Strong => wires::merged(layout),
    };
    let mut builder = Builder::new(asked, wires);
    if let Some(order) = &layout.units.order {
        (0..layout.devices.list.len()).for_each(|i| builder.make_convex(i, order));
    }
    if layout.problem.spec.objective == Objective::GPipe {
        let forward = bound_loads(&mut builder, "forward", Pass::Forward, Bounds::default());
        let backward = bound_loads(&mut builder, "backward", Pass::Backward, Bounds::default());
        if let Some(lower) = bounds.lower {
            builder.model.row("least".into(), constraint!(forward + backward >= lower / scale));
        }
        if let Some(upper) = bounds.upper {
            builder.model.row("most".into(), constraint!(forward + backward <= upper / scale));
        }
        builder.model.minimise(forward + backward);
    } else {
        let largest = bound_loads(&mut builder, "load", Pass::Both, bounds);
        builder.model.minimise(largest);
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
    for (i, device) in builder.layout.devices.list.iter().enumerate() {
        for (p, piece) in builder.layout.costs(i).pieces.iter().enumerate() {
            let load = builder.time(i, piece, pass);
            builder.model.row(format!("{name}_{}_{p}", device.name), constraint!(load <= largest));
        }
    }
    largest
}
