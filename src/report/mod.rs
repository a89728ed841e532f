//! What people and programs get to see of a run: JSON records, tables, pictures, pages, progress.
//!
//! A report takes nothing but verified splits: every load and objective value shown here was recomputed from the
//! original instance.

pub mod attempt;
pub mod capabilities;
pub mod comparison;
pub mod export;
pub mod facts;
pub mod framework;
pub mod image;
pub mod lines;
pub mod mapping;
pub mod method;
pub mod page;
pub mod picture;
pub mod plan;
pub mod plot;
pub mod progress;
pub mod record;
pub mod sheet;
pub mod simulation;
pub mod table;
pub mod trace;

pub use attempt::{Attempt, MappingAttempt};
pub use record::{DeviceRecord, InstanceRecord, ProofRecord, RunRecord, StabilityRecord};

/// The variant of this name.
///
/// # Errors
/// There is none; the error names those that there are.
pub fn named<T: clap::ValueEnum>(name: &str) -> Result<T, String> {
    let names = || T::value_variants().iter().filter_map(T::to_possible_value);
    let listed = || names().map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(", ");
    T::from_str(name, false).map_err(|_| format!("there is no `{name}`; name one of {}", listed()))
}
