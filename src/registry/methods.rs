//! The table of methods.

use super::kinds::Make;
use super::named::Named;
use super::shared::{COUNT, IMBALANCE, PASSES, PROGRAM, PUBLISHED, STARTS, SWEEPS, THINGS};
use super::steps::{ALPHA, BLOCK_COUNT, BROADCAST, CLUSTERS, STEPS, iterative_refinement, operator_clustering};
use super::{Method, Parameter, Parameters, SpecError, Values};
use crate::solve::Solver;
use crate::solve::brute_force::BruteForce;
use crate::solve::certify::{Annealing, Certify};
use crate::solve::chain::Chain;
use crate::solve::chunks::ChunkSearch;
use crate::solve::degrees::DegreeDp;
use crate::solve::dp::{IdealDp, PlainDp};
use crate::solve::heuristic::chen2024::{Hierarchical, KernighanLin};
use crate::solve::heuristic::external::{ExternalPartitioner, Partitioner};
use crate::solve::heuristic::{
    Branchings, Expert, Greedy, LocalSearch, MaxLoad, PipeDream, Rannc, SingleDevice, SliceGraph, Uniform,
};
#[cfg(feature = "highs")]
use crate::solve::ip::IntegerProgram;
use crate::solve::latency::LatencyDp;
use crate::solve::linearized::LinearizedDp;
use crate::solve::portfolio::Portfolio;
use crate::solve::positions::PositionDp;
use crate::solve::program::Program;
use crate::solve::sharding::ShardingBb;

/// Every method, in the order in which [`automatic`](super::automatic) prefers them.
pub(super) const METHODS: &[Method] = &[
    Method {
        name: "portfolio",
        summary: "dp, dp:plain, dp:positions and certify by turns, which share their splits and bounds",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "step"],
        exact: true,
        anytime: true,
        limits: "those of its methods together: proofs need few ideals, a narrow graph or small treewidth",
        source: "ours",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(Portfolio::default()))),
    },
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
        make: Make::Built(|_| Ok(Box::new(IdealDp::default()))),
    },
    Method {
        name: "dp:plain",
        summary: "dynamic program over all pairs of ideals whose stage is within a target",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: true,
        anytime: true,
        limits: "a million ideals; all costs, memory, replication; servers for the throughput alone",
        source: "Tarnawski 2020, section 5.1.1",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(PlainDp::default()))),
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
        make: Make::Built(|_| Ok(Box::new(Certify))),
    },
    Method {
        name: "degrees",
        summary: "dynamic program over ideals for tensor and data degrees of stages and options of nodes (--microbatches)",
        scopes: &["acyclic"],
        objectives: &["throughput", "step"],
        exact: true,
        anytime: true,
        limits: "accelerators of up to four classes, no CPU; proofs need a narrow graph (200,000 ideals)",
        source: "docs/pipelines.md; problem of Piper 2021, section 3",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(DegreeDp::default()))),
    },
    Method {
        name: "chunks",
        summary: "depth-first branch and bound over ideals for several stages on each device (--chunks)",
        scopes: &["acyclic"],
        objectives: &["step"],
        exact: true,
        anytime: true,
        limits: "accelerators of one class, no CPU; proofs need layers (1,000 ideals), and many of them few kinds of layers",
        source: "docs/pipelines.md; placements of Narayanan 2021 and Qi 2024",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(ChunkSearch::default()))),
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
        make: Make::Built(|_| Ok(Box::new(LatencyDp::default()))),
    },
    Method {
        name: "dpl",
        summary: "linearized DP: the best intervals of several topological orders",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "tens of thousands of nodes; all costs, replication, servers, degrees of stages",
        source: "Tarnawski 2020, section 5.1.2",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(LinearizedDp::default()))),
    },
    Method {
        name: "dp:positions",
        summary: "dynamic program over positions, which tells ideals apart by how much work is in them and by marked units",
        scopes: &["acyclic"],
        objectives: &["throughput", "step"],
        exact: false,
        anytime: true,
        limits: "a bound needs a narrow graph (a million steps between states) and knows no memory; no replication, no servers",
        source: "state-space relaxation, Christofides 1981; decremental, Righini and Salani 2008",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(PositionDp))),
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
        make: Make::Built(|_| Ok(Box::new(IntegerProgram::strong()))),
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
        make: Make::Built(|_| Ok(Box::new(IntegerProgram::published()))),
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
            meaning: "rounds in a row without a better split after which it stops",
            values: Values::Whole(1, COUNT),
        }],
        make: Make::Built(|given| Ok(Box::new(Annealing { patience: given.get("patience")? }))),
    },
    Method {
        name: "sharding-bb",
        summary: "branch and bound for the sharding cost: spreading bounds, dominance, symmetry",
        scopes: &["arbitrary"],
        objectives: &["sharding"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on some dozens of nodes of a narrow graph, no search above 2,000 classes; memory, classes, servers; no replication",
        source: "ours; problem of Chen 2024, section 2.1",
        parameters: &[Parameter {
            name: "starts",
            default: "64",
            meaning: "descents before the search",
            values: Values::Whole(1, THINGS),
        }],
        make: Make::Built(|given| Ok(Box::new(ShardingBb { starts: given.get("starts")? }))),
    },
    Method {
        name: "brute-force",
        summary: "looks at every split: the oracle that other methods are tested against",
        scopes: &["arbitrary", "convex", "acyclic", "linearized"],
        objectives: &["throughput", "gpipe", "step", "latency", "sharding"],
        exact: true,
        anytime: true,
        limits: "12 colour groups; all costs, replication, servers, degrees of stages",
        source: "exhaustive search",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(BruteForce))),
    },
    Method {
        name: "local-search",
        summary: "the best reassignment of a colour class, over and over, from random splits; annealing for the latency",
        scopes: &["arbitrary"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes; all costs, memory, classes; no servers, stages are not replicated",
        source: "Tarnawski 2020, section 6; the annealing is ours",
        parameters: &[
            Parameter { name: "restarts", default: "10", meaning: "random starts", values: Values::Whole(1, THINGS) },
            Parameter {
                name: "steps",
                default: "320000",
                meaning: "moves tried from each start, for the latency",
                values: Values::Whole(0, COUNT),
            },
            Parameter {
                name: "cpus",
                default: "false",
                meaning: "whether classes may go to CPUs though memory suffices, for loads",
                values: Values::Switch,
            },
        ],
        make: Make::Built(|given| {
            let (restarts, steps) = (given.get("restarts")?, given.get("steps")?);
            Ok(Box::new(LocalSearch { restarts, steps, cpus: given.get("cpus")? }))
        }),
    },
    Method {
        name: "greedy",
        summary: "fills one device after another along a depth-first topological order",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step", "latency"],
        exact: false,
        anytime: true,
        limits: "any size; all costs, memory, classes; no servers, stages are not replicated",
        source: "Tarnawski 2020, appendix F; for loads below the least limit that bisection finds",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(Greedy))),
    },
    Method {
        name: "max-load",
        summary: "the split of least largest load, by the ideal DP, each device's nodes run as one subgraph",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: false,
        anytime: true,
        limits: "as dp; inference graphs",
        source: "Tarnawski 2020, appendix F",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(MaxLoad))),
    },
    Method {
        name: "pipedream",
        summary: "PipeDream's optimizer: contracts branchings to a path, which it splits optimally",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "layer graphs: operator graphs become a few nodes; all costs, replication, servers",
        source: "Narayanan 2019, section 3.1; Tarnawski 2020, section 6",
        parameters: &[
            BROADCAST,
            Parameter {
                name: "orders",
                default: "16",
                meaning: "orders to try where no path is left",
                values: Values::Whole(1, COUNT),
            },
        ],
        make: Make::Built(|given| {
            let branchings = Branchings { broadcast: given.get("broadcast")? };
            Ok(Box::new(PipeDream { branchings, orders: given.get("orders")? }))
        }),
    },
    Method {
        name: "uniform",
        summary: "as many layers and replicas in each stage as in any other, the best number of stages",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "any size; all costs, replication; accelerators of one class; no servers",
        source: "GPipe-Hybrid and PipeDream-2BW as in RaNNC 2021, section IV",
        parameters: &[
            Parameter {
                name: "batch",
                default: "0",
                meaning: "samples of a batch after which the pipeline drains; 0: never",
                values: Values::Whole(0, COUNT),
            },
            Parameter { name: "stages", default: "1", meaning: "the fewest stages", values: Values::Whole(1, COUNT) },
        ],
        make: Make::Built(|given| Ok(Box::new(Uniform { batch: given.get("batch")?, stages: given.get("stages")? }))),
    },
    Method {
        name: "single-device",
        summary: "everything on one accelerator, or on a CPU where it does not fit",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "any size; all costs; no servers",
        source: "what a split has to beat",
        parameters: &[],
        make: Make::Built(|_| Ok(Box::new(SingleDevice))),
    },
    Method {
        name: "expert",
        summary: "the split of a file; backward nodes join their colour class",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step", "latency"],
        exact: false,
        anytime: true,
        limits: "any size; all costs; no replicas, no servers",
        source: "hand-made splits as in Tarnawski 2020, section 6",
        parameters: &[Parameter {
            name: "file",
            default: "",
            meaning: "the split file, which has to be given",
            values: Values::Text,
        }],
        make: Make::Built(|given| Ok(Box::new(Expert { file: given.path("file") }))),
    },
    Method {
        name: "scotch",
        summary: "Scotch's gpart, where it is installed, on the undirected graph of colour classes",
        scopes: &["arbitrary"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: false,
        limits: "accelerators of one class; knows no memory; no servers, stages are not replicated",
        source: "Tarnawski 2020, section 6; Pellegrini and Roman 1996",
        parameters: &[PROGRAM, Parameter { default: "0.05", ..IMBALANCE }],
        make: Make::Built(|given| external(Partitioner::Scotch, given)),
    },
    Method {
        name: "metis",
        summary: "METIS' gpmetis, where it is installed, on the undirected graph of colour classes",
        scopes: &["arbitrary"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: false,
        limits: "accelerators of one class; knows no memory; no servers, stages are not replicated",
        source: "Karypis and Kumar 1998",
        parameters: &[PROGRAM, IMBALANCE],
        make: Make::Built(|given| external(Partitioner::Metis, given)),
    },
    Method {
        name: "kahip",
        summary: "KaHIP's kaffpa, where it is installed, on the undirected graph of colour classes",
        scopes: &["arbitrary"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: false,
        limits: "accelerators of one class; knows no memory; no servers, stages are not replicated",
        source: "Sanders and Schulz 2011",
        parameters: &[PROGRAM, IMBALANCE],
        make: Make::Built(|given| external(Partitioner::Kahip, given)),
    },
    Method {
        name: "parmesan",
        summary: "operator clustering, the ideal DP on the clusters, iterative refinement: cluster+dp+refine",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "tens of thousands of nodes; all costs, replication, no servers",
        source: "Parmesan 2024, section IV",
        parameters: &[CLUSTERS, ALPHA, STEPS],
        make: Make::Built(|given| {
            let chain = Chain {
                clusterings: vec![Box::new(operator_clustering(given)?)],
                solver: Box::new(IdealDp::default()),
                refinements: vec![Box::new(iterative_refinement(given)?)],
            };
            Ok(Box::new(Named { spec: "parmesan".into(), solver: Box::new(chain) }))
        }),
    },
    Method {
        name: "rannc",
        summary: "balanced blocks of operators, and a dynamic program over stages, replicas and microbatches",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: false,
        limits: "tens of thousands of nodes; devices of one kind, all costs, replication, no servers",
        source: "RaNNC 2021, section III",
        parameters: &[
            BLOCK_COUNT,
            Parameter {
                name: "coarsen",
                default: "true",
                meaning: "whether to coarsen; else stages are made of atomic components",
                values: Values::Switch,
            },
            Parameter { name: "batch", default: "256", meaning: "samples of a batch", values: Values::Whole(1, COUNT) },
            Parameter {
                name: "node",
                default: "0",
                meaning: "devices of a compute node, 0 for all in one",
                values: Values::Whole(0, COUNT),
            },
        ],
        make: Make::Built(|given| {
            let (k, batch) = (given.get("k")?, given.get("batch")?);
            Ok(Box::new(Rannc { k, coarsen: given.get("coarsen")?, batch, node: given.get("node")? }))
        }),
    },
    Method {
        name: "slicegraph",
        summary: "linearized DP under a biased random-key genetic search over topological orders",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe", "step"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes; all costs, replication, servers",
        source: "Archer et al. 2024",
        parameters: &[
            Parameter {
                name: "population",
                default: "64",
                meaning: "individuals of a generation",
                values: Values::Whole(2, THINGS),
            },
            Parameter {
                name: "generations",
                default: "64",
                meaning: "generations after the first",
                values: Values::Whole(0, COUNT),
            },
            Parameter {
                name: "elite",
                default: "0.2",
                meaning: "the share that passes on unchanged",
                values: Values::Number(0.0, 1.0),
            },
            Parameter {
                name: "mutants",
                default: "0.15",
                meaning: "the share drawn anew",
                values: Values::Number(0.0, 1.0),
            },
            Parameter {
                name: "bias",
                default: "0.7",
                meaning: "the chance of a key from the elite parent",
                values: Values::Number(0.0, 1.0),
            },
        ],
        make: Make::Built(|given| {
            Ok(Box::new(SliceGraph {
                population: given.get("population")?,
                generations: given.get("generations")?,
                elite: given.get("elite")?,
                mutants: given.get("mutants")?,
                bias: given.get("bias")?,
            }))
        }),
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
        parameters: &[STARTS, SWEEPS, PASSES, PUBLISHED],
        make: Make::Built(|given| {
            let (starts, sweeps) = (given.get("starts")?, given.get("sweeps")?);
            let (passes, published) = (given.get("passes")?, given.get("published")?);
            Ok(Box::new(KernighanLin { starts, sweeps, passes, published }))
        }),
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
                values: Values::Text,
            },
            Parameter { meaning: "random placements in each split", ..STARTS },
            Parameter { meaning: "the most sweeps over all pairs of groups", ..SWEEPS },
            PASSES,
            PUBLISHED,
        ],
        make: Make::Built(|given| {
            let (levels, starts) = (given.get("levels")?, given.get("starts")?);
            let (sweeps, passes) = (given.get("sweeps")?, given.get("passes")?);
            Ok(Box::new(Hierarchical { levels, starts, sweeps, passes, published: given.get("published")? }))
        }),
    },
    Method {
        name: "exec",
        summary: "a program of your own, as in `exec:python3 split.py`: it reads the instance and prints a split",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["throughput", "gpipe", "step", "latency", "sharding"],
        exact: false,
        anytime: false,
        limits: "costs of profiled workloads; stands alone in a chain",
        source: "docs/your-partitioner.md",
        parameters: &[Parameter {
            name: "program",
            default: "",
            meaning: "the program with its arguments, quoted as in a shell; all that follows `exec:`",
            values: Values::Text,
        }],
        make: Make::Built(|given| Ok(Box::new(program(given)?))),
    },
];

/// The program of a command line; none where that is empty.
fn program(given: &Parameters) -> Result<Program, SpecError> {
    let line: String = given.get("program")?;
    Program::new(&line).ok_or_else(|| given.refused("program"))
}

fn external(partitioner: Partitioner, given: &Parameters) -> Result<Box<dyn Solver>, SpecError> {
    let (program, imbalance) = (given.path("program"), given.get("imbalance")?);
    Ok(Box::new(ExternalPartitioner { partitioner, program, imbalance }))
}
