//! One use of an operator: what it is given, and how its attributes are read.

use super::proto::{AttributeProto, NodeProto};
use super::value::{MOST_NUMBERS, Value};

/// Why nothing can be said of what an operator gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// Nobody wrote down what it gives.
    NoRule,
    /// The number of axes depends on the numbers of an input.
    Data(usize),
    /// What it is given does not fit together.
    Wrong(String),
}

/// What an operator gives, one value for each of its outputs; those that are left out at the end are not asked for.
pub(super) type Outcome = Result<Vec<Value>, Fault>;

/// An operator with what it is given.
pub(super) struct Call<'a> {
    /// What it does, in ONNX' own words.
    pub operator: &'a str,
    pub node: &'a NodeProto,
    pub inputs: Vec<Option<&'a Value>>,
}

impl<'a> Call<'a> {
    pub fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub fn whole(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.i)
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.whole(name, 0) != 0
    }

    pub fn text(&self, name: &str) -> &'a str {
        self.attribute(name).and_then(|attribute| std::str::from_utf8(&attribute.s).ok()).unwrap_or_default()
    }

    /// A list of a few whole numbers, each near enough to zero for sums and products of some.
    pub fn list(&self, name: &str) -> Result<Option<&'a [i64]>, Fault> {
        const MOST: u64 = 1 << 31;
        let is_far = |ints: &[i64]| ints.iter().any(|number| number.unsigned_abs() > MOST);
        match self.attribute(name) {
            Some(attribute) if attribute.ints.len() > MOST_NUMBERS || is_far(&attribute.ints) => {
                Err(Fault::Wrong(format!("its {name} are out of range")))
            }
            attribute => Ok(attribute.map(|attribute| attribute.ints.as_slice())),
        }
    }

    /// An input that may be left out.
    pub fn given(&self, input: usize) -> Option<&'a Value> {
        self.inputs.get(input).copied().flatten()
    }

    pub fn input(&self, input: usize) -> Result<&'a Value, Fault> {
        self.given(input).ok_or_else(|| Fault::Wrong(format!("its input {input} is missing")))
    }

    pub fn shape(&self, input: usize) -> Result<&'a [i64], Fault> {
        Ok(&self.input(input)?.shape)
    }

    /// The whole numbers of an input, where they are known.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        let numbers = self.given(input)?.numbers.as_ref()?;
        Some(numbers.iter().map(|number| number.whole()).collect())
    }

    /// What older operators are given as an attribute and newer ones as an input: `None` where it is left out.
    pub fn attribute_or_input(&self, name: &str, input: usize) -> Result<Option<Vec<i64>>, Fault> {
        match self.list(name)? {
            Some(list) => Ok(Some(list.to_vec())),
            None if self.given(input).is_none() => Ok(None),
            None => self.numbers(input).map(Some).ok_or(Fault::Data(input)),
        }
    }

    /// An axis of a tensor of that rank, counted from its end where negative.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        let axis = usize::try_from(counted).ok().filter(|&axis| axis < rank);
        axis.ok_or_else(|| Fault::Wrong(format!("a tensor of {rank} axes has no axis {counted}")))
    }

    /// The two operands of a product, wherever scales and zero points stand.
    pub fn operands(&self) -> [usize; 2] {
        match self.operator {
            "QLinearConv" | "QLinearMatMul" | "QGemm" | "QLinearAdd" | "QLinearMul" => [0, 3],
            _ => [0, 1],
        }
    }
}
