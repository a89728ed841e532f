//! Uniform splits: as many layers and as many replicas in each stage as in any other.

use super::rannc::{BATCH_TIME, Synchronous};
use super::{outcome, supports_loads, work_bound};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{DeviceKind, Problem};
use crate::solve::dp::loads::{SetLoads, worse};
use crate::solve::dp::{Incumbent, Setting};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Cuts the layers, in topological order, into stages of equal number on accelerators of one class, each stage with
/// the same number of replicas; the best of all numbers of stages and replicas is returned.
///
/// This is what GPipe-Hybrid and PipeDream-2BW do to repeated layers (RaNNC 2021, section IV-B). There the layers are
/// divisible by the stages, every accelerator is used and one stage alone is not tried; here sizes differ by one layer
/// where they must, and all numbers are tried that the accelerators and [`Replication`](crate::problem::Replication)
/// allow. A layer is a node, with its colour class; ties of the order go to the node that the file names first. CPUs take
/// part only where there are no accelerators. It finds no split where some stage of each is unsupported or does not fit.
/// The splits are acyclic, and count in every wider scope. O(s · (n + pins)) for s pairs of stages and replicas.
///
/// For a synchronous pipeline, which drains after each batch, the best split is the one whose batch takes least time
/// (`batch_time`), each replica taking one sample of it at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform {
    /// Samples of a batch of a synchronous pipeline; 0 looks for the best objective, as if batches had no end.
    pub batch: usize,
    /// The fewest stages; at least 1.
    pub stages: usize,
}

impl Default for Uniform {
    fn default() -> Self {
        Self { batch: 0, stages: 1 }
    }
}

impl Solver for Uniform {
    fn name(&self) -> &str {
        "uniform"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_loads(self.name(), problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        // Layers as they are given: the lossless reductions would join some.
        let layers = Reduced::contracted_only(problem);
        let setting = Setting::new(problem, &layers);
        let mut loads = SetLoads::new(&setting.loads);
        let (mut best, mut tried): (Option<(f64, Incumbent)>, usize) = (None, 0);
        let has_accelerators = layers.kinds.iter().any(|kind| kind.kind != DeviceKind::Cpu);
        for (index, stage) in setting.stages.iter().enumerate() {
            let kind = &layers.kinds[stage.kind];
            if has_accelerators && kind.kind == DeviceKind::Cpu {
                continue;
            }
            let microbatches = self.batch.div_ceil(stage.replicas).max(1);
            for stages in self.stages.max(1)..=(kind.count / stage.replicas).min(layers.unit_count()) {
                if tried > 0 && cx.should_stop() {
                    break;
                }
                tried += 1;
                let Some((found, synchronous)) = split(&layers, &mut loads, &setting, index, stages) else { continue };
                let time = match self.batch {
                    0 => found.objective(),
                    batch => synchronous.batch_time(batch, microbatches),
                };
                if best.as_ref().is_none_or(|(least, _)| time < *least) {
                    best = Some((time, found));
                }
            }
        }
        let mut stats = Stats::default();
        stats.set("layers", layers.unit_count() as f64);
        stats.set("uniform splits", tried as f64);
        if let Some((time, _)) = best.as_ref().filter(|_| self.batch > 0) {
            stats.set(BATCH_TIME, *time);
        }
        let solution = best.map(|(_, best)| setting.lift(&best, best.objective()));
        Ok(Run { outcome: outcome(solution, work_bound(&Unordered::new(problem))), stats })
    }
}

/// The split into `count` stages of the kind with this index, as a synchronous pipeline too; `None` where some stage cannot run or does not fit.
fn split(
    layers: &Reduced,
    loads: &mut SetLoads,
    setting: &Setting,
    stage: usize,
    count: usize,
) -> Option<(Incumbent, Synchronous)> {
    let n = layers.unit_count();
    let mut incumbent = Incumbent { value: [0.0; 2], stages: Vec::with_capacity(count) };
    let mut synchronous = Synchronous::default();
    for s in 0..count {
        let units = s * n / count..(s + 1) * n / count;
        let mut set = vec![0u64; n.div_ceil(64)];
        units.clone().for_each(|u| set[u / 64] |= 1 << (u % 64));
        incumbent.value = worse(incumbent.value, loads.value(setting.stages[stage], &set)?);
        synchronous.add(loads, setting.stages[stage], &set)?;
        incumbent.stages.push((layers.lift(units), stage));
    }
    Some((incumbent, synchronous))
}
