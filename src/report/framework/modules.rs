//! The modules that each stage of a pipeline holds.

use std::collections::BTreeMap;

use super::{Pipeline, names};
use crate::instance::{Instance, Problems};

/// The modules of each stage, in the order of their nodes: layers of `list` by their place there, everything else by
/// the outermost module that the list does not lie in. O(n) and sorting.
///
/// # Errors
/// Every module that lies on several stages.
pub(super) fn by_stage<'a>(
    instance: &'a Instance,
    pipeline: &Pipeline,
    list: &str,
) -> Result<Vec<Vec<&'a str>>, Problems> {
    let mut found = Problems::default();
    let mut stage_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut stages: Vec<Vec<&str>> = vec![Vec::new(); pipeline.stages.len()];
    for (v, node) in instance.nodes.iter().enumerate().filter(|(_, node)| names::costs(node)) {
        let Some(stage) = pipeline.stage_of[v] else { continue };
        let Some(module) = names::part(node, list) else {
            if node.parameter_bytes > 0.0 {
                let cause = "its parameters are the model's own, in no module";
                found.add(format!("node {}", node.id), cause, "export to pytorch-pipelining");
            }
            continue;
        };
        let first = *stage_of.entry(module).or_insert_with(|| {
            stages[stage].push(module);
            stage
        });
        if first != stage {
            let cause = format!("it lies on the stages {first} and {stage}");
            let cure = format!("solve with --together {module}, or export to pytorch-pipelining, which cuts modules");
            found.add(format!("module `{module}`"), cause, cure);
        }
    }
    found.into_result()?;
    Ok(stages)
}
