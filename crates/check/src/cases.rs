//! Case distinctions: decisions on splits, of which each case has reasons of its own.

use std::collections::BTreeSet;

use crate::Result;
use crate::problem::Problem;

/// One side of a case distinction: whether something is so of a unit. It is that a device of the kind `other` holds it or, of a
/// pair, the device of the unit `other`, which has a larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    pub unit: usize,
    pub other: usize,
    pub is_pair: bool,
    pub holds: bool,
}

impl Decision {
    /// What is meant by `["on", node, kind]`, `["not_on", node, kind]`, `["together", node, node]` or `["apart", node, node]`.
    pub fn new(&(ref name, node, other): &(String, usize, usize), problem: &Problem) -> Result<Self> {
        let (unit, holds) = (problem.unit(node)?, name == "on" || name == "together");
        match name.as_str() {
            "on" | "not_on" if other < problem.kinds.len() => Ok(Self { unit, other, is_pair: false, holds }),
            "together" | "apart" => {
                let other = problem.unit(other)?;
                ensure!(other != unit, "a pair is of two units");
                Ok(Self { unit: unit.min(other), other: unit.max(other), is_pair: true, holds })
            }
            _ => Err(format!("there is no decision {name:?} of this kind")),
        }
    }
}

/// Whether the refuted cases, each by its decisions in their order, are all that there are; else one that is missing.
///
/// Two cases that differ in the last decision alone, which one takes and the other does not, are all of the case without it.
/// So cases are joined, those of most decisions first; one whose opposite is missing is left out.
pub fn are_complete(cases: impl IntoIterator<Item = Vec<Decision>>) -> Result<()> {
    let mut known: BTreeSet<_> = cases.into_iter().map(|case| (case.len(), case)).collect();
    let mut missing = Vec::new();
    while let Some((depth, mut case)) = known.pop_last() {
        let Some(last) = case.last_mut() else { return Ok(()) };
        last.holds ^= true;
        if known.remove(&(depth, case.clone())) {
            case.pop();
            known.insert((depth - 1, case));
        } else {
            missing = case;
        }
    }
    Err(format!("no reason is given for the case {missing:?}"))
}
