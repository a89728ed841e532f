//! Case distinctions: decisions on splits, of which each case has reasons of its own.

use std::collections::BTreeSet;

use crate::Result;
use crate::json::{Read, Value};
use crate::problem::Problem;

/// One side of a case distinction: whether something is so of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    pub unit: usize,
    pub of: Of,
    pub holds: bool,
}

/// What is decided of a unit: that a device of this kind holds it, or the device of this unit, which has a larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    Kind(usize),
    Unit(usize),
}

impl Decision {
    /// Reads `["on", node, kind]`, `["not_on", node, kind]`, `["together", node, node]` or `["apart", node, node]`.
    pub fn read(value: Value, problem: &Problem) -> Result<Self> {
        let [name, first, second]: [Value; 3] = Read::read(value)?;
        let (name, unit, second) = (String::read(name)?, problem.unit(usize::read(first)?)?, usize::read(second)?);
        let holds = name == "on" || name == "together";
        match name.as_str() {
            "on" | "not_on" if second < problem.kinds.len() => Ok(Self { unit, of: Of::Kind(second), holds }),
            "together" | "apart" => {
                let other = problem.unit(second)?;
                ensure!(other != unit, "a pair is of two units");
                Ok(Self { unit: unit.min(other), of: Of::Unit(unit.max(other)), holds })
            }
            _ => Err(format!("there is no decision {name:?} of this kind")),
        }
    }
}

/// Whether the refuted cases, each by its decisions in their order, are all that there are; else one that is missing.
///
/// Two cases that differ in the last decision alone, which one takes and the other does not, are all of the case without it.
/// So cases are joined, those of most decisions first, until the one without decisions is left or nothing can be joined.
pub fn are_complete(mut known: BTreeSet<Vec<Decision>>) -> Result<()> {
    ensure!(!known.is_empty(), "no reason is given");
    let mut missing = Vec::new();
    for depth in (1..=known.iter().map(Vec::len).max().unwrap_or_default()).rev() {
        let deep: Vec<Vec<Decision>> = known.iter().filter(|case| case.len() == depth).cloned().collect();
        for mut case in deep {
            let mut other = case.clone();
            other[depth - 1].holds ^= true;
            if known.contains(&other) {
                case.pop();
                known.insert(case);
            } else {
                missing = other;
            }
        }
    }
    ensure!(known.contains(&Vec::new()), "no reason is given for the case {missing:?}");
    Ok(())
}
