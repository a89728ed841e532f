//! The shapes of a graph's values, as its file states them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::proto::{Dimension, GraphProto, NodeProto, TensorProto, ValueInfoProto};
use crate::instance::Problems;

/// Shapes by the names of the values, and what was missing when they were asked for.
pub(super) struct Shapes<'a> {
    known: HashMap<&'a str, Vec<f64>>,
    parameters: HashMap<&'a str, Vec<f64>>,
    unknown: RefCell<BTreeSet<String>>,
}

impl<'a> Shapes<'a> {
    /// Gathers what the file states; `sizes` are those of dimensions that it only names.
    pub fn new(graph: &'a GraphProto, sizes: &BTreeMap<String, u64>, found: &mut Problems) -> Self {
        let mut parameters = HashMap::new();
        let held = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor));
        for (name, tensor) in held.chain(graph.node.iter().filter_map(constant)) {
            match whole(&tensor.dims) {
                Some(shape) => drop(parameters.insert(name, shape)),
                None => found.add(place(name), "it has a negative dimension", "export the model again"),
            }
        }
        report_unused(graph, sizes, found);
        let mut known = HashMap::new();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for value in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
            let shape = match shape(value, sizes) {
                Ok(shape) => shape,
                Err(Unsized::Unknown) => continue,
                Err(Unsized::Negative) => {
                    found.add(place(&value.name), "it has a negative dimension", "export the model again");
                    Vec::new()
                }
                Err(Unsized::Named(name)) => {
                    names.entry(name).or_insert(&value.name);
                    Vec::new()
                }
            };
            known.insert(value.name.as_str(), shape);
        }
        for (name, value) in names {
            let cause = format!("its size is not stated ({} has it)", place(value));
            found.add(format!("dimension {name:?}"), cause, format!("give it: --dimension {name}=1"));
        }
        Self { known, parameters, unknown: RefCell::default() }
    }

    /// The shape of a value that is no parameter. One that nothing is known of is noted, and treated as a number.
    pub fn of(&self, name: &str) -> &[f64] {
        match self.known.get(name) {
            Some(shape) => shape,
            None => {
                self.unknown.borrow_mut().insert(name.to_owned());
                &[]
            }
        }
    }

    /// The shape of a weight or other value that the graph holds.
    pub fn of_parameter(&self, name: &str) -> Option<&[f64]> {
        self.parameters.get(name).map(Vec::as_slice)
    }

    /// Reports the values whose shapes were asked for and are not known.
    pub fn report_missing(self, found: &mut Problems) {
        for name in self.unknown.into_inner() {
            let cure = "add shapes with onnx.shape_inference.infer_shapes, or export with fixed shapes";
            found.add(place(&name), "its shape is not stated", cure);
        }
    }
}

/// How a value is shown.
pub(super) fn place(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    format!("value {shown:?}")
}

/// Why a shape has no sizes.
enum Unsized<'a> {
    /// Nothing is stated.
    Unknown,
    Negative,
    Named(&'a str),
}

fn shape<'a>(value: &'a ValueInfoProto, sizes: &BTreeMap<String, u64>) -> Result<Vec<f64>, Unsized<'a>> {
    let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let shape = tensor.and_then(|t| t.shape.as_ref()).ok_or(Unsized::Unknown)?;
    let size = |dimension: &'a Option<Dimension>| match dimension {
        None => Err(Unsized::Unknown),
        Some(Dimension::Size(size)) if *size < 0 => Err(Unsized::Negative),
        Some(Dimension::Size(size)) => Ok(*size as f64),
        Some(Dimension::Name(name)) => sizes.get(name).map(|&size| size as f64).ok_or(Unsized::Named(name)),
    };
    shape.dim.iter().map(|dimension| size(&dimension.value)).collect()
}

/// The tensor that a `Constant` operator gives, with its name, where it may be a weight: numbers alone and whole numbers
/// are axes, shapes and the like.
fn constant(node: &NodeProto) -> Option<(&str, &TensorProto)> {
    const WHOLE: [i32; 3] = [6, 7, 9];
    let name = node.output.first().filter(|_| node.op_type == "Constant")?;
    let value = node.attribute.iter().find(|attribute| attribute.name == "value")?.t.as_ref()?;
    (!value.dims.is_empty() && !WHOLE.contains(&value.data_type)).then_some((name, value))
}

/// Reports the dimensions that have a size and that no value of the graph has.
fn report_unused(graph: &GraphProto, sizes: &BTreeMap<String, u64>, found: &mut Problems) {
    let values = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
    let shapes = values.filter_map(|value| value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref());
    let names: BTreeSet<&str> = shapes
        .flat_map(|shape| &shape.dim)
        .filter_map(|dimension| match &dimension.value {
            Some(Dimension::Name(name)) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    for name in sizes.keys().filter(|name| !names.contains(name.as_str())) {
        let cause = match names.len() {
            0 => "the file names no dimensions".to_owned(),
            _ => format!("the file names {}", names.iter().take(10).copied().collect::<Vec<_>>().join(", ")),
        };
        found.add(format!("dimension {name:?}"), cause, "leave it out, or correct its name");
    }
}

fn whole(dims: &[i64]) -> Option<Vec<f64>> {
    dims.iter().map(|&dim| u64::try_from(dim).ok().map(|dim| dim as f64)).collect()
}
