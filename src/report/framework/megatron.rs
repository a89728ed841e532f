//! Megatron-LM's pipeline layout.

use super::{Launch, Layers, Pipeline};

/// Arguments of a training script. In the layout `E` is the embedding, `t` a transformer layer, `L` the loss with the
/// head before it, and `|` separates stages. The data degree is what is left of the devices.
///
/// Megatron computes the same number of layers of each stage again, its first ones: as many as the stage with the most.
pub(super) fn text(layers: &Layers, pipeline: &Pipeline, launch: &Launch) -> String {
    let mut arguments = vec![
        format!("--pipeline-model-parallel-size {}", layers.counts.len()),
        format!("--pipeline-model-parallel-layout \"{}\"", layout(layers)),
    ];
    if let Some(degrees) = pipeline.degrees {
        arguments.insert(0, format!("--tensor-model-parallel-size {}", degrees.tensor));
    }
    if let Some((batch, microbatch)) = launch.batch {
        arguments.push(format!("--global-batch-size {batch} --micro-batch-size {microbatch}"));
    }
    if launch.zero > 0 {
        arguments.push("--use-distributed-optimizer".to_owned());
    }
    let recomputed = if launch.recompute { &layers.counts } else { &layers.recomputed };
    if let Some(most) = recomputed.iter().max().filter(|&&most| most > 0) {
        arguments.push(format!("--recompute-granularity full --recompute-method block --recompute-num-layers {most}"));
    }
    arguments.join(" ") + "\n"
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
