//! Piper's shape: layers in a chain behind an embedding, each with a mask beside it, at tensor degrees 1 to 8.

use serde_json::{Value, json};

/// A file in Piper's format with so many transformer layers; times and sizes are those of a large BERT in their orders
/// of magnitude.
pub fn piper(layers: usize) -> String {
    let (tokens, embedding, mask, first) = (0, 1, 2, 3);
    let head = first + layers;
    let mut edges = vec![edge(tokens, embedding, 8192.0), edge(embedding, first, 3.1e7)];
    edges.extend((first..head).map(|layer| edge(mask, layer, 1.6e7)));
    edges.extend((first..head).map(|layer| edge(layer, layer + 1, 3.1e7)));
    let node = |id: usize, amounts: [f64; 4]| {
        let degrees = [1, 2, 4, 8]
            .map(|t| (t.to_string(), json!([false, true].map(|r| configuration(id, t, r, amounts, &edges)))));
        json!({"id": id, "name": format!("node {id}"), "TMPCs": serde_json::Map::from_iter(degrees)})
    };
    let mut nodes = vec![
        node(tokens, [0.0, 0.0, 8192.0, 0.0]),
        node(embedding, [0.0011, 2.0e8, 2.0e6, 4.0e8]),
        node(mask, [0.0, 0.0, 1.6e7, 0.0]),
    ];
    nodes.extend((first..head).map(|layer| node(layer, [0.0303, 1.77e8, 6.06e8, 3.54e8])));
    nodes.push(node(head, [0.002, 1.5e7, 3.1e7, 3.0e7]));
    json!({"maxDevices": 8, "maxMemoryPerDevice": 8e9, "bandwidth": 2.5e10, "mbsInBatch": 1920, "nodes": nodes, "edges": edges})
        .to_string()
}

fn edge(source: usize, target: usize, bytes: f64) -> Value {
    json!({"sourceId": source, "destId": target, "communicationCost": bytes})
}

/// What a node takes at tensor degree `t`: time, parameters, activations for a microbatch, other memory.
fn configuration(
    id: usize,
    t: usize,
    recomputes: bool,
    [time, weights, kept, memory]: [f64; 4],
    edges: &[Value],
) -> Value {
    // A group is slower than its devices together by what it exchanges.
    let time = time * (1.0 / t as f64 + 0.07 * (t as f64).log2());
    let (time, kept) = if recomputes { (1.35 * time, 0.08 * kept) } else { (time, kept * (0.1 + 0.9 / t as f64)) };
    let sync = |own: &str, other: &str| {
        let ends = edges.iter().filter(|e| t > 1 && e[own] == id);
        serde_json::Map::from_iter(ends.map(|e| (e[other].to_string(), e["communicationCost"].clone())))
    };
    json!({
        "id": if recomputes { "activation recomp" } else { "vanilla" },
        "timePerSample": time, "parameterSize": weights / t as f64,
        "memoryUsageA": kept, "memoryUsageB": memory / t as f64,
        "syncTimeFw": sync("destId", "sourceId"), "syncTimeBw": sync("sourceId", "destId"),
    })
}
