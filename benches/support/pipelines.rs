//! Stage graphs of the kinds that Liu et al. (2024, Table VII) map: modelled layers, cut evenly into stages.

use std::collections::BTreeMap;

use dagsplit::mapping::{Message, Stage, StageGraph};

/// Bytes of a million floats, about.
const MB: f64 = 1e6;

/// A layer: milliseconds of both passes, bytes of weights, and where its inputs come from with how many bytes.
struct Layer {
    time: f64,
    parameter_bytes: f64,
    inputs: Vec<(usize, f64)>,
}

/// Equal layers in a row: how many, time and weights (in MB) of each, and what each sends on (in MB).
type Row = (usize, f64, f64, f64);

/// The names of the networks.
pub const NETWORKS: [&str; 4] = ["semantic-fpn", "swin-l", "resnet-152", "bert-l"];

/// `network` in `stages` stages, its compute times multiplied by `scale`.
pub fn pipeline(network: &str, stages: usize, scale: f64) -> StageGraph {
    let layers = match network {
        "resnet-152" => rows(&[(3, 5.0, 0.3, 205.0), (8, 4.4, 1.1, 103.0), (36, 4.2, 4.5, 51.0), (3, 4.6, 18.0, 25.0)]),
        "swin-l" => rows(&[(2, 13.0, 1.8, 77.0), (2, 12.5, 7.1, 38.5), (18, 12.2, 28.0, 19.3), (2, 12.0, 113.0, 9.6)]),
        "bert-l" => rows(&[(1, 1.0, 125.0, 8.4), (48, 7.0, 25.2, 8.4), (1, 40.0, 125.0, 8.4)]),
        _ => semantic_fpn(),
    };
    cut(network, &layers, stages, scale)
}

fn rows(rows: &[Row]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut sent = 0.0;
    for &(count, time, weights, out) in rows {
        for _ in 0..count {
            let inputs = layers.len().checked_sub(1).map(|previous| (previous, sent * MB)).into_iter().collect();
            layers.push(Layer { time, parameter_bytes: weights * MB, inputs });
            sent = out;
        }
    }
    layers
}

/// A ResNet-50 whose four scales also feed a pyramid, from the coarsest to the finest, and a head.
fn semantic_fpn() -> Vec<Layer> {
    let mut layers = rows(&[(4, 6.5, 0.2, 268.0), (4, 6.6, 1.2, 134.0), (6, 6.4, 4.5, 67.0), (3, 7.4, 20.0, 33.5)]);
    let mut add = |time: f64, weights: f64, inputs: &[(usize, f64)]| {
        let inputs = inputs.iter().map(|&(layer, sent)| (layer, sent * MB)).collect();
        layers.push(Layer { time, parameter_bytes: weights * MB, inputs });
        layers.len() - 1
    };
    let fifth = add(0.5, 2.0, &[(16, 33.5)]);
    let fourth = add(1.0, 1.0, &[(13, 67.0), (fifth, 4.2)]);
    let third = add(2.0, 0.5, &[(7, 134.0), (fourth, 16.8)]);
    let second = add(4.0, 0.3, &[(3, 268.0), (third, 67.0)]);
    let heads = [
        add(2.0, 2.4, &[(fifth, 4.2)]),
        add(4.0, 2.4, &[(fourth, 16.8)]),
        add(9.0, 1.2, &[(third, 67.0)]),
        add(18.0, 1.2, &[(second, 268.0)]),
    ];
    add(10.0, 0.1, &heads.map(|head| (head, 134.0)));
    layers
}

/// Consecutive layers in stages of about equal time. Each message also goes back as a gradient.
fn cut(name: &str, layers: &[Layer], stages: usize, scale: f64) -> StageGraph {
    let total: f64 = layers.iter().map(|layer| layer.time).sum();
    let (mut stage_of, mut stage, mut time) = (Vec::new(), 0, 0.0);
    for (index, layer) in layers.iter().enumerate() {
        let is_due = time + layer.time / 2.0 > total * (stage + 1) as f64 / stages as f64;
        let is_forced = layers.len() - index < stages - stage;
        if stage + 1 < stages && stage_of.last() == Some(&stage) && (is_due || is_forced) {
            stage += 1;
        }
        stage_of.push(stage);
        time += layer.time;
    }
    let mut graph = StageGraph { name: name.into(), stages: vec![Stage::default(); stages], messages: Vec::new() };
    let mut bytes: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (layer, &stage) in layers.iter().zip(&stage_of) {
        graph.stages[stage].forward += scale * layer.time / 3.0;
        graph.stages[stage].backward += scale * layer.time * 2.0 / 3.0;
        graph.stages[stage].parameter_bytes += layer.parameter_bytes;
        for &(input, sent) in layer.inputs.iter().filter(|&&(input, _)| stage_of[input] != stage) {
            *bytes.entry((stage_of[input], stage)).or_default() += sent;
        }
    }
    for ((source, target), bytes) in bytes {
        graph.messages.extend([Message { source, target, bytes }, Message { source: target, target: source, bytes }]);
    }
    graph
}
