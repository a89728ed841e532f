//! RaNNC (Tanaka et al., "Automatic Graph Partitioning for Very Large-scale Deep Learning", IPDPS 2021): atomic
//! components, blocks, stages.
//!
//! # What has no counterpart here
//! - *Cloning* (section III-A). RaNNC clones a constant task into every component that consumes it; here a node lies on
//!   one device. Constants join their first consumer and send to the others; see [`atomic`].
//! - *Profiling.* RaNNC runs each candidate stage for its times and memory; here they are sums over the stage's nodes,
//!   the memory of which does not depend on the microbatch. Its variant without coarsening does the same.
//! - *Tensor sizes by microbatch.* A time is taken to grow in proportion to the samples of a microbatch.

pub mod atomic;
mod batch;
mod blocks;
mod coarsening;
mod compaction;
mod profile;
mod solver;
mod stages;
mod uncoarsening;

pub use batch::{BATCH_TIME, Synchronous};
pub use blocks::Blocks;
pub use solver::Rannc;
