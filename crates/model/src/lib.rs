//! What dagsplit's solvers, verifier and formats share: workloads, what is asked of them, what a split costs, and files.
//!
//! The crate knows no solver. Users reach it as modules of `dagsplit`.

pub mod cost;
pub mod formats;
pub mod graph;
pub mod instance;
mod load;
pub mod mapping;
pub mod problem;
mod solution;
mod spec;
pub mod text;
