//! Images of another size.

use crate::generate::onnx::call::{Call, Fault};
use crate::generate::onnx::value::{OPEN, Value};

/// Sizes or scales of all axes, or of those that are named.
pub(super) fn resize(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let axes = call.list("axes")?.map(<[i64]>::to_vec).unwrap_or_else(|| (0..rank as i64).collect());
    let axes: Vec<usize> = axes.into_iter().map(|axis| call.axis(axis, rank)).collect::<Result<_, _>>()?;
    // Before regions of interest there were scales alone.
    let scales = if call.inputs.len() == 2 { 1 } else { 2 };
    let is_given = |input: usize| call.given(input).is_some_and(|value| value.shape != [0]);
    let stated: Option<Vec<f64>> = if is_given(3) {
        call.numbers(3).map(|sizes| targets(call, &input.shape, &axes, &sizes))
    } else {
        scales_of(call, scales).map(|scales| {
            axes.iter().zip(&scales).map(|(&axis, scale)| (input.shape[axis] as f64 * scale).floor()).collect()
        })
    };
    let mut shape = input.shape.clone();
    match stated {
        Some(sizes) if sizes.len() == axes.len() => {
            axes.iter().zip(sizes).for_each(|(&axis, size)| shape[axis] = size.max(0.0) as i64);
        }
        Some(_) => return Err(Fault::Wrong(format!("it does not state a size for each of {} axes", axes.len()))),
        None => axes.iter().for_each(|&axis| shape[axis] = OPEN),
    }
    Ok(Value::new(shape, input.data_type))
}

/// What the axes are scaled by: an attribute before version 9.
fn scales_of(call: &Call, input: usize) -> Option<Vec<f64>> {
    match call.attribute("scales") {
        Some(attribute) => Some(attribute.floats.iter().map(|&scale| scale.into()).collect()),
        None => Some(call.given(input)?.numbers.as_ref()?.iter().map(|scale| scale.real()).collect()),
    }
}

/// Sizes as they are asked for, or as one scale for all axes makes them.
fn targets(call: &Call, shape: &[i64], axes: &[usize], sizes: &[i64]) -> Vec<f64> {
    let ratios = axes.iter().zip(sizes).map(|(&axis, &size)| size as f64 / shape[axis] as f64);
    let scale = match call.text("keep_aspect_ratio_policy") {
        "not_larger" => ratios.fold(f64::INFINITY, f64::min),
        "not_smaller" => ratios.fold(0.0, f64::max),
        _ => return sizes.iter().map(|&size| size as f64).collect(),
    };
    axes.iter().map(|&axis| (shape[axis] as f64 * scale).round()).collect()
}
