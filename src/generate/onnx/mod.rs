//! Operator graphs of ONNX models, with the costs of a roofline.
//!
//! A file states the shapes of its values itself: an exporter writes them, or `onnx.shape_inference.infer_shapes` adds
//! them. Weights are skipped, so files without them (external data) do as well. Every operator becomes one node; what it
//! does is told from its type, with the conventions of the networks that are built in: matrix products and convolutions
//! by their arithmetic, everything else by the numbers that it reads and writes, and reshapes are free.

mod operators;
pub mod proto;
mod shapes;
mod size;

use std::collections::BTreeMap;

use prost::Message;

use self::proto::ModelProto;
use super::checks::Checks;
use super::model::{Hardware, OperatorGraph, roofline};
use super::{MAX_EDGES, MAX_NODES};
use crate::instance::{AcceleratorClass, Instance, Metadata, Platform, Problems, Provenance, validate};

/// Files above this size are no protocol buffers: 2 GiB less one byte.
pub const MAX_ONNX_BYTES: u64 = (1 << 31) - 1;

/// What an ONNX file leaves open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OnnxOptions {
    /// The devices that the costs are modelled for; every number is as wide as their precision.
    pub hardware: Hardware,
    /// Sizes of the dimensions that the file only names, such as `batch`.
    pub dimensions: BTreeMap<String, u64>,
    /// Adds the backward pass.
    pub training: bool,
}

/// Reads a model, for six accelerators and one CPU. O(size of the file).
///
/// # Errors
/// Everything that is wrong with the file or the options: no ONNX model, values without a shape, dimensions without a
/// size, operators of other makers, control flow.
pub fn read_onnx(bytes: &[u8], options: &OnnxOptions) -> Result<Instance, Problems> {
    let mut checks = Checks::default();
    options.hardware.check(&mut checks);
    checks.into_result().map_err(|error| error.0)?;
    let mut found = Problems::default();
    let decoded = size::of_model(bytes).and_then(|size| {
        check_size(size, &mut found);
        if found.issues.is_empty() { ModelProto::decode(bytes) } else { Ok(ModelProto::default()) }
    });
    let model = match decoded {
        Ok(model) => model,
        Err(error) => {
            found.add("the file", format!("it is no ONNX model: {error}"), "export the model again");
            return Err(found);
        }
    };
    if !found.issues.is_empty() {
        return Err(found);
    }
    let mut operators = operators(&model, options, &mut found);
    found.into_result()?;
    if options.training {
        operators.add_loss();
    }
    let mut instance = roofline::instance(&operators, &options.hardware, options.training);
    instance.platform = platform(&options.hardware);
    instance.metadata = metadata(&model, options);
    validate(&instance)?;
    Ok(instance)
}

fn operators(model: &ModelProto, options: &OnnxOptions, found: &mut Problems) -> OperatorGraph {
    let Some(graph) = &model.graph else {
        found.add("the file", "it holds no graph, so it is no ONNX model", "export the model again");
        return OperatorGraph::default();
    };
    let shapes = shapes::Shapes::new(graph, &options.dimensions, found);
    let operators = operators::read(graph, &shapes, found);
    shapes.report_missing(found);
    operators
}

fn check_size(size: size::Size, found: &mut Problems) {
    if size.operators > MAX_NODES || size.parts > MAX_EDGES {
        let cure = format!("keep below {MAX_NODES} operators, and {MAX_EDGES} inputs, outputs, attributes and values");
        found.add("the graph", "it is too large", cure);
    }
}

fn platform(hardware: &Hardware) -> Platform {
    let accelerator = hardware.accelerator;
    let class = AcceleratorClass {
        name: Some(accelerator.to_string()),
        count: 6,
        memory: Some(accelerator.memory()),
        load: None,
    };
    Platform { accelerators: vec![class], cpus: 1, bandwidth: Some(hardware.link_bandwidth() / 1e3) }
}

fn metadata(model: &ModelProto, options: &OnnxOptions) -> Metadata {
    let graph = model.graph.as_ref().map(|graph| graph.name.clone()).filter(|name| !name.is_empty());
    let pass = if options.training { "training" } else { "inference" };
    let named = graph.as_deref().unwrap_or("unnamed");
    let writer = Some(model.producer_name.clone()).filter(|name| !name.is_empty());
    Metadata {
        name: graph.clone(),
        model: Some(format!("ONNX graph {named}, {}, {pass}", options.hardware.precision)),
        device: Some(options.hardware.describe()),
        source: writer.map(|name| format!("ONNX file of {name}")),
        provenance: Some(Provenance::Modelled),
        ..Metadata::default()
    }
}
