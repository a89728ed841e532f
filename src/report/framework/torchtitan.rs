//! torchtitan's module lists.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Layers, Pipeline, names};
use crate::instance::{Instance, Problems};

/// Two settings that name the modules of each stage: layers by their place in the list, everything else by the child of
/// the model that it lies in. They are assignments of Python (torchtitan 0.3 is configured in Python) and of TOML (as
/// it was before).
pub(super) fn text(instance: &Instance, pipeline: &Pipeline, layers: &Layers) -> Result<String, Problems> {
    let mut found = Problems::default();
    if layers.list.is_empty() || layers.list.contains('.') {
        let list = if layers.list.is_empty() { "the model itself".to_owned() } else { format!("`{}`", layers.list) };
        let cause = format!("it is {list}, and torchtitan splits a list that is a child of the model");
        found.add("the list of layers", cause, "export to pytorch-pipelining, which cuts anywhere");
    }
    let mut stage_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut stages: Vec<Vec<&str>> = vec![Vec::new(); pipeline.stages.len()];
    for (v, node) in instance.nodes.iter().enumerate().filter(|(_, node)| names::costs(node)) {
        let (Some(stage), Some(module)) = (pipeline.stage_of[v], names::module(node)) else { continue };
        let Some(part) = names::ancestors(module).find(|part| !holds(part, &layers.list)) else { continue };
        let first = *stage_of.entry(part).or_insert_with(|| {
            stages[stage].push(part);
            stage
        });
        if first != stage {
            let cause = format!("it lies on the stages {first} and {stage}");
            found.add(format!("module `{part}`"), cause, "export to pytorch-pipelining, which cuts modules");
        }
    }
    found.into_result()?;
    // A string of JSON is one of TOML, too.
    let list =
        |modules: &Vec<&str>| modules.iter().map(|module| json!(module).to_string()).collect::<Vec<_>>().join(", ");
    let lists = stages.iter().map(|modules| format!("    [{}],\n", list(modules))).collect::<String>();
    let degree = stages.len();
    Ok(format!("pipeline_parallel_degree = {degree}\nmodule_fqns_per_model_part = [\n{lists}]\n"))
}

/// Whether the list of layers is `module` or lies inside it.
fn holds(module: &str, list: &str) -> bool {
    names::is_within(list, module)
}
