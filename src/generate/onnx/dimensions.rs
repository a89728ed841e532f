//! Sizes that a file leaves open, and the options that state them.

use std::collections::{BTreeMap, BTreeSet};

use super::names::place;
use super::proto::{Dimension, DimensionProto, GraphProto, ShapeProto, ValueInfoProto};
use super::value::{MOST_AXES, MOST_SIZE, Shape, Value};
use crate::instance::Problems;

/// Sizes of dimensions by their names. Those without one are called by their value and axis: `image.0`.
pub(super) struct Dimensions<'a> {
    sizes: &'a BTreeMap<String, u64>,
    /// The names of dimensions that the file has.
    named: BTreeSet<&'a str>,
    /// Those of `sizes` that were looked up.
    used: BTreeSet<String>,
    /// What was looked up and has no size, each with the place where it was, in that order.
    asked: Vec<(String, String)>,
    asked_names: BTreeSet<String>,
}

impl<'a> Dimensions<'a> {
    pub fn new(graph: &'a GraphProto, sizes: &'a BTreeMap<String, u64>) -> Self {
        let values = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
        let named = values.filter_map(stated).flat_map(|shape| &shape.dim).filter_map(name).collect();
        Self { sizes, named, used: BTreeSet::new(), asked: Vec::new(), asked_names: BTreeSet::new() }
    }

    /// The shape of a value from outside. What is left open is asked for; there is none then.
    pub fn of_input(&mut self, value: &'a ValueInfoProto) -> Option<Value> {
        let shape = stated(value).filter(|shape| shape.dim.len() <= MOST_AXES)?;
        let sizes: Vec<Option<i64>> = (0..).zip(&shape.dim).map(|(axis, dim)| self.size(value, axis, dim)).collect();
        Some(Value::new(sizes.into_iter().collect::<Option<Shape>>()?, data_type(value)))
    }

    fn size(&mut self, value: &ValueInfoProto, axis: usize, dimension: &'a DimensionProto) -> Option<i64> {
        match (fixed(dimension), name(dimension)) {
            (Some(size), _) => Some(size),
            (None, Some(name)) => self.look_up(name).or_else(|| self.of_axis(&value.name, axis, Some(name))),
            (None, None) => self.of_axis(&value.name, axis, None),
        }
    }

    /// The size of an axis of a value, which is asked for by that or another name.
    pub fn of_axis(&mut self, value: &str, axis: usize, name: Option<&str>) -> Option<i64> {
        let own = format!("{value}.{axis}");
        let size = self.look_up(&own);
        let wanted = name.map_or(own, str::to_owned);
        if size.is_none() && self.asked_names.insert(wanted.clone()) {
            self.asked.push((wanted, format!("axis {axis} of {}", place(value))));
        }
        size
    }

    fn look_up(&mut self, name: &str) -> Option<i64> {
        let &size = self.sizes.get(name)?;
        self.used.insert(name.to_owned());
        i64::try_from(size).ok().filter(|size| *size <= MOST_SIZE)
    }

    /// The sizes of a value's axes as far as the file or the options state them.
    pub fn as_stated(&self, value: &ValueInfoProto) -> Option<Vec<Option<i64>>> {
        let named = |dimension| self.sizes.get(name(dimension)?).and_then(|&size| i64::try_from(size).ok());
        let size = |dimension| fixed(dimension).or_else(|| named(dimension));
        Some(stated(value)?.dim.iter().map(size).collect())
    }

    /// Reports what was asked for in vain, and what was given in vain.
    pub fn report(self, found: &mut Problems) {
        // A file may have more of them than anyone reads.
        const MOST_SHOWN: usize = 500;
        if !self.asked.is_empty() {
            let asked = &self.asked[..self.asked.len().min(MOST_SHOWN)];
            let each = asked.iter().map(|(name, place)| format!("{name} ({place})"));
            let cause = format!("no size is stated of {}", each.collect::<Vec<_>>().join(", "));
            let options = asked.iter().map(|(name, _)| format!("--dimension {}=SIZE", quoted(name)));
            found.add("dimensions", cause, format!("give it: {}", options.collect::<Vec<_>>().join(" ")));
        }
        let may_come = |name: &str| !self.asked.is_empty() && name.contains('.');
        let known = |name: &str| self.named.contains(name) || self.used.contains(name) || may_come(name);
        for name in self.sizes.keys().filter(|name| !known(name)) {
            let cause = match self.named.len() {
                0 => "the file names no dimensions".to_owned(),
                _ => format!("the file names {}", self.named.iter().take(10).copied().collect::<Vec<_>>().join(", ")),
            };
            found.add(format!("dimension {name:?}"), cause, "leave it out, or correct its name");
        }
    }
}

/// ONNX' number of the type of a value's numbers.
pub(super) fn data_type(value: &ValueInfoProto) -> i32 {
    let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    tensor.map_or(0, |tensor| tensor.elem_type)
}

/// How many axes the file states of a value.
pub(super) fn axes(value: &ValueInfoProto) -> Option<usize> {
    stated(value).map(|shape| shape.dim.len())
}

/// The shape that the file states of a value.
fn stated(value: &ValueInfoProto) -> Option<&ShapeProto> {
    value.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()
}

fn name(dimension: &DimensionProto) -> Option<&str> {
    match &dimension.value {
        Some(Dimension::Name(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// A size that is written down; some exporters write 0 or −1 for what they do not know.
fn fixed(dimension: &DimensionProto) -> Option<i64> {
    match dimension.value {
        Some(Dimension::Size(size @ 1..=MOST_SIZE)) => Some(size),
        _ => None,
    }
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/:".contains(letter);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}
