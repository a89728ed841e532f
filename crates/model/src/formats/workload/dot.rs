//! Graphviz DOT, for pictures: a node for each node, backward nodes dashed.

use std::fmt::Write;

use crate::instance::{Instance, Node};
use crate::text::escaped_lines;

pub(super) fn write(instance: &Instance) -> String {
    let name = instance.metadata.name.as_deref().unwrap_or("instance");
    let mut out = format!("digraph {} {{\n  node [shape=box];\n", quote(name));
    for node in &instance.nodes {
        let style = if node.backward { ", style=dashed" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {} [label={}{style}];", node.id, quote(&label(node)));
    }
    for edge in &instance.edges {
        let _ = writeln!(out, "  {} -> {};", edge.source, edge.target);
    }
    out.push_str("}\n");
    out
}

/// Name or id, then the first time known.
fn label(node: &Node) -> String {
    let name = node.name.clone().unwrap_or_else(|| node.id.to_string());
    let time = node.accelerator_times.iter().flatten().next().or(node.cpu_time.as_ref());
    match time {
        Some(time) => format!("{name}\n{time}"),
        None => name,
    }
}

/// A DOT string: quotes and backslashes escaped, line breaks as `\n`.
fn quote(text: &str) -> String {
    let escaped = escaped_lines(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
