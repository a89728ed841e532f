//! The split that is best for a pipeline, judged by its latency.

use super::placement::{Blocks, Evaluator};
use super::{latency_bound, outcome, supports_latency};
use crate::problem::{Objective, Problem, Scope, Solution};
use crate::solve::dp::IdealDp;
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Splits as if for a pipeline, by the ideal DP for the largest load ([`IdealDp`]), and runs each device's nodes as one
/// subgraph: the baseline `max-load DP` of Tarnawski 2020, appendix F, for the latency.
///
/// The largest load hardly depends on the lighter devices, so that many splits share the least one, whose latencies
/// differ; which of them is found is chance. It finds none in training graphs, whose devices then wait for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaxLoad;

impl Solver for MaxLoad {
    fn name(&self) -> &str {
        "max-load"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_latency(self.name(), problem)?;
        let supported = IdealDp::default().supports(&pipeline(problem));
        supported.map_err(|Unsupported { reason, .. }| Unsupported { solver: self.name().into(), reason })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let Run { outcome: of_pipeline, .. } = IdealDp::default().solve(&pipeline(problem), &mut cx.silent())?;
        let found = of_pipeline.solution().and_then(|split| judged(problem, split));
        Ok(Run { outcome: outcome(found, latency_bound(problem, cx)), stats: Stats::default() })
    }
}

fn pipeline(problem: &Problem) -> Problem {
    let mut pipeline = problem.clone();
    (pipeline.spec.objective, pipeline.spec.scope) = (Objective::Throughput, Scope::Acyclic);
    pipeline
}

/// The split with its latency; `None` where its devices wait for each other.
fn judged(problem: &Problem, split: &Solution) -> Option<Solution> {
    let index = problem.index_of_ids();
    let blocks = Blocks::new(problem);
    let nodes = |ids: &[u64]| ids.iter().map(|id| index[id]).collect();
    let devices: Vec<_> = split.devices.iter().map(|device| (device.kind, nodes(&device.nodes))).collect();
    let places = blocks.places(&devices)?;
    let value = Evaluator::new(&blocks).value(&places).filter(|value| value.overload == 0.0)?;
    Some(blocks.solution(&places, value.latency))
}
