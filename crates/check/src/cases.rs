//! Case distinctions: decisions on splits, of which each case has reasons of its own.

use std::collections::BTreeSet;

use crate::json::{self, Value};
use crate::problem::Problem;

/// One side of a case distinction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// A unit is on a device of this kind, or is not.
    Kind {
        /// The unit.
        unit: usize,
        /// The kind.
        kind: usize,
        /// Whether it is.
        holds: bool,
    },
    /// Two units are on one device, or on two.
    Pair {
        /// The smaller unit, and the larger one.
        units: (usize, usize),
        /// Whether they are on one.
        holds: bool,
    },
}

impl Decision {
    /// Reads `["on", node, kind]`, `["not_on", node, kind]`, `["together", node, node]` or `["apart", node, node]`.
    ///
    /// # Errors
    /// It is none of these, or names no node or kind.
    pub fn parse(value: Value, problem: &Problem) -> Result<Self, String> {
        let parts = json::list(value, Ok)?;
        let [name, first, second] = parts[..] else { return Err("a decision has a name and two numbers".into()) };
        let unit = problem.unit(json::whole(first)?)?;
        let second: usize = json::whole(second)?;
        let name = json::text(name)?;
        match name.as_str() {
            "on" | "not_on" if second < problem.kinds.len() => {
                Ok(Self::Kind { unit, kind: second, holds: name == "on" })
            }
            "together" | "apart" => {
                let other = problem.unit(second)?;
                if other == unit {
                    return Err("a pair is of two units".into());
                }
                Ok(Self::Pair { units: (unit.min(other), unit.max(other)), holds: name == "together" })
            }
            _ => Err(format!("there is no decision {name:?} of this kind")),
        }
    }

    /// The other side.
    #[must_use]
    pub fn complement(self) -> Self {
        match self {
            Self::Kind { unit, kind, holds } => Self::Kind { unit, kind, holds: !holds },
            Self::Pair { units, holds } => Self::Pair { units, holds: !holds },
        }
    }
}

/// Whether the refuted cases, each by its decisions in their order, are all that there are.
///
/// Two cases that differ in the last decision alone, which one takes and the other does not, are all of the case without it.
/// So cases are joined, those of most decisions first, until the one without decisions is left or nothing can be joined.
///
/// # Errors
/// A case that is missing.
pub fn are_complete(cases: &BTreeSet<Vec<Decision>>) -> Result<(), Vec<Decision>> {
    let mut known = cases.clone();
    let mut missing = None;
    for depth in (1..=known.iter().map(Vec::len).max().unwrap_or_default()).rev() {
        let deep: Vec<Vec<Decision>> = known.iter().filter(|case| case.len() == depth).cloned().collect();
        for mut case in deep {
            let Some(last) = case.pop() else { continue };
            let mut other = case.clone();
            other.push(last.complement());
            if known.contains(&other) {
                known.insert(case);
            } else {
                missing = Some(other);
            }
        }
    }
    if known.contains(&Vec::new()) { Ok(()) } else { Err(missing.unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(unit: usize, holds: bool) -> Decision {
        Decision::Kind { unit, kind: 0, holds }
    }

    #[test]
    fn cases_are_complete_when_both_sides_of_each_decision_are_there() {
        let pair = |holds| Decision::Pair { units: (3, 4), holds };
        let all = [vec![on(0, true)], vec![on(0, false), pair(true)], vec![on(0, false), pair(false)]];
        assert_eq!(are_complete(&all.clone().into()), Ok(()));
        assert_eq!(are_complete(&[vec![]].into()), Ok(()));
        for lost in 0..3 {
            let rest: BTreeSet<_> =
                all.iter().enumerate().filter(|&(i, _)| i != lost).map(|(_, case)| case.clone()).collect();
            assert_eq!(are_complete(&rest).map_err(|missing| all[lost].starts_with(&missing)), Err(true));
        }
        assert_eq!(are_complete(&BTreeSet::new()), Err(vec![]));
        // Sides of different decisions are no case distinction.
        assert!(are_complete(&[vec![on(0, true)], vec![on(1, false)]].into()).is_err());
    }
}
