//! Everything on one device.

use super::{outcome, supports_loads, work_bound};
use crate::preprocess::Unordered;
use crate::problem::Problem;
use crate::solve::certify::{Assignment, Setting};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Puts everything on one accelerator, the quickest that holds it, or on a CPU where none does: what a split has to
/// beat. It finds no split where no device holds everything. O(n + m) for each kind of device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SingleDevice;

impl Solver for SingleDevice {
    fn name(&self) -> &str {
        "single-device"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_loads(self.name(), problem)
    }

    fn search(&self, problem: &Problem, _cx: &mut SearchContext) -> Result<Run, SolveError> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let first_of_kind =
            (0..setting.device_count()).filter(|&d| d == 0 || setting.kind_of[d] != setting.kind_of[d - 1]);
        let on = |d: usize| Assignment { device_of: vec![d as u32; setting.unit_count()] };
        let splits = first_of_kind.filter_map(|d| Some((setting.is_cpu(d), setting.objective(&on(d))?, d)));
        let best = splits.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let solution = best.map(|(_, _, d)| setting.to_solution(&on(d)));
        Ok(Run { outcome: outcome(solution, work_bound(&unordered)), stats: Stats::default() })
    }
}
