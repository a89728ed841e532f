//! The tables of clusterings and refinements.

use super::{Clustering, Refinement, StepKind};

pub(super) const CLUSTERINGS: &[StepKind<dyn Clustering>] = &[];

pub(super) const REFINEMENTS: &[StepKind<dyn Refinement>] = &[];
