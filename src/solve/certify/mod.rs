//! Splits whose devices need no order: the scopes [`Arbitrary`](crate::problem::Scope::Arbitrary) and
//! [`Convex`](crate::problem::Scope::Convex).
//!
//! [`Annealing`] looks for good splits; [`Certify`] proves them optimal by branch and price.

mod annealing;
mod ascent;
mod assignment;
mod branching;
mod covering;
mod crowding;
mod enumeration;
mod gains;
mod leaves;
pub mod multilevel;
pub(crate) mod pricing;
mod primal;
mod profits;
mod proof;
mod resplit;
mod root;
#[cfg(test)]
pub(crate) mod samples;
mod solver;
mod tree;

pub use annealing::Annealing;
pub use assignment::{Assignment, Setting};
pub use profits::{Case, Choice, Earning, Profits};
pub use solver::{Certify, takes};
