//! Split a deep network's computation graph over devices with proven optimality.
//!
//! # The way of the data
//!
//! ```text
//! file ──instance──▶ Instance ──validate──▶ Problem (graph + devices + cost model + objective + scope)
//!   ──preprocess──▶ Reduced ──solve──▶ Run { outcome, bound, stats } ──▶ Solution on the original nodes
//!   ──verify──▶ Verified ──report──▶ people, files
//! ```
//!
//! One direction, no way back: [`verify`] knows nothing of the solvers and recomputes everything from the instance.
//!
//! # A first split
//!
//! A chain of four layers, 3 ms each, for two accelerators. Moving a layer's output takes 1 ms.
//!
//! ```
//! use dagsplit::instance::{Edge, Instance, Node, Platform};
//! use dagsplit::problem::{Problem, ProblemSpec};
//! use dagsplit::solve::{IdealDp, Outcome, SearchContext, Solver};
//! use dagsplit::verify;
//!
//! let layer = |id| Node { accelerator_times: vec![Some(3.0)], cpu_time: None, transfer_time: 1.0, ..Node::new(id) };
//! let instance = Instance {
//!     platform: Platform::uniform(2, None, 0),
//!     nodes: (0..4).map(layer).collect(),
//!     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
//!     ..Instance::default()
//! };
//!
//! let spec = ProblemSpec::of(&instance);
//! let problem = Problem::new(&instance, spec.clone())?;
//! let run = IdealDp::default().solve(&problem, &mut SearchContext::new())?;
//!
//! // Two layers and one transfer on each accelerator, and the proof that nothing is better.
//! let Outcome::Optimal { solution, bound } = run.outcome else { panic!("so small a problem is solved") };
//! assert_eq!(solution.objective, Some(7.0));
//! assert!(bound.value > 7.0 * (1.0 - 1e-8));
//!
//! // The verifier shares no code with the solver.
//! let verified = verify::check(&instance, &spec, &solution).expect("the split is valid");
//! assert_eq!(verified.objective(), 7.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go from here
//!
//! - [`formats`] reads and writes published workloads, splits, topologies, stages and mappings, [`generate`] makes new
//!   workloads.
//! - [`problem::ProblemSpec`] asks for other devices, objectives, cost models, replication or servers.
//! - [`solve`] has all solvers, [`registry`] their names; [`solve::IdealDp`] is the exact dynamic program over ideals.
//! - [`mapping`] places the stages of a split on the devices of any interconnect, [`plan`] chooses splits and mappings
//!   together, [`simulate`] runs them.
//! - [`SearchContext`] sets limits, threads and seed, and lets a run be cancelled and watched.
//! - A solver of your own implements [`Solver`], a cost model [`CostModel`]; [`registry::Registry`] gives them names, and
//!   [`conformance`] holds them to the laws.
//!
//! # Features
//!
//! `cli` is the program, `generate` the generated workloads, `conformance` the laws, `highs` the integer programs. Without
//! any of them the library holds what it computes with.

// What only the tests, the benches or the program reach is not dead: they enable the features that use it.
#![cfg_attr(not(all(feature = "cli", feature = "internals")), allow(dead_code, unused_imports))]

pub use dagsplit_model::{cost, formats, instance, problem};
use dagsplit_model::{graph, text};
pub use dagsplit_verify as verify;

mod bound;
mod checked;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "generate")]
pub mod generate;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
pub mod mapping;
pub mod plan;
mod preprocess;
mod process;
pub mod proof;
pub mod registry;
#[cfg(feature = "cli")]
mod report;
#[cfg(feature = "cli")]
mod reproduce;
mod search;
pub mod simulate;
mod small_set;
pub mod solve;
mod statistics;
mod units;

#[cfg(all(feature = "cli", feature = "conformance"))]
#[doc(hidden)]
pub mod embedded {
    //! What the Python package reaches beside the interface. It may change at any time.
    pub use crate::cli::embedded::*;
    pub use crate::cli::{Answer, Exit, Failure, Reproduced, Watch, run_for};

    /// Records, tables and pictures.
    pub mod report {
        pub use crate::report::*;
    }
}
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use cli::run as run_program;
pub use cost::{CostModel, Costs};
pub use instance::Instance;
pub use mapping::{Mapper, MappingProblem, StageGraph, Topology};
pub use problem::{Objective, Problem, ProblemSpec, Scope, Solution};
pub use solve::{Outcome, Run, SearchContext, Solver, Status};
