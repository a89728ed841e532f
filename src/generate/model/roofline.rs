//! Turns operators into nodes with modelled costs.
//!
//! The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009): an operator takes as long as its arithmetic or
//! its memory traffic, whichever is longer, and the start of its kernels comes on top.

use super::hardware::{Hardware, Roofline};
use super::operator::{Operator, OperatorGraph, OperatorKind};
use crate::generate::rounding::six_digits;
use crate::generate::training::{BackwardCost, add_backward_pass};
use crate::instance::{Edge, Instance, Node};

/// Nodes and edges of the operators, with times in milliseconds and memory in bytes.
///
/// A forward node holds its parameters and its output. A backward node computes one product for each operand of a
/// product that has a gradient; other operators take one pass over what the forward one read and wrote, and the
/// gradient of its output. O(operators).
pub(in crate::generate) fn instance(graph: &OperatorGraph, hardware: &Hardware, training: bool) -> Instance {
    let model = CostModel::new(hardware);
    let nodes = graph.operators.iter().enumerate().map(|(v, op)| model.node(v, op)).collect();
    let edges = graph
        .operators
        .iter()
        .enumerate()
        .flat_map(|(v, op)| op.inputs.iter().map(move |&u| Edge { source: u as u64, target: v as u64 }));
    let mut instance = Instance { nodes, edges: edges.collect(), ..Instance::default() };
    if training {
        add_backward_pass(&mut instance, &model.backward(graph));
    }
    instance
}

/// The work of one pass through an operator.
struct Work {
    kind: OperatorKind,
    flops: f64,
    /// Elements read and written.
    traffic: f64,
    kernels: f64,
}

impl Work {
    fn forward(op: &Operator) -> Self {
        let kernels = if op.kind.computes() { 1.0 } else { 0.0 };
        Self { kind: op.kind, flops: op.flops, traffic: op.traffic, kernels }
    }

    /// Backward work of an operator, `gradient_operands` of whose operands (inputs and parameters) have a gradient.
    fn backward(op: &Operator, gradient_operands: f64) -> Self {
        let forward = Self::forward(op);
        if op.kind.is_product() {
            let products = gradient_operands;
            Self { flops: products * op.flops, traffic: products * op.traffic, kernels: products, ..forward }
        } else {
            Self { traffic: op.traffic + forward.kernels * op.output, ..forward }
        }
    }
}

/// The work of each operator's backward pass, where it has one.
fn backward_work(graph: &OperatorGraph) -> Vec<Option<Work>> {
    let has_gradient = graph.has_gradient();
    let work = |(v, op): (usize, &Operator)| {
        let inputs = op.inputs.iter().filter(|&&u| has_gradient[u]).count();
        let own = usize::from(op.parameters > 0.0);
        has_gradient[v].then(|| Work::backward(op, (inputs + own) as f64))
    };
    graph.operators.iter().enumerate().map(work).collect()
}

/// What operators take on given hardware.
pub(super) struct CostModel {
    /// Of each class.
    accelerators: Vec<Roofline>,
    cpu: Roofline,
    link_bandwidth: f64,
    element_bytes: f64,
}

impl CostModel {
    pub fn new(hardware: &Hardware) -> Self {
        Self {
            accelerators: hardware.accelerator_rooflines(),
            cpu: hardware.cpu_roofline(),
            link_bandwidth: hardware.link_bandwidth(),
            element_bytes: hardware.precision.bytes(),
        }
    }

    /// For each operator the milliseconds of its passes, forward and backward, where `degree` accelerators of a class share its work.
    pub fn passes(&self, graph: &OperatorGraph, class: usize, degree: f64) -> Vec<[f64; 2]> {
        let shared = |work: Work| Work { flops: work.flops / degree, traffic: work.traffic / degree, ..work };
        let time = |work: Work| self.milliseconds(&shared(work), &self.accelerators[class]);
        let backward = backward_work(graph).into_iter().map(|work| work.map_or(0.0, time));
        graph.operators.iter().zip(backward).map(|(op, backward)| [time(Work::forward(op)), backward]).collect()
    }

    fn node(&self, id: usize, op: &Operator) -> Node {
        let output_bytes = op.output * self.element_bytes;
        let parameter_bytes = op.parameters * self.element_bytes;
        let held = if op.kind == OperatorKind::View { 0.0 } else { output_bytes };
        let work = Work::forward(op);
        Node {
            name: Some(op.name.clone()),
            accelerator_times: self.accelerator_times(&work),
            cpu_time: Some(self.milliseconds(&work, &self.cpu)),
            memory: parameter_bytes + held,
            transfer_time: six_digits(1e3 * output_bytes / self.link_bandwidth),
            output_bytes: Some(output_bytes),
            parameter_bytes,
            layer: Some(op.layer),
            ..Node::new(id as u64)
        }
    }

    fn backward(&self, graph: &OperatorGraph) -> Vec<Option<BackwardCost>> {
        let cost = |(op, work): (&Operator, Option<Work>)| {
            work.map(|work| BackwardCost {
                accelerator_times: self.accelerator_times(&work),
                cpu_time: Some(self.milliseconds(&work, &self.cpu)),
                gradient_bytes: op.parameters * self.element_bytes,
            })
        };
        graph.operators.iter().zip(backward_work(graph)).map(cost).collect()
    }

    fn accelerator_times(&self, work: &Work) -> Vec<Option<f64>> {
        self.accelerators.iter().map(|class| Some(self.milliseconds(work, class))).collect()
    }

    fn milliseconds(&self, work: &Work, device: &Roofline) -> f64 {
        let rate = if work.kind == OperatorKind::Matrix { device.matrix_flops } else { device.vector_flops };
        let roof = (work.flops / rate).max(work.traffic * self.element_bytes / device.bandwidth);
        six_digits(1e3 * (roof + work.kernels * device.launch))
    }
}
