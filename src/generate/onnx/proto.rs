//! The part of ONNX' protocol buffers that a workload needs. Everything else, the weights themselves above all, is
//! skipped as it is read.
//!
//! Field numbers and meanings: `onnx.proto` of ONNX IR version 3 and later.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, decode_varint, skip_field};
use prost::{DecodeError, Message};

/// A model file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// The program that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The model's graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// The versions of the operators.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetProto>,
}

/// The version of one maker's operators.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetProto {
    /// Whose operators they are; empty for ONNX' own.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Their version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// Operators in the order in which they can run.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// The operators.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// A name to show.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Values that the graph holds, such as weights.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Skimmed>,
    /// Values from outside; older files list the initializers here, too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Values that the graph gives.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Shapes of the values between, where they are known.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
}

/// One operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Names of the values that it reads; an empty one is an input left out.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the values that it gives.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// A name to show.
    #[prost(string, tag = "3")]
    pub name: String,
    /// What it does, such as `Conv`.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Its settings.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Whose operator it is; empty for ONNX' own.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// A setting of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its value, where it is a real number.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// Its value, where it is a whole number.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// Its value, where it is text.
    #[prost(bytes = "vec", tag = "4")]
    pub s: Vec<u8>,
    /// Its value, where it is a tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<Skimmed>,
    /// Its value, where it is a graph.
    #[prost(message, optional, tag = "6")]
    pub g: Option<GraphProto>,
    /// Its value, where it is a list of real numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Its value, where it is a list of whole numbers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
}

/// A tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Its shape.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The type of its numbers.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Its numbers, where they are reals of 32 bits.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Its numbers, where they are whole, of at most 32 bits, or halves of reals.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Its numbers, where they are whole, of 64 bits.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// The value's name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Its numbers of any type, with the lowest byte first.
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
    /// Its numbers, where they are reals of 64 bits.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Where its numbers are, if they are in another file: `location`, `offset` and `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<EntryProto>,
}

/// A key with its value.
#[derive(Clone, PartialEq, Message)]
pub struct EntryProto {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A tensor whose numbers are skipped where there are too many of them to tell a shape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Skimmed(pub TensorProto);

impl Skimmed {
    /// The fields that hold numbers.
    const NUMBERS: [u32; 5] = [4, 5, 7, 9, 10];

    /// The most bytes of a field that are read.
    const MOST_BYTES: u64 = 1 << 15;
}

impl From<TensorProto> for Skimmed {
    fn from(tensor: TensorProto) -> Self {
        Self(tensor)
    }
}

impl Message for Skimmed {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        self.0.encode_raw(buffer);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        let is_long = || decode_varint(&mut buffer.chunk()).is_ok_and(|length| length > Self::MOST_BYTES);
        if Self::NUMBERS.contains(&tag) && wire_type == WireType::LengthDelimited && is_long() {
            return skip_field(wire_type, tag, buffer, context);
        }
        self.0.merge_field(tag, wire_type, buffer, context)
    }

    fn encoded_len(&self) -> usize {
        self.0.encoded_len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The type of a value.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// The value's name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors are known here.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// The type of a tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// The type of its numbers.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Its shape, where known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<ShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct ShapeProto {
    /// Its dimensions.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// One dimension.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// A number or a name; `None` where nothing is known.
    #[prost(oneof = "Dimension", tags = "1, 2")]
    pub value: Option<Dimension>,
}

/// A dimension that is known or has a name.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Dimension {
    /// Its size.
    #[prost(int64, tag = "1")]
    Size(i64),
    /// Its name, such as `batch`.
    #[prost(string, tag = "2")]
    Name(String),
}
