//! The packing program: how many pipelines find room at once, in fractions.
//!
//! Its rows say how often pipelines may use something, such as the devices of a zone. Its dual asks for values of the rows
//! with the least sum, where no pipeline within the target is worth less than one. It is solved over the pipelines known so
//! far, each a row of the dual.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

/// What pipelines may use only so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Devices of this zone.
    Room(usize),
    /// At least so many devices of the zones from one to before another.
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
    /// How often a pipeline uses it whose stages are in these zones.
    pub fn uses(&self, zones: &[usize]) -> usize {
        let count = |first: usize, end: usize| zones.iter().filter(|&zone| (first..end).contains(zone)).count();
        match self.what {
            Use::Room(zone) => count(zone, zone + 1),
            Use::AtLeast(first, end, least) => usize::from(count(first, end) >= least),
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
    pub fn new<'p>(rows: &'r [Row], pipelines: impl IntoIterator<Item = &'p [usize]>) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // One is enough for a row: it makes all pipelines that use it worth one.
        let value: Vec<Variable> = rows.iter().map(|row| problem.add_var(row.most as f64, (0.0, 1.0))).collect();
        for zones in pipelines {
            problem.add_constraint(terms(rows, &value, zones), ComparisonOp::Ge, 1.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { rows, value, solution })
    }

    /// Adds a pipeline. `None` on numerical failure.
    pub fn add(self, zones: &[usize]) -> Option<Self> {
        let terms = terms(self.rows, &self.value, zones);
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

fn terms(rows: &[Row], value: &[Variable], zones: &[usize]) -> Vec<(Variable, f64)> {
    let uses = rows.iter().zip(value).map(|(row, &variable)| (variable, row.uses(zones) as f64));
    uses.filter(|&(_, uses)| uses > 0.0).collect()
}

/// How many of each pipeline a fractional packing of at most `count` takes; `None` on numerical failure.
pub fn weights(rows: &[Row], count: usize, pipelines: &[&[usize]]) -> Option<Vec<f64>> {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let weight: Vec<Variable> = pipelines.iter().map(|_| problem.add_var(1.0, (0.0, f64::INFINITY))).collect();
    for row in rows {
        let uses = pipelines.iter().zip(&weight).map(|(zones, &variable)| (variable, row.uses(zones) as f64));
        let uses: Vec<(Variable, f64)> = uses.filter(|&(_, uses)| uses > 0.0).collect();
        problem.add_constraint(uses, ComparisonOp::Le, row.most as f64);
    }
    problem.add_constraint(weight.iter().map(|&variable| (variable, 1.0)), ComparisonOp::Le, count as f64);
    let solution = problem.solve().ok()?.into_solution().ok()?;
    Some(weight.iter().map(|&variable| solution.var_value(variable)).collect())
}
