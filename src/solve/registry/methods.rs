//! The table of methods.

use super::{Method, Parameter};
use crate::solve::brute_force::BruteForce;
use crate::solve::certify::{Annealing, Certify};
use crate::solve::dp::{IdealDp, LinearizedDp};
use crate::solve::heuristic::chen2024::{Hierarchical, KernighanLin};
use crate::solve::heuristic::{Greedy, LocalSearch, SliceGraph};
#[cfg(feature = "highs")]
use crate::solve::ip::IntegerProgram;
use crate::solve::latency::LatencyDp;
use crate::solve::sharding::ShardingBb;

/// Every method, in the order in which [`automatic`] prefers them.
pub(super) const METHODS: &[Method] = &[
    Method {
        name: "dp",
        summary: "dynamic program over ideals, guided by a relaxation of stage boundaries",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe"],
        exact: true,
        anytime: true,
        limits: "proofs need a narrow graph (4 million frontier states, 30,000 units); all costs, replication, servers",
        source: "Tarnawski 2020, section 5.1.1",
        parameters: &[],
        make: |_| Ok(Box::new(IdealDp::default())),
    },
    Method {
        name: "certify",
        summary: "branch and price: column generation over the sets that a device can hold, priced by tree decomposition",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput"],
        exact: true,
        anytime: true,
        limits: "proofs need a graph of small treewidth; all costs, memory, classes; no replication, no servers",
        source: "set partitioning, docs/certify.md",
        parameters: &[],
        make: |_| Ok(Box::new(Certify)),
    },
    Method {
        name: "latency-dp",
        summary: "dynamic program over ideals with labels of ready times",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: true,
        anytime: true,
        limits: "one subgraph per accelerator, 4 accelerator classes; proofs need a narrow graph (400,000 ideals)",
        source: "docs/latency.md; problem of Tarnawski 2020, section 4",
        parameters: &[],
        make: |_| Ok(Box::new(LatencyDp::default())),
    },
    Method {
        name: "dpl",
        summary: "linearized DP: the best intervals of several topological orders",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: true,
        limits: "tens of thousands of nodes; all costs, replication, servers",
        source: "Tarnawski 2020, section 5.1.2",
        parameters: &[],
        make: |_| Ok(Box::new(LinearizedDp::default())),
    },
    #[cfg(feature = "highs")]
    Method {
        name: "ip:strong",
        summary: "integer program with numbered devices, merged producers, bounds and a start; HiGHS",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on some hundred nodes; all costs, several CPUs and classes, every scope of the latency",
        source: "Tarnawski 2020, sections 4 and 5.1.3",
        parameters: &[],
        make: |_| Ok(Box::new(IntegerProgram::strong())),
    },
    #[cfg(feature = "highs")]
    Method {
        name: "ip:published",
        summary: "integer program as published; HiGHS",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on a hundred nodes; all costs, several CPUs and classes, every scope of the latency",
        source: "Tarnawski 2020, sections 4 and 5.1.3",
        parameters: &[],
        make: |_| Ok(Box::new(IntegerProgram::published())),
    },
    Method {
        name: "annealing",
        summary: "multilevel simulated annealing on the communication hypergraph",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes (convex: 16,384); all costs, no replication, no servers",
        source: "multilevel hypergraph partitioning, here with loads as the objective",
        parameters: &[Parameter {
            name: "patience",
            default: "200",
            meaning: "rounds in a row without a better split after which it stops, at least 1",
        }],
        make: |given| Ok(Box::new(Annealing { patience: given.at_least("patience", 1)? })),
    },
    Method {
        name: "sharding-bb",
        summary: "branch and bound for the sharding cost: spreading bounds, dominance, symmetry",
        scopes: &["arbitrary"],
        objectives: &["sharding"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on some dozens of nodes of a narrow graph; memory, classes, servers; no replication",
        source: "ours; problem of Chen 2024, section 2.1",
        parameters: &[Parameter { name: "starts", default: "64", meaning: "descents before the search, at least 1" }],
        make: |given| Ok(Box::new(ShardingBb { starts: given.at_least("starts", 1)? })),
    },
    Method {
        name: "brute-force",
        summary: "looks at every split: the oracle that other methods are tested against",
        scopes: &["arbitrary", "convex", "acyclic", "linearized"],
        objectives: &["throughput", "gpipe", "latency", "sharding"],
        exact: true,
        anytime: true,
        limits: "12 colour groups; all costs, replication, servers",
        source: "exhaustive search",
        parameters: &[],
        make: |_| Ok(Box::new(BruteForce)),
    },
    Method {
        name: "local-search",
        summary: "simulated annealing over the subgraphs of colour classes, with restarts",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes; all costs",
        source: "ours; its kind is the baseline of Tarnawski 2020",
        parameters: &[
            Parameter { name: "restarts", default: "16", meaning: "random starts, at least 1" },
            Parameter { name: "steps", default: "200000", meaning: "moves tried from each start" },
        ],
        make: |given| {
            Ok(Box::new(LocalSearch { restarts: given.at_least("restarts", 1)?, steps: given.get("steps")? }))
        },
    },
    Method {
        name: "greedy",
        summary: "fills one accelerator after another along a depth-first topological order",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: false,
        anytime: true,
        limits: "any size; all costs",
        source: "Tarnawski 2020, appendix F",
        parameters: &[],
        make: |_| Ok(Box::new(Greedy)),
    },
    Method {
        name: "slicegraph",
        summary: "linearized DP under a biased random-key genetic search over topological orders",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes; all costs, replication, servers",
        source: "Archer et al. 2024",
        parameters: &[
            Parameter { name: "population", default: "64", meaning: "individuals of a generation, at least 2" },
            Parameter { name: "generations", default: "64", meaning: "generations after the first" },
            Parameter { name: "elite", default: "0.2", meaning: "the share that passes on unchanged, from 0 to 1" },
            Parameter { name: "mutants", default: "0.15", meaning: "the share drawn anew, from 0 to 1" },
            Parameter { name: "bias", default: "0.7", meaning: "the chance of a key from the elite parent, 0 to 1" },
        ],
        make: |given| {
            Ok(Box::new(SliceGraph {
                population: given.at_least("population", 2)?,
                generations: given.get("generations")?,
                elite: given.share("elite")?,
                mutants: given.share("mutants")?,
                bias: given.share("bias")?,
            }))
        },
    },
    Method {
        name: "kernighan-lin",
        summary: "downhill moves of single nodes from random placements, each priced in constant time",
        scopes: &["arbitrary"],
        objectives: &["sharding"],
        exact: false,
        anytime: true,
        limits: "50 million nodes times devices; memory, classes, servers; no replication",
        source: "Chen 2024, section 2.3",
        parameters: &[
            Parameter { name: "starts", default: "16", meaning: "random placements, at least 1" },
            Parameter { name: "sweeps", default: "1000", meaning: "the most sweeps over all pairs of devices" },
            Parameter { name: "passes", default: "0", meaning: "the most passes of Kernighan and Lin after them" },
        ],
        make: |given| {
            let (starts, sweeps) = (given.at_least("starts", 1)?, given.get("sweeps")?);
            Ok(Box::new(KernighanLin { starts, sweeps, passes: given.get("passes")? }))
        },
    },
    Method {
        name: "hierarchical",
        summary: "the same search down a hierarchy of devices",
        scopes: &["arbitrary"],
        objectives: &["sharding"],
        exact: false,
        anytime: true,
        limits: "50 million nodes times devices; memory, classes, servers; no replication",
        source: "Chen 2024, section 2.5",
        parameters: &[
            Parameter {
                name: "levels",
                default: "auto",
                meaning: "group counts from the top, as 4/4/6, that multiply to the number of devices; or auto",
            },
            Parameter { name: "starts", default: "16", meaning: "random placements in each split, at least 1" },
            Parameter { name: "sweeps", default: "1000", meaning: "the most sweeps over all pairs of groups" },
            Parameter { name: "passes", default: "0", meaning: "the most passes of Kernighan and Lin after them" },
        ],
        make: |given| {
            let (levels, starts) = (given.get("levels")?, given.at_least("starts", 1)?);
            let (sweeps, passes) = (given.get("sweeps")?, given.get("passes")?);
            Ok(Box::new(Hierarchical { levels, starts, sweeps, passes }))
        },
    },
];
