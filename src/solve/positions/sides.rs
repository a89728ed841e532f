//! Where a unit lies beside a stage.

pub use crate::solve::certify::pricing::INSIDE;

/// Where a unit lies that is not [`INSIDE`] the stage and not in a later one.
pub const EARLIER: u8 = 0;
