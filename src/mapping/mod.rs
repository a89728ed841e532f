//! Placing the stages of a pipeline on devices joined by any interconnect (Liu et al. 2024, section V).
//!
//! A [`StageGraph`] says what each stage computes and sends, a [`Topology`] what each pair of devices can carry. A
//! [`MappingProblem`] asks for a [`Mapping`] of the stages' copies to distinct devices that makes the slowest copy
//! as fast as possible, and a [`Mapper`] answers it.

mod annealing;
mod branch_and_bound;
mod claim;
mod exhaustive;
mod filling;
pub mod formats;
mod heuristic;
pub mod joint;
mod local;
mod mapper;
mod of_split;
mod packing;
mod parmesan2024;
mod problem;
mod rate;
pub mod registry;
mod ring_order;
#[cfg(test)]
mod samples;
mod segments;
mod stages;
mod tiling;
mod topology;
mod windows;

pub use branch_and_bound::BranchAndBound;
pub use claim::{ClaimedMapping, ClaimedNames, PlacedCopy};
pub use exhaustive::Exhaustive;
pub use heuristic::{Consecutive, GreedyMapping, MappingAnnealing, PointToPoint, RandomMapping, SwapSearch};
pub use mapper::{Mapper, MappingOutcome, MappingRun};
pub use parmesan2024::Parmesan2024;
pub(crate) use problem::Synchronisation;
pub use problem::{Counted, Mapping, MappingProblem, MemoryShortage, StageCost};
pub use rate::Rate;
pub use stages::{Message, Stage, StageGraph};
pub use topology::{Device, Topology};
