//! Solvers under another name, and with a seed of their own.

use crate::problem::Problem;
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported};

/// A solver under the name it was asked for by.
pub(super) struct Named {
    pub spec: String,
    pub solver: Box<dyn Solver>,
}

impl Solver for Named {
    fn name(&self) -> &str {
        &self.spec
    }

    fn guarantee(&self) -> Guarantee {
        self.solver.guarantee()
    }

    fn chooses_degrees(&self) -> bool {
        self.solver.chooses_degrees()
    }

    fn knows_chunks(&self) -> bool {
        self.solver.knows_chunks()
    }

    fn is_program(&self) -> bool {
        self.solver.is_program()
    }

    fn knows_steps(&self) -> bool {
        self.solver.knows_steps()
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        self.solver.supports(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.solver.search(problem, cx)
    }
}

/// A solver with a seed of its own.
pub(super) struct Seeded {
    pub seed: u64,
    pub solver: Box<dyn Solver>,
}

impl Solver for Seeded {
    fn name(&self) -> &str {
        self.solver.name()
    }

    fn guarantee(&self) -> Guarantee {
        self.solver.guarantee()
    }

    fn chooses_degrees(&self) -> bool {
        self.solver.chooses_degrees()
    }

    fn knows_chunks(&self) -> bool {
        self.solver.knows_chunks()
    }

    fn is_program(&self) -> bool {
        self.solver.is_program()
    }

    fn knows_steps(&self) -> bool {
        self.solver.knows_steps()
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        self.solver.supports(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let outer = std::mem::replace(&mut cx.seed, self.seed);
        let run = self.solver.search(problem, cx);
        cx.seed = outer;
        run
    }
}
