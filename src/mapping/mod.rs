//! Placing the stages of a pipeline on devices joined by any interconnect (Liu et al. 2024, section V).
//!
//! A [`StageGraph`] says what each stage computes and sends, a [`Topology`] what each pair of devices can carry. A
//! [`MappingProblem`] asks for a [`Mapping`] of the stages' copies to distinct devices that makes the slowest copy
//! as fast as possible, and a [`Mapper`] answers it.

mod annealing;
mod block_configuration;
mod branch_and_bound;
mod covers;
mod exhaustive;
mod group_action;
mod heuristic;
mod joint;
mod local;
mod mapper;
mod orders;
mod parmesan2024;
mod ring_order;
mod ring_segments;
#[cfg(test)]
mod samples;
mod sliding_windows;
mod tiling;
mod zone_packing;

pub use branch_and_bound::BranchAndBound;
pub use dagsplit_model::mapping::{
    Channel, ClaimedMapping, ClaimedNames, Counted, Device, Mapping, MappingProblem, MemoryShortage, Message,
    MessageTime, OfOptions, PlacedCopy, Rate, Stage, StageCost, StageGraph, Topology,
};
pub use exhaustive::Exhaustive;
pub use heuristic::{Consecutive, GreedyMapping, MappingAnnealing, PointToPoint, RandomMapping, SwapSearch};
pub use joint::{JointError, JointOutcome, JointPlan, JointProblem, JointRun, JointSearch, UnitGraph, UnitNet};
pub use mapper::{Mapper, MappingOutcome, MappingRun};
use mapper::{MappingRace, compute_bound};
pub use parmesan2024::Parmesan2024;

/// Sums of few terms are exact to this part.
const ROUNDING: f64 = 1e-12;
