//! Megatron-LM's pipeline layout.

use super::Layers;

/// Arguments of a training script: `E` is the embedding, `t` a transformer layer, `L` the loss with the head before it,
/// and `|` separates stages.
pub(super) fn text(layers: &Layers) -> String {
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
    let stages: Vec<String> = layers.counts.iter().enumerate().map(stage).collect();
    let count = stages.len();
    format!("--pipeline-model-parallel-size {count} --pipeline-model-parallel-layout \"{}\"\n", stages.join("|"))
}
