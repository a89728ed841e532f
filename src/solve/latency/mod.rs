//! Latency by dynamic programming over ideals.

mod labels;
mod lattice;
mod lift;
mod model;
mod search;
mod subgraphs;
mod trace;
mod units;

use lattice::Lattice;
use model::Model;
use search::{Pass, Rules};

use super::{BoundSource, Guarantee, LowerBound, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported};
use crate::problem::{Objective, Problem};

/// The exact DP for [`Objective::Latency`] with one subgraph per accelerator.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyDp {
    /// The most ideals of the units' order.
    pub max_ideals: usize,
}

impl Default for LatencyDp {
    fn default() -> Self {
        Self { max_ideals: 1_000_000 }
    }
}

impl Solver for LatencyDp {
    fn name(&self) -> &'static str {
        "latency-dp"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refuse = |reason: &str| Err(Unsupported { solver: self.name(), reason: reason.into() });
        match problem.spec.objective {
            Objective::Latency { subgraphs: 1 } => Ok(()),
            Objective::Latency { .. } => refuse("several subgraphs"),
            _ => refuse("it minimises the latency"),
        }
    }

    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let mut stats = Stats::default();
        let model = Model::new(problem);
        stats.set("units", model.unit_count() as f64);
        let scope = problem.spec.scope.clone();
        let Ok(lattice) = Lattice::new(&model, self.max_ideals, cx) else {
            return Ok(Run { outcome: Outcome::Unknown { bound: None }, stats });
        };
        stats.set("ideals", lattice.len() as f64);
        stats.set("cuts", lattice.cuts.len() as f64);
        stats.set("t_lattice", cx.elapsed().as_secs_f64());
        let run = |counting: bool, upper: f64, beam: usize, name: [&'static str; 3], stats: &mut Stats| {
            let mut pass = Pass::new(&model, &lattice, Rules { counting, upper, beam });
            pass.run(cx);
            stats.set(name[0], pass.inserted as f64);
            stats.set(name[1], pass.subgraphs as f64);
            stats.set(name[2], cx.elapsed().as_secs_f64());
            let labels = pass.labels(lattice.len() - 1);
            let best = (0..labels.len()).min_by(|&a, &b| labels.values(a)[0].total_cmp(&labels.values(b)[0]));
            best.map(|best| {
                let blocks = trace::blocks(&pass, best);
                let value = labels.values(best)[0];
                (value, labels.used(best).total(), trace::solution(&pass, &blocks, value))
            })
        };
        let k: usize = model.classes.iter().map(|c| c.count).sum();
        let free = run(false, f64::MAX, usize::MAX, ["labels", "subgraphs", "t_free"], &mut stats);
        let Some((bound, used, solution)) = free else {
            return Ok(Run { outcome: Outcome::Infeasible(scope), stats });
        };
        stats.set("bound", bound);
        stats.set("used", used as f64);
        if used <= k {
            let bound = LowerBound { value: bound, scope, source: BoundSource::Refuted };
            return Ok(Run { outcome: Outcome::Optimal { solution, bound }, stats });
        }
        let beam = run(true, f64::MAX, 10, ["beam_labels", "beam_subgraphs", "t_beam"], &mut stats);
        let upper = beam.as_ref().map_or(f64::MAX, |b| b.0);
        stats.set("beam", upper);
        let exact = run(true, upper, usize::MAX, ["exact_labels", "exact_subgraphs", "t_exact"], &mut stats);
        Ok(match exact.or(beam) {
            Some((value, _, solution)) => {
                let bound = LowerBound { value, scope, source: BoundSource::Refuted };
                Run { outcome: Outcome::Optimal { solution, bound }, stats }
            }
            None => Run { outcome: Outcome::Infeasible(scope), stats },
        })
    }
}
