//! The heuristics of Chen, Tran and Tan, "Partitioning Algorithms on Computation Graphs for Distributed Machine
//! Learning" (2024), for the sharding cost ([`crate::problem::Sharding`]).

mod hierarchical;
mod kernighan_lin;

pub use hierarchical::{Hierarchical, Levels};
pub use kernighan_lin::KernighanLin;
