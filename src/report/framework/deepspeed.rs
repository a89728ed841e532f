//! DeepSpeed's `PipelineModule`.

use serde_json::json;

use super::{Layers, Pipeline};

/// `parts`, the boundaries of the stages in the list of layers that a `PipelineModule` is made of: stage s holds the
/// entries from `parts[s]` to before `parts[s + 1]`. What comes before the model's own layers is one entry of that list,
/// and so is what comes after them. Degrees are those of a `PipeModelDataParallelTopology`.
pub(super) fn text(layers: &Layers, pipeline: &Pipeline) -> String {
    let last = layers.counts.len() - 1;
    let mut parts = vec![0];
    for (stage, count) in layers.counts.iter().enumerate() {
        let ends = usize::from(stage == 0 && layers.before) + usize::from(stage == last && layers.after);
        parts.push(parts[stage] + count + ends);
    }
    let entry =
        |layer: usize| if layers.list.is_empty() { layer.to_string() } else { format!("{}.{layer}", layers.list) };
    let mut entries: Vec<String> = (0..layers.counts.iter().sum()).map(entry).collect();
    if layers.before {
        entries.insert(0, "before the layers".to_owned());
    }
    if layers.after {
        entries.push("after the layers".to_owned());
    }
    let mut file = json!({ "num_stages": layers.counts.len(), "parts": parts, "layers": entries });
    if let Some(degrees) = pipeline.degrees {
        (file["num_mp"], file["num_dp"]) = (json!(degrees.tensor), json!(degrees.data));
    }
    format!("{file:#}\n")
}
