//! Chains: nodes are joined to clusters, a method splits the clusters, and the split is refined.

use super::{Guarantee, Outcome, Run, SearchContext, SolveError, Solver, Unsupported};
use crate::problem::{Problem, Solution};

/// A way to join nodes that then share a device.
///
/// Whether a chain takes a problem is asked of each step without running any: of the method, too, about the problem as
/// it is, before nodes are joined. So one with a limit on size, as brute force has, refuses a problem whose clusters would
/// be few enough.
pub trait Clustering: Send + Sync {
    /// Whether it takes `problem`.
    ///
    /// # Errors
    /// What it cannot take.
    fn supports(&self, _problem: &Problem) -> Result<(), Unsupported> {
        Ok(())
    }

    /// The cluster of each node of `problem`.
    ///
    /// # Errors
    /// A fault, or a problem that it does not take.
    fn clusters(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Vec<usize>, SolveError>;
}

/// A way to better a split.
pub trait Refinement: Send + Sync {
    /// Whether it takes `problem`.
    ///
    /// # Errors
    /// What it cannot take.
    fn supports(&self, _problem: &Problem) -> Result<(), Unsupported> {
        Ok(())
    }

    /// A split that is no worse than `solution`, its objective filled in.
    ///
    /// # Errors
    /// A fault, or a problem that it does not take.
    fn refine(&self, problem: &Problem, solution: Solution, cx: &mut SearchContext) -> Result<Solution, SolveError>;
}

/// Clusterings, one after another; a method on the clusters; refinements, one after another, on the nodes.
pub(crate) struct Chain {
    pub clusterings: Vec<Box<dyn Clustering>>,
    pub solver: Box<dyn Solver>,
    pub refinements: Vec<Box<dyn Refinement>>,
}

impl Solver for Chain {
    fn name(&self) -> &str {
        self.solver.name()
    }

    /// Exact only without clusterings: the best split of clusters need not be the best one of nodes.
    fn guarantee(&self) -> Guarantee {
        if self.clusterings.is_empty() { self.solver.guarantee() } else { Guarantee::Heuristic }
    }

    fn chooses_degrees(&self) -> bool {
        self.refinements.is_empty() && self.solver.chooses_degrees()
    }

    fn knows_steps(&self) -> bool {
        self.refinements.is_empty() && self.solver.knows_steps()
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        self.clusterings.iter().try_for_each(|step| step.supports(problem))?;
        self.solver.supports(problem)?;
        self.refinements.iter().try_for_each(|step| step.supports(problem))
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let mut clustered = problem.clone();
        for clustering in &self.clusterings {
            let clusters = clustering.clusters(&clustered, cx)?;
            clustered = clustered.clustered(&clusters);
        }
        let mut run = self.solver.solve(&clustered, cx)?;
        if !self.clusterings.is_empty() {
            // What is proven of clusters says nothing of nodes.
            run.outcome = run.outcome.without_proof();
        }
        for refinement in &self.refinements {
            if let Outcome::Feasible { solution, .. } = &mut run.outcome {
                *solution = refinement.refine(problem, std::mem::take(solution), cx)?;
            }
        }
        Ok(run)
    }
}
