//! How many devices a target load takes: the strong lower bound, by column generation.
//!
//! A split of maximal load T covers every unit with one set per device, each of load at most T. So does, in fractions,
//! any solution of the [covering program](cover); where that needs more devices than there are, T is
//! [refuted](generation). Its sets come from [pricing](super::pricing). Where that is quick, profits that refute a target
//! are found by a [bundle method](crate::solve::bundle) first.

mod columns;
mod cover;
mod devices;
mod generation;
mod lines;
mod target;

pub use crate::solve::bundle::Verdict;
pub use columns::Column;
pub use cover::weights;
pub use devices::{Decision, Devices, Pricers};
pub use generation::{Center, Generation, MARGIN, Query};
pub use lines::{along, refuted_by};
