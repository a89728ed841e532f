//! Graphs whose files name no devices.

use super::pipedream::{Pass, PipeDreamOptions};
use crate::instance::{Edge, Instance, Metadata, Node, Platform, Problems};

/// The workload of a graph with the devices of the options; `source` says what kind of file it was.
pub(super) fn instance(
    source: &str,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    options: &PipeDreamOptions,
    problems: &mut Problems,
) -> Instance {
    if !options.bandwidth.is_finite() || options.bandwidth <= 0.0 {
        let cause = format!("it is {}", options.bandwidth);
        problems.add("bandwidth", cause, "give a positive finite number of bytes per second");
    }
    if options.pass == Pass::Training {
        problems.add("training", format!("a {source} has the nodes of one graph and no passes"), "leave it out");
    }
    Instance {
        nodes,
        edges,
        metadata: Metadata { source: Some(source.to_owned()), ..Metadata::default() },
        platform: Platform {
            bandwidth: Some(options.bandwidth / 1000.0),
            ..Platform::uniform(options.accelerators, options.memory, options.cpus)
        },
        parallelism: None,
    }
}
