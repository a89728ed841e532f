//! Layers as clusters.

use rustc_hash::FxHashMap;

use crate::problem::Problem;
use crate::solve::Clustering;
use crate::solve::{SearchContext, SolveError, Unsupported};

/// Joins the operators of each layer, as methods do that know layers alone: PipeDream on operator graphs (Liu et al. 2024,
/// section VIII-A). Nodes without a layer stay alone. O(n).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers;

impl Clustering for Layers {
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        match problem.layer.iter().any(Option::is_some) {
            true => Ok(()),
            false => Err(Unsupported {
                solver: "layers".into(),
                reason: "no node states its layer; use cluster instead".into(),
            }),
        }
    }

    fn clusters(&self, problem: &Problem, _: &mut SearchContext) -> Result<Vec<usize>, SolveError> {
        self.supports(problem)?;
        let mut cluster_of = FxHashMap::default();
        // A cluster has the number of its first node.
        let cluster =
            |(v, layer): (usize, &Option<u64>)| layer.map_or(v, |layer| *cluster_of.entry(layer).or_insert(v));
        Ok(problem.layer.iter().enumerate().map(cluster).collect())
    }
}
