//! Operators and the graphs of them, apart from any hardware.

/// What an operator does, as far as its cost goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorKind {
    /// Data from outside; costs nothing to make.
    Input,
    /// Another shape of the same data; costs nothing and holds no memory of its own.
    View,
    /// Everything else without a product: element by element, reductions, copies, gathers.
    Vector,
    /// Depthwise convolution: a product, but too thin for matrix units.
    Depthwise,
    /// Matrix product or dense convolution, which matrix units speed up.
    Matrix,
}

impl OperatorKind {
    /// Whether the operator is a product of two operands, so that each one's gradient is a product again.
    pub fn is_product(self) -> bool {
        matches!(self, Self::Depthwise | Self::Matrix)
    }

    /// Whether the operator runs a kernel at all.
    pub fn computes(self) -> bool {
        !matches!(self, Self::Input | Self::View)
    }
}

/// One operator. Sizes are counted in elements, so that they hold for any precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// Its path in the network, such as `layer3/attention/query`.
    pub name: String,
    /// The layer, block or cell it belongs to.
    pub layer: u64,
    /// What it does.
    pub kind: OperatorKind,
    /// The operators whose outputs it reads, without repeats.
    pub inputs: Vec<usize>,
    /// Elements of its output.
    pub output: f64,
    /// Elements of its parameters.
    pub parameters: f64,
    /// Elements it reads and writes in all.
    pub traffic: f64,
    /// Floating-point operations; a multiply-add is two.
    pub flops: f64,
}

/// Keys and values that an operator of attention keeps of each token, for those that follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyValueCache {
    /// The operator that reads them.
    pub operator: usize,
    /// Elements for each token.
    pub elements: f64,
    /// Whether the devices of a tensor-parallel group share them out; else each keeps all.
    pub is_shared: bool,
}

/// The operators of a network in topological order: inputs have lower indices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorGraph {
    /// The operators.
    pub operators: Vec<Operator>,
    /// Operators whose output the devices of a tensor-parallel group sum up, ascending.
    pub summed: Vec<usize>,
    /// What attention keeps of tokens, by operator, ascending.
    pub caches: Vec<KeyValueCache>,
}

impl OperatorGraph {
    /// Parameters of the whole network. Tied parameters count once for each operator that holds a copy.
    pub fn parameters(&self) -> f64 {
        self.operators.iter().map(|op| op.parameters).sum()
    }

    /// Floating-point operations of one forward pass in matrix products and convolutions.
    pub fn product_flops(&self) -> f64 {
        self.operators.iter().filter(|op| op.kind.is_product()).map(|op| op.flops).sum()
    }

    /// For each operator, whether a gradient flows to it: it or an operator before it has parameters.
    pub fn has_gradient(&self) -> Vec<bool> {
        let mut has = Vec::with_capacity(self.operators.len());
        for op in &self.operators {
            has.push(op.parameters > 0.0 || op.inputs.iter().any(|&u| has[u]));
        }
        has
    }

    /// For each operator, the elements that its backward pass needs besides what is kept: the gradients of its output, of its
    /// inputs and of its parameters, these before they are added to what there is. What nothing reads goes to a softmax
    /// cross-entropy, which keeps logarithms of as many probabilities in its place and then has the gradients of both.
    /// O(operators + edges).
    pub(super) fn gradients(&self) -> Vec<f64> {
        let has_gradient = self.has_gradient();
        let mut is_read = vec![false; self.operators.len()];
        self.operators.iter().flat_map(|op| &op.inputs).for_each(|&u| is_read[u] = true);
        let of_pass = |(v, op): (usize, &Operator)| {
            if !(has_gradient[v] && op.kind.computes()) {
                return 0.0;
            }
            let inputs = op.inputs.iter().filter(|&&u| has_gradient[u]).map(|&u| self.operators[u].output);
            let own = op.output + inputs.sum::<f64>() + op.parameters;
            if is_read[v] { own } else { own.max(2.0 * op.output) }
        };
        self.operators.iter().enumerate().map(of_pass).collect()
    }

    /// Adds the training loss, a softmax cross-entropy of the last operator's output.
    pub(in crate::generate) fn add_loss(&mut self) {
        const FLOPS_PER_ELEMENT: f64 = 5.0;
        let Some(last) = self.operators.last() else { return };
        let loss = Operator {
            name: "loss".to_owned(),
            layer: last.layer,
            kind: OperatorKind::Vector,
            inputs: vec![self.operators.len() - 1],
            output: 1.0,
            parameters: 0.0,
            traffic: last.output + 1.0,
            flops: FLOPS_PER_ELEMENT * last.output,
        };
        self.operators.push(loss);
    }
}
