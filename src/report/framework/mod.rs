//! A split as the settings of a framework that runs pipelines.
//!
//! A [`Pipeline`] is a verified split whose devices follow one another. `torch.distributed.pipelining` runs any of them;
//! the other frameworks cut between the layers of a list, so [`Layers`] asks that every layer lies on one stage.
//! Both go by the names of the nodes: `encoder.layer.3.output/linear_7` is an operator of the module before the slash,
//! and a name without a slash is a module. `dagsplit-profile` writes them so.

mod deepspeed;
mod layers;
mod megatron;
mod names;
mod pipeline;
mod pytorch;
mod torchtitan;
mod vllm;

pub use layers::Layers;
pub use pipeline::{Pipeline, Stage};
pub use pytorch::STAGES_SCHEMA;

use crate::instance::{Instance, Problems};
use crate::verify::Verified;

/// A framework that runs pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Framework {
    /// `torch.distributed.pipelining`: the nodes of every stage and, where there is one, the `split_spec`. Any pipeline.
    PytorchPipelining,
    /// DeepSpeed: the boundaries `parts` of a `PipelineModule`.
    Deepspeed,
    /// Megatron-LM: the arguments with `--pipeline-model-parallel-layout`.
    Megatron,
    /// vLLM: the variable `VLLM_PP_LAYER_PARTITION`.
    Vllm,
    /// torchtitan: `module_fqns_per_model_part` of its configuration.
    Torchtitan,
}

/// The settings of `framework` that make it run the split, as text. O(n + m) and sorting.
///
/// `layers` names the module list that holds the layers, such as `model.layers`; `None` takes the list with the most
/// entries.
///
/// # Errors
/// Everything in the split that the framework cannot run.
pub fn export(
    framework: Framework,
    instance: &Instance,
    verified: &Verified,
    layers: Option<&str>,
) -> Result<String, Problems> {
    let pipeline = Pipeline::new(instance, verified)?;
    let layers = || Layers::new(instance, &pipeline, layers);
    match framework {
        Framework::PytorchPipelining => Ok(pytorch::text(instance, verified, &pipeline)),
        Framework::Deepspeed => Ok(deepspeed::text(&layers()?)),
        Framework::Megatron => Ok(megatron::text(&layers()?)),
        Framework::Vllm => Ok(vllm::text(&layers()?)),
        Framework::Torchtitan => torchtitan::text(instance, &pipeline, &layers()?),
    }
}
