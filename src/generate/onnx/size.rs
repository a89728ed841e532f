//! How large a graph is, told before it is decoded.
//!
//! A field of two bytes becomes a structure of a hundred, so that a file within the limit of its size could fill the
//! memory if it were decoded first.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// The fields of a graph that there can be many of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Operators.
    pub operators: usize,
    /// Inputs, outputs and attributes of operators, with the values of the graph and all that tells their shapes.
    pub parts: usize,
}

/// The size of the graph of a model, and of those within its operators. O(bytes), without memory.
///
/// # Errors
/// The bytes are no protocol buffer.
pub(super) fn of_model(bytes: &[u8]) -> Result<Size, DecodeError> {
    let mut size = Size::default();
    each_field(bytes, &mut |tag, field| if tag == 7 { of_graph(field, MOST_DEPTH, &mut size) } else { Ok(()) })?;
    Ok(size)
}

/// Decoding fails at a hundred messages within each other, of which a graph within another takes three.
const MOST_DEPTH: usize = 34;

fn of_graph(bytes: &[u8], depth: usize, size: &mut Size) -> Result<(), DecodeError> {
    each_field(bytes, &mut |tag, field| {
        match tag {
            1 => {
                size.operators += 1;
                each_field(field, &mut |tag, field| {
                    size.parts += usize::from([1, 2, 5].contains(&tag));
                    if tag == 5 { of_attribute(field, depth, size) } else { Ok(()) }
                })?;
            }
            5 => size.parts += 1,
            // What tells a value's shape: a few bytes for each dimension.
            11..=13 => size.parts += 1 + field.len() / 4,
            _ => {}
        }
        Ok(())
    })
}

fn of_attribute(bytes: &[u8], depth: usize, size: &mut Size) -> Result<(), DecodeError> {
    each_field(bytes, &mut |tag, field| {
        match tag {
            6 if depth > 0 => of_graph(field, depth - 1, size)?,
            // A number takes a byte or more.
            7 | 8 => size.parts += field.len() / 4,
            _ => {}
        }
        Ok(())
    })
}

type Visit<'a> = dyn FnMut(u32, &[u8]) -> Result<(), DecodeError> + 'a;

/// Calls `visit` with the number and the bytes of each field that has a length.
fn each_field(mut bytes: &[u8], visit: &mut Visit) -> Result<(), DecodeError> {
    while !bytes.is_empty() {
        let (tag, wire_type) = decode_key(&mut bytes)?;
        if wire_type != WireType::LengthDelimited {
            skip_field(wire_type, tag, &mut bytes, DecodeContext::default())?;
            continue;
        }
        let length = decode_varint(&mut &*bytes)?;
        let before = bytes;
        skip_field(wire_type, tag, &mut bytes, DecodeContext::default())?;
        let end = before.len() - bytes.len();
        visit(tag, &before[end - length as usize..end])?;
    }
    Ok(())
}
