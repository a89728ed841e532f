//! Recurrent networks.

use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::Value;

/// The states of all steps, and the last ones.
pub(super) fn steps(call: &Call) -> Outcome {
    let (input, weights, recurrence) = (call.input(0)?, call.shape(1)?, call.shape(2)?);
    let (&[first, second, _], &[directions, ..]) = (input.shape.as_slice(), weights) else {
        return Err(Fault::Wrong(format!("it is given shapes {:?} and {weights:?}", input.shape)));
    };
    // Quantised networks keep the weights of the state transposed.
    let width = if call.operator == call.node.op_type { recurrence.last() } else { recurrence.get(1) };
    let hidden = call.whole("hidden_size", width.copied().unwrap_or(1));
    let batch_first = call.is_set("layout");
    let (all, last) = if batch_first {
        (vec![first, second, directions, hidden], vec![first, directions, hidden])
    } else {
        (vec![first, directions, second, hidden], vec![directions, second, hidden])
    };
    let value = |shape| Value::new(shape, input.data_type);
    Ok(vec![value(all), value(last.clone()), value(last)])
}
