//! Potentials rounded to a grid, with exact bounds on the error over all ideals.
//!
//! Rounded sums of ideals collide, so that Pareto fronts stay small. Weights are rounded along the automaton's order
//! with the error carried on, so that ideals, which are nearly prefixes, are off by little more than a grid step.

use rayon::prelude::*;

use super::frontier::{FORBIDDEN, Frontier};
use super::pareto_fronts::{Label, increment};
use super::stage::{Bounds, Potential};
use crate::preprocess::Reduced;

/// Bounds on true minus rounded values over all ideals.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Error {
    /// Least and largest difference of lower values.
    pub lower: (f64, f64),
    /// Least and largest difference of upper values.
    pub upper: (f64, f64),
}

impl Error {
    /// How much larger than the true difference upper(J) − lower(A) the rounded one can be.
    pub fn slack(&self) -> f64 {
        self.lower.1 - self.upper.0
    }

    /// How much a rounded difference that is that much too large can still exceed the true one.
    pub fn width(&self) -> f64 {
        self.slack() + self.upper.1 - self.lower.0
    }
}

/// The bounds with every potential rounded to multiples of `grid`, a power of two, and the error of each potential.
pub fn quantise(reduced: &Reduced, frontier: &Frontier, bounds: &Bounds, grid: f64) -> (Bounds, Vec<Error>) {
    let rounded = bounds.potentials.par_iter().map(|exact| {
        let rounded = round(frontier, exact, grid);
        let error = error(reduced, frontier, exact, &rounded);
        (rounded, error)
    });
    let (potentials, errors) = rounded.unzip();
    (Bounds { potentials, variants: bounds.variants.clone() }, errors)
}

fn round(frontier: &Frontier, potential: &Potential, grid: f64) -> Potential {
    let to_grid = |x: f64| (x / grid).round() * grid;
    let mut weight = vec![0.0; potential.weight.len()];
    let (mut exact, mut rounded) = (0.0, 0.0);
    for &u in &frontier.order {
        exact += potential.weight[u];
        weight[u] = to_grid(exact - rounded).max(0.0);
        rounded += weight[u];
    }
    let charges = |of: &[f64]| of.iter().map(|&c| to_grid(c)).collect();
    Potential { weight, upper: charges(&potential.upper), lower: charges(&potential.lower) }
}

fn error(reduced: &Reduced, frontier: &Frontier, exact: &Potential, rounded: &Potential) -> Error {
    let none = Error::default();
    let mut suffix = vec![none];
    for (layer, &unit) in frontier.layers.iter().zip(&frontier.order).rev() {
        let of = |transition: super::frontier::Transition, into: bool| {
            if transition.next == FORBIDDEN {
                return None;
            }
            let a = increment(reduced, exact, unit, into, transition);
            let b = increment(reduced, rounded, unit, into, transition);
            let by = Label { x: a.x - b.x, y: a.y - b.y };
            let rest: Error = suffix[transition.next as usize];
            Some(Error {
                lower: (rest.lower.0 + by.x, rest.lower.1 + by.x),
                upper: (rest.upper.0 + by.y, rest.upper.1 + by.y),
            })
        };
        let join = |[out, into]: &[super::frontier::Transition; 2]| match (of(*out, false), of(*into, true)) {
            (Some(a), Some(b)) => Error {
                lower: (a.lower.0.min(b.lower.0), a.lower.1.max(b.lower.1)),
                upper: (a.upper.0.min(b.upper.0), a.upper.1.max(b.upper.1)),
            },
            (a, b) => a.or(b).unwrap_or(none),
        };
        suffix = layer.transitions.iter().map(join).collect();
    }
    suffix[0]
}
