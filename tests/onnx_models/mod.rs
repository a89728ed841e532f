//! Parts of ONNX models.

#![allow(dead_code, reason = "each test uses some of these")]

use dagsplit::internals::proto::{
    AttributeProto, Dimension, DimensionProto, NodeProto, ShapeProto, Skimmed, TensorProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};

/// A value with its shape.
pub fn value(name: &str, shape: &[Dimension]) -> ValueInfoProto {
    let dim = shape.iter().map(|dimension| DimensionProto { value: Some(dimension.clone()) }).collect();
    let tensor_type = Some(TensorTypeProto { elem_type: 1, shape: Some(ShapeProto { dim }) });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}

/// Known sizes.
pub fn sizes(shape: &[i64]) -> Vec<Dimension> {
    shape.iter().map(|&size| Dimension::Size(size)).collect()
}

/// A weight, without its numbers.
pub fn weight(name: &str, dims: &[i64]) -> Skimmed {
    TensorProto { name: name.into(), dims: dims.to_vec(), ..TensorProto::default() }.into()
}

/// An operator of one result.
pub fn node(op_type: &str, name: &str, input: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op_type.into(),
        name: name.into(),
        input: input.iter().map(|&input| input.into()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

/// An attribute that is a list of whole numbers.
pub fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.into(), ints: ints.to_vec(), ..AttributeProto::default() }
}

/// An operator with more attributes.
pub fn with(mut node: NodeProto, attributes: &[AttributeProto]) -> NodeProto {
    node.attribute.extend_from_slice(attributes);
    node
}

/// A `Constant` of whole numbers.
pub fn whole_constant(output: &str, numbers: &[i64]) -> NodeProto {
    let dims = vec![numbers.len() as i64];
    let t = TensorProto { data_type: 7, dims, int64_data: numbers.to_vec(), ..TensorProto::default() };
    let value = AttributeProto { name: "value".into(), t: Some(t.into()), ..AttributeProto::default() };
    with(node("Constant", "", &[], output), &[value])
}
