//! Operator graphs that torch.fx drew, as in the machine-learning set of HyperDAG_DB, with the costs of a roofline.
//!
//! The label of a node says what it does (`op_code`, `target`) and the shape of what it gives. An operator becomes a node;
//! parameters belong to their readers, and the pieces of a tuple to the operator that gives it.

mod dot;
mod label;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use self::dot::Statement;
use self::label::{Code, Label};
use super::MAX_NODES;
use super::model::{Operator, OperatorGraph, OperatorKind};
use super::model_file::{self, ModelFileOptions, Origin};
use crate::instance::{Instance, Problems};

/// A node with what it reads.
struct FxNode {
    name: String,
    line: usize,
    label: Label,
    inputs: Vec<usize>,
    /// Whether something reads it beside the graph's result.
    is_read: bool,
}

/// Reads a graph that torch.fx drew (`.dot`), for six accelerators and one CPU; its costs are modelled. O(size of the text).
///
/// # Errors
/// Everything that is wrong with the text or the options: no graph, nodes that torch.fx does not draw, dimensions without a
/// size, edges that lead back.
pub fn read_fx_graph(text: &str, options: &ModelFileOptions) -> Result<Instance, Problems> {
    options.check()?;
    let mut found = Problems::default();
    let statements = dot::parse(text, &mut found);
    let mut sizes = Sizes { stated: &options.dimensions, asked: BTreeSet::new(), used: BTreeSet::new() };
    let nodes = nodes(statements, &mut sizes, &mut found);
    sizes.report(&mut found);
    if nodes.len() > MAX_NODES {
        found.add("the graph", "it is too large", format!("keep below {MAX_NODES} nodes"));
    }
    let operators = operators(&nodes);
    if operators.operators.is_empty() && found.issues.is_empty() {
        found.add("the graph", "it has no operators", "export the model again");
    }
    found.into_result()?;
    let source = Some("graph drawn by torch.fx".to_owned());
    model_file::workload(operators, Origin { kind: "torch.fx graph", name: None, source }, options)
}

/// Sizes of the dimensions that labels only name.
struct Sizes<'a> {
    stated: &'a BTreeMap<String, u64>,
    asked: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Sizes<'_> {
    fn of(&mut self, name: &str) -> Option<f64> {
        let set = if self.stated.contains_key(name) { &mut self.used } else { &mut self.asked };
        set.insert(name.to_owned());
        self.stated.get(name).map(|&size| size as f64)
    }

    fn report(self, found: &mut Problems) {
        if !self.asked.is_empty() {
            let names: Vec<String> = self.asked.into_iter().take(500).collect();
            let options: Vec<String> = names.iter().map(|name| format!("--dimension {name}=SIZE")).collect();
            let cause = format!("no size is stated of {}", names.join(", "));
            found.add("dimensions", cause, format!("give it: {}", options.join(" ")));
        }
        for name in self.stated.keys().filter(|name| !self.used.contains(*name)) {
            found.add(format!("dimension {name:?}"), "no shape has it", "leave it out, or correct its name");
        }
    }
}

fn nodes(statements: Vec<Statement>, sizes: &mut Sizes, found: &mut Problems) -> Vec<FxNode> {
    let mut nodes: Vec<FxNode> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut edges = Vec::new();
    for statement in statements {
        match statement {
            Statement::Edge { line, source, target } => edges.push((line, source, target)),
            Statement::Node { line, name, attributes } => {
                let label = attributes.iter().find(|(key, _)| key == "label").map_or("", |(_, label)| label);
                let label = match Label::parse(label, |name| sizes.of(name)) {
                    Ok(label) => label,
                    Err(cause) => {
                        found.add(format!("line {line}, node {name:?}"), cause, "draw the graph with torch.fx");
                        Label::default()
                    }
                };
                if places.insert(name.clone(), nodes.len()).is_some() {
                    found.add(format!("line {line}, node {name:?}"), "it is there twice", "keep one of them");
                }
                nodes.push(FxNode { name, line, label, inputs: Vec::new(), is_read: false });
            }
        }
    }
    for (line, source, target) in edges {
        let (Some(&u), Some(&v)) = (places.get(&source), places.get(&target)) else {
            let cause = format!("{source:?} or {target:?} is no node");
            found.add(format!("line {line}"), cause, "describe each node in a line of its own");
            continue;
        };
        if u >= v {
            let cause = format!("its reader {target:?} (line {}) comes before it", nodes[v].line);
            found.add(format!("line {}, node {source:?}", nodes[u].line), cause, "sort the nodes as they run");
            continue;
        }
        nodes[u].is_read |= nodes[v].label.code != Code::Output;
        nodes[v].inputs.push(u);
    }
    nodes
}

/// What becomes of a node.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// Part of each of its readers.
    Parameter,
    /// An operator by its place in the graph.
    Operator(usize),
    /// Nothing: results, sizes, and what nothing reads.
    None,
}

fn operators(nodes: &[FxNode]) -> OperatorGraph {
    let mut roles: Vec<Role> = Vec::with_capacity(nodes.len());
    let mut operators: Vec<Operator> = Vec::new();
    for node in nodes {
        let role = match node.label.code {
            Code::Output => Role::None,
            Code::Input if !node.is_read || node.label.shape.is_none() => Role::None,
            _ if node.label.is_parameter() => Role::Parameter,
            Code::Operator if node.label.operator() == "getitem" => piece(node, &roles, &mut operators),
            _ => {
                operators.push(operator(node, nodes, &roles));
                Role::Operator(operators.len() - 1)
            }
        };
        roles.push(role);
    }
    OperatorGraph { operators, ..OperatorGraph::default() }
}

/// A piece of a tuple is part of what the operator before it gives.
fn piece(node: &FxNode, roles: &[Role], operators: &mut [Operator]) -> Role {
    let role = node.inputs.first().map_or(Role::None, |&tuple| roles[tuple]);
    if let (Role::Operator(operator), true) = (role, node.is_read) {
        let operator = &mut operators[operator];
        operator.output += node.label.elements();
        if operator.kind.computes() {
            operator.traffic += node.label.elements();
        }
    }
    role
}

fn operator(node: &FxNode, nodes: &[FxNode], roles: &[Role]) -> Operator {
    let mut inputs = Vec::new();
    let (mut read, mut parameters) = (0.0, 0.0);
    for &input in &node.inputs {
        match roles[input] {
            Role::Parameter => parameters += nodes[input].label.elements(),
            Role::Operator(operator) => {
                read += nodes[input].label.elements();
                if !inputs.contains(&operator) {
                    inputs.push(operator);
                }
            }
            Role::None => {}
        }
    }
    let output = node.label.elements();
    let operands: Vec<&[f64]> = node.inputs.iter().filter_map(|&input| nodes[input].label.shape.as_deref()).collect();
    let (kind, flops) = work::of(&node.label, &operands);
    let traffic = match kind {
        OperatorKind::View | OperatorKind::Input => 0.0,
        _ if work::picks(&node.label) => 2.0 * output,
        _ => read + parameters + output,
    };
    Operator { name: node.name.clone(), layer: 0, kind, inputs, output, parameters, traffic, flops }
}
