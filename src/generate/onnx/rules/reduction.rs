//! Operators that leave axes out.

use super::arithmetic::fold;
use crate::generate::onnx::call::{Call, Fault};
use crate::generate::onnx::value::{OPEN, Scalar, Shape, Value, data_type, indices, is_small, place};

/// Sums, means, extremes and norms along axes.
pub(super) fn reduce(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let axes = match call.attribute_or_input("axes", 1) {
        Err(Fault::Data(_)) if call.whole("keepdims", 1) == 1 => {
            return Ok(Value::new(vec![OPEN; input.shape.len()], input.data_type));
        }
        axes => axes?.filter(|axes| !axes.is_empty()),
    };
    if axes.is_none() && call.is_set("noop_with_empty_axes") {
        return Ok(input.clone());
    }
    let rank = input.shape.len();
    let axes = axes.unwrap_or_else(|| (0..rank as i64).collect());
    let axes: Vec<usize> = axes.into_iter().map(|axis| call.axis(axis, rank)).collect::<Result<_, _>>()?;
    let reduced = |axis: usize| axes.contains(&axis);
    let kept: Shape = (0..rank).map(|axis| if reduced(axis) { 1 } else { input.shape[axis] }).collect();
    let numbers = numbers(call.operator, input, &kept);
    Ok(Value { numbers, ..Value::new(without(&kept, &axes, call), input.data_type) })
}

/// The shape, with its reduced axes if they are to be kept.
fn without(kept: &[i64], axes: &[usize], call: &Call) -> Shape {
    let keep = call.whole("keepdims", 1) == 1;
    kept.iter().enumerate().filter(|(axis, _)| keep || !axes.contains(axis)).map(|(_, &size)| size).collect()
}

/// The numbers, where those of the input are known; `kept` has size one where its shape is reduced.
fn numbers(operator: &str, input: &Value, kept: &[i64]) -> Option<Vec<Scalar>> {
    let known = input.numbers.as_ref().filter(|_| is_small(kept) && is_small(&input.shape))?;
    let mut groups: Vec<Vec<Scalar>> = vec![Vec::new(); indices(kept).count()];
    for (index, &number) in indices(&input.shape).zip(known) {
        let at = place(&index, kept)?;
        groups.get_mut(at)?.push(number);
    }
    let combine = |group: Vec<Scalar>| match operator {
        "ReduceSum" => fold(&group, i64::checked_add, |a, b| a + b),
        "ReduceProd" => fold(&group, i64::checked_mul, |a, b| a * b),
        "ReduceMax" => fold(&group, |a, b| Some(a.max(b)), f64::max),
        "ReduceMin" => fold(&group, |a, b| Some(a.min(b)), f64::min),
        _ => None,
    };
    groups.into_iter().map(combine).collect()
}

/// The place of the largest or smallest number along an axis.
pub(super) fn argument(call: &Call) -> Result<Value, Fault> {
    let input = call.shape(0)?;
    let axis = call.axis(call.whole("axis", 0), input.len())?;
    let mut kept = input.to_vec();
    kept[axis] = 1;
    Ok(Value::new(without(&kept, &[axis], call), data_type::INT64))
}
