//! Builds operator graphs; sizes and traffic follow from the inputs.

use super::operator::{KeyValueCache, Operator, OperatorGraph, OperatorKind};

/// Index of an operator that was already added.
pub(super) type Index = usize;

/// Adds operators in topological order, under nested names and layer by layer.
#[derive(Default)]
pub(super) struct ModelBuilder {
    graph: OperatorGraph,
    scope: Vec<String>,
    layer: u64,
}

impl ModelBuilder {
    /// Adds what `build` adds with `name` before its names.
    pub fn scope<T>(&mut self, name: impl Into<String>, build: impl FnOnce(&mut Self) -> T) -> T {
        self.scope.push(name.into());
        let result = build(self);
        self.scope.pop();
        result
    }

    /// Like [`Self::scope`], and what comes after belongs to the next layer.
    pub fn layer<T>(&mut self, name: impl Into<String>, build: impl FnOnce(&mut Self) -> T) -> T {
        let result = self.scope(name, build);
        self.layer += 1;
        result
    }

    /// Data from outside.
    pub fn input(&mut self, name: &str, elements: f64) -> Index {
        self.add(OperatorKind::Input, name, &[], elements, 0.0, 0.0)
    }

    /// Another shape of `x`.
    pub fn view(&mut self, name: &str, x: Index) -> Index {
        let output = self.elements(x);
        self.add(OperatorKind::View, name, &[x], output, 0.0, 0.0)
    }

    /// An operator that does `flops_per_element` operations for each element of its output.
    pub fn vector(&mut self, name: &str, inputs: &[Index], output: f64, flops_per_element: f64) -> Index {
        self.vector_with(name, inputs, output, 0.0, flops_per_element)
    }

    /// Like [`Self::vector`], with parameters.
    pub fn vector_with(&mut self, name: &str, inputs: &[Index], output: f64, parameters: f64, flops: f64) -> Index {
        self.add(OperatorKind::Vector, name, inputs, output, parameters, flops * output)
    }

    /// An operator on each element of the first input, whose output is as large.
    pub fn pointwise(&mut self, name: &str, inputs: &[Index], flops_per_element: f64) -> Index {
        let output = self.elements(inputs[0]);
        self.vector(name, inputs, output, flops_per_element)
    }

    /// A matrix product or dense convolution.
    pub fn matrix(&mut self, name: &str, inputs: &[Index], output: f64, parameters: f64, flops: f64) -> Index {
        self.add(OperatorKind::Matrix, name, inputs, output, parameters, flops)
    }

    /// A depthwise convolution.
    pub fn depthwise(&mut self, name: &str, x: Index, output: f64, parameters: f64, flops: f64) -> Index {
        self.add(OperatorKind::Depthwise, name, &[x], output, parameters, flops)
    }

    /// Rows of a table of `parameters` elements; reads only the rows it gives.
    pub fn gather(&mut self, name: &str, indices: Option<Index>, output: f64, parameters: f64) -> Index {
        let inputs: Vec<Index> = indices.into_iter().collect();
        let read: f64 = inputs.iter().map(|&u| self.elements(u)).sum();
        let gather = self.vector_with(name, &inputs, output, parameters, 0.0);
        self.graph.operators[gather].traffic = read + 2.0 * output;
        gather
    }

    /// Says that the devices which share operator `x` sum up its output.
    pub fn summed(&mut self, x: Index) -> Index {
        self.graph.summed.push(x);
        x
    }

    /// Says that operator `x` keeps so many elements of each token.
    pub fn keeps(&mut self, x: Index, elements: f64, is_shared: bool) {
        self.graph.caches.push(KeyValueCache { operator: x, elements, is_shared });
    }

    /// Elements of the output of `x`.
    pub fn elements(&self, x: Index) -> f64 {
        self.graph.operators[x].output
    }

    pub fn finish(self) -> OperatorGraph {
        self.graph
    }

    fn add(
        &mut self,
        kind: OperatorKind,
        name: &str,
        inputs: &[Index],
        output: f64,
        parameters: f64,
        flops: f64,
    ) -> Index {
        let read: f64 = inputs.iter().map(|&u| self.elements(u)).sum();
        let traffic = if kind.computes() { read + parameters + output } else { 0.0 };
        let name = self.scope.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("/");
        let inputs = inputs.to_vec();
        let operator = Operator { name, layer: self.layer, kind, inputs, output, parameters, traffic, flops };
        self.graph.operators.push(operator);
        self.graph.operators.len() - 1
    }
}
