//! What every partitioner is held to: laws, problems to try it on, and a report.
//!
//! One line makes a [`Solver`](crate::solve::Solver) of your own pass or fail:
//!
//! ```
//! use dagsplit::conformance::Suite;
//! use dagsplit::solve::BruteForce;
//!
//! Suite { cases: 13, ..Suite::default() }.check(&BruteForce);
//! ```
//!
//! The suite draws small problems of several [families](FAMILIES), some larger ones and some of a few hundred nodes,
//! and holds the answers to the [laws](Law): the independent verifier says whether splits are valid and what they are
//! worth, exhaustive search and the exact methods say what the optimum is. For each law that is broken the [`Report`]
//! has a small instance that breaks it: nodes, edges, devices and costs are taken away as long as the law stays broken.
//! Besides the laws it tells how far the splits are from the optimum.
//!
//! A [`Program`](crate::solve::Program) in any language is held to the same laws: it reads an instance on its standard input and writes a
//! split to its standard output. `dagsplit conform` does this from the command line; `docs/your-partitioner.md` is the
//! guide.
//!
//! [`strategies`] generates whole problems for property tests of your own.

mod chunks;
mod families;
mod judge;
mod laws;
mod options;
mod partitioner;
mod quality;
mod reference;
mod renumber;
mod report;
mod shrink;
pub mod strategies;
mod suite;
mod text;
mod trial;

pub use families::{FAMILIES, Family};
use laws::Breach;
pub use laws::Law;
pub use partitioner::{Answer, Case, Fault, Partitioner, Request};
pub use quality::{Gaps, Quality};
pub use report::{FamilyReport, Finding, LawReport, Report, SCHEMA};
pub use suite::{Place, Session, Suite, TriedCase};
