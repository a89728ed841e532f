//! What an operator of PyTorch does, and in how many operations.

use super::label::{Code, Label};
use crate::generate::model::OperatorKind;

/// Operators that give the data that they read in another shape.
const VIEWS: [&str; 24] = [
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "chunk",
    "detach",
    "diagonal",
    "expand",
    "flatten",
    "narrow",
    "permute",
    "reshape",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "view",
];

/// Whether an operator reads of its first input no more than it gives.
pub(super) fn picks(label: &Label) -> bool {
    matches!(label.operator(), "embedding" | "gather" | "index" | "index_select")
}

/// What it does, and its operations; a multiply-add is two. The edges of a drawn graph do not tell which operand is which,
/// so products are counted by the sizes of all.
pub(super) fn of(label: &Label, operands: &[&[f64]]) -> (OperatorKind, f64) {
    let output = label.shape.as_deref().unwrap_or_default();
    let elements = label.elements();
    match label.operator() {
        _ if label.code == Code::Input => (OperatorKind::Input, 0.0),
        operator if VIEWS.contains(&operator) => (OperatorKind::View, 0.0),
        "convolution" | "conv1d" | "conv2d" | "conv3d" | "_convolution" => convolution(output, operands),
        "mm" | "addmm" | "bmm" | "baddbmm" | "matmul" | "linear" | "addmv" | "mv" => {
            (OperatorKind::Matrix, product(output, operands))
        }
        operator if operator.contains("scaled_dot_product") => {
            // Queries by keys, then the weights by values.
            let length = |shape: &&[f64]| shape.len().checked_sub(2).map(|axis| shape[axis]);
            let keys = operands.iter().filter_map(length).fold(0.0, f64::max);
            let queries = operands.first().map_or(0.0, |shape| shape.iter().product());
            (OperatorKind::Matrix, 4.0 * queries * keys)
        }
        _ => (OperatorKind::Vector, elements),
    }
}

/// A product of matrices m × k and k × n makes m × n: the root of the product of the three sizes is m k n. Matrices that
/// stand in stacks count once for each of the stack.
fn product(output: &[f64], operands: &[&[f64]]) -> f64 {
    let mut factors: Vec<&&[f64]> = operands.iter().filter(|shape| shape.len() >= 2).collect();
    // What is added has the shape of the result; it is the first operand that does, where there are three.
    if let (3, Some(added)) = (factors.len(), factors.iter().position(|shape| **shape == output)) {
        factors.remove(added);
    }
    let sizes: f64 = factors.iter().map(|shape| shape.iter().product::<f64>()).product();
    let stack = match output.split_last_chunk::<2>() {
        Some((stack, _)) if factors.iter().all(|shape| shape.len() >= 3) => stack.iter().product(),
        _ => 1.0,
    };
    2.0 * (sizes * output.iter().product::<f64>() / f64::max(stack, 1.0)).sqrt()
}

/// Each output needs one multiply-add for each weight of its channel.
fn convolution(output: &[f64], operands: &[&[f64]]) -> (OperatorKind, f64) {
    let channels = output.get(1).copied().unwrap_or(1.0);
    let is_weight = |shape: &&&[f64]| shape.len() == output.len() && shape.first() == Some(&channels);
    // An image comes first where a batch is as large as there are channels.
    let Some(weight) = operands.iter().rev().find(is_weight) else {
        return (OperatorKind::Matrix, output.iter().product());
    };
    let image = operands.iter().find(|shape| shape.len() == output.len() && *shape != weight);
    let is_deep = weight.get(1) == Some(&1.0) && image.and_then(|image| image.get(1)).is_some_and(|&size| size > 1.0);
    let kind = if is_deep { OperatorKind::Depthwise } else { OperatorKind::Matrix };
    (kind, 2.0 * output.iter().product::<f64>() * weight.iter().skip(1).product::<f64>())
}
