//! Blocks: balanced groups of atomic components (RaNNC 2021, sections III-A and III-B).

use super::coarsening::Hierarchy;
use super::{atomic, compaction, uncoarsening};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::solve::Clustering;
use crate::solve::heuristic::groups::{Demand, by_node, limits};
use crate::solve::{SearchContext, SolveError};

/// Groups nodes into at most k blocks of like compute time that communicate little (RaNNC 2021, sections III-A and B).
///
/// 1. Atomic components (`atomic.rs`): constants join what consumes them.
/// 2. *Coarsening*, level by level: from the fastest group on, each joins the fastest adjacent one that leaves the
///    groups acyclic and fits a device; each at most once in a level. It ends at k groups, or where a
///    level could join less than 1 % of its groups, as on a star.
/// 3. *Uncoarsening*, from the last level back: of two groups that a level joined, either moves to an adjacent group of
///    that level where that lowers the communication between groups, keeps both there and at the end acyclic, and fits.
/// 4. *Compaction*, where more than k groups are left: in topological order, the fastest joins the faster of its two
///    neighbours, where that fits.
///
/// RaNNC asks each group to be convex, and sorts the groups topologically in the end. Convex groups may need each
/// other, so that here the groups as a whole have to stay acyclic. Uncoarsening leaves no block empty. Devices are
/// those of the kind that there are most of. More than k blocks are left where memory is short.
///
/// Paths between groups are searched from both ends within their places in a maintained order, so that no step looks at
/// the whole graph: about O(m log m) for each of log(n / k) levels on networks, whose edges are mostly short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// How many blocks are aimed at, k in the paper; at least 1.
    pub k: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { k: 32 }
    }
}

impl Clustering for Blocks {
    fn clusters(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Vec<usize>, SolveError> {
        let atoms = atoms(problem);
        let reduced = Reduced::contracted_only(&problem.clustered(&atoms));
        let blocks = blocks(&reduced, main_kind(&reduced), self.k, &|| cx.should_stop());
        Ok(by_node(problem, &reduced, &blocks))
    }
}

/// The kind that there are most devices of, the first of equals.
pub fn main_kind(reduced: &Reduced) -> usize {
    let counts = reduced.kinds.iter().map(|kind| kind.count);
    counts.enumerate().max_by_key(|&(kind, count)| (count, std::cmp::Reverse(kind))).map_or(0, |(kind, _)| kind)
}

/// The atomic component of each node of `problem`.
pub fn atoms(problem: &Problem) -> Vec<usize> {
    let reduced = Reduced::contracted_only(problem);
    let kind = main_kind(&reduced);
    let (demands, limits) = (Demand::of_units(&reduced, &[kind]), limits(&reduced, &[kind]));
    let is_met = |units: &[usize]| Demand::sum(&demands, units).is_some_and(|sum| sum.is_met(&limits));
    by_node(problem, &reduced, &atomic::components(&reduced, kind, is_met))
}

/// The block of each unit.
fn blocks(reduced: &Reduced, kind: usize, k: usize, stop: &dyn Fn() -> bool) -> Vec<usize> {
    let (demands, limits) = (Demand::of_units(reduced, &[kind]), limits(reduced, &[kind]));
    let mut hierarchy = Hierarchy::new(reduced, &demands, &limits, k, stop);
    let top = uncoarsening::uncoarsen(reduced, kind, &mut hierarchy, &demands, &limits, stop);
    compaction::compact(top, k, &limits, stop)
}
