//! Partitioning as in Parmesan (Liu et al., "Parmesan: Efficient Partitioning and Mapping Flow for DNN Training on
//! General Device Topology", 2024): operator clustering, a dynamic program on the clusters, iterative refinement.
//!
//! # What the parts are here
//! - *Clustering* (section IV-B) is [`OperatorClustering`], `cluster` in a chain.
//! - *The dynamic program* (section IV-A, equation 2) runs over fronted subgraphs, which are the ideals of the
//!   clusters' graph, and shares devices out over stages as replicas. The [ideal DP](crate::solve::dp) solves just
//!   that, exactly, so that `cluster+dp` is the published program under this crate's costs. Equation 13 gives every
//!   stage the same number of replicas, which the paper calls a sub-problem of equation 2: the optimum here is at least
//!   as good. A stage's time (equation 3) charges each edge that leaves it; here a producer is paid once per device and
//!   direction, weights are synchronised, and stages and replicas may be fewer than there are devices
//!   (appendix B searches their numbers by simulation).
//! - *Refinement* (section IV-C) is [`IterativeRefinement`], `refine` in a chain.
//! - *Peak memory* with recomputation (equation 14) is [`MemoryModel::Recomputation`](crate::problem::MemoryModel), which
//!   all three parts keep to: clusters, stages and moves that need too much do not come about.

mod clustering;
mod moves;
mod reconvergence;
mod refinement;

pub use clustering::OperatorClustering;
pub use refinement::IterativeRefinement;
