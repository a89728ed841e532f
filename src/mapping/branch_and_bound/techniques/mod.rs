//! What the rows of the [portfolio](super::portfolio) do to a run: one technique a file.

mod annealing;
mod block_configuration;
mod exact_covers;
mod link_classes;
mod neighbours;
mod orbits;
mod pipelines;
mod targets;

pub use block_configuration::Configurations;
pub use orbits::GroupActions;
