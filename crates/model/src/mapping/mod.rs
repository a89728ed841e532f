//! Stages of a pipeline, devices joined by any interconnect, and what it costs to put the ones on the others (Liu et al.
//! 2024, section V).

mod channel;
mod claim;
mod of_options;
mod of_split;
mod problem;
mod rate;
mod stages;
mod topology;

pub use channel::{Channel, MessageTime};
pub use claim::{ClaimedMapping, ClaimedNames, PlacedCopy};
pub use of_options::OfOptions;
pub use problem::{Counted, Mapping, MappingProblem, MemoryShortage, StageCost, ring_link_time};
pub use rate::Rate;
pub use stages::{Message, Stage, StageGraph};
pub use topology::{Device, Topology};
