//! Lower bounds on the time per sample that need no search: by total work, by minimum cuts, by counting.
//!
//! All bound the largest load, and so the objectives throughput and GPipe (whose two passes are at least the joint load of
//! any device), with every cost model, replication and servers; [`least_objective`] makes bounds of a step of them. They
//! speak of the units of a [`Reduced`](crate::preprocess::Reduced): units of colour classes alone ([`Unordered`](crate::preprocess::Unordered))
//! give bounds for arbitrary splits, units that acyclic splits keep whole give bounds for those only.
//!
//! An accelerator pays compute for its units and a price for each net that it crosses. Each linear piece of that load
//! is submodular, so the least load of a set that holds some units and not others is a minimum cut ([`LoadCuts`]).

mod best;
mod cardinality;
mod cuts;
mod flow;
mod forcing;
mod heaviest;
mod linear;
mod memory;
mod prices;
mod shares;
mod source;
mod work;

pub use best::best;
pub use cuts::{Holder, LoadCuts};
pub use flow::{Network, UNBOUNDED};
pub use forcing::refutes;
pub use heaviest::heaviest;
pub use shares::{Shares, leading_piece};
pub use source::{BoundSource, LowerBound};
pub use work::{least_objective, work, work_bound};
