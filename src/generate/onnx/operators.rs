//! The operators of a graph and the work they do.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::proto::{GraphProto, NodeProto};
use super::shapes::{Shapes, place};
use crate::generate::model::{Operator, OperatorGraph, OperatorKind};
use crate::instance::Problems;

/// Operators that give other shapes of the data that they read.
const VIEWS: [&str; 6] = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"];
/// Operators that read of their first input no more than they give.
const GATHERS: [&str; 4] = ["Gather", "GatherND", "GatherElements", "Slice"];
/// Operators that hold graphs of their own.
const CONTROL_FLOW: [&str; 4] = ["If", "Loop", "Scan", "SequenceMap"];

/// The operators of `graph`, its inputs first. O(size of the graph).
pub(super) fn read(graph: &GraphProto, shapes: &Shapes, found: &mut Problems) -> OperatorGraph {
    let mut reader = Reader { shapes, operators: Vec::new(), maker: HashMap::new(), constants: HashSet::new() };
    let mut layers: HashMap<&str, u64> = HashMap::new();
    for input in graph.input.iter().filter(|input| shapes.of_parameter(&input.name).is_none()) {
        reader.maker.insert(&input.name, reader.operators.len());
        reader.operators.push(source(&input.name, elements(shapes.of(&input.name))));
    }
    for node in &graph.node {
        let next = layers.len() as u64 + 1;
        let layer = *layers.entry(block(&node.name)).or_insert(next);
        reader.add(node, layer, found);
    }
    if reader.operators.is_empty() {
        found.add("the graph", "it has no operators", "export the model again");
    }
    OperatorGraph { operators: reader.operators }
}

struct Reader<'a, 'b> {
    shapes: &'b Shapes<'a>,
    operators: Vec<Operator>,
    /// Which operator gives a value.
    maker: HashMap<&'a str, usize>,
    /// Values that `Constant` operators give and that are no parameters: numbers such as axes, too small to count.
    constants: HashSet<&'a str>,
}

impl<'a> Reader<'a, '_> {
    fn add(&mut self, node: &'a NodeProto, layer: u64, found: &mut Problems) {
        let name = shown(node);
        if !["", "ai.onnx"].contains(&node.domain.as_str()) {
            let cause = format!("{} of {:?} is not one of ONNX' own operators", node.op_type, node.domain);
            found.add(name.as_str(), cause, "export the model without operators of other makers");
        } else if CONTROL_FLOW.contains(&node.op_type.as_str()) {
            let cause = format!("{} holds graphs of its own, which cannot be split", node.op_type);
            found.add(name.as_str(), cause, "export the model without control flow");
        }
        if node.op_type == "Constant" {
            let outputs = node.output.iter().map(String::as_str);
            self.constants.extend(outputs.filter(|output| self.shapes.of_parameter(output).is_none()));
            return;
        }
        let work = self.work(node, &name, found);
        let index = self.operators.len();
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if self.maker.insert(output, index).is_some() || self.shapes.of_parameter(output).is_some() {
                found.add(place(output), "it is given twice", "export the model again");
            }
        }
        self.operators.push(Operator { name, layer, ..work });
    }

    fn work(&self, node: &NodeProto, name: &str, found: &mut Problems) -> Operator {
        let mut inputs = Vec::new();
        let (mut read, mut parameters) = (0.0, 0.0);
        for value in node.input.iter().filter(|value| !value.is_empty()) {
            if let Some(shape) = self.shapes.of_parameter(value) {
                parameters += elements(shape);
            } else if let Some(&maker) = self.maker.get(value.as_str()) {
                read += elements(self.shapes.of(value));
                if !inputs.contains(&maker) {
                    inputs.push(maker);
                }
            } else if !self.constants.contains(value.as_str()) {
                let cause = format!("it reads {}, which no operator before it gives", place(value));
                found.add(name, cause, "sort the operators in the order in which they run");
            }
        }
        let outputs = node.output.iter().filter(|output| !output.is_empty());
        let output: f64 = outputs.map(|value| elements(self.shapes.of(value))).sum();
        let (kind, flops) = self.arithmetic(node, output, name, found);
        let traffic = match kind {
            OperatorKind::View => 0.0,
            _ if GATHERS.contains(&node.op_type.as_str()) => 2.0 * output,
            _ => read + parameters + output,
        };
        Operator { inputs, output, parameters, traffic, flops, kind, ..source(name, 0.0) }
    }

    /// What the operator does, and in how many operations; a multiply-add is two.
    fn arithmetic(&self, node: &NodeProto, output: f64, name: &str, found: &mut Problems) -> (OperatorKind, f64) {
        let size = |input: usize| elements(self.shape(node, input));
        let dimension = |input: usize, from_end: usize| {
            let shape = self.shape(node, input);
            shape.len().checked_sub(from_end).and_then(|axis| shape.get(axis)).copied().unwrap_or(1.0)
        };
        let matrix = |flops| (OperatorKind::Matrix, flops);
        match node.op_type.as_str() {
            op if VIEWS.contains(&op) => (OperatorKind::View, 0.0),
            "MatMul" => matrix(2.0 * output * dimension(0, 1)),
            "Gemm" => matrix(2.0 * output * dimension(0, if integer(node, "transA", 0) == 1 { 2 } else { 1 })),
            // Each output needs one multiply-add for each weight of its channel, and the other way round.
            "Conv" => self.convolution(node, output, self.shape(node, 1)),
            "ConvTranspose" => self.convolution(node, size(0), self.shape(node, 1)),
            // Every step multiplies by all weights of the input and of the state.
            "LSTM" | "GRU" | "RNN" => matrix(2.0 * dimension(0, 3) * dimension(0, 2) * (size(1) + size(2))),
            // Queries by keys, then the weights by values.
            "Attention" => matrix(4.0 * size(0) * dimension(1, 2)),
            "Einsum" => match self.einsum(node) {
                Some(flops) => matrix(flops),
                None => {
                    found.add(name, "its equation is not understood", "write it without `...`, with all inputs");
                    matrix(0.0)
                }
            },
            _ => (OperatorKind::Vector, output),
        }
    }

    fn convolution(&self, node: &NodeProto, sites: f64, weight: &[f64]) -> (OperatorKind, f64) {
        let channels = weight.first().copied().unwrap_or(1.0).max(1.0);
        let depthwise = integer(node, "group", 1) > 1 && weight.get(1) == Some(&1.0);
        let kind = if depthwise { OperatorKind::Depthwise } else { OperatorKind::Matrix };
        (kind, 2.0 * sites * elements(weight) / channels)
    }

    /// Two operations for every combination of all indices.
    fn einsum(&self, node: &NodeProto) -> Option<f64> {
        let equation = node.attribute.iter().find(|attribute| attribute.name == "equation")?;
        let equation = std::str::from_utf8(&equation.s).ok()?;
        let terms: Vec<&str> = equation.split("->").next()?.split(',').map(str::trim).collect();
        // In the order of the letters, so that products round the same in each run.
        let mut sizes: BTreeMap<char, f64> = BTreeMap::new();
        for (input, term) in terms.iter().enumerate() {
            let shape = self.shape(node, input);
            let labels: Vec<char> = term.chars().filter(|label| !label.is_whitespace()).collect();
            if labels.len() != shape.len() || labels.contains(&'.') {
                return None;
            }
            for (label, &size) in labels.into_iter().zip(shape) {
                // An index of one value is repeated to the size that it has elsewhere.
                let known = sizes.entry(label).or_insert(size);
                *known = known.max(size);
            }
        }
        Some(2.0 * sizes.values().product::<f64>())
    }

    /// The shape of an input, weight or not; empty where it is left out.
    fn shape(&self, node: &NodeProto, input: usize) -> &[f64] {
        match node.input.get(input) {
            Some(value) if !value.is_empty() && !self.constants.contains(value.as_str()) => {
                self.shapes.of_parameter(value).unwrap_or_else(|| self.shapes.of(value))
            }
            _ => &[],
        }
    }
}

fn source(name: &str, output: f64) -> Operator {
    Operator {
        name: name.to_owned(),
        layer: 0,
        kind: OperatorKind::Input,
        inputs: Vec::new(),
        output,
        parameters: 0.0,
        traffic: 0.0,
        flops: 0.0,
    }
}

fn elements(shape: &[f64]) -> f64 {
    shape.iter().product()
}

fn integer(node: &NodeProto, name: &str, default: i64) -> i64 {
    node.attribute.iter().find(|attribute| attribute.name == name).map_or(default, |attribute| attribute.i)
}

/// The operator's name, or its type and first result where it has none. Exporters name operators by the path of their
/// modules, which is shown as everywhere else: `encoder.layer.3.output/MatMul` for `/encoder/layer.3/output/MatMul`.
fn shown(node: &NodeProto) -> String {
    match node.output.first() {
        _ if !node.name.is_empty() => match node.name.rsplit_once('/') {
            Some((modules, operator)) => format!("{}/{operator}", modules.trim_start_matches('/').replace('/', ".")),
            None => node.name.clone(),
        },
        Some(output) => format!("{} {output}", node.op_type),
        None => node.op_type.clone(),
    }
}

/// The repeated block that an operator belongs to by its name: up to its first part that ends in a number, such as
/// `/encoder/layer.3` of `/encoder/layer.3/output/MatMul`.
fn block(name: &str) -> &str {
    let ends = name.match_indices('/').map(|(end, _)| end).filter(|&end| end > 0);
    let mut first = "";
    for end in ends {
        let prefix = &name[..end];
        if prefix.ends_with(|c: char| c.is_ascii_digit()) {
            return prefix;
        }
        if first.is_empty() {
            first = prefix;
        }
    }
    first
}
