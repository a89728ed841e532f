//! Splits whose devices need no order: the scopes [`Arbitrary`](crate::problem::Scope::Arbitrary) and
//! [`Convex`](crate::problem::Scope::Convex).

mod assignment;

pub use assignment::{Assignment, Setting};
