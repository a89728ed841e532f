//! The part of ONNX' protocol buffers that a workload needs. Everything else, the weights themselves above all, is
//! skipped as it is read.
//!
//! Field numbers and meanings: `onnx.proto` of ONNX IR version 3 and later.

use prost::Message;

/// A model file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// The program that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The model's graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
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
    pub initializer: Vec<TensorProto>,
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
    /// Its value, where it is a whole number.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// Its value, where it is text.
    #[prost(bytes = "vec", tag = "4")]
    pub s: Vec<u8>,
    /// Its value, where it is a tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
}

/// A tensor, without its numbers.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Its shape.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The type of its numbers: 6 and 7 are whole numbers of 32 and 64 bits, 9 truth values.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// The value's name.
    #[prost(string, tag = "8")]
    pub name: String,
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
