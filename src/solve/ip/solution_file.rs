//! Solution files of other solvers.

use rustc_hash::FxHashMap;

use super::layout::Layout;
use crate::problem::{Problem, Solution};

/// A solution file gives a node no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPlaced {
    /// No column has the value 1 for this node.
    #[error(
        "no column of node {0} has the value 1; is the file a solution of the program that `dagsplit formulate` writes \
         for this workload and these options?"
    )]
    Node(u64),
    /// The nodes are placed where they cannot be.
    #[error("the devices cannot hold what the solution gives them, by their kind or memory, or wait for each other")]
    Infeasible,
}

/// The split in a solution file of HiGHS, Gurobi, CBC, SCIP or CPLEX for a program that
/// [`IntegerProgram::write`](super::IntegerProgram::write) wrote of `problem`, in any form.
///
/// Every line that names a column x is read, in whatever words around it; columns that are not named are 0.
///
/// # Errors
/// [`NotPlaced`] where the file gives a node no device or the split is impossible.
pub fn read_solution(problem: &Problem, text: &str) -> Result<Solution, NotPlaced> {
    let layout = Layout::new(problem);
    let devices = layout.devices.list.len();
    let mut column_of = FxHashMap::default();
    for unit in 0..layout.unit_count() {
        column_of.extend((0..devices).map(|i| (layout.name(unit, i), layout.column(unit, i))));
    }
    let mut values = vec![0.0; layout.unit_count() * devices];
    // HiGHS lists the duals of the same names after the values.
    for line in text.lines().take_while(|line| !line.starts_with("# Dual")) {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == '"').filter(|w| !w.is_empty()).collect();
        let Some((at, &column)) = words.iter().enumerate().find_map(|(i, w)| Some((i, column_of.get(*w)?))) else {
            continue;
        };
        // CPLEX writes XML: name="x" index="0" value="1".
        let place = words.iter().position(|&word| word == "value=").unwrap_or(at) + 1;
        values[column] = words.get(place).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    }
    for unit in 0..layout.unit_count() {
        if !(0..devices).any(|i| values[layout.column(unit, i)] > 0.5) {
            return Err(NotPlaced::Node(problem.ids[layout.units.units.members[unit][0]]));
        }
    }
    layout.split(&values).ok_or(NotPlaced::Infeasible)
}
