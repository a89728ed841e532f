//! What is known of a value of the graph without running it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use super::proto::TensorProto;

/// Sizes of axes.
pub(super) type Shape = Vec<i64>;

/// In the place of a size that depends on the numbers of the model's inputs.
pub(super) const OPEN: i64 = -1;

/// Larger axes are refused: sums and products of a few of them stay exact.
pub(super) const MOST_SIZE: i64 = 1 << 40;

/// Tensors of more numbers than this tell no shape.
pub(super) const MOST_NUMBERS: usize = 4096;

/// Tensors of more axes than this are refused.
pub(super) const MOST_AXES: usize = 64;

/// One number of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Whole(i64),
    Real(f64),
}

impl Scalar {
    pub fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    /// Rounded towards zero.
    pub fn whole(self) -> i64 {
        match self {
            Self::Whole(number) => number,
            Self::Real(number) => number as i64,
        }
    }
}

/// A tensor: its shape, and its numbers where they are known and few.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Value {
    pub shape: Shape,
    pub numbers: Option<Vec<Scalar>>,
    /// ONNX' number of the type of its numbers.
    pub data_type: i32,
}

/// ONNX' numbers of types.
pub(super) mod data_type {
    pub const FLOAT: i32 = 1;
    pub const UINT8: i32 = 2;
    pub const INT32: i32 = 6;
    pub const INT64: i32 = 7;
    pub const BOOL: i32 = 9;
}

impl Value {
    pub fn new(shape: Shape, data_type: i32) -> Self {
        Self { shape, numbers: None, data_type }
    }

    /// A list of whole numbers.
    pub fn list(numbers: &[i64]) -> Self {
        let shape = vec![numbers.len() as i64];
        let few = Some(numbers).filter(|numbers| numbers.len() <= MOST_NUMBERS);
        let numbers = few.map(|numbers| numbers.iter().map(|&number| Scalar::Whole(number)).collect());
        Self { shape, numbers, data_type: data_type::INT64 }
    }

    /// How many numbers there are.
    pub fn elements(&self) -> f64 {
        elements(&self.shape)
    }

    /// Bytes of one number, where its type says so: those of reals follow the precision that the costs are modelled for.
    pub fn width(&self) -> Option<f64> {
        match self.data_type {
            2 | 3 | 9 => Some(1.0),
            4 | 5 => Some(2.0),
            6 | 12 => Some(4.0),
            7 | 13 => Some(8.0),
            21 | 22 => Some(0.5),
            _ => None,
        }
    }

    /// Whether it may be a weight: lists of wide whole numbers are axes, shapes and the like, and truth values are masks.
    pub fn may_be_weight(&self) -> bool {
        !self.shape.is_empty() && !matches!(self.data_type, 6 | 7 | 9 | 12 | 13)
    }

    /// The numbers at `places`, in the order of the numbers of `shape`; `places` gives the place of an index.
    pub fn select(&self, shape: Shape, place: impl Fn(&[i64]) -> Option<usize>) -> Self {
        let known = self.numbers.as_ref().filter(|_| is_small(&shape));
        let numbers = known.and_then(|numbers| {
            indices(&shape).map(|index| place(&index).and_then(|place| numbers.get(place).copied())).collect()
        });
        Self { numbers, ..Self::new(shape, self.data_type) }
    }

    /// The same numbers in another shape.
    pub fn reshaped(&self, shape: Shape) -> Self {
        let numbers = self.numbers.clone().filter(|numbers| numbers.len() as f64 == elements(&shape));
        Self { numbers, ..Self::new(shape, self.data_type) }
    }

    /// A value that the graph holds, its numbers where they are few. Those outside are looked for in `folder`.
    pub fn of_tensor(tensor: &TensorProto, folder: Option<&Path>) -> Option<Self> {
        if !is_within_range(&tensor.dims) {
            return None;
        }
        let count = elements(&tensor.dims);
        let numbers = if count <= MOST_NUMBERS as f64 { numbers(tensor, count as usize, folder) } else { None };
        Some(Self { numbers, ..Self::new(tensor.dims.clone(), tensor.data_type) })
    }
}

/// The number of numbers of a shape.
pub(super) fn elements(shape: &[i64]) -> f64 {
    shape.iter().map(|&size| size as f64).product()
}

/// Whether a tensor may have that shape.
pub(super) fn is_within_range(shape: &[i64]) -> bool {
    shape.len() <= MOST_AXES && shape.iter().all(|size| (0..=MOST_SIZE).contains(size))
}

/// Whether all sizes are known, and tensors of that shape may tell others.
pub(super) fn is_small(shape: &[i64]) -> bool {
    shape.iter().all(|&size| size >= 0) && elements(shape) <= MOST_NUMBERS as f64
}

/// All indices of a small shape, the last axis running fastest.
pub(super) fn indices(shape: &[i64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    let count = if is_small(shape) { elements(shape) as i64 } else { 0 };
    (0..count).map(|flat| {
        let mut rest = flat;
        let mut index = vec![0; shape.len()];
        for (axis, &size) in shape.iter().enumerate().rev() {
            (index[axis], rest) = (rest % size, rest / size);
        }
        index
    })
}

/// The place of `index` in a tensor of `shape`, which has at most [`MOST_NUMBERS`] numbers. Missing axes of the index and
/// axes of size one are broadcast, as the last axes of the two belong together.
pub(super) fn place(index: &[i64], shape: &[i64]) -> Option<usize> {
    let own = &index[index.len().checked_sub(shape.len())?..];
    let step = |place: usize, (&at, &size): (&i64, &i64)| {
        let at = if size == 1 { 0 } else { Some(at).filter(|at| (0..size).contains(at))? };
        place.checked_mul(usize::try_from(size).ok()?)?.checked_add(usize::try_from(at).ok()?)
    };
    own.iter().zip(shape).try_fold(0, step)
}

fn numbers(tensor: &TensorProto, count: usize, folder: Option<&Path>) -> Option<Vec<Scalar>> {
    let whole = |numbers: &[i32]| numbers.iter().map(|&number| Scalar::Whole(number.into())).collect();
    let found: Vec<Scalar> = if !tensor.int64_data.is_empty() {
        tensor.int64_data.iter().map(|&number| Scalar::Whole(number)).collect()
    } else if !tensor.float_data.is_empty() {
        tensor.float_data.iter().map(|&number| Scalar::Real(number.into())).collect()
    } else if !tensor.double_data.is_empty() {
        tensor.double_data.iter().map(|&number| Scalar::Real(number)).collect()
    } else if !tensor.int32_data.is_empty() {
        match tensor.data_type {
            10 => tensor.int32_data.iter().map(|&bits| Scalar::Real(half(bits as u16))).collect(),
            _ => whole(&tensor.int32_data),
        }
    } else if tensor.external_data.is_empty() {
        decoded(&tensor.raw_data, tensor.data_type)?
    } else {
        decoded(&external(tensor, folder?)?, tensor.data_type)?
    };
    (found.len() == count).then_some(found)
}

/// Numbers of a type, the lowest byte first.
fn decoded(bytes: &[u8], data_type: i32) -> Option<Vec<Scalar>> {
    fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> Scalar) -> Vec<Scalar> {
        bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok()).map(number).collect()
    }
    Some(match data_type {
        1 => each(bytes, |chunk| Scalar::Real(f32::from_le_bytes(chunk).into())),
        2 | 9 => each(bytes, |[byte]| Scalar::Whole(byte.into())),
        3 => each(bytes, |[byte]| Scalar::Whole((byte as i8).into())),
        4 => each(bytes, |chunk| Scalar::Whole(u16::from_le_bytes(chunk).into())),
        5 => each(bytes, |chunk| Scalar::Whole(i16::from_le_bytes(chunk).into())),
        6 => each(bytes, |chunk| Scalar::Whole(i32::from_le_bytes(chunk).into())),
        7 | 13 => each(bytes, |chunk| Scalar::Whole(i64::from_le_bytes(chunk))),
        10 => each(bytes, |chunk| Scalar::Real(half(u16::from_le_bytes(chunk)))),
        11 => each(bytes, |chunk| Scalar::Real(f64::from_le_bytes(chunk))),
        12 => each(bytes, |chunk| Scalar::Whole(u32::from_le_bytes(chunk).into())),
        _ => return None,
    })
}

/// A real number of 16 bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction / 1024.0 * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The bytes of a small tensor in a file beside the model. Its place may not lead out of the model's folder.
fn external(tensor: &TensorProto, folder: &Path) -> Option<Vec<u8>> {
    let entry = |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let location = Path::new(entry("location")?);
    if !location.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let number = |key| entry(key).map_or(Some(0), |text| text.parse::<u64>().ok());
    let mut file = File::open(folder.join(location)).ok()?;
    file.seek(SeekFrom::Start(number("offset")?)).ok()?;
    let mut bytes = Vec::new();
    let length = if entry("length").is_some() { number("length")? } else { u64::MAX };
    file.take(length.min(8 * MOST_NUMBERS as u64)).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
