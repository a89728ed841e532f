//! torchtitan's module lists.

use serde_json::json;

use super::pipeline::{Degrees, Pipeline};
use super::{Launch, Layers, modules};
use crate::instance::{Instance, Problems};
use crate::problem::Placement;

/// Settings that name the modules of each stage, and the degrees of the stages; where devices hold several stages the schedule
/// as well, which says which of them. They are assignments of Python (torchtitan 0.3 is configured in Python) and of TOML (as
/// it was before).
pub(super) fn text(
    instance: &Instance,
    pipeline: &Pipeline,
    layers: &Layers,
    launch: &Launch,
) -> Result<String, Problems> {
    if layers.list.is_empty() || layers.list.contains('.') {
        let list = if layers.list.is_empty() { "the model itself".to_owned() } else { format!("`{}`", layers.list) };
        let cause = format!("it is {list}, and torchtitan splits a list that is a child of the model");
        let mut found = Problems::default();
        found.add("the list of layers", cause, "export to pytorch-pipelining, which cuts anywhere");
        found.into_result()?;
    }
    let stages = modules::by_stage(instance, pipeline, &layers.list)?;
    // A string of JSON is one of TOML, too.
    let list =
        |modules: &Vec<&str>| modules.iter().map(|module| json!(module).to_string()).collect::<Vec<_>>().join(", ");
    let lists = stages.iter().map(|modules| format!("    [{}],\n", list(modules))).collect::<String>();
    let degrees = pipeline.degrees.map_or_else(String::new, |degrees| degree_lines(degrees, launch.zero));
    let degree = pipeline.depth();
    let schedule = pipeline.chunks.map_or_else(String::new, |chunks| schedule_line(chunks.placement));
    Ok(format!("pipeline_parallel_degree = {degree}\n{schedule}{degrees}module_fqns_per_model_part = [\n{lists}]\n"))
}

/// The schedule that goes round the devices, or down and up again, with the stages.
fn schedule_line(placement: Placement) -> String {
    let name = match placement {
        Placement::Interleaved => "Interleaved1F1B",
        Placement::VShape => "ZBVZeroBubble",
    };
    format!("pipeline_parallel_schedule = {}\n", json!(name))
}

/// Replicas share out what they keep (FSDP) from ZeRO 1 on.
fn degree_lines(Degrees { tensor, data }: Degrees, zero: usize) -> String {
    let (replicate, shard) = if zero == 0 { (data, 1) } else { (1, data) };
    format!(
        "tensor_parallel_degree = {tensor}\ndata_parallel_replicate_degree = {replicate}\n\
         data_parallel_shard_degree = {shard}\n"
    )
}
