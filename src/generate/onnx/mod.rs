//! Operator graphs of ONNX models, with the costs of a roofline.
//!
//! Shapes follow from those of the inputs ([`infer`], by the rules of [`rules`]); what depends on no input is a constant and
//! no node. Weights are skipped, so files without them (external data) do as well. Every operator becomes one node; what it
//! does is told from its type, with the conventions of the networks that are built in: matrix products and convolutions
//! by their arithmetic, everything else by the numbers that it reads and writes, and reshapes are free.

mod call;
mod dimensions;
mod infer;
mod names;
mod operators;
pub mod proto;
mod rules;
mod size;
mod value;

use prost::Message;

use self::proto::ModelProto;
use super::model::OperatorGraph;
use super::model_file::{self, ModelFileOptions, Origin};
use super::{MAX_EDGES, MAX_NODES};
use crate::instance::{Instance, Problems};

/// Files above this size are no protocol buffers: 2 GiB less one byte.
pub const MAX_ONNX_BYTES: u64 = (1 << 31) - 1;

/// Reads a model, for six accelerators and one CPU. O(size of the file).
///
/// # Errors
/// Everything that is wrong with the file or the options: no ONNX model, dimensions without a size, shapes that do not fit
/// or depend on the model's inputs, operators of other makers, control flow.
pub fn read_onnx(bytes: &[u8], options: &ModelFileOptions) -> Result<Instance, Problems> {
    options.check()?;
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
    let operators = operators(&model, options, &mut found);
    found.into_result()?;
    let name = model.graph.map(|graph| graph.name).filter(|name| !name.is_empty());
    let writer = Some(model.producer_name).filter(|name| !name.is_empty());
    let source = writer.map(|name| format!("ONNX file of {name}"));
    model_file::workload(operators, Origin { kind: "ONNX graph", name, source }, options)
}

fn operators(model: &ModelProto, options: &ModelFileOptions, found: &mut Problems) -> OperatorGraph {
    let Some(graph) = &model.graph else {
        found.add("the file", "it holds no graph, so it is no ONNX model", "export the model again");
        return OperatorGraph::default();
    };
    check_version(model, found);
    let inferred = infer::infer(graph, options, found);
    let operators = operators::of_graph(&inferred, options.hardware.precision.bytes());
    if operators.operators.is_empty() && found.issues.is_empty() {
        found.add("the graph", "it has no operators", "export the model again");
    }
    operators
}

/// Before version 7 operators said for themselves how shapes are broadcast.
fn check_version(model: &ModelProto, found: &mut Problems) {
    const LEAST: i64 = 7;
    let own = model.opset_import.iter().find(|set| ["", "ai.onnx"].contains(&set.domain.as_str()));
    if let Some(set) = own.filter(|set| set.version < LEAST) {
        let cause = format!("its operators are those of version {}", set.version);
        found.add("the file", cause, format!("export the model with version {LEAST} or later (opset)"));
    }
}

fn check_size(size: size::Size, found: &mut Problems) {
    if size.operators > MAX_NODES || size.parts > MAX_EDGES {
        let cure = format!("keep below {MAX_NODES} operators, and {MAX_EDGES} inputs, outputs, attributes and values");
        found.add("the graph", "it is too large", cure);
    }
}
