//! Split a deep network's computation graph over devices with proven optimality.

pub mod cost;
pub mod generate;
pub mod graph;
pub mod instance;
pub mod preprocess;
pub mod problem;
pub mod report;
pub mod solve;
pub mod verify;
