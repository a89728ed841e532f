//! Products.

use std::collections::BTreeMap;

use super::elementwise::joined;
use crate::generate::onnx::call::{Call, Fault, Outcome};
use crate::generate::onnx::value::{Shape, Value, data_type};

/// A product of matrices, or of stacks of them.
pub(super) fn product(call: &Call) -> Result<Value, Fault> {
    let [a, b] = call.operands();
    let data_type = sums(call, a)?;
    let (mut a, mut b) = (call.shape(a)?.to_vec(), call.shape(b)?.to_vec());
    let wrong = || Fault::Wrong(format!("shapes {a:?} and {b:?} have no matrix product"));
    if a.is_empty() || b.is_empty() {
        return Err(wrong());
    }
    transpose(call, "transA", &mut a);
    transpose(call, "transB", &mut b);
    let (row, column) = (a.len() == 1, b.len() == 1);
    let wrong = Fault::Wrong(format!("shapes {a:?} and {b:?} have no matrix product"));
    if row {
        a.insert(0, 1);
    }
    if column {
        b.push(1);
    }
    let (stack_a, matrix_a) = a.split_at(a.len() - 2);
    let (stack_b, matrix_b) = b.split_at(b.len() - 2);
    if matrix_a[1] != matrix_b[0] {
        return Err(wrong);
    }
    let mut shape = joined(stack_a, stack_b)?;
    shape.extend((!row).then_some(matrix_a[0]));
    shape.extend((!column).then_some(matrix_b[1]));
    Ok(Value::new(shape, data_type))
}

/// The type of what is summed up: products of quantised numbers are wider, unless they are quantised again.
pub(super) fn sums(call: &Call, operand: usize) -> Result<i32, Fault> {
    match call.operator {
        "MatMulInteger" | "ConvInteger" => Ok(data_type::INT32),
        _ if call.node.op_type.contains("Quantize") || call.node.op_type == "MatMulIntegerToFloat" => {
            Ok(data_type::FLOAT)
        }
        _ => Ok(call.input(operand)?.data_type),
    }
}

fn transpose(call: &Call, name: &str, shape: &mut Shape) {
    if call.is_set(name) && shape.len() >= 2 {
        let last = shape.len() - 1;
        shape.swap(last - 1, last);
    }
}

/// A product of two matrices, with something added.
pub(super) fn gemm(call: &Call) -> Result<Value, Fault> {
    let [a, b] = call.operands();
    let data_type = call.input(a)?.data_type;
    let (mut a, mut b) = (call.shape(a)?.to_vec(), call.shape(b)?.to_vec());
    transpose(call, "transA", &mut a);
    transpose(call, "transB", &mut b);
    match (a.as_slice(), b.as_slice()) {
        (&[rows, inner], &[other, columns]) if inner == other => Ok(Value::new(vec![rows, columns], data_type)),
        _ => Err(Fault::Wrong(format!("shapes {a:?} and {b:?} have no matrix product"))),
    }
}

/// The sizes of the indices of an Einstein sum.
pub(in crate::generate::onnx) struct Equation {
    /// In the order of the letters, so that products round the same in each run.
    sizes: BTreeMap<char, i64>,
    result: Vec<char>,
}

impl Equation {
    /// Reads the equation of `text` for inputs of these shapes; `None` where they do not go together.
    pub fn new(text: &str, shapes: &[&[i64]]) -> Option<Self> {
        let text: String = text.replace("...", "…").chars().filter(|letter| !letter.is_whitespace()).collect();
        let (terms, result) = match text.split_once("->") {
            Some((terms, result)) => (terms, Some(result)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = terms.split(',').collect();
        if terms.len() != shapes.len() {
            return None;
        }
        let mut sizes: BTreeMap<char, i64> = BTreeMap::new();
        let mut times: BTreeMap<char, usize> = BTreeMap::new();
        let mut most_dots = 0;
        for (term, shape) in terms.iter().zip(shapes) {
            let letters = term.chars().filter(|&letter| letter != '…').count();
            let dots = if term.contains('…') { shape.len().checked_sub(letters)? } else { 0 };
            most_dots = most_dots.max(dots);
            let labels = spelled_out(term, dots)?;
            if labels.len() != shape.len() {
                return None;
            }
            for (label, &size) in labels.into_iter().zip(*shape) {
                // An index of one value is repeated to the size that it has elsewhere.
                let known = sizes.entry(label).or_insert(size);
                *known = (*known).max(size);
                *times.entry(label).or_default() += 1;
            }
        }
        let result = match result {
            Some(result) => spelled_out(result, most_dots)?,
            None => {
                let (dots, letters): (Vec<char>, Vec<char>) = sizes.keys().partition(|&&label| label >= DOT);
                dots.into_iter().chain(letters.into_iter().filter(|label| times[label] == 1)).collect()
            }
        };
        result.iter().all(|label| sizes.contains_key(label)).then_some(Self { sizes, result })
    }

    fn shape(&self) -> Shape {
        self.result.iter().map(|label| self.sizes[label]).collect()
    }

    /// Two operations for every combination of all indices.
    pub fn flops(&self) -> f64 {
        2.0 * self.sizes.values().map(|&size| size as f64).product::<f64>()
    }
}

/// The first label of the axes that an ellipsis stands for: no letter that an equation is written with.
const DOT: char = '\u{E000}';

/// The labels of a term, whose ellipsis stands for `dots` axes: the last ones of any term belong together.
fn spelled_out(term: &str, dots: usize) -> Option<Vec<char>> {
    const MOST_DOTS: u32 = 64;
    let dot = |axis: u32| char::from_u32(u32::from(DOT) + axis);
    let dots = u32::try_from(dots).ok().filter(|&dots| dots <= MOST_DOTS)?;
    let dots = (MOST_DOTS - dots..MOST_DOTS).map(dot).collect::<Option<Vec<char>>>()?;
    let mut labels = Vec::new();
    for letter in term.chars() {
        match letter {
            '…' => labels.extend(&dots),
            letter => labels.push(letter),
        }
    }
    Some(labels)
}

pub(super) fn einsum(call: &Call) -> Result<Value, Fault> {
    let shapes: Vec<&[i64]> = call.inputs.iter().flatten().map(|value| value.shape.as_slice()).collect();
    let equation = Equation::new(call.text("equation"), &shapes);
    let equation = equation.ok_or_else(|| Fault::Wrong("its equation does not fit its inputs".into()))?;
    Ok(Value::new(equation.shape(), call.input(0)?.data_type))
}

/// Attention of queries to keys, and what is kept of these for the next token.
pub(super) fn attention(call: &Call) -> Outcome {
    let (query, key, value) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let data_type = call.input(0)?.data_type;
    let wrong = || Fault::Wrong(format!("shapes {query:?}, {key:?} and {value:?} do not fit together"));
    let heads = |name| call.whole(name, 1).max(1);
    let (query_heads, key_heads) = (heads("q_num_heads"), heads("kv_num_heads"));
    let split = |shape: &[i64], heads: i64| match *shape {
        [batch, length, width] => Some([batch, heads, length, width / heads]),
        [batch, heads, length, width] => Some([batch, heads, length, width]),
        _ => None,
    };
    let (Some(q), Some(k), Some(v)) = (split(query, query_heads), split(key, key_heads), split(value, key_heads))
    else {
        return Err(wrong());
    };
    let past = call.given(4).and_then(|past| past.shape.get(2).copied()).unwrap_or(0);
    let total = k[2].saturating_add(past);
    let result =
        if query.len() == 3 { vec![q[0], q[2], q[1].saturating_mul(v[3])] } else { vec![q[0], q[1], q[2], v[3]] };
    let shapes = [result, vec![k[0], k[1], total, k[3]], vec![v[0], v[1], total, v[3]], vec![q[0], q[1], q[2], total]];
    Ok(shapes.into_iter().map(|shape| Value::new(shape, data_type)).collect())
}
