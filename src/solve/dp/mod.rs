//! Dynamic programs: over ideals, and over the prefixes of one order.

pub mod consumption;
pub mod frontier;
pub mod fronts;
pub mod ideal;
pub mod linear;
pub mod loads;
pub mod orders;
pub mod relaxation;
pub mod search;
pub mod stage;

pub use ideal::IdealDp;
