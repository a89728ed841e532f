//! HiGHS as this crate needs it: integer programs with their dual bound.
//!
//! good_lp writes models but hides the dual bound and folds all limits into one status; both are read from HiGHS
//! itself. `handle.rs` alone touches its interface.

mod handle;
mod mip;

pub use handle::{Fault, version};
pub use mip::{Mip, MipLimits, MipResult, MipStatus, Sighting};
