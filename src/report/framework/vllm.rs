//! vLLM's uneven pipelines.

use super::Layers;

/// The variable that states how many layers each stage holds.
pub(super) fn text(layers: &Layers) -> String {
    let counts: Vec<String> = layers.counts.iter().map(usize::to_string).collect();
    format!("VLLM_PP_LAYER_PARTITION={}\n", counts.join(","))
}
