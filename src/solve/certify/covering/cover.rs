//! The covering program: how many rounds of devices cover all units, in fractions.
//!
//! Let there be n_d devices of kind d, and let its columns be the sets that one of them can hold under the target. The
//! least t such that t · n_d columns of each kind, in fractions, cover the units is a linear program. Its dual asks for
//! profits π ≥ 0 of the units with the largest Σ π, where no column of kind d has more profit than z_d, and
//! Σ n_d · z_d = 1. No split is below the target where t > 1. Columns to come are rows to come of the dual, so it is
//! solved as a cutting-plane method that only adds rows.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::columns::Column;

/// The dual of the covering program over the columns known so far.
pub struct Cover {
    profit: Vec<Variable>,
    best: Vec<Variable>,
    solution: Solution,
}

impl Cover {
    /// The program of these columns, for `units` units and these numbers of devices. `None` on numerical failure.
    pub fn new(units: usize, counts: &[usize], columns: &[&Column]) -> Option<Self> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        // More than 1 refutes the target alone, so that 2 bounds what no column limits yet.
        let profit: Vec<Variable> = (0..units).map(|_| problem.add_var(1.0, (0.0, 2.0))).collect();
        let best: Vec<Variable> = counts.iter().map(|_| problem.add_var(0.0, (0.0, 1.0))).collect();
        let devices: Vec<(Variable, f64)> = best.iter().zip(counts).map(|(&z, &count)| (z, count as f64)).collect();
        problem.add_constraint(devices, ComparisonOp::Le, 1.0);
        for column in columns {
            problem.add_constraint(row(&profit, &best, column), ComparisonOp::Le, 0.0);
        }
        let solution = problem.solve().ok()?.into_solution().ok()?;
        Some(Self { profit, best, solution })
    }

    /// Adds a column. `None` on numerical failure.
    pub fn add(self, column: &Column) -> Option<Self> {
        let row = row(&self.profit, &self.best, column);
        let solution = self.solution.add_constraint(row, ComparisonOp::Le, 0.0).ok()?.into_solution().ok()?;
        Some(Self { solution, ..self })
    }

    /// How many rounds of devices the known columns need: at least what all columns need.
    pub fn rounds(&self) -> f64 {
        self.solution.objective()
    }

    /// The profit of each unit that shows it.
    pub fn profit(&self) -> Vec<f64> {
        self.profit.iter().map(|&v| self.solution.var_value(v).max(0.0)).collect()
    }

    /// The most that a known column of each kind earns by these profits.
    pub fn best(&self) -> Vec<f64> {
        self.best.iter().map(|&v| self.solution.var_value(v)).collect()
    }
}

/// Profit of the column less the most that one of its kind earns: at most zero.
fn row(profit: &[Variable], best: &[Variable], column: &Column) -> Vec<(Variable, f64)> {
    column.units.iter().map(|&u| (profit[u], 1.0)).chain([(best[column.kind], -1.0)]).collect()
}

/// How much of each column a cover of the fewest rounds takes; `None` on numerical failure or where there is no cover.
pub fn weights(units: usize, counts: &[usize], columns: &[&Column]) -> Option<Vec<f64>> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let rounds = problem.add_var(1.0, (0.0, f64::INFINITY));
    let weight: Vec<Variable> = columns.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect();
    let mut holding: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); units];
    let mut of_kind: Vec<Vec<(Variable, f64)>> = counts.iter().map(|&count| vec![(rounds, -(count as f64))]).collect();
    for (column, &x) in columns.iter().zip(&weight) {
        column.units.iter().for_each(|&u| holding[u].push((x, 1.0)));
        of_kind[column.kind].push((x, 1.0));
    }
    holding.into_iter().for_each(|row| problem.add_constraint(row, ComparisonOp::Ge, 1.0));
    of_kind.into_iter().for_each(|row| problem.add_constraint(row, ComparisonOp::Le, 0.0));
    let solution = problem.solve().ok()?.into_solution().ok()?;
    Some(weight.iter().map(|&x| solution.var_value(x)).collect())
}
