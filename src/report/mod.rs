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
