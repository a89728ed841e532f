//! Violations as JSON: a kind, a message, and the figures that the message is made of.

use dagsplit::problem::DeviceKind;
use dagsplit::verify::{Part, Violation};
use serde_json::{Map, Value, json};

/// `{"kind": …, "message": …, …}`.
pub fn json(violation: &Violation) -> serde_json::Result<String> {
    let (kind, details) = parts(violation);
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("message".into(), violation.to_string().into());
    object.insert("details".into(), details);
    serde_json::to_string(&object)
}

fn parts(violation: &Violation) -> (&'static str, Value) {
    match violation {
        Violation::InvalidInstance(_) => ("invalid-instance", json!({})),
        Violation::UnknownNode { device, node } => ("unknown-node", json!({"device": device, "node": node})),
        Violation::DuplicatedNode { node, first, second } => {
            ("duplicated-node", json!({"node": node, "device": second, "first": first}))
        }
        Violation::MissingNode { node } => ("missing-node", json!({"node": node})),
        Violation::UnknownClass { device, class, classes } => {
            ("unknown-class", json!({"device": device, "class": class, "classes": classes}))
        }
        Violation::TooManyDevices { kind, used, available } => {
            ("too-many-devices", json!({"kind": named(*kind), "used": used, "available": available}))
        }
        Violation::UnsupportedNode { device, kind, node } => {
            ("unsupported-node", json!({"device": device, "node": node, "kind": named(*kind)}))
        }
        Violation::MemoryExceeded { device, used, limit } => {
            ("memory-exceeded", json!({"device": device, "used": used, "limit": limit}))
        }
        Violation::SplitColorClass { color, first, second } => (
            "split-color-class",
            json!({"color_class": color, "nodes": [first.0, second.0], "devices": [first.1, second.1]}),
        ),
        Violation::Parted { first, second } => {
            ("parted", json!({"nodes": [first.0, second.0], "devices": [first.1, second.1]}))
        }
        Violation::NoReplica { device } => ("no-replica", json!({"device": device})),
        Violation::TooManyReplicas { device, replicas, allowed } => {
            ("too-many-replicas", json!({"device": device, "replicas": replicas, "allowed": allowed}))
        }
        Violation::ReplicatedCpu { device, replicas } => {
            ("replicated-cpu", json!({"device": device, "replicas": replicas}))
        }
        Violation::Stage { device, .. } => ("wrong-degree-or-option", json!({"device": device})),
        Violation::TooManyParts { used, microbatches } => {
            ("too-many-parts", json!({"used": used, "microbatches": microbatches}))
        }
        Violation::NotInChunks { device, count } => ("not-in-chunks", json!({"device": device, "chunks": count})),
        Violation::NotInGroups { devices, microbatches } => {
            ("not-in-groups", json!({"used": devices, "microbatches": microbatches}))
        }
        Violation::OutOfOrder { edge, stages } => {
            ("out-of-order", json!({"edge": [edge.0, edge.1], "devices": [stages.0, stages.1]}))
        }
        other => of_servers_and_order(other),
    }
}

fn of_servers_and_order(violation: &Violation) -> (&'static str, Value) {
    match violation {
        Violation::MissingServer { device } => ("missing-server", json!({"device": device})),
        Violation::UnknownServer { device, server, servers } => {
            ("unknown-server", json!({"device": device, "server": server, "servers": [servers.start, servers.end]}))
        }
        Violation::OverfullServer { server, used, size } => {
            ("overfull-server", json!({"server": server, "used": used, "size": size}))
        }
        Violation::NotConvex { device, path } => ("not-convex", json!({"device": device, "path": path})),
        Violation::Cyclic { steps } => {
            let steps = steps.iter().map(|step| json!({"part": part(step.part), "edge": step.edge}));
            ("cyclic", json!({"steps": steps.collect::<Vec<_>>()}))
        }
        Violation::ForeignInSubgraph { device, node } => {
            ("foreign-in-subgraph", json!({"device": device, "node": node}))
        }
        Violation::NotInOneSubgraph { device, node, times } => {
            ("not-in-one-subgraph", json!({"device": device, "node": node, "times": times}))
        }
        Violation::TooManySubgraphs { device, allowed } => {
            ("too-many-subgraphs", json!({"device": device, "allowed": allowed}))
        }
        Violation::NotContiguous { device, subgraph, path } => {
            ("not-contiguous", json!({"device": device, "subgraph": subgraph, "path": path}))
        }
        Violation::Deadlock { steps } => {
            let steps = steps.iter().map(|step| json!({"part": part(step.part), "edge": step.edge}));
            ("deadlock", json!({"steps": steps.collect::<Vec<_>>()}))
        }
        Violation::NotAnInterval { device, ends, between } => {
            ("not-an-interval", json!({"device": device, "ends": ends, "node": between}))
        }
        Violation::WrongObjective { claimed, recomputed } => {
            ("wrong-objective", json!({"claimed": claimed, "recomputed": recomputed}))
        }
        _ => ("other", json!({})),
    }
}

fn named(kind: DeviceKind) -> String {
    match kind {
        DeviceKind::Accelerator(class) => format!("accelerator {class}"),
        DeviceKind::Cpu => "cpu".into(),
    }
}

fn part(part: Part) -> String {
    part.to_string()
}
