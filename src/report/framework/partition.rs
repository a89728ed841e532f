//! The uneven pipelines of vLLM and SGLang.

use super::Layers;

/// The variable that states how many layers each stage holds.
pub(super) fn text(variable: &str, layers: &Layers) -> String {
    let counts: Vec<String> = layers.counts.iter().map(usize::to_string).collect();
    format!("{variable}={}\n", counts.join(","))
}
