//! Operators that pick numbers.

use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::{OPEN, Scalar, Value, data_type, indices, place};

/// A range of an axis: from, to (not included), step.
type Range = (i64, i64, i64);

pub(super) fn slice(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    // Limits may be as far away as whole numbers go.
    let read = |name: &str, at: usize| match call.attribute(name) {
        Some(attribute) => Some(attribute.ints.clone()),
        None => call.numbers(at),
    };
    let is_left_out = |name: &str, at: usize| call.attribute(name).is_none() && call.given(at).is_none();
    let axes = if is_left_out("axes", 3) { None } else { Some(read("axes", 3).ok_or(Fault::Data(3))?) };
    let (starts, ends) = (read("starts", 1), read("ends", 2));
    let steps = if is_left_out("steps", 4) { Some(Vec::new()) } else { read("steps", 4) };
    let count = starts.as_ref().or(ends.as_ref()).map_or(rank, Vec::len);
    let axes: Vec<usize> = match axes {
        Some(axes) => axes.into_iter().map(|axis| call.axis(axis, rank)).collect::<Result<_, _>>()?,
        None => (0..count.min(rank)).collect(),
    };
    let mut shape = input.shape.clone();
    let (Some(starts), Some(ends), Some(steps)) = (starts, ends, steps) else {
        axes.into_iter().for_each(|axis| shape[axis] = OPEN);
        return Ok(Value::new(shape, input.data_type));
    };
    if starts.len() != axes.len() || ends.len() != axes.len() {
        return Err(Fault::Wrong(format!(
            "it has {} starts and {} ends for {} axes",
            starts.len(),
            ends.len(),
            axes.len()
        )));
    }
    let mut ranges: Vec<Range> = shape.iter().map(|&size| (0, size, 1)).collect();
    for (at, &axis) in axes.iter().enumerate() {
        let step = steps.get(at).copied().unwrap_or(1);
        ranges[axis] = range(starts[at], ends[at], step, input.shape[axis])?;
        shape[axis] = length(ranges[axis]);
    }
    Ok(input.select(shape, |index| {
        let source = index.iter().zip(&ranges).map(|(at, (start, _, step))| start + at * step);
        place(&source.collect::<Vec<_>>(), &input.shape)
    }))
}

/// A range within an axis of `size`, ends counted from its end where negative.
fn range(start: i64, end: i64, step: i64, size: i64) -> Result<Range, Fault> {
    if step == 0 || step == i64::MIN {
        return Err(Fault::Wrong(format!("it has a step of {step}")));
    }
    if size == 0 {
        return Ok((0, 0, 1));
    }
    let counted = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    // Backwards, the first number is the last one reached.
    let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
    Ok((counted(start).clamp(least.max(0), most), counted(end).clamp(least, most), step))
}

fn length((start, end, step): Range) -> i64 {
    let distance = if step > 0 { end - start } else { start - end };
    if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 }
}

pub(super) fn gather(call: &Call) -> Result<Value, Fault> {
    let (input, picked) = (call.input(0)?, call.input(1)?);
    let axis = call.axis(call.whole("axis", 0), input.shape.len())?;
    let shape = [&input.shape[..axis], &picked.shape, &input.shape[axis + 1..]].concat();
    let known = call.numbers(1);
    Ok(input.select(shape, |index| {
        let (before, rest) = index.split_at(axis);
        let (which, after) = rest.split_at(picked.shape.len());
        let at = *known.as_ref()?.get(place(which, &picked.shape)?)?;
        let at = if at < 0 { at.saturating_add(input.shape[axis]) } else { at };
        let within = (0..input.shape[axis]).contains(&at).then_some(at)?;
        place(&[before, &[within], after].concat(), &input.shape)
    }))
}

pub(super) fn gather_nd(call: &Call) -> Result<Value, Fault> {
    let (input, picked) = (call.input(0)?, call.shape(1)?);
    let wrong = || Fault::Wrong(format!("places of shape {picked:?} do not fit to shape {:?}", input.shape));
    let (&depth, picked_shape) = picked.split_last().ok_or_else(wrong)?;
    let whole = usize::try_from(depth.saturating_add(call.whole("batch_dims", 0))).map_err(|_| wrong())?;
    let rest = input.shape.get(whole..).ok_or_else(wrong)?;
    Ok(Value::new([picked_shape, rest].concat(), input.data_type))
}

pub(super) fn gather_elements(call: &Call) -> Result<Value, Fault> {
    Ok(Value::new(call.shape(1)?.to_vec(), call.input(0)?.data_type))
}

/// The indices of all numbers that are not zero.
pub(super) fn non_zero(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let rank = input.shape.len();
    let Some(numbers) = &input.numbers else {
        return Ok(Value::new(vec![rank as i64, OPEN], data_type::INT64));
    };
    let is_set = |(_, number): &(Vec<i64>, &Scalar)| number.real() != 0.0;
    let found: Vec<Vec<i64>> = indices(&input.shape).zip(numbers).filter(is_set).map(|(index, _)| index).collect();
    let numbers = (0..rank).flat_map(|axis| found.iter().map(move |index| Scalar::Whole(index[axis])));
    let shape = vec![rank as i64, found.len() as i64];
    Ok(Value { numbers: Some(numbers.collect()), ..Value::new(shape, data_type::INT64) })
}

pub(super) fn one_hot(call: &Call) -> Result<Value, Fault> {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis(call.whole("axis", -1), shape.len() + 1)?;
    shape.insert(axis, call.numbers(1).and_then(|depth| depth.first().copied()).unwrap_or(OPEN));
    Ok(Value::new(shape, call.input(2)?.data_type))
}

/// The largest numbers of an axis, and their places.
pub(super) fn top_k(call: &Call) -> Outcome {
    let input = call.input(0)?;
    let axis = call.axis(call.whole("axis", -1), input.shape.len())?;
    let stated = call.attribute("k").map(|attribute| attribute.i);
    let count = stated.or_else(|| call.numbers(1)?.first().copied());
    let mut shape = input.shape.clone();
    shape[axis] = count.unwrap_or(OPEN);
    Ok(vec![Value::new(shape.clone(), input.data_type), Value::new(shape, data_type::INT64)])
}

/// The parts of an axis, or the numbers, that are left of all.
pub(super) fn some_of(call: &Call) -> Result<Value, Fault> {
    let input = call.input(0)?;
    let shape = match call.attribute("axis") {
        Some(attribute) => {
            let mut shape = input.shape.clone();
            shape[call.axis(attribute.i, input.shape.len())?] = OPEN;
            shape
        }
        None => vec![OPEN],
    };
    Ok(Value::new(shape, input.data_type))
}

/// What is left without repeats; for each of it the first place and how often it was there, for each before its place.
pub(super) fn unique(call: &Call) -> Outcome {
    let counts = Value::new(vec![OPEN], data_type::INT64);
    Ok(vec![some_of(call)?, counts.clone(), counts.clone(), counts])
}
