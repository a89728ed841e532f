//! Case distinctions: decisions on splits, of which each case has reasons of its own.

use std::collections::BTreeSet;

use crate::Result;
use crate::json::{Read, Value};
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
    pub fn read(value: Value, problem: &Problem) -> Result<Self> {
        let [name, first, second]: [Value; 3] = Read::read(value)?;
        let (name, unit, second) = (String::read(name)?, problem.unit(usize::read(first)?)?, usize::read(second)?);
        let holds = name == "on" || name == "together";
        match name.as_str() {
            "on" | "not_on" if second < problem.kinds.len() => Ok(Self::Kind { unit, kind: second, holds }),
            "together" | "apart" => {
                let other = problem.unit(second)?;
                ensure!(other != unit, "a pair is of two units");
                Ok(Self::Pair { units: (unit.min(other), unit.max(other)), holds })
            }
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
pub fn are_complete(mut known: BTreeSet<Vec<Decision>>) -> Result<()> {
    ensure!(!known.is_empty(), "no reason is given");
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
    ensure!(known.contains(&Vec::new()), "no reason is given for the case {missing:?}");
    Ok(())
}
