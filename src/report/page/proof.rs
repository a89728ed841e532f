//! What a proof says, in words.

use serde_json::Value;

use super::escaped;
use crate::instance::Instance;
use crate::proof::time;
use crate::units::number;

/// The claim of a proof and its reasons (`docs/proofs.md`), as HTML.
pub fn told(proof: &str, instance: &Instance) -> String {
    let mut lines = proof.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let statement = lines.next().unwrap_or_default();
    let classes = statement["accelerators"].as_array().map_or(0, Vec::len);
    let reasons = lines.map(|reason| {
        let (name, words) = reason_of(&reason, instance, classes);
        format!("<li><strong>{}.</strong> {}</li>\n", escaped(name), escaped(&words))
    });
    format!("<p>{}</p>\n<ol>\n{}</ol>\n", escaped(&claim(&statement)), reasons.collect::<String>())
}

fn claim(statement: &Value) -> String {
    let scope = statement["scope"].as_str().unwrap_or_default();
    let units = statement["claim"].as_number().map(ToString::to_string).unwrap_or_default();
    let digits = statement["digits"].as_u64().unwrap_or_default() as u32;
    let value = units.parse().map_or_else(|_| units.clone(), |units| number(time(units, digits)));
    format!(
        "Every {scope} split of this workload over these devices has a load of at least {value}: {units} units of \
             10^-{digits}, counted in whole numbers. The checker, which shares no code with the search, has accepted why:"
    )
}

/// What a reason is called, and why it suffices.
fn reason_of<'a>(reason: &'a Value, instance: &Instance, classes: usize) -> (&'a str, String) {
    let name = reason["reason"].as_str().unwrap_or_default();
    let words = match name {
        "work" => "Take for each node the least time that it needs on any kind of device: the devices together cannot do \
                   all of it with every load below the claim."
            .into(),
        "crowd" => crowd(reason, instance, classes),
        "ideals" => "A split into successive stages fills the graph from its beginning, one ideal after another. All such \
                     chains were followed whose stages have a load below the claim; none of them comes to the end of the \
                     graph with the devices that there are."
            .into(),
        "profits" => "Each node has a profit. No set of nodes that a device can hold with a load below the claim earns more \
                      than a device of its kind may, and all nodes together earn more than all devices may."
            .into(),
        _ => reason.to_string(),
    };
    (name, words)
}

fn crowd(reason: &Value, instance: &Instance, classes: usize) -> String {
    let positions = reason["nodes"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    let nodes = positions.filter_map(|position| instance.nodes.get(position as usize));
    let names: Vec<String> =
        nodes.map(|node| node.name.clone().unwrap_or_else(|| format!("node {}", node.id))).collect();
    let kind =
        |kind: usize| if kind < classes { format!("each accelerator of class {kind}") } else { "each CPU".into() };
    let most = reason["most"].as_array().into_iter().flatten().enumerate();
    let most: Vec<String> = most.map(|(k, most)| format!("{most} of them on {}", kind(k))).collect();
    format!(
        "With a load below the claim there can be at most {}. That is room for fewer than these {}: {}.",
        most.join(" and "),
        names.len(),
        names.join(", ")
    )
}
