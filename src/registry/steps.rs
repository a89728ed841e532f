//! The tables of clusterings and refinements.

use super::kinds::Make;
use super::shared::COUNT;
use super::{Parameter, Parameters, SpecError, StepKind, Values};
use crate::solve::heuristic::{Blocks, Branchings, IterativeRefinement, Layers, OperatorClustering};
use crate::solve::{Clustering, Refinement};

pub(super) const CLUSTERINGS: &[StepKind<dyn Clustering>] = &[CLUSTER, BLOCKS, BRANCHINGS, LAYERS];

const CLUSTER: StepKind<dyn Clustering> = StepKind {
    name: "cluster",
    summary: "joins the two adjacent operators of least cost until few are left",
    parameters: &[CLUSTERS, ALPHA],
    source: "Parmesan 2024, section IV-B",
    make: Make::Built(|given| Ok(Box::new(operator_clustering(given)?))),
};

const BLOCKS: StepKind<dyn Clustering> = StepKind {
    name: "blocks",
    summary: "groups operators into balanced blocks by coarsening, uncoarsening and compaction",
    parameters: &[BLOCK_COUNT],
    source: "RaNNC 2021, sections III-A and III-B",
    make: Make::Built(|given| Ok(Box::new(Blocks { k: given.get("k")? }))),
};

const BRANCHINGS: StepKind<dyn Clustering> = StepKind {
    name: "branchings",
    summary: "contracts each branching of a layer graph to one node",
    parameters: &[BROADCAST],
    source: "Tarnawski 2020, section 6: PipeDream",
    make: Make::Built(|given| Ok(Box::new(Branchings { broadcast: given.get("broadcast")? }))),
};

const LAYERS: StepKind<dyn Clustering> = StepKind {
    name: "layers",
    summary: "joins the operators of each layer that the workload states",
    parameters: &[],
    source: "Parmesan 2024, section VIII-A: PipeDream",
    make: Make::Built(|_| Ok(Box::new(Layers))),
};

/// The clusters of [`OperatorClustering`].
pub(super) const CLUSTERS: Parameter =
    Parameter { name: "k", default: "48", meaning: "clusters aimed at", values: Values::Whole(1, COUNT) };

/// The weights of [`OperatorClustering`].
pub(super) const ALPHA: Parameter = Parameter {
    name: "alpha",
    default: "0.01/1/100",
    meaning: "weights of communication, of which the best is taken",
    values: Values::Numbers(0.0, 1e15),
};

/// The parameter of [`IterativeRefinement`].
pub(super) const STEPS: Parameter = Parameter {
    name: "steps",
    default: "100",
    meaning: "the most moves of the refinement",
    values: Values::Whole(0, COUNT),
};

pub(super) fn operator_clustering(given: &Parameters) -> Result<OperatorClustering, SpecError> {
    Ok(OperatorClustering { clusters: given.get("k")?, alphas: given.list("alpha")? })
}

pub(super) fn iterative_refinement(given: &Parameters) -> Result<IterativeRefinement, SpecError> {
    Ok(IterativeRefinement { steps: given.get("steps")? })
}

/// The parameter of [`Blocks`].
pub(super) const BLOCK_COUNT: Parameter =
    Parameter { name: "k", default: "32", meaning: "blocks aimed at", values: Values::Whole(1, COUNT) };

/// The parameter of [`Branchings`].
pub(super) const BROADCAST: Parameter = Parameter {
    name: "broadcast",
    default: "4",
    meaning: "the most consumers of a node without compute time that count as branches",
    values: Values::Whole(0, COUNT),
};

pub(super) const REFINEMENTS: &[StepKind<dyn Refinement>] = &[StepKind {
    name: "refine",
    summary: "moves operators over the boundaries between stages, one at a time",
    parameters: &[STEPS],
    source: "Parmesan 2024, section IV-C",
    make: Make::Built(|given| Ok(Box::new(iterative_refinement(given)?))),
}];
