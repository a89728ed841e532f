//! Iterative refinement (Parmesan 2024, section IV-C).

use super::moves::{Gain, Split};
use super::reconvergence::Neighbourhood;
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{DeviceAssignment, Problem, Scope, Solution};
use crate::solve::Refinement;
use crate::solve::dp::loads::Loads;
use crate::solve::heuristic::supports_loads;
use crate::solve::{Progress, SearchContext, SolveError, Unsupported};

/// Moves one operator at a time over a boundary between two stages (Parmesan 2024, section IV-C).
///
/// A step makes the move of the highest gain among those that leave the stages in an order and in their memory. The
/// gains are, each breaking the ties of the one before: how much nearer the boundary comes to a *reconverging*
/// operator, one that the graph falls apart without and that several edges enter or leave; the decrease of all
/// transfers; and the decrease of the longest compute time. Colour classes, and what needs each other, move as a whole.
/// It ends after a number of steps, or where no move gains.
///
/// The gains do not speak of the load, so that a step may raise it. The best split on the way is returned, which is the
/// given one at worst. The paper leaves open what a boundary's distance is: here a move of u takes it from u to its
/// nearest neighbour left behind. And no operator moves twice, for two boundaries could pass one back and forth.
///
/// The scope [`Arbitrary`](Scope::Arbitrary) needs no order. A convex split whose stages have none is left as it is.
/// O(steps · (n + m + boundary · (stages + pins of an operator's nets) + a stage)), but for sorting the moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterativeRefinement {
    /// The most moves, I in the paper.
    pub steps: usize,
}

impl Default for IterativeRefinement {
    fn default() -> Self {
        Self { steps: 100 }
    }
}

impl Refinement for IterativeRefinement {
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_loads("refine", problem)
    }

    fn refine(&self, problem: &Problem, solution: Solution, cx: &mut SearchContext) -> Result<Solution, SolveError> {
        self.supports(problem)?;
        if cx.should_stop() {
            return Ok(solution);
        }
        let reduced = match problem.spec.scope {
            Scope::Arbitrary => Unordered::new(problem).units,
            _ => Reduced::contracted_only(problem),
        };
        let mut unit_of = vec![0; problem.node_count()];
        reduced.members.iter().enumerate().for_each(|(u, nodes)| nodes.iter().for_each(|&v| unit_of[v] = u));
        let neighbourhood = Neighbourhood::new(problem, &unit_of, reduced.unit_count());
        let loads = Loads::new(problem, &reduced);
        let Some(mut split) = Split::new(problem, &loads, &neighbourhood, &solution, &unit_of) else {
            return Ok(solution);
        };
        let mut best = (solution.objective.unwrap_or_else(|| split.objective()), None);
        let mut has_moved = vec![false; reduced.unit_count()];
        for _ in 0..self.steps {
            if cx.should_stop() || !step(&mut split, &mut has_moved) {
                break;
            }
            if split.objective() < best.0 {
                best = (split.objective(), Some((split.stage_of().to_vec(), split.order())));
                cx.report(&Progress { phase: "refinement", incumbent: Some(best.0), bound: None });
            }
        }
        let (objective, found) = best;
        let Some((stage_of, order)) = found else {
            return Ok(Solution { objective: Some(objective), ..solution });
        };
        let mut nodes = vec![Vec::new(); solution.devices.len()];
        unit_of.iter().enumerate().for_each(|(v, &unit)| nodes[stage_of[unit]].push(problem.ids[v]));
        let of_stage = |stage: usize| {
            let nodes = std::mem::take(&mut nodes[stage]);
            DeviceAssignment { nodes, ..solution.devices[stage].clone() }
        };
        let devices = order.into_iter().map(of_stage).filter(|device| !device.nodes.is_empty()).collect();
        Ok(Solution { devices, objective: Some(objective) })
    }
}

/// Makes the best move that is allowed; `false` where none gains.
fn step(split: &mut Split, has_moved: &mut [bool]) -> bool {
    let gaining = split.moves().into_iter().take_while(|(gain, _)| gain.compare(&Gain::NONE).is_gt());
    for (_, step) in gaining {
        if !has_moved[step.unit] && split.make(step) {
            has_moved[step.unit] = true;
            return true;
        }
    }
    false
}
