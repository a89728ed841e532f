//! Groups of units that share a device: what the clusterings of several papers are built from.

mod demand;
mod order_list;
mod quotient;

pub use demand::{Demand, limits};
pub use quotient::{Links, Quotient};

use crate::preprocess::Reduced;
use crate::problem::Problem;

/// The group of each node of `problem`, by that of each unit.
pub fn by_node(problem: &Problem, reduced: &Reduced, group_of: &[usize]) -> Vec<usize> {
    let mut groups = vec![0; problem.node_count()];
    for (members, &group) in reduced.members.iter().zip(group_of) {
        members.iter().for_each(|&v| groups[v] = group);
    }
    groups
}
