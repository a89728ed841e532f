//! The operators of a graph and the work they do.

use std::collections::HashMap;

use super::infer::{Inferred, Step};
use super::names::{block, shown};
use super::proto::NodeProto;
use super::rules::Equation;
use super::value::{Value, elements};
use crate::generate::model::{Operator, OperatorGraph, OperatorKind};

/// Operators that give other shapes of the data that they read.
const VIEWS: [&str; 6] = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"];
/// Operators that read of their first input no more than they give.
const GATHERS: [&str; 4] = ["Gather", "GatherND", "GatherElements", "Slice"];

/// The operators of a graph, its inputs first. What nothing reads is left out. Real numbers count as one element each,
/// others as many as they are wider than `real_bytes`. O(size of the graph).
pub(super) fn of_graph(graph: &Inferred, real_bytes: f64) -> OperatorGraph {
    let needed = needed(graph);
    let mut builder = Builder { graph, real_bytes, needed: &needed, operators: Vec::new(), maker: HashMap::new() };
    for &(name, fact) in graph.sources.iter().filter(|(_, fact)| needed[*fact]) {
        builder.maker.insert(fact, builder.operators.len());
        builder.operators.push(source(name, builder.amount(fact)));
    }
    let mut layers: HashMap<&str, u64> = HashMap::new();
    for step in graph.steps.iter().filter(|step| step.outputs.iter().flatten().any(|&fact| needed[fact])) {
        let next = layers.len() as u64 + 1;
        let layer = *layers.entry(block(&step.node.name)).or_insert(next);
        builder.add(step, layer);
    }
    OperatorGraph { operators: builder.operators, ..OperatorGraph::default() }
}

/// Which values are read on the way to what the graph gives.
fn needed(graph: &Inferred) -> Vec<bool> {
    // A graph that says nothing of its results gives everything.
    let mut needed = vec![graph.results.is_empty(); graph.facts.len()];
    graph.results.iter().for_each(|&fact| needed[fact] = true);
    for step in graph.steps.iter().rev() {
        if step.outputs.iter().flatten().any(|&fact| needed[fact]) {
            step.inputs.iter().flatten().for_each(|&fact| needed[fact] = true);
        }
    }
    needed
}

struct Builder<'a> {
    graph: &'a Inferred<'a>,
    real_bytes: f64,
    needed: &'a [bool],
    operators: Vec<Operator>,
    /// Which operator gives a value.
    maker: HashMap<usize, usize>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, step: &Step, layer: u64) {
        let name = shown(step.node);
        let mut inputs = Vec::new();
        let (mut read, mut parameters) = (0.0, 0.0);
        for &fact in step.inputs.iter().flatten() {
            if self.graph.facts[fact].constant {
                let is_weight = self.value(fact).is_some_and(Value::may_be_weight);
                parameters += if is_weight { self.amount(fact) } else { 0.0 };
            } else if let Some(&maker) = self.maker.get(&fact) {
                read += self.amount(fact);
                if !inputs.contains(&maker) {
                    inputs.push(maker);
                }
            }
        }
        let given = || step.outputs.iter().flatten().copied().filter(|&fact| self.needed[fact]);
        let output: f64 = given().map(|fact| self.amount(fact)).sum();
        let count: f64 = given().filter_map(|fact| self.value(fact)).map(Value::elements).sum();
        let (kind, flops) = self.arithmetic(step, count);
        let traffic = match kind {
            OperatorKind::View => 0.0,
            _ if GATHERS.contains(&step.operator) => 2.0 * output,
            _ => read + parameters + output,
        };
        let index = self.operators.len();
        let outputs: Vec<usize> = given().collect();
        self.maker.extend(outputs.into_iter().map(|fact| (fact, index)));
        self.operators.push(Operator { inputs, layer, parameters, traffic, flops, kind, ..source(&name, output) });
    }

    fn value(&self, fact: usize) -> Option<&'a Value> {
        self.graph.facts[fact].value.as_ref()
    }

    /// What a value takes, in real numbers.
    fn amount(&self, fact: usize) -> f64 {
        self.value(fact)
            .map_or(0.0, |value| value.elements() * value.width().map_or(1.0, |width| width / self.real_bytes))
    }

    /// What the operator does, and in how many operations; a multiply-add is two. `output` is how many numbers it gives.
    fn arithmetic(&self, step: &Step, output: f64) -> (OperatorKind, f64) {
        let shape = |input: usize| -> &[i64] {
            let fact = step.inputs.get(input).copied().flatten();
            fact.and_then(|fact| self.value(fact)).map_or(&[], |value| &value.shape)
        };
        let size = |input: usize| elements(shape(input));
        let dimension = |input: usize, from_end: usize| {
            let axis = shape(input).len().checked_sub(from_end);
            axis.map_or(1.0, |axis| shape(input)[axis] as f64)
        };
        let inner = |input: usize, transposed: &str| {
            let rows = integer(step.node, transposed, 0) == 1 && shape(input).len() > 1;
            dimension(input, if rows { 2 } else { 1 })
        };
        let matrix = |flops| (OperatorKind::Matrix, flops);
        match step.operator {
            operator if VIEWS.contains(&operator) => (OperatorKind::View, 0.0),
            "MatMul" | "Gemm" | "MatMulInteger" | "QLinearMatMul" | "QGemm" => {
                matrix(2.0 * output * inner(0, "transA"))
            }
            // Each output needs one multiply-add for each weight of its channel, and the other way round.
            "Conv" | "ConvInteger" | "DeformConv" => convolution(step.node, output, shape(1)),
            "QLinearConv" => convolution(step.node, output, shape(3)),
            "ConvTranspose" => convolution(step.node, size(0), shape(1)),
            // Every step multiplies by all weights of the input and of the state.
            "LSTM" | "GRU" | "RNN" => matrix(2.0 * dimension(0, 3) * dimension(0, 2) * (size(1) + size(2))),
            // Queries by keys, then the weights by values.
            "Attention" => {
                matrix(4.0 * size(0) * (dimension(1, 2) + if size(4) > 1.0 { dimension(4, 2) } else { 0.0 }))
            }
            "Einsum" => {
                let shapes: Vec<&[i64]> = (0..step.inputs.len()).map(shape).collect();
                let equation = step.node.attribute.iter().find(|attribute| attribute.name == "equation");
                let text = equation.map(|attribute| String::from_utf8_lossy(&attribute.s)).unwrap_or_default();
                matrix(Equation::new(&text, &shapes).map_or(0.0, |equation| equation.flops()))
            }
            _ => (OperatorKind::Vector, output),
        }
    }
}

fn convolution(node: &NodeProto, sites: f64, weight: &[i64]) -> (OperatorKind, f64) {
    let channels = weight.first().map_or(1.0, |&channels| channels as f64).max(1.0);
    let depthwise = integer(node, "group", 1) > 1 && weight.get(1) == Some(&1);
    let kind = if depthwise { OperatorKind::Depthwise } else { OperatorKind::Matrix };
    (kind, 2.0 * sites * elements(weight) / channels)
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

fn integer(node: &NodeProto, name: &str, default: i64) -> i64 {
    node.attribute.iter().find(|attribute| attribute.name == name).map_or(default, |attribute| attribute.i)
}
