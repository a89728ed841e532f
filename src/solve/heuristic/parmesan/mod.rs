//! Partitioning as in Parmesan (Liu et al., "Parmesan: Efficient Partitioning and Mapping Flow for DNN Training on
//! General Device Topology", 2024): operator clustering, a dynamic program on the clusters, iterative refinement.
//!
//! # What the parts are here
//! - *Clustering* (section IV-B) is [`OperatorClustering`], `cluster` in a chain.
//! - *The dynamic program* (section IV-A, equation 2) runs over fronted subgraphs, which are the ideals of the
//!   clusters' graph, and shares devices out over stages as replicas. The [ideal DP](crate::solve::dp) solves just
//!   that, exactly, so that `cluster+dp` is the published program under this crate's costs. Equation 13 gives every
//!   stage the same number of replicas, which the paper calls a sub-problem of equation 2: the optimum here is at least
//!   as good. A stage's time (equation 3) charges each edge that leaves it and divides memory by the replicas; here a
//!   producer is paid once per device and direction, weights are synchronised, each replica holds the whole stage, and
//!   stages and replicas may be fewer than there are devices (appendix B searches their numbers by simulation).
//! - *Refinement* (section IV-C) is [`IterativeRefinement`], `refine` in a chain.
//!
//! Peak memory with recomputation (equation 14) is no part of it. It needs an operator's peaks in both passes and the
//! bytes of each edge, and counts what crosses a stage's boundary, whereas an instance states one figure per node,
//! which the verifier adds up. An instance whose `memory` holds max(m_fwd, m_bwd) / MB has equation 14 up to the
//! boundary.

mod clustering;
mod moves;
mod reconvergence;
mod refinement;

pub use clustering::OperatorClustering;
pub use refinement::IterativeRefinement;
