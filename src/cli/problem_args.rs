//! Options that say what is asked of a workload.

use std::sync::Arc;

use clap::ValueEnum;
use dagsplit_check::hash;

use super::any_split::with_common_loads;
use super::reading_args::Workload;
use super::stage_memory_args::StageMemoryArgs;
use super::together_args::TogetherArgs;
use super::values;
use super::{Exit, Failure, OrFail};
use crate::checked::checked;
use crate::cost::{CostModel, Costs};
use crate::instance::{Instance, Platform};
use crate::problem::{
    ChunkMemory, Chunks, CostKind, Degrees, Interconnect, MemoryModel, NodeWeight, Objective, Placement, Problem,
    ProblemSpec, Replication, Scope, Sharding, Solution,
};
use crate::registry::{self, CostModelEntry};
use crate::verify::{Verified, Violation};

/// Which splits count, and what is minimised.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Problem")]
pub struct ProblemArgs {
    /// Which splits count; for the latency it makes no difference. `solve` and `compare` take several, separated by
    /// commas.
    #[arg(long, value_enum, default_value = "acyclic", value_delimiter = ',')]
    scope: Vec<ScopeArg>,

    /// What is minimised.
    #[arg(long, value_enum, default_value = "throughput")]
    objective: ObjectiveArg,

    /// For the latency: the most subgraphs that one accelerator runs one after another. More than there are nodes are
    /// of no use and count as so many.
    #[arg(long, value_name = "Q", default_value = "1", value_parser = values::count::<usize>())]
    subgraphs: usize,

    /// For the sharding cost: what a node weighs.
    #[arg(long, value_enum, value_name = "WEIGHT", default_value = "parameters")]
    shard_weight: WeightArg,

    /// For the sharding cost: the cost of a squared byte that a device's weight is off the mean.
    #[arg(long, value_name = "F", value_parser = values::number(0.0..=values::MOST), default_value = "1")]
    variance_weight: f64,

    /// For the sharding cost: the cost of an edge between two devices.
    #[arg(long, value_name = "F", value_parser = values::number(0.0..=values::MOST), default_value = "1")]
    edge_cost: f64,

    /// How compute and communication of an accelerator combine to its load [default: as the file states, else additive].
    #[arg(long, value_enum)]
    cost: Option<CostArg>,

    /// What splits cost: a cost model by name.
    #[arg(long, value_name = "MODEL", default_value = PROFILED, value_parser = cost_model)]
    costs: CostModelEntry,

    /// Count memory as training with activation recomputation needs it: the peaks of operators and the outputs that cross
    /// a stage's boundary, over the MB microbatches of the batch that the file's sizes are for.
    #[arg(long, value_name = "MB", value_parser = values::count::<usize>())]
    recomputation: Option<usize>,

    /// Microbatches of a batch, and of a step of the objective `step`: choose a tensor degree and a data degree for each
    /// stage and an option for each node, of those that the file states; where it states none a node has one, as it
    /// stands.
    #[arg(long, value_name = "N", value_parser = values::count::<usize>())]
    microbatches: Option<usize>,

    /// Tensor degrees that a stage may have [default: those of the file's options].
    #[arg(long, value_name = "T,...", value_delimiter = ',', value_parser = values::count::<usize>(), requires = "microbatches")]
    tensor_degrees: Option<Vec<usize>>,

    /// Data degrees that a stage may have [default: all that divide the microbatches].
    #[arg(long, value_name = "D,...", value_delimiter = ',', value_parser = values::count::<usize>(), requires = "microbatches")]
    data_degrees: Option<Vec<usize>>,

    /// Options that nodes may run in, by name [default: all of the file].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "microbatches")]
    options: Option<Vec<String>>,

    /// Put so many stages of the pipeline on each device, its chunks, where the objective is `step`. Nodes run as they
    /// stand, or, where --tensor-degrees and --data-degrees name one each for all devices, in options.
    #[arg(long, value_name = "V", value_parser = values::count::<usize>())]
    chunks: Option<usize>,

    /// Which stages a device holds that has several chunks.
    #[arg(long, value_enum, default_value = "interleaved", requires = "chunks")]
    placement: PlacementArg,

    /// Let up to R accelerators of one class share a stage, each with its samples' part of the work.
    #[arg(long, value_name = "R", value_parser = values::count::<usize>())]
    replicas: Option<usize>,

    /// Bandwidth of the replicas' all-reduce, in bytes per time unit of the file [default: the file's link bandwidth].
    #[arg(long, value_name = "BYTES", value_parser = values::bandwidth, requires = "replicas")]
    sync_bandwidth: Option<f64>,

    /// Accelerators per server, where links between servers are slower; where degrees are chosen, the devices that
    /// share a replica's operators lie in one.
    #[arg(long, value_name = "G", value_parser = values::count::<usize>())]
    server_size: Option<usize>,

    /// How many times longer a transfer between servers takes than one inside a server.
    #[arg(long, value_name = "F", value_parser = values::number(1.0..=values::MOST), requires = "server_size")]
    between_factor: Option<f64>,

    #[command(flatten)]
    together: TogetherArgs,

    #[command(flatten)]
    stage_memory: StageMemoryArgs,
}

/// Costs that are there before anybody asks for them.
#[derive(Debug)]
struct Given(Costs);

impl CostModel for Given {
    fn costs(&self, _: &Instance, _: &ProblemSpec) -> Costs {
        self.0.clone()
    }
}

/// The model whose data the verifier puts together by itself.
const PROFILED: &str = "profiled";

fn cost_model(name: &str) -> Result<CostModelEntry, String> {
    let models = registry::current().cost_models();
    let known = || models.iter().map(|model| format!("`{}` ({})", model.name, model.summary)).collect::<Vec<_>>();
    let found = models.iter().find(|model| model.name == name).cloned();
    found.ok_or_else(|| format!("there is no such cost model; there are {}", known().join(", ")))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScopeArg {
    /// Any assignment of nodes to devices.
    Arbitrary,
    /// No path leaves a device's set and returns to it.
    Convex,
    /// The devices can be put in an order that every edge follows.
    Acyclic,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ObjectiveArg {
    /// The largest device load: the time per sample of a pipeline (1F1B in training).
    Throughput,
    /// The largest forward load plus the largest backward load.
    Gpipe,
    /// The time of a step of so many --microbatches, with the pipeline emptied after it: all loads, and the largest one
    /// for each microbatch but one.
    Step,
    /// The time until one sample has passed, without a pipeline.
    Latency,
    /// How unevenly weights lie on the devices, plus what the edges between devices cost.
    Sharding,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WeightArg {
    /// The bytes of its parameters.
    Parameters,
    /// The bytes it occupies on an accelerator.
    Memory,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CostArg {
    /// compute + in + out.
    Additive,
    /// max(compute, in + out).
    Overlap,
    /// max(compute, in, out).
    Duplex,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlacementArg {
    /// Device i of p holds the stages i, p + i, 2p + i and so on (interleaved 1F1B).
    Interleaved,
    /// Device i of p holds the stages i and 2p − 1 − i (ZB-V).
    VShape,
}

impl From<PlacementArg> for Placement {
    fn from(placement: PlacementArg) -> Self {
        match placement {
            PlacementArg::Interleaved => Placement::Interleaved,
            PlacementArg::VShape => Placement::VShape,
        }
    }
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Arbitrary => Scope::Arbitrary,
            ScopeArg::Convex => Scope::Convex,
            ScopeArg::Acyclic => Scope::Acyclic,
        }
    }
}

impl ProblemArgs {
    /// Whether nodes are to be kept on one device.
    pub fn keeps_together(&self) -> bool {
        self.together.is_asked()
    }

    /// What is asked of `workload`, in one scope.
    pub fn spec(&self, workload: &Workload) -> Result<ProblemSpec, Failure> {
        let mut specs = self.specs(workload)?;
        match specs.pop() {
            Some(spec) if specs.is_empty() => Ok(spec),
            _ => Err(Failure::message(Exit::Usage, "give one --scope; only `solve` and `compare` take several")),
        }
    }

    /// What is asked of `workload`, in each scope.
    pub fn specs(&self, workload: &Workload) -> Result<Vec<ProblemSpec>, Failure> {
        self.scope.iter().map(|&scope| self.in_scope(scope, workload)).collect()
    }

    fn in_scope(&self, scope: ScopeArg, workload: &Workload) -> Result<ProblemSpec, Failure> {
        Ok(ProblemSpec {
            platform: self.platform(workload),
            scope: scope.into(),
            objective: match self.objective {
                ObjectiveArg::Throughput => Objective::Throughput,
                ObjectiveArg::Gpipe => Objective::GPipe,
                ObjectiveArg::Step => Objective::Step { microbatches: self.microbatches_of_step()? },
                ObjectiveArg::Latency => Objective::Latency { subgraphs: self.subgraphs },
                ObjectiveArg::Sharding => Objective::Sharding(Sharding {
                    weight: match self.shard_weight {
                        WeightArg::Parameters => NodeWeight::Parameters,
                        WeightArg::Memory => NodeWeight::Memory,
                    },
                    variance: self.variance_weight,
                    edge: self.edge_cost,
                }),
            },
            cost: match self.cost {
                None | Some(CostArg::Additive) => CostKind::Additive,
                Some(CostArg::Overlap) => CostKind::Overlap,
                Some(CostArg::Duplex) => CostKind::Duplex,
            },
            replication: self.replication(workload)?,
            interconnect: self.interconnect(workload)?,
            memory: match self.recomputation {
                None => MemoryModel::Additive,
                Some(microbatches) => MemoryModel::Recomputation { microbatches },
            },
            degrees: self.degrees(workload)?,
            together: self.together.sets(&workload.instance)?,
            chunks: self.chunks_of_devices(workload)?,
        })
    }

    /// Links between servers are as fast as within where stages have degrees.
    fn interconnect(&self, workload: &Workload) -> Result<Option<Interconnect>, Failure> {
        let Some(server_size) = self.server_size else { return Ok(None) };
        let factor = self.between_factor.or(self.degrees(workload)?.map(|_| 1.0));
        let Some(between_factor) = factor else {
            let wrong = "--server-size: state by --between-factor how much longer transfers between servers take";
            return Err(Failure::message(Exit::Usage, wrong));
        };
        Ok(Some(Interconnect { server_size, between_factor }))
    }

    /// A step of a workload without options is one of stages without degrees, unless something is asked of these; so is one of
    /// devices with several chunks.
    fn degrees(&self, workload: &Workload) -> Result<Option<Degrees>, Failure> {
        let has_options = workload.instance.parallelism.is_some();
        let is_asked = self.chunks.is_none() || has_options && self.narrows().is_some();
        let Some(microbatches) = self.microbatches.filter(|_| is_asked) else { return Ok(None) };
        let degrees = Degrees {
            tensor: self.tensor_degrees.clone(),
            data: self.data_degrees.clone(),
            options: self.options.clone(),
            memory: match self.chunks {
                Some(_) => self.stage_memory.of_options(),
                None => self.stage_memory.of_stages()?,
            },
            ..Degrees::any(microbatches)
        };
        let is_step = matches!(self.objective, ObjectiveArg::Step);
        let asks = self.narrows().is_some() || self.stage_memory.is_given() || has_options;
        Ok((!is_step || asks).then_some(degrees))
    }

    /// An option that narrows the degrees and options of stages.
    fn narrows(&self) -> Option<&'static str> {
        let given = [
            (self.tensor_degrees.is_some(), "--tensor-degrees"),
            (self.data_degrees.is_some(), "--data-degrees"),
            (self.options.is_some(), "--options"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    fn chunks_of_devices(&self, workload: &Workload) -> Result<Option<Chunks>, Failure> {
        let Some(count) = self.chunks else { return Ok(None) };
        let placement = self.placement.into();
        if let Some(option) = self.narrows().filter(|_| workload.instance.parallelism.is_none()) {
            let wrong = format!(
                "{option}: devices with several chunks have no degrees where the file states no options; leave it or --chunks out"
            );
            return Err(Failure::message(Exit::Usage, wrong));
        }
        let memory = match self.narrows() {
            Some(_) => {
                let in_flight = self.stage_memory.in_flight_in_chunks(placement, count)?;
                Some(ChunkMemory { in_flight, training: None })
            }
            None => self.stage_memory.of_chunks(placement, count)?,
        };
        Ok(Some(Chunks { memory, ..Chunks::new(count, placement) }))
    }

    fn microbatches_of_step(&self) -> Result<usize, Failure> {
        let wrong = "--objective step needs --microbatches, the number of those of a step";
        self.microbatches.ok_or_else(|| Failure::message(Exit::Usage, wrong))
    }

    /// Takes `costs` for what splits cost.
    pub fn count(&mut self, costs: Costs) {
        let (name, summary) = ("given", "costs given as data");
        self.costs = CostModelEntry { name, summary, model: Arc::new(Given(costs)) };
    }

    /// The problem of a workload, by the costs that are asked for.
    pub fn problem(&self, workload: &Workload, spec: ProblemSpec) -> Result<Problem, Failure> {
        Problem::with_costs(&workload.instance, spec, self.costs.model.as_ref()).or_fail(Exit::Usage)
    }

    /// What the verifier says of a split, by the costs that are asked for.
    pub fn check(&self, workload: &Workload, spec: &ProblemSpec, split: &Solution) -> Result<Verified, Vec<Violation>> {
        checked(&workload.instance, spec, self.other_costs().map(AsRef::as_ref), split)
    }

    /// The cost model, where it is not that of profiled instances.
    pub fn other_costs(&self) -> Option<&Arc<dyn CostModel>> {
        Some(&self.costs.model).filter(|_| self.costs.name != PROFILED)
    }

    /// What tells the costs of a `problem` from others, where they are not those of profiled instances: the model's name and
    /// the hash of what it says. O(size of the costs).
    pub fn costs_key(&self, problem: &Problem) -> Option<String> {
        let key = || format!("{}:{}", self.costs.name, hash(format!("{:?}", problem.costs).as_bytes()));
        self.other_costs().map(|_| key())
    }

    /// The workload's devices, with the loads that the file states unless others are asked for.
    fn platform(&self, workload: &Workload) -> Platform {
        let platform = workload.platform.clone();
        if self.cost.is_some() { with_common_loads(platform) } else { platform }
    }

    fn replication(&self, workload: &Workload) -> Result<Option<Replication>, Failure> {
        let Some(max_replicas) = self.replicas else { return Ok(None) };
        let bandwidth = self.sync_bandwidth.or(workload.platform.bandwidth);
        match bandwidth {
            Some(bandwidth) => Ok(Some(Replication { max_replicas, bandwidth })),
            None => Err(Failure::message(
                Exit::Usage,
                "--replicas needs --sync-bandwidth, because the file states no link bandwidth",
            )),
        }
    }
}
