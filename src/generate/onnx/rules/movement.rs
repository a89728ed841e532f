//! Operators that give the numbers that they are given, in other places.

use super::arithmetic::cast;
use super::elementwise::joined;
use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::{OPEN, Scalar, Shape, Value, data_type, elements, is_small, place};

/// As many axes of sizes that depend on data as the list of sizes in an input has entries.
fn open_axes(call: &Call, input: usize) -> Result<Shape, Fault> {
    const MOST_AXES: i64 = 64;
    match *call.shape(input)? {
        [axes @ 0..=MOST_AXES] => Ok(vec![OPEN; axes as usize]),
        _ => Err(Fault::Data(input)),
    }
}

pub(super) fn reshape(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let wanted = match call.attribute_or_input("shape", 1) {
        Err(Fault::Data(_)) => return Ok(Value::new(open_axes(call, 1)?, input.data_type)),
        wanted => wanted?.ok_or_else(|| Fault::Wrong("it states no shape".into()))?,
    };
    let wrong = || Fault::Wrong(format!("{:?} cannot be given the shape {wanted:?}", input.shape));
    let mut shape = wanted.clone();
    if !call.is_set("allowzero") {
        for (axis, size) in shape.iter_mut().enumerate().filter(|(_, size)| **size == 0) {
            *size = *input.shape.get(axis).ok_or_else(wrong)?;
        }
    }
    let all = product(&input.shape).ok_or_else(wrong)?;
    if let Some(free) = shape.iter().position(|&size| size == -1) {
        shape[free] = 1;
        let others = product(&shape).filter(|&others| others > 0).ok_or_else(wrong)?;
        shape[free] = i64::try_from(all / others).map_err(|_| wrong())?;
    }
    if shape.iter().any(|&size| size < 0) || product(&shape) != Some(all) {
        return Err(wrong());
    }
    Ok(input.reshaped(shape))
}

fn product(shape: &[i64]) -> Option<i128> {
    shape.iter().try_fold(1_i128, |product, &size| product.checked_mul(size.into()))
}

pub(super) fn flatten(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let axis = match call.whole("axis", 1) {
        axis if axis == rank as i64 => rank,
        axis => call.axis(axis, rank)?,
    };
    let size = |shape: &[i64]| shape.iter().fold(1_i64, |product, &size| product.saturating_mul(size));
    Ok(input.reshaped(vec![size(&input.shape[..axis]), size(&input.shape[axis..])]))
}

pub(super) fn squeeze(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let leaves: Vec<usize> = match call.attribute_or_input("axes", 1)? {
        Some(axes) => axes.into_iter().map(|axis| call.axis(axis, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).filter(|&axis| input.shape[axis] == 1).collect(),
    };
    if let Some(&axis) = leaves.iter().find(|&&axis| input.shape[axis] != 1) {
        return Err(Fault::Wrong(format!("axis {axis} of shape {:?} is not 1", input.shape)));
    }
    let kept = (0..rank).filter(|axis| !leaves.contains(axis)).map(|axis| input.shape[axis]);
    Ok(input.reshaped(kept.collect()))
}

pub(super) fn unsqueeze(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let axes = call.attribute_or_input("axes", 1)?.unwrap_or_default();
    let rank = input.shape.len() + axes.len();
    let new: Vec<usize> = axes.into_iter().map(|axis| call.axis(axis, rank)).collect::<Result<_, _>>()?;
    let mut old = input.shape.iter().copied();
    let shape: Shape = (0..rank).filter_map(|axis| if new.contains(&axis) { Some(1) } else { old.next() }).collect();
    if shape.len() == rank { Ok(input.reshaped(shape)) } else { Err(Fault::Wrong("an axis is given twice".into())) }
}

pub(super) fn transpose(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let order: Vec<usize> = match call.list("perm")? {
        Some(order) => order.iter().map(|&axis| call.axis(axis, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).rev().collect(),
    };
    if (0..rank).any(|axis| !order.contains(&axis)) || order.len() != rank {
        return Err(Fault::Wrong(format!("{order:?} is no order of {rank} axes")));
    }
    let shape = order.iter().map(|&axis| input.shape[axis]).collect();
    Ok(input.select(shape, |index| {
        let mut source = vec![0; rank];
        order.iter().zip(index).for_each(|(&axis, &at)| source[axis] = at);
        place(&source, &input.shape)
    }))
}

pub(super) fn concat(call: &Call) -> Result<Value, Fault> {
    // Quantised tensors follow the scale and zero point of the result, each with its own behind it.
    let quantised = call.operator == "QLinearConcat";
    let parts: Vec<&Value> = match quantised {
        true => call.inputs.iter().copied().skip(2).step_by(3).flatten().collect(),
        false => call.inputs.iter().copied().flatten().collect(),
    };
    let first = *parts.first().ok_or_else(|| Fault::Wrong("it has no inputs".into()))?;
    let axis = call.axis(call.whole("axis", 1), first.shape.len())?;
    let mut shape = first.shape.clone();
    for part in &parts[1..] {
        let fits = |(at, (a, b)): (usize, (&i64, &i64))| at == axis || a == b;
        if part.shape.len() != shape.len() || !part.shape.iter().zip(&shape).enumerate().all(fits) {
            let cause = format!("shapes {:?} and {:?} cannot be joined along axis {axis}", first.shape, part.shape);
            return Err(Fault::Wrong(cause));
        }
        shape[axis] = shape[axis].saturating_add(part.shape[axis]);
    }
    let numbers = if is_small(&shape) { joined_numbers(&parts, axis, &shape) } else { None };
    Ok(Value { numbers, ..Value::new(shape, first.data_type) })
}

fn joined_numbers(parts: &[&Value], axis: usize, shape: &[i64]) -> Option<Vec<Scalar>> {
    let row = |part: &Value| elements(&part.shape[axis..]) as usize;
    let rows = elements(&shape[..axis]) as usize;
    let mut joined = Vec::new();
    for at in 0..rows {
        for part in parts {
            joined.extend_from_slice(part.numbers.as_ref()?.get(at * row(part)..(at + 1) * row(part))?);
        }
    }
    parts.iter().all(|part| part.numbers.is_some()).then_some(joined)
}

pub(super) fn split(call: &Call) -> Outcome {
    let input = call.input(0)?;
    let axis = call.axis(call.whole("axis", 0), input.shape.len())?;
    let count = call.node.output.len() as i64;
    let sizes = match call.attribute_or_input("split", 1) {
        Err(Fault::Data(_)) => vec![OPEN; count as usize],
        Ok(Some(sizes)) => sizes,
        Ok(None) => {
            let count = call.whole("num_outputs", count).clamp(1, count.max(1));
            let size = (input.shape[axis] + count - 1) / count;
            (0..count).map(|at| size.min(input.shape[axis] - at * size).max(0)).collect()
        }
        Err(fault) => return Err(fault),
    };
    let mut begin = 0_i64;
    let part = |size: i64| {
        let mut shape = input.shape.clone();
        shape[axis] = size;
        let from = begin;
        begin = begin.saturating_add(size.max(0));
        input.select(shape, |index| {
            let mut source = index.to_vec();
            source[axis] = source[axis].saturating_add(from);
            place(&source, &input.shape)
        })
    };
    Ok(sizes.into_iter().map(part).collect())
}

pub(super) fn expand(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let Some(wanted) = call.numbers(1) else {
        return Ok(Value::new(open_axes(call, 1)?, input.data_type));
    };
    Ok(input.select(joined(&input.shape, &wanted)?, |index| place(index, &input.shape)))
}

pub(super) fn tile(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let Some(times) = call.numbers(1) else {
        return Ok(Value::new(vec![OPEN; input.shape.len()], input.data_type));
    };
    if times.len() != input.shape.len() {
        return Err(Fault::Wrong(format!("it repeats {} axes of {:?}", times.len(), input.shape)));
    }
    let shape = input.shape.iter().zip(&times).map(|(size, times)| size.saturating_mul(*times)).collect();
    Ok(input.select(shape, |index| {
        let source: Vec<i64> = index.iter().zip(&input.shape).map(|(at, size)| at % size).collect();
        place(&source, &input.shape)
    }))
}

pub(super) fn pad(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let axes = call.numbers(3).unwrap_or_else(|| (0..rank as i64).collect());
    let pads = match call.attribute_or_input("pads", 1) {
        Err(Fault::Data(_)) => return Ok(Value::new(vec![OPEN; rank], input.data_type)),
        pads => pads?.unwrap_or_default(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Fault::Wrong(format!("it has {} pads for {} axes", pads.len(), axes.len())));
    }
    let (begins, ends) = pads.split_at(axes.len());
    let mut shape = input.shape.clone();
    for (&axis, (begin, end)) in axes.iter().zip(begins.iter().zip(ends)) {
        let axis = call.axis(axis, rank)?;
        shape[axis] = shape[axis].saturating_add(*begin).saturating_add(*end);
    }
    // Lists of pads are made by padding their halves; other padded numbers tell no shape.
    let plain = pads.iter().all(|&pad| pad == 0);
    Ok(if plain { input.clone() } else { Value::new(shape, input.data_type) })
}

pub(super) fn shape(call: &Call) -> Result<Value, Fault> {
    let shape = call.shape(0)?;
    let rank = shape.len() as i64;
    let place = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
    let (start, end) = (place(call.whole("start", 0)), place(call.whole("end", rank)));
    Ok(Value::list(shape.get(start..end).unwrap_or_default()))
}

pub(super) fn size(input: &Value) -> Value {
    Value { shape: Vec::new(), ..Value::list(&[input.elements() as i64]) }
}

pub(super) fn constant_of_shape(call: &Call) -> Result<Value, Fault> {
    let held = call.attribute("value").and_then(|attribute| attribute.t.as_ref());
    let held = held.and_then(|tensor| Value::of_tensor(&tensor.0, None));
    let data_type = held.as_ref().map_or(data_type::FLOAT, |held| held.data_type);
    let Some(shape) = call.numbers(0) else {
        return Ok(Value::new(open_axes(call, 0)?, data_type));
    };
    let number = held.and_then(|held| held.numbers?.first().copied());
    let number = number.unwrap_or(cast(Scalar::Whole(0), data_type));
    let numbers = is_small(&shape).then(|| vec![number; elements(&shape) as usize]);
    Ok(Value { numbers, ..Value::new(shape, data_type) })
}
