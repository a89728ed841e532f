//! The walk through a graph that tells the shapes of its values and which of them are constants.

use std::collections::HashMap;

use super::call::{Call, Fault};
use super::dimensions::{Dimensions, axes, data_type};
use super::names::{place, shown};
use super::proto::{AttributeProto, GraphProto, NodeProto, ValueInfoProto};
use super::rules;
use super::value::{MOST_AXES, OPEN, Scalar, Value, is_within_range};
use crate::generate::ModelFileOptions;
use crate::instance::Problems;

/// Operators that hold graphs of their own.
const CONTROL_FLOW: [&str; 4] = ["If", "Loop", "Scan", "SequenceMap"];

/// What is known of a value.
#[derive(Default)]
pub(super) struct Fact {
    /// `None` where something before it is not known, which is reported there.
    pub value: Option<Value>,
    /// Whether it is the same for all inputs of the model.
    pub constant: bool,
}

/// An operator that runs, with the facts of what it reads and gives.
pub(super) struct Step<'a> {
    pub node: &'a NodeProto,
    /// What it does, in ONNX' own words.
    pub operator: &'a str,
    pub inputs: Vec<Option<usize>>,
    pub outputs: Vec<Option<usize>>,
}

/// A graph without its constants.
#[derive(Default)]
pub(super) struct Inferred<'a> {
    pub facts: Vec<Fact>,
    /// The values from outside with their facts.
    pub sources: Vec<(&'a str, usize)>,
    /// In an order in which they can run.
    pub steps: Vec<Step<'a>>,
    /// The facts of the values that the graph gives.
    pub results: Vec<usize>,
}

/// Looks at each operator once. O(size of the graph), and of the small tensors that tell shapes.
pub(super) fn infer<'a>(graph: &'a GraphProto, options: &'a ModelFileOptions, found: &mut Problems) -> Inferred<'a> {
    let mut walk = Walk {
        options,
        dimensions: Dimensions::new(graph, &options.dimensions),
        names: HashMap::new(),
        stated: HashMap::new(),
        inferred: Inferred::default(),
        found,
    };
    walk.holds(graph);
    for input in &graph.input {
        walk.reads(input);
    }
    walk.runs(graph, false);
    let results = graph.output.iter().filter_map(|output| walk.names.get(output.name.as_str()).copied());
    walk.inferred.results = results.collect();
    walk.dimensions.report(walk.found);
    let Walk { inferred, found, .. } = walk;
    let is_unknown = |fact: &usize| inferred.facts[*fact].value.is_none();
    // What is not known was told where it begins, but for branches that give less than they should.
    let unknown = inferred.steps.iter().find(|step| step.outputs.iter().flatten().any(is_unknown));
    if let (true, Some(step)) = (found.issues.is_empty(), unknown) {
        found.add(shown(step.node), "the shape of what it gives is not known", "export the model again");
    }
    inferred
}

struct Walk<'a, 'b> {
    options: &'a ModelFileOptions,
    dimensions: Dimensions<'a>,
    /// The fact of each value.
    names: HashMap<&'a str, usize>,
    /// What the file says of values between inputs and outputs.
    stated: HashMap<&'a str, &'a ValueInfoProto>,
    inferred: Inferred<'a>,
    found: &'b mut Problems,
}

impl<'a> Walk<'a, '_> {
    fn fact(&mut self, value: Option<Value>, constant: bool) -> usize {
        self.inferred.facts.push(Fact { value, constant });
        self.inferred.facts.len() - 1
    }

    /// The values that a graph holds, and what it states of others.
    fn holds(&mut self, graph: &'a GraphProto) {
        self.stated.extend(graph.value_info.iter().chain(&graph.output).map(|value| (value.name.as_str(), value)));
        for tensor in &graph.initializer {
            let value = Value::of_tensor(&tensor.0, self.options.folder.as_deref());
            if value.is_none() {
                self.found.add(place(&tensor.0.name), "a size of it is out of range", "export the model again");
            }
            let fact = self.fact(value, true);
            self.names.insert(&tensor.0.name, fact);
        }
    }

    /// A value from outside, unless it is one that the graph holds: older files list these, too.
    fn reads(&mut self, input: &'a ValueInfoProto) {
        if self.names.contains_key(input.name.as_str()) {
            return;
        }
        let value = self.dimensions.of_input(input);
        if axes(input).is_none_or(|axes| axes > MOST_AXES) {
            let cause = format!("it is no tensor of a stated number of axes, {MOST_AXES} at most");
            self.found.add(place(&input.name), cause, "export the model with a shape for it");
        }
        let fact = self.fact(value, false);
        self.names.insert(&input.name, fact);
        self.inferred.sources.push((&input.name, fact));
    }

    /// The operators of a graph, or of a branch that was chosen: names of another branch may come back there.
    fn runs(&mut self, graph: &'a GraphProto, is_branch: bool) {
        for node in &graph.node {
            let outputs = self.step(node);
            for (name, fact) in node.output.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
                if self.names.insert(name, fact).is_some() && !is_branch {
                    self.found.add(place(name), "it is given twice", "export the model again");
                }
            }
        }
    }

    /// The facts of what an operator gives, one for each of its outputs.
    fn step(&mut self, node: &'a NodeProto) -> Vec<usize> {
        let inputs: Vec<Option<usize>> = node.input.iter().map(|input| self.find(node, input)).collect();
        let operator = rules::operator(node);
        match operator {
            Some("Constant") => return self.constant(node),
            Some("If") => return self.chosen(node, &inputs),
            Some(operator) if CONTROL_FLOW.contains(&operator) => {
                let cause = format!("{operator} holds graphs of its own, which cannot be split");
                self.found.add(shown(node), cause, "export the model without control flow");
                return self.unknown(node);
            }
            _ => {}
        }
        let given = |fact: &usize| self.inferred.facts[*fact].constant;
        let are_constant = !node.input.is_empty() && inputs.iter().flatten().all(given);
        let values = self.values(node, operator, &inputs);
        let held = |value: &Value| are_constant && !operator.is_some_and(rules::is_random) || value.numbers.is_some();
        let mut outputs = Vec::new();
        for mut value in values {
            let constant = value.as_ref().map_or(are_constant, held);
            if let (Some(value), true, Some("DequantizeLinear")) = (&mut value, constant, operator) {
                // What is held is the quantised tensor: kernels of quantised networks take its scale along.
                let quantised = inputs[0].and_then(|fact| self.inferred.facts[fact].value.as_ref());
                value.data_type = quantised.map_or(value.data_type, |quantised| quantised.data_type);
            }
            outputs.push(self.fact(value, constant));
        }
        if outputs.iter().any(|&fact| !self.inferred.facts[fact].constant) {
            let named = |(name, &fact): (&String, &usize)| (!name.is_empty()).then_some(fact);
            let outputs = node.output.iter().zip(&outputs).map(named).collect();
            self.inferred.steps.push(Step { node, operator: operator.unwrap_or_default(), inputs, outputs });
        }
        outputs
    }

    /// The fact of an input; `None` where it is left out.
    fn find(&mut self, node: &NodeProto, input: &'a str) -> Option<usize> {
        if input.is_empty() {
            return None;
        }
        if !self.names.contains_key(input) {
            let cause = format!("it reads {}, which no operator before it gives", place(input));
            self.found.add(shown(node), cause, "sort the operators in the order in which they run");
            let fact = self.fact(None, false);
            self.names.insert(input, fact);
        }
        self.names.get(input).copied()
    }

    fn unknown(&mut self, node: &NodeProto) -> Vec<usize> {
        node.output.iter().map(|_| self.fact(None, false)).collect()
    }

    fn constant(&mut self, node: &'a NodeProto) -> Vec<usize> {
        let value = match held(node) {
            Ok(value) => Some(value),
            Err(cause) => {
                let name = node.output.first().map_or("", String::as_str);
                self.found.add(place(name), cause, "export the model again");
                None
            }
        };
        vec![self.fact(value, true)]
    }

    /// An `If` whose condition is the same for all inputs is the branch that it chooses.
    fn chosen(&mut self, node: &'a NodeProto, inputs: &[Option<usize>]) -> Vec<usize> {
        let condition = inputs.first().copied().flatten().map(|fact| &self.inferred.facts[fact]);
        let known = condition.and_then(|fact| fact.value.as_ref()?.numbers.as_ref()?.first().copied());
        let name = if known.is_some_and(|number| number.whole() != 0) { "then_branch" } else { "else_branch" };
        let branch = node.attribute.iter().find(|attribute| attribute.name == name);
        let (Some(_), Some(branch)) = (known, branch.and_then(|attribute| attribute.g.as_ref())) else {
            // What is asked for may be all that the condition depends on.
            if condition.is_none_or(|fact| fact.value.is_some() || !fact.constant) {
                let cause = "If chooses one of two graphs as the model runs, which cannot be split";
                self.found.add(shown(node), cause, "export the model without control flow");
            }
            return self.unknown(node);
        };
        self.holds(branch);
        self.runs(branch, true);
        let results = branch.output.iter().map(|result| self.find(node, &result.name)).collect::<Vec<_>>();
        let known = results.into_iter().chain(std::iter::repeat(None)).take(node.output.len()).collect::<Vec<_>>();
        known.into_iter().map(|fact| fact.unwrap_or_else(|| self.fact(None, false))).collect()
    }

    /// What an operator gives, by its rule or else as the file states it.
    fn values(
        &mut self,
        node: &'a NodeProto,
        operator: Option<&'a str>,
        inputs: &[Option<usize>],
    ) -> Vec<Option<Value>> {
        let Some(operator) = operator else {
            let cause = format!("{} of {:?} is not one of ONNX' own operators", node.op_type, node.domain);
            self.found.add(shown(node), cause, "export the model without operators of other makers");
            return vec![None; node.output.len()];
        };
        let given: Option<Vec<Option<&Value>>> = inputs
            .iter()
            .map(|input| input.map_or(Some(None), |fact| self.inferred.facts[fact].value.as_ref().map(Some)))
            .collect();
        // What is not known before it is reported there; whether there is a rule is told all the same.
        let known = given.is_some();
        let call = Call { operator, node, inputs: given.unwrap_or_default() };
        let fault = match rules::infer(&call) {
            Ok(values) if known => return self.completed(node, values),
            Err(Fault::NoRule) => Some("its shape is not known, for there is no rule for it".to_owned()),
            Err(Fault::Data(input)) if known => {
                let input = node.input.get(input).map_or("", String::as_str);
                Some(format!("its shape depends on {}, which is known only as the model runs", place(input)))
            }
            Err(Fault::Wrong(cause)) if known => {
                self.found.add(
                    shown(node),
                    format!("{}: {cause}", node.op_type),
                    "export the model again, or give other sizes",
                );
                return vec![None; node.output.len()];
            }
            _ => None,
        };
        let stated: Vec<Option<Value>> = node.output.iter().map(|output| self.stated(output)).collect();
        let missing = node.output.iter().zip(&stated).any(|(name, value)| !name.is_empty() && value.is_none());
        if let (Some(cause), true) = (fault, missing) {
            let cause = format!("{}: {cause}", node.op_type);
            self.found.add(shown(node), cause, "state it in the file, as onnx.shape_inference.infer_shapes does");
        }
        stated
    }

    /// What the file states of a value, where it states all of it.
    fn stated(&self, name: &str) -> Option<Value> {
        let value = self.stated.get(name)?;
        let shape = self.dimensions.as_stated(value)?.into_iter().collect::<Option<Vec<i64>>>()?;
        Some(Value::new(shape, data_type(value)))
    }

    /// The values with the sizes that depend on data, which the file or the options state.
    fn completed(&mut self, node: &'a NodeProto, values: Vec<Value>) -> Vec<Option<Value>> {
        let values = values.into_iter().map(Some).chain(std::iter::repeat(None));
        node.output.iter().zip(values).map(|(name, value)| self.complete(node, name, value)).collect()
    }

    fn complete(&mut self, node: &'a NodeProto, name: &'a str, value: Option<Value>) -> Option<Value> {
        if name.is_empty() {
            return value;
        }
        let Some(mut value) = value else {
            let cause = format!("{} gives no {}", node.op_type, place(name));
            self.found.add(shown(node), cause, "export the model again");
            return None;
        };
        let stated = self.stated.get(name).and_then(|value| self.dimensions.as_stated(value)).unwrap_or_default();
        let mut all_known = true;
        for (axis, size) in value.shape.iter_mut().enumerate().filter(|(_, size)| **size == OPEN) {
            let known = stated.get(axis).copied().flatten().or_else(|| self.dimensions.of_axis(name, axis, None));
            all_known &= known.is_some();
            *size = known.unwrap_or(OPEN);
        }
        if all_known && !is_within_range(&value.shape) {
            let cause = format!("{}: the shape of what it gives is out of range", node.op_type);
            self.found.add(shown(node), cause, "give other sizes");
            return None;
        }
        all_known.then_some(value)
    }
}

/// The value of a `Constant`.
fn held(node: &NodeProto) -> Result<Value, &'static str> {
    let known = |attribute: &AttributeProto| match attribute.name.as_str() {
        "value" => attribute.t.as_ref().map(|tensor| Value::of_tensor(&tensor.0, None)),
        "value_int" => Some(Some(Value { shape: Vec::new(), ..Value::list(&[attribute.i]) })),
        "value_ints" => Some(Some(Value::list(&attribute.ints))),
        "value_float" => Some(Some(real(Vec::new(), &[attribute.f]))),
        "value_floats" => Some(Some(real(vec![attribute.floats.len() as i64], &attribute.floats))),
        _ => None,
    };
    let value = node.attribute.iter().find_map(known).ok_or("it is a constant without a value that is understood")?;
    value.ok_or("a size of it is out of range")
}

fn real(shape: Vec<i64>, numbers: &[f32]) -> Value {
    let numbers = numbers.iter().map(|&number| Scalar::Real(number.into())).collect();
    Value { numbers: Some(numbers), ..Value::new(shape, super::value::data_type::FLOAT) }
}
