//! The packing program: how many pipelines find room at once, in fractions.
//!
//! Its rows say how often pipelines may use something: the devices of a class, or, for branching, a class for a stage. Its
//! dual asks for values of the rows with the least sum, where no pipeline within the target is worth less than one. It is
//! solved over the pipelines known so far, each a row of the dual.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::pricing::Pattern;

/// What pipelines may use only so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Devices of this class.
    Room(usize),
    /// This class for this stage.
    Inside(usize, usize),
    /// Any other class for this stage.
    Outside(usize, usize),
    /// At least so many devices of the classes from one to before another.
    AtLeast(usize, usize, usize),
}

/// A row of the packing program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What is used.
    pub what: Use,
    /// How often at most.
    pub most: usize,
}

impl Row {
    /// How often a pipeline uses it.
    pub fn uses(&self, pattern: &Pattern) -> usize {
        let classes = &pattern.classes;
        let count = |first: usize, end: usize| classes.iter().filter(|&class| (first..end).contains(class)).count();
        match self.what {
            Use::Room(class) => count(class, class + 1),
            Use::AtLeast(first, end, least) => usize::from(count(first, end) >= least),
            Use::Inside(stage, class) => usize::from(classes[stage] == class),
            Use::Outside(stage, class) => usize::from(classes[stage] != class),
        }
    }
}

/// The dual of the packing program over the pipelines known so far.
pub struct Master<'r> {
    rows: &'r [Row],
    value: Vec<Variable>,
    solution: Solution,
}

impl<'r> Master<'r> {
    /// The program of these pipelines. `None` on numerical failure.
    pub fn new<'p>(rows: &'r [Row], patterns: impl IntoIterator<Item = &'p Pattern>) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // One is enough for a row: it makes all pipelines that use it worth one.
        let value: Vec<Variable> = rows.iter().map(|row| problem.add_var(row.most as f64, (0.0, 1.0))).collect();
        for pattern in patterns {
            problem.add_constraint(terms(rows, &value, pattern), ComparisonOp::Ge, 1.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { rows, value, solution })
    }

    /// Adds a pipeline. `None` on numerical failure.
    pub fn add(self, pattern: &Pattern) -> Option<Self> {
        let terms = terms(self.rows, &self.value, pattern);
        let solution = self.solution.add_constraint(terms, ComparisonOp::Ge, 1.0).ok()?.into_solution().ok()?;
        Some(Self { solution, ..self })
    }

    /// How many of the known pipelines find room at once.
    pub fn count(&self) -> f64 {
        self.solution.objective()
    }

    /// What each row is worth. What may not be used at all costs nothing to be worth one.
    pub fn values(&self) -> Vec<f64> {
        let value = |(row, &variable): (&Row, &Variable)| match row.most {
            0 => 1.0,
            _ => self.solution.var_value(variable).max(0.0),
        };
        self.rows.iter().zip(&self.value).map(value).collect()
    }
}

fn terms(rows: &[Row], value: &[Variable], pattern: &Pattern) -> Vec<(Variable, f64)> {
    let uses = rows.iter().zip(value).map(|(row, &variable)| (variable, row.uses(pattern) as f64));
    uses.filter(|&(_, uses)| uses > 0.0).collect()
}

/// How many of each pipeline a fractional packing of at most `count` takes; `None` on numerical failure.
pub fn weights(rows: &[Row], count: usize, patterns: &[&Pattern]) -> Option<Vec<f64>> {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let weight: Vec<Variable> = patterns.iter().map(|_| problem.add_var(1.0, (0.0, f64::INFINITY))).collect();
    for row in rows {
        let uses = patterns.iter().zip(&weight).map(|(pattern, &variable)| (variable, row.uses(pattern) as f64));
        let uses: Vec<(Variable, f64)> = uses.filter(|&(_, uses)| uses > 0.0).collect();
        problem.add_constraint(uses, ComparisonOp::Le, row.most as f64);
    }
    problem.add_constraint(weight.iter().map(|&variable| (variable, 1.0)), ComparisonOp::Le, count as f64);
    let solution = problem.solve().ok()?.into_solution().ok()?;
    Some(weight.iter().map(|&variable| solution.var_value(variable)).collect())
}
