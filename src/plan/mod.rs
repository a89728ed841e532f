//! The whole way from a workload to a pipeline on a topology, and the choice of stages and replicas by simulation
//! (Liu et al. 2024, appendix B).
//!
//! ```text
//! for each number of stages S ──partition──▶ split ──▶ stage graph
//!   for each S · R that fills the devices, and each number of microbatches
//!     ──map, under each cost──▶ mappings ──simulate──▶ throughput, bubbles, memory
//! the best simulated throughput that fits in memory ──▶ Plan
//! ```
//!
//! Every split is checked by [`crate::verify::check`] and every mapping by [`crate::verify::mapping::check`] before it
//! counts. Candidates are independent of each other and planned side by side.
//!
//! ```
//! use dagsplit::generate::topology::{Hierarchical, TopologyRecipe, generate as topology};
//! use dagsplit::generate::{Chain, RandomDag, RandomFamily, Recipe, generate};
//! use dagsplit::plan::{PlanOptions, plan};
//! use dagsplit::solve::SearchContext;
//!
//! let family = RandomFamily::Chain(Chain { nodes: 12, ..Chain::default() });
//! let mut chain = generate(&Recipe { training: true, ..Recipe::new(RandomDag::new(family, 1)) })?;
//! chain.nodes.iter_mut().for_each(|node| node.output_bytes = Some(1e6));
//! let devices = topology(&TopologyRecipe::new(Hierarchical { nodes: 2, node_size: 2, ..Hierarchical::default() }))?;
//! let plan = plan(&chain, &devices, &PlanOptions::default(), &SearchContext::new())?;
//! assert_eq!(plan.candidates.len(), 3, "1 · 4, 2 · 2 and 4 · 1 devices");
//! assert!(plan.best().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod breakdown;
mod candidate;
mod options;
mod search;

pub use breakdown::Breakdown;
pub use candidate::{Candidate, Fate, MappedPipeline, Partition};
pub use options::{Factoring, PlanOptions};
pub use search::{Plan, PlanError, plan};
