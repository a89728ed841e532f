//! Groups of units that share a device: what the clusterings of several papers are built from.

mod demand;
mod order_list;
mod quotient;

pub use demand::{Demand, limits};
pub use quotient::{Links, Quotient};
