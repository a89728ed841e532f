//! Workloads and topologies made to order: seeded random DAGs, operator graphs of published networks, interconnects.
//!
//! A [`Recipe`] says everything about a workload, and [`generate`] makes the same [`Instance`] from it every time.
//! Random DAGs ([`RandomDag`]) serve tests and measurements of growth. Model graphs ([`Model`]) follow the published
//! architecture of a network operator by operator; a roofline of a named accelerator gives their costs, so they are
//! *modelled*, not measured, and their metadata says so. [`topology`] has the interconnects to map them onto.
//!
//! ```
//! use dagsplit::generate::{Recipe, Transformer, generate};
//!
//! let bert = generate(&Recipe::new(Transformer { layers: 2, ..Transformer::bert_base() }))?;
//! assert!(bert.nodes.len() > 60);
//! let command = bert.metadata.source.unwrap();
//! assert!(command.starts_with("dagsplit generate transformer --accelerator v100 --accelerators 6 "));
//! # Ok::<(), dagsplit::generate::GenerateError>(())
//! ```

mod checks;
mod command_line;
pub(crate) mod fx;
mod model;
mod model_file;
pub(crate) mod onnx;
mod random;
mod rounding;
pub mod topology;
mod training;

pub use fx::read_fx_graph;
pub use model::{
    Accelerator, Architecture, Cpu, Granularity, Hardware, Head, Inception, LanguageModel, Link, Llm, Model, Nasnet,
    Operator, OperatorGraph, OperatorKind, OtherAccelerators, Precision, Resnet, SemanticFpn, Style, Swin, Transformer,
};
pub use model_file::ModelFileOptions;
pub use onnx::read_onnx;
pub use random::{Chain, Costs, Dnn, ErdosRenyi, Layered, RandomDag, RandomFamily, SeriesParallel};

use serde::Serialize;

use crate::instance::{Instance, Metadata, Platform, Problems, Provenance};
use checks::Checks;

/// The most nodes a recipe may ask for.
pub const MAX_NODES: usize = 4_000_000;

/// The most edges a recipe may be expected to give.
pub const MAX_EDGES: usize = 40_000_000;

/// The recipe makes no sense; every option concerned, with the cause and the cure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot generate this: {0}")]
pub struct GenerateError(pub Problems);

/// What is to be generated: the graph and its costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Workload {
    /// A random DAG with random costs.
    Random(RandomDag),
    /// The operators of a published network with modelled costs.
    Model(Model),
}

/// Everything that determines a generated workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recipe {
    /// The graph and its costs.
    #[serde(flatten)]
    pub workload: Workload,
    /// Adds the backward pass: a backward node for each forward node that computes gradients, in one colour class with it.
    pub training: bool,
    /// How many accelerators the platform has.
    pub accelerators: usize,
    /// How many CPUs the platform has.
    pub cpus: usize,
    /// Memory of each accelerator in bytes; `None` is that of the model's accelerator, or no limit for a random DAG.
    pub memory: Option<f64>,
}

impl Recipe {
    /// The inference graph of `workload` for six accelerators and one CPU, as in the throughput experiments of
    /// Tarnawski et al. (2020).
    pub fn new(workload: impl Into<Workload>) -> Self {
        Self { workload: workload.into(), training: false, accelerators: 6, cpus: 1, memory: None }
    }

    /// The command line that generates this workload, without its output file. It names every option, so that it
    /// keeps its meaning when a default changes: option `--x-y` is field `x_y` of the recipe or one of its parts, and
    /// values are spelled as serde spells them.
    pub fn command_line(&self) -> String {
        command_line::command_line("dagsplit generate", self)
    }

    fn check(&self) -> Result<(), GenerateError> {
        let mut checks = Checks::default();
        match &self.workload {
            Workload::Random(random) => random.check(self.training, &mut checks),
            Workload::Model(model) => model.check(self.training, &mut checks),
        }
        checks.within("accelerators", self.accelerators as u64, 0, MAX_NODES as u64);
        checks.within("cpus", self.cpus as u64, 0, MAX_NODES as u64);
        if self.platform().accelerators.iter().all(|class| class.count == 0) && self.cpus == 0 {
            checks.problem("accelerators", "there is no device", "ask for an accelerator or a CPU");
        }
        if let Some(memory) = self.memory {
            checks.positive("memory", memory);
        }
        checks.into_result()
    }

    fn platform(&self) -> Platform {
        match &self.workload {
            Workload::Random(_) => Platform::uniform(self.accelerators, self.memory, self.cpus),
            Workload::Model(model) => model.hardware.platform(self.accelerators, self.memory, self.cpus),
        }
    }

    fn metadata(&self) -> Metadata {
        let pass = if self.training { "training" } else { "inference" };
        let source = Some(self.command_line());
        match &self.workload {
            Workload::Random(RandomDag { family, seed, .. }) => {
                Metadata { name: Some(format!("{family}-seed{seed}-{pass}")), source, ..Metadata::default() }
            }
            Workload::Model(Model { architecture, hardware }) => Metadata {
                name: Some(format!("{}-{pass}", architecture.name())),
                model: Some(format!("{}, {}, {pass}", architecture.describe(), hardware.precision)),
                device: Some(hardware.describe()),
                source,
                provenance: Some(Provenance::Modelled),
                ..Metadata::default()
            },
        }
    }
}

/// Makes the workload of a recipe. Equal recipes give equal instances. Edges point from lower to higher forward ids;
/// a training graph's backward nodes follow its forward ones. O(nodes + edges), and sorting of edges.
///
/// # Errors
/// [`GenerateError`] names every option that makes no sense, such as no layers, a hidden width that the heads do not
/// divide, or a graph of more than [`MAX_NODES`] nodes.
pub fn generate(recipe: &Recipe) -> Result<Instance, GenerateError> {
    recipe.check()?;
    let mut instance = match &recipe.workload {
        Workload::Random(random) => random.build(recipe.training),
        Workload::Model(model) => model.build(recipe.training),
    };
    instance.metadata = recipe.metadata();
    instance.platform = recipe.platform();
    Ok(instance)
}
