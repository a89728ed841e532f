//! Operators that give a number for each number that they are given, or for each that broadcasting makes of them.

use super::arithmetic::{apply, cast};
use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::{Scalar, Shape, Value, data_type, indices, is_small, place};

/// The shape that broadcasting makes of two.
pub(super) fn joined(a: &[i64], b: &[i64]) -> Result<Shape, Fault> {
    let rank = a.len().max(b.len());
    let size = |shape: &[i64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let join = |axis: usize| match (size(a, axis), size(b, axis)) {
        (a, b) if a == b || b == 1 => Ok(a),
        (1, b) => Ok(b),
        _ => Err(Fault::Wrong(format!("shapes {a:?} and {b:?} do not fit together"))),
    };
    (0..rank).map(join).collect()
}

/// One operator on all its inputs.
pub(super) fn broadcast(call: &Call) -> Result<Value, Fault> {
    let inputs: Vec<&Value> = call.inputs.iter().copied().flatten().collect();
    let first = call.input(0)?;
    let shape = inputs.iter().try_fold(Vec::new(), |shape, input| joined(&shape, &input.shape))?;
    let data_type = match call.operator {
        "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" => data_type::BOOL,
        _ => first.data_type,
    };
    let numbers = folded(&inputs, &shape, |numbers| apply(call.operator, numbers));
    Ok(Value { numbers, ..Value::new(shape, data_type) })
}

/// The numbers that `operator` makes of those of all inputs, where these are known.
fn folded(inputs: &[&Value], shape: &[i64], operator: impl Fn(&[Scalar]) -> Option<Scalar>) -> Option<Vec<Scalar>> {
    let known: Option<Vec<_>> = inputs.iter().map(|input| Some((input.numbers.as_ref()?, &input.shape))).collect();
    let known = known.filter(|_| is_small(shape))?;
    let number = |index: Vec<i64>| {
        let each = known.iter().map(|(numbers, shape)| numbers.get(place(&index, shape)?).copied());
        operator(&each.collect::<Option<Vec<_>>>()?)
    };
    indices(shape).map(number).collect()
}

/// Two quantised operands, each followed by its scale and zero point.
pub(super) fn quantised(call: &Call) -> Result<Value, Fault> {
    let [a, b] = call.operands();
    Ok(Value::new(joined(call.shape(a)?, call.shape(b)?)?, call.input(a)?.data_type))
}

/// The second or third input, by the first.
pub(super) fn choice(call: &Call) -> Result<Value, Fault> {
    let inputs = [call.input(0)?, call.input(1)?, call.input(2)?];
    let shape = joined(&joined(&inputs[0].shape, &inputs[1].shape)?, &inputs[2].shape)?;
    let choose = |numbers: &[Scalar]| Some(if numbers[0].whole() != 0 { numbers[1] } else { numbers[2] });
    let numbers = folded(&inputs, &shape, choose);
    Ok(Value { numbers, ..Value::new(shape, inputs[1].data_type) })
}

/// A value of the first input's shape.
pub(super) fn same(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let data_type = match call.operator {
        "Cast" => call.whole("to", data_type::FLOAT.into()) as i32,
        "CastLike" => call.input(1)?.data_type,
        "IsInf" | "IsNaN" => data_type::BOOL,
        "QuantizeLinear" => match (call.given(2), call.whole("output_dtype", 0) as i32) {
            (Some(zero_point), _) => zero_point.data_type,
            (None, 0) => data_type::UINT8,
            (None, data_type) => data_type,
        },
        "DequantizeLinear" => call.input(1)?.data_type,
        _ => input.data_type,
    };
    let numbers = match call.operator {
        "Cast" | "CastLike" => {
            let numbers = input.numbers.as_ref();
            numbers.map(|numbers| numbers.iter().map(|&number| cast(number, data_type)).collect())
        }
        operator => folded(&[input], &input.shape, |number| apply(operator, number)),
    };
    Ok(Value { numbers, ..Value::new(input.shape.clone(), data_type) })
}

/// A value and which of its numbers were kept.
pub(super) fn with_mask(call: &Call) -> Outcome {
    let input = call.input(0)?;
    Ok(vec![input.clone(), Value::new(input.shape.clone(), data_type::BOOL)])
}

/// A value, and four statistics of its channels.
pub(super) fn with_statistics(call: &Call) -> Outcome {
    let statistics = Value::new(call.shape(1)?.to_vec(), call.input(1)?.data_type);
    let input = call.input(0)?;
    let mut outputs = vec![statistics; 5];
    outputs[0] = Value::new(input.shape.clone(), input.data_type);
    Ok(outputs)
}

/// A value, the mean and the inverse deviation of what was normalised together, and the sum with a skipped input.
pub(super) fn with_deviations(call: &Call) -> Outcome {
    let input = call.input(0)?;
    let value = Value::new(input.shape.clone(), input.data_type);
    let axis = call.axis(call.whole("axis", -1), input.shape.len())?;
    let mut deviations = input.shape.clone();
    deviations[axis..].fill(1);
    let deviations = Value::new(deviations, data_type::FLOAT);
    Ok(vec![value.clone(), deviations.clone(), deviations, value])
}

/// A quantised value with its scale and zero point.
pub(super) fn with_scale(call: &Call) -> Outcome {
    let scalar = |data_type| Value::new(Vec::new(), data_type);
    let quantised = Value::new(call.shape(0)?.to_vec(), data_type::UINT8);
    Ok(vec![quantised, scalar(data_type::FLOAT), scalar(data_type::UINT8)])
}
