//! The tables of clusterings and refinements.

use super::{Clustering, Parameter, Refinement, StepKind};
use crate::solve::heuristic::Branchings;

pub(super) const CLUSTERINGS: &[StepKind<dyn Clustering>] = &[StepKind {
    name: "branchings",
    summary: "contracts each branching of a layer graph to one node",
    parameters: &[BROADCAST],
    source: "Tarnawski 2020, section 6: PipeDream",
    make: |given| Ok(Box::new(Branchings { broadcast: given.get("broadcast")? })),
}];

/// The parameter of [`Branchings`].
pub(super) const BROADCAST: Parameter = Parameter {
    name: "broadcast",
    default: "4",
    meaning: "the most consumers of a node without compute time that count as branches",
};

pub(super) const REFINEMENTS: &[StepKind<dyn Refinement>] = &[];
