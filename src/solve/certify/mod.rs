//! Splits whose devices need no order: the scopes [`Arbitrary`](crate::problem::Scope::Arbitrary) and
//! [`Convex`](crate::problem::Scope::Convex).

mod annealing;
mod assignment;
pub mod multilevel;

pub use annealing::Annealing;
pub use assignment::{Assignment, Setting};
