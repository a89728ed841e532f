//! Parmesan (2024): operator clustering, dynamic program, refinement, and device mapping. Its workloads and machines are
//! not public, so the shape of its results is reproduced on graphs of our own that follow its Tables VII and VIII, by
//! simulation.

mod partitions;
mod pipelines;
mod scaling;
mod topologies;
mod workloads;

use super::Study;

pub(super) const STUDIES: &[Study] = &[
    pipelines::HIERARCHY,
    pipelines::DGX1,
    topologies::OVER_CONSECUTIVE,
    topologies::OVER_CONSECUTIVE_LARGE,
    partitions::REFINEMENT,
    partitions::CLUSTERS,
    pipelines::NONREGULAR,
    topologies::OVER_RULES,
    topologies::OVER_RULES_LARGE,
    topologies::RANDOM,
    scaling::SCALING,
];

const WORKLOADS: &str = "Workloads differ: operator graphs of the same networks with modelled costs of a V100 in place of \
                         profiles of a Titan V, on links of one bandwidth.";

const SIMULATED: &str = "Ours are simulated: GPipe with 4 microbatches and recomputation, blocking messages, one ring \
                         all-reduce per step; memory is no limit. Published ones are measured on machines, but for the \
                         non-regular topologies.";

const LAYERS: &str = "PipeDream is the best split of whole layers: on operator graphs it did not end, so the authors gave \
                      it layers, too.";

const STAGES: &str = "Our map minimises the time of the slowest stage. A step has bubbles besides, so that it can be a little \
                      slower than a rule's all the same.";

/// Why RaNNC is not as far behind PipeDream here, or ahead of it.
const BLOCKS: &str = "another workload and another cost model; RaNNC's stages are cut by the very costs that the step is simulated \
                      with, where the authors' RaNNC profiled: it loses less to whole layers than theirs did, or sends less";

/// Why a split by clusters is not ahead of one by layers here.
const COARSE: &str = "another workload and another cost model; the row to beat is an exact split of layers where the authors' is \
                      PipeDream's, and all splits are made for links of one bandwidth: where a step hangs on messages between \
                      nodes, that which happens to send less there is ahead";

/// Why mapping gains nothing here.
const FEW_WAYS: &str = "another workload and another cost model; pipelines of one or two copies have little to all-reduce or nothing, \
                        and consecutive mapping sends over the fewest slow links: what is left to a mapping is which cuts lie \
                        between nodes";

/// What "our map" is: exact mapping under each of the costs, the best by simulation.
const OURS: &str = "--mapper branch-and-bound --mapping-time 2";

/// What a heuristic mapping is; it does not look at costs.
fn by_rule(mapper: &str) -> String {
    format!("--mapper {mapper} --cost both")
}
