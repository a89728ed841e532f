//! Megatron-LM's pipeline layout.

use super::{Launch, Layers, Pipeline};
use crate::instance::Problems;
use crate::problem::{Optimizer, Placement, Precision};

/// Arguments of a training script. In the layout `E` is the embedding, `t` a transformer layer, `L` the loss with the
/// head before it, and `|` separates stages. Of p devices with several chunks each the layout has all stages in pipeline order,
/// and stage j is on device j mod p: from their number Megatron knows the chunks, and refuses to be told them beside a layout.
/// The data degree is what is left of the devices.
///
/// Megatron computes the same number of layers of each stage again, its first ones: as many as the stage with the most.
///
/// # Errors
/// What it does not run so: another schedule than 1F1B, interleaved or not, chunks in a V, ZeRO beyond the optimizer's state, a batch that does not go round.
pub(super) fn text(layers: &Layers, pipeline: &Pipeline, launch: &Launch) -> Result<String, Problems> {
    check(pipeline, launch).into_result()?;
    let mut arguments = vec![
        format!("--pipeline-model-parallel-size {}", pipeline.depth()),
        format!("--pipeline-model-parallel-layout \"{}\"", layout(layers)),
    ];
    if let Some(degrees) = pipeline.degrees {
        arguments.insert(0, format!("--tensor-model-parallel-size {}", degrees.tensor));
    }
    if let Some((batch, microbatch)) = launch.batch {
        arguments.push(format!("--global-batch-size {batch} --micro-batch-size {microbatch}"));
    }
    if let Some(training) = launch.training {
        arguments.extend(match training.precision {
            Precision::Bf16 => Some("--bf16".to_owned()),
            Precision::Fp16 => Some("--fp16".to_owned()),
            Precision::Fp32 => None,
        });
        // Adam is what it takes by itself.
        let is_sgd = matches!(training.optimizer, Optimizer::Sgd | Optimizer::Momentum);
        arguments.extend(is_sgd.then(|| "--optimizer sgd".to_owned()));
    }
    if launch.zero > 0 {
        arguments.push("--use-distributed-optimizer".to_owned());
    }
    let recomputed = if launch.recompute { &layers.counts } else { &layers.recomputed };
    if let Some(most) = recomputed.iter().max().filter(|&&most| most > 0) {
        arguments.push(format!("--recompute-granularity full --recompute-method block --recompute-num-layers {most}"));
    }
    Ok(arguments.join(" ") + "\n")
}

/// What the framework does not run so.
fn check(pipeline: &Pipeline, launch: &Launch) -> Problems {
    let mut found = Problems::default();
    let runs = if pipeline.chunks.is_some() { "interleaved" } else { "1f1b" };
    if let Some(schedule) = launch.schedule.filter(|&name| name != runs) {
        found.add("the schedule", format!("it is {schedule}, and Megatron-LM runs 1F1B"), "plan with --schedule 1f1b");
    }
    if pipeline.chunks.is_some_and(|chunks| chunks.placement == Placement::VShape) {
        let cause = "its devices hold two chunks in a V, and Megatron-LM goes round the devices";
        found.add("the split", cause, "solve with --placement interleaved, or export to torchtitan");
    }
    if launch.zero > 1 {
        let cause = "its distributed optimizer shares out the optimizer's state alone (ZeRO 1)";
        found.add("ZeRO", cause, "plan or solve with --zero 1");
    }
    let data = pipeline.degrees.map_or(1, |degrees| degrees.data);
    if let Some((batch, microbatch)) = launch.batch.filter(|(batch, microbatch)| batch % (microbatch * data) != 0) {
        let cause = format!("{batch} samples in microbatches of {microbatch} do not go round {data} replicas");
        found.add("the batch", cause, "take a multiple");
    }
    found
}

fn layout(layers: &Layers) -> String {
    let last = layers.counts.len() - 1;
    let stage = |(s, &count): (usize, &usize)| {
        let layers = match count {
            0 => String::new(),
            1 => "t".to_owned(),
            _ => format!("t*{count}"),
        };
        let (first, end) = (if s == 0 { "E" } else { "" }, if s == last { "L" } else { "" });
        let comma = if count > 1 && !end.is_empty() { "," } else { "" };
        format!("{first}{layers}{comma}{end}")
    };
    layers.counts.iter().enumerate().map(stage).collect::<Vec<_>>().join("|")
}
