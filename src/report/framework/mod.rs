//! A split as the settings of a framework that runs pipelines.
//!
//! A [`Pipeline`] is a verified split whose devices follow one another. `torch.distributed.pipelining` runs any of them;
//! accelerate places modules, and the other frameworks cut between the layers of a list, so [`Layers`] asks that every
//! layer lies on one stage.
//! All go by the names of the nodes: `encoder.layer.3.output/linear_7` is an operator of the module before the slash,
//! and a name without a slash is a module. `dagsplit-profile` writes them so.

mod accelerate;
mod deepspeed;
mod layers;
mod llama_cpp;
mod megatron;
mod modules;
mod names;
mod partition;
mod pipeline;
mod pytorch;
mod ranks;
mod torchtitan;

pub use layers::Layers;
pub use pipeline::{Degrees, Pipeline, Stage};
pub use pytorch::STAGES_SCHEMA;
pub use ranks::ranks;

use crate::instance::{Instance, Problems};
use crate::problem::{Placement, Training};
use crate::verify::Verified;
use clap::ValueEnum;

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
    /// SGLang: the variable `SGLANG_PP_LAYER_PARTITION`.
    Sglang,
    /// torchtitan: `module_fqns_per_model_part` of its configuration.
    Torchtitan,
    /// accelerate: the `device_map` of `dispatch_model`.
    Accelerate,
    /// llama.cpp: the arguments with `--tensor-split`, and with `--override-tensor` for what lies on CPUs.
    #[value(name = "llama.cpp")]
    LlamaCpp,
}

/// What settings state beside the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Launch<'a> {
    /// The module list that holds the layers, such as `model.layers`; `None` takes the list with the most entries.
    pub layers: Option<&'a str>,
    /// Samples of a step, and of a microbatch, where they are known.
    pub batch: Option<(usize, usize)>,
    /// Degrees that all stages share, where the split states none.
    pub degrees: Option<Degrees>,
    /// How the model is trained, where that is told.
    pub training: Option<Training>,
    /// The stage of ZeRO.
    pub zero: usize,
    /// The schedule by its name, where it is decided.
    pub schedule: Option<&'a str>,
    /// Whether all layers compute their activations once more, whatever their options.
    pub recompute: bool,
    /// Which stages a device holds, where it holds several.
    pub placement: Placement,
}

/// The settings of `framework` that make it run the split, as text. O(n + m) and sorting.
///
/// # Errors
/// Everything in the split that the framework cannot run.
pub fn export(
    framework: Framework,
    instance: &Instance,
    verified: &Verified,
    launch: &Launch,
) -> Result<String, Problems> {
    let mut pipeline = Pipeline::new(instance, verified, launch.placement)?;
    if pipeline.chunks.is_some() {
        refuse_chunks(framework)?;
    }
    pipeline.degrees = pipeline.degrees.or(launch.degrees);
    let list = || layers::list(instance, launch.layers);
    let layers = || Layers::new(instance, &pipeline, &list()?, framework == Framework::LlamaCpp);
    match framework {
        Framework::PytorchPipelining => Ok(pytorch::text(instance, verified, &pipeline)),
        Framework::Deepspeed => Ok(deepspeed::text(&layers()?, &pipeline)),
        Framework::Megatron => megatron::text(&layers()?, &pipeline, launch),
        Framework::Vllm => Ok(partition::text("VLLM_PP_LAYER_PARTITION", &layers()?)),
        Framework::Sglang => Ok(partition::text("SGLANG_PP_LAYER_PARTITION", &layers()?)),
        Framework::Torchtitan => torchtitan::text(instance, &pipeline, &layers()?, launch),
        Framework::Accelerate => accelerate::text(instance, &pipeline, &list()?),
        Framework::LlamaCpp => Ok(llama_cpp::text(&layers()?)),
    }
}

/// Frameworks that put one stage on each device, or have no setting for more.
fn refuse_chunks(framework: Framework) -> Result<(), Problems> {
    let mut found = Problems::default();
    if !matches!(framework, Framework::Megatron | Framework::Torchtitan) {
        let name = framework.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let cause = format!("its devices hold several chunks, and `{name}` puts one stage on each");
        found.add("the split", cause, "solve without --chunks, or export to megatron or torchtitan");
    }
    found.into_result()
}
