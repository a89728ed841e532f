//! Convolutions, pooling, and what else looks at windows of images.

use super::matrix::sums;
use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::{Shape, Value, data_type};

/// How a window moves over the axes behind batch and channels.
struct Window {
    kernel: Shape,
    strides: Shape,
    dilations: Shape,
    /// Sums of the pads at both ends, and those at the beginning.
    pads: Shape,
    begins: Shape,
}

impl Window {
    fn new(call: &Call, kernel: &[i64], axes: usize) -> Result<Self, Fault> {
        let list = |name: &str, default: i64, length: usize| match call.list(name)? {
            Some(list) if !list.is_empty() => match list.len() == length {
                true => Ok(list.to_vec()),
                false => Err(Fault::Wrong(format!("its {name} are not {length} numbers"))),
            },
            _ => Ok(vec![default; length]),
        };
        let pads = list("pads", 0, 2 * axes)?;
        let (begins, ends) = pads.split_at(axes);
        let window = Self {
            kernel: kernel.to_vec(),
            strides: list("strides", 1, axes)?,
            dilations: list("dilations", 1, axes)?,
            pads: begins.iter().zip(ends).map(|(begin, end)| begin + end).collect(),
            begins: begins.to_vec(),
        };
        let positive = [&window.kernel, &window.strides, &window.dilations].into_iter().flatten().all(|&size| size > 0);
        if kernel.len() == axes && positive { Ok(window) } else { Err(Fault::Wrong("its window is empty".into())) }
    }

    /// Numbers from the first to the last that the window covers.
    fn extent(&self, axis: usize) -> i128 {
        (i128::from(self.kernel[axis]) - 1) * i128::from(self.dilations[axis]) + 1
    }

    /// How often the window fits on each axis.
    fn places(&self, call: &Call, sizes: &[i64]) -> Result<Shape, Fault> {
        let place = |(axis, &size): (usize, &i64)| {
            let (size, stride) = (i128::from(size), i128::from(self.strides[axis]));
            let places = match call.text("auto_pad") {
                "SAME_UPPER" | "SAME_LOWER" => (size + stride - 1) / stride,
                padding => {
                    let pads = if padding == "VALID" { 0 } else { i128::from(self.pads[axis]) };
                    let room = size + pads - self.extent(axis);
                    if room < 0 {
                        return Err(Fault::Wrong(format!("its window is wider than axis {} of its input", axis + 2)));
                    }
                    let places =
                        if call.is_set("ceil_mode") { (room + stride - 1) / stride } else { room / stride } + 1;
                    // No window begins behind the input.
                    let last = (places - 1) * stride;
                    places - i128::from(call.is_set("ceil_mode") && last >= size + i128::from(self.begins[axis]))
                }
            };
            narrowed(places)
        };
        sizes.iter().enumerate().map(place).collect()
    }
}

fn narrowed(size: i128) -> Result<i64, Fault> {
    i64::try_from(size).map_err(|_| Fault::Wrong("what it gives is too large".into()))
}

/// An image's batch, its channels and its other axes.
fn image(shape: &[i64]) -> Result<(i64, i64, &[i64]), Fault> {
    match shape {
        [batch, channels, sizes @ ..] => Ok((*batch, *channels, sizes)),
        _ => Err(Fault::Wrong(format!("it is given shape {shape:?}, which has no channels"))),
    }
}

pub(super) fn convolution(call: &Call) -> Result<Value, Fault> {
    let [input, weights] = call.operands();
    let data_type = sums(call, input)?;
    let (batch, channels, sizes) = image(call.shape(input)?)?;
    let (filters, depth, kernel) = image(call.shape(weights)?)?;
    if depth.saturating_mul(call.whole("group", 1)) != channels {
        let shapes = (call.shape(input)?, call.shape(weights)?);
        return Err(Fault::Wrong(format!(
            "weights of shape {:?} do not fit to an input of shape {:?}",
            shapes.1, shapes.0
        )));
    }
    let places = Window::new(call, kernel, sizes.len())?.places(call, sizes)?;
    Ok(Value::new([vec![batch, filters], places].concat(), data_type))
}

pub(super) fn transposed(call: &Call) -> Result<Value, Fault> {
    let (batch, _, sizes) = image(call.shape(0)?)?;
    let (_, filters, kernel) = image(call.shape(1)?)?;
    let window = Window::new(call, kernel, sizes.len())?;
    let stated = call.list("output_shape")?.filter(|shape| shape.len() >= sizes.len());
    let extra = call.list("output_padding")?.unwrap_or_default();
    let place = |(axis, &size): (usize, &i64)| {
        if let Some(shape) = stated {
            return Ok(shape[shape.len() - sizes.len() + axis]);
        }
        let (size, stride) = (i128::from(size), i128::from(window.strides[axis]));
        if call.text("auto_pad").starts_with("SAME") {
            return narrowed(size * stride);
        }
        let extra = i128::from(extra.get(axis).copied().unwrap_or(0));
        narrowed(stride * (size - 1) + extra + window.extent(axis) - i128::from(window.pads[axis]))
    };
    let places = sizes.iter().enumerate().map(place).collect::<Result<Shape, _>>()?;
    let channels = filters.saturating_mul(call.whole("group", 1));
    Ok(Value::new([vec![batch, channels], places].concat(), call.input(0)?.data_type))
}

/// The pooled image, and where its numbers come from.
pub(super) fn pool(call: &Call) -> Outcome {
    let (batch, channels, sizes) = image(call.shape(0)?)?;
    let kernel = call.list("kernel_shape")?.unwrap_or_default();
    let places = Window::new(call, kernel, sizes.len())?.places(call, sizes)?;
    let shape = [vec![batch, channels], places].concat();
    Ok(vec![Value::new(shape.clone(), call.input(0)?.data_type), Value::new(shape, data_type::INT64)])
}

pub(super) fn global(call: &Call) -> Result<Value, Fault> {
    let (batch, channels, sizes) = image(call.shape(0)?)?;
    Ok(Value::new([vec![batch, channels], vec![1; sizes.len()]].concat(), call.input(0)?.data_type))
}

/// A window of fixed size for each region.
pub(super) fn regions(call: &Call) -> Result<Value, Fault> {
    let (_, channels, _) = image(call.shape(0)?)?;
    let count = call.shape(1)?.first().copied().unwrap_or(1);
    let sizes = match call.list("pooled_shape")? {
        Some(sizes) => sizes.to_vec(),
        None => vec![call.whole("output_height", 1), call.whole("output_width", 1)],
    };
    Ok(Value::new([vec![count, channels], sizes].concat(), call.input(0)?.data_type))
}

/// A number of each channel for each point of a grid.
pub(super) fn grid_sample(call: &Call) -> Result<Value, Fault> {
    let (batch, channels, _) = image(call.shape(0)?)?;
    match call.shape(1)? {
        [_, points @ .., _] => {
            Ok(Value::new([vec![batch, channels], points.to_vec()].concat(), call.input(0)?.data_type))
        }
        grid => Err(Fault::Wrong(format!("its grid has shape {grid:?}"))),
    }
}

/// Squares of an image made of channels, or channels of squares.
pub(super) fn blocks(call: &Call) -> Result<Value, Fault> {
    let block = call.whole("blocksize", 1).clamp(1, 1 << 16);
    let (batch, channels, sizes) = image(call.shape(0)?)?;
    let (wide, narrow) = (|size: i64| size.saturating_mul(block), |size: i64| size / block);
    let sizes = sizes.iter().map(|&size| if call.operator == "DepthToSpace" { wide(size) } else { narrow(size) });
    let channels = if call.operator == "DepthToSpace" { narrow(narrow(channels)) } else { wide(wide(channels)) };
    Ok(Value::new([batch, channels].into_iter().chain(sizes).collect(), call.input(0)?.data_type))
}
