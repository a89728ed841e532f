//! The rules by which frameworks split layers over a pipeline unless they are told otherwise, against the optimum.
//!
//! Nothing of this is published. `defaults.json` holds what the frameworks' own functions answered, as
//! `tools/defaults/record.py` asked them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Answer, Figure, Plan, Published, Quantity, Run, Study, Workload};
use crate::generate::{Accelerator, Hardware, LanguageModel, Llm, Model, Precision, Recipe};

pub(super) const STUDIES: &[Study] = &[Study {
    name: "defaults",
    title: "largest load in ms of the best split into stages, and that of each framework's default over it",
    source: "the frameworks' own functions",
    plan: defaults,
}];

/// What the frameworks answered, by name.
const ANSWERS: &str = include_str!("defaults.json");

/// What a framework answered.
#[derive(Deserialize)]
struct Answers {
    /// The version that was asked.
    version: String,
    /// What it answered, by row.
    splits: BTreeMap<String, Answer>,
}

/// The frameworks, with the function of each that was asked and what that looks at.
const FRAMEWORKS: [(&str, &str); 7] = [
    (
        "vLLM",
        "vLLM: get_pp_indices, which knows how many hidden layers there are; the middle stages take what is left over.",
    ),
    ("SGLang", "SGLang: get_pp_indices, which knows the same; the last stages take what is left over."),
    ("Megatron-Core", "Megatron-Core: get_num_layers_to_build, as many hidden layers for each stage."),
    (
        "torchtitan",
        "torchtitan: _generate_llm_fqn_per_model_part; hidden layers, and embedding and head for one layer each.",
    ),
    (
        "DeepSpeed",
        "DeepSpeed: partition_balanced by `parameters`, the default of PipelineModule; the parameters of all layers.",
    ),
    (
        "Accelerate",
        "Accelerate: get_balanced_memory and infer_auto_device_map, as for device_map=\"auto\"; bytes of all layers, and \
         memory.",
    ),
    ("PiPPy", "PiPPy: split_into_equal_size; the parameters of all layers."),
];

/// Language models for a forward pass of 8,192 tokens, and over how many devices they are split.
const GENERATED: [(&str, LanguageModel, [usize; 2]); 8] = [
    ("Llama 2 7B", LanguageModel::Llama2_7b, [4, 8]),
    ("Llama 3.2 1B", LanguageModel::Llama32_1b, [4, 8]),
    ("Llama 3 8B", LanguageModel::Llama3_8b, [4, 8]),
    ("Llama 3 70B", LanguageModel::Llama3_70b, [4, 8]),
    ("Llama 3 405B", LanguageModel::Llama3_405b, [16, 18]),
    ("Mixtral 8x7B", LanguageModel::Mixtral8x7b, [4, 8]),
    ("DeepSeek-V3", LanguageModel::DeepseekV3, [16, 20]),
    ("Jamba", LanguageModel::Jamba, [4, 8]),
];

/// Layers that were profiled, as above.
const PROFILED: [(&str, &str, &str, [usize; 2]); 2] = [
    (
        "BERT-24, profiled",
        "tarnawski2020/throughput/layer/bert24_inference.json",
        "https://github.com/msr-fiddle/dnn-partitioning",
        [4, 6],
    ),
    ("BERT-32, profiled", "piper2021/bert32a100.json", "https://github.com/msr-fiddle/piper", [4, 8]),
];

fn answers() -> BTreeMap<String, Answers> {
    serde_json::from_str(ANSWERS).expect("a test reads it")
}

fn defaults() -> Plan {
    let ratios = "Columns of frameworks are the largest load of their split over the least of all splits into successive \
                  stages: 1.25 is 25 % more time for each microbatch, once the pipeline is full.";
    let notes = [ratios].into_iter().chain(FRAMEWORKS.map(|(_, note)| note)).collect();
    let (mut plan, answers) = (Plan { notes, ..Plan::default() }, answers());
    for (row, workload, devices) in rows() {
        let options = format!("--scope acyclic --cpus 0 --accelerators {devices} --memory 141GB");
        let optimum = plan.run(Run::new(workload.clone(), "dp", &options));
        let figure = |column: &str, quantity| {
            let (row, column) = (row.clone(), column.to_owned());
            Figure { row, column, quantity, published: Published::Nothing, because: None }
        };
        plan.figures.push(figure("optimum", Quantity::Objective(optimum)));
        for (name, _) in FRAMEWORKS {
            let Answers { version, splits } = &answers[name];
            let run = Run { answer: Some(splits[&row].clone()), ..Run::new(workload.clone(), "expert", &options) };
            let quantity = Quantity::ObjectiveRatio(plan.run(run), optimum);
            plan.figures.push(figure(&format!("{name} {version}"), quantity));
        }
    }
    plan
}

/// The rows' names, with workloads and numbers of devices.
fn rows() -> impl Iterator<Item = (String, Workload, usize)> {
    let generated = GENERATED.into_iter().map(|(name, model, devices)| (name, of(model), devices));
    let profiled = PROFILED
        .into_iter()
        .map(|(name, path, origin, devices)| (name, Workload::Published { path: path.into(), origin }, devices));
    generated.chain(profiled).flat_map(|(name, workload, sizes)| {
        sizes.map(|devices| (format!("{name}, {devices} devices"), workload.clone(), devices))
    })
}

/// The layers of a language model on the H100, in half precision.
fn of(model: LanguageModel) -> Workload {
    let architecture = Llm { model, ..Llm::default() }.into();
    let hardware = Hardware { accelerator: Accelerator::H100, precision: Precision::Fp16, ..Hardware::default() };
    Workload::Generated(Box::new(Recipe { cpus: 0, ..Recipe::new(Model { architecture, hardware }) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_has_answered_for_every_row() {
        let rows: Vec<String> = rows().map(|(row, ..)| row).collect();
        let answers = answers();
        assert_eq!(answers.len(), FRAMEWORKS.len());
        for (name, _) in FRAMEWORKS {
            let splits = &answers[name].splits;
            assert!(rows.len() == splits.len() && rows.iter().all(|row| splits.contains_key(row)), "{name}");
        }
    }
}
