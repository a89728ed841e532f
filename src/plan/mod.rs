//! From a workload and a topology to a pipeline that runs, with a bound on what any other would take (docs/plan.md).
//!
//! ```text
//! for each shape (stages, replicas, tensor degree), size of microbatches, schedule, chunks, recomputation: a candidate
//!   ──split──▶ for the slowest stage: its bound holds for every step; for the step under memory by place
//!   ──map, under each cost──▶ mappings ──simulate──▶ time of a step, memory
//! the shortest simulated step that fits in memory ──▶ Plan; the least of the bounds ──▶ its gap
//! in serving: splits for ever more tokens ──▶ the front of throughput, latency and tokens
//! ```
//!
//! All candidates have the same batch. Every split is checked by [`crate::verify::check`] and every mapping by
//! [`crate::verify::mapping::check`] before it counts. Where a partitioner is named it alone splits, as in the flow of Liu et
//! al. (2024, appendix B), and the bound is that of the work.
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
//! let best = plan.best().and_then(|best| best.time()).expect("a plan");
//! assert!(plan.lower_bound().is_some_and(|bound| bound <= best));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod breakdown;
mod candidate;
mod chunked;
mod error;
mod groups;
mod options;
mod partition;
mod places;
mod placing;
mod question;
mod resplit;
mod search;
mod serving;
mod splits;
mod workload;

pub use breakdown::Breakdown;
pub use candidate::{Candidate, Fate, MappedPipeline, Service};
pub use error::PlanError;
pub use options::{Joint, PlanOptions, Shape};
pub use partition::Partition;
pub use search::{BEST, Plan, plan};
