//! Case distinctions: decisions on splits, of which each case has reasons of its own.

use std::collections::BTreeSet;

use crate::json::{self, Value};
use crate::problem::Problem;

/// One side of a case distinction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// A unit is on a device of this kind, or is not.
    Kind { unit: usize, kind: usize, holds: bool },
    /// Two units, the smaller one first, are on one device, or on two.
    Pair { units: (usize, usize), holds: bool },
}

impl Decision {
    /// Reads `["on", node, kind]`, `["not_on", node, kind]`, `["together", node, node]` or `["apart", node, node]`.
    pub fn parse(value: Value, problem: &Problem) -> Result<Self, String> {
        let [name, first, second]: [Value; 3] = json::array(Ok)(value)?;
        let (name, unit) = (json::text(name)?, problem.unit(json::whole(first)?)?);
        let second = json::whole(second)?;
        match name.as_str() {
            "on" | "not_on" if second < problem.kinds.len() => {
                Ok(Self::Kind { unit, kind: second, holds: name == "on" })
            }
            "together" | "apart" => match problem.unit(second)? {
                other if other == unit => Err("a pair is of two units".into()),
                other => Ok(Self::Pair { units: (unit.min(other), unit.max(other)), holds: name == "together" }),
            },
            _ => Err(format!("there is no decision {name:?} of this kind")),
        }
    }

    /// The other side.
    fn complement(mut self) -> Self {
        let (Self::Kind { holds, .. } | Self::Pair { holds, .. }) = &mut self;
        *holds = !*holds;
        self
    }
}

/// Whether the refuted cases, each by its decisions in their order, are all that there are; else one that is missing.
///
/// Two cases that differ in the last decision alone, which one takes and the other does not, are all of the case without it.
/// So cases are joined, those of most decisions first, until the one without decisions is left or nothing can be joined.
pub fn are_complete(mut known: BTreeSet<Vec<Decision>>) -> Result<(), Vec<Decision>> {
    let mut missing = Vec::new();
    for depth in (1..=known.iter().map(Vec::len).max().unwrap_or_default()).rev() {
        let deep: Vec<Vec<Decision>> = known.iter().filter(|case| case.len() == depth).cloned().collect();
        for mut case in deep {
            let Some(last) = case.pop() else { continue };
            let other = [&case[..], &[last.complement()]].concat();
            if known.contains(&other) {
                known.insert(case);
            } else {
                missing = other;
            }
        }
    }
    if known.contains(&Vec::new()) { Ok(()) } else { Err(missing) }
}
