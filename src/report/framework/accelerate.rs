//! accelerate's device map.

use serde_json::{Value, json};

use super::modules;
use super::pipeline::{Pipeline, Stage};
use crate::instance::{Instance, Problems};
use crate::problem::DeviceKind;

/// The argument `device_map` of `dispatch_model` and `from_pretrained`: the device of each module, accelerators by number
/// in the order of the stages.
pub(super) fn text(instance: &Instance, pipeline: &Pipeline, list: &str) -> Result<String, Problems> {
    let modules = modules::by_stage(instance, pipeline, list)?;
    let mut accelerators = 0..;
    let mut device = |stage: &Stage| match stage.kind {
        DeviceKind::Accelerator(_) => json!(accelerators.next()),
        DeviceKind::Cpu => json!("cpu"),
    };
    let devices: Vec<Value> = pipeline.stages.iter().map(&mut device).collect();
    let of_stage = |(modules, device): (&Vec<&str>, &Value)| {
        modules.iter().map(|module| format!("  {}: {device}", json!(module))).collect::<Vec<_>>()
    };
    let entries: Vec<String> = modules.iter().zip(&devices).flat_map(of_stage).collect();
    Ok(format!("{{\n{}\n}}\n", entries.join(",\n")))
}
