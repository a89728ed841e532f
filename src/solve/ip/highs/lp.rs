//! Linear programs that grow by rows and columns, as column generation needs them.

use std::time::Duration;

use super::handle::{Fault, Handle, ModelStatus, OptionValue};

/// How a linear program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LpStatus {
    /// An optimal solution was found.
    Optimal,
    /// No solution exists.
    Infeasible,
    /// The objective falls without end.
    Unbounded,
    /// A limit or numerical trouble came first.
    Stopped,
}

/// A linear program to minimise. It starts each solve from the basis of the one before.
///
/// Bounds may be infinite. Indices of rows and columns are those returned when they were added.
pub struct Lp {
    handle: Handle,
    values: Vec<f64>,
    duals: Vec<f64>,
}

impl Lp {
    /// A program without rows and columns, solved by simplex on one thread.
    ///
    /// # Errors
    /// [`Fault`] where HiGHS refuses an option.
    pub fn new() -> Result<Self, Fault> {
        let mut handle = Handle::empty()?;
        // Primal simplex where the last basis is still feasible, as after new columns; dual after new rows.
        handle.set_option(c"simplex_strategy", OptionValue::Int(0))?;
        Ok(Self { handle, values: Vec::new(), duals: Vec::new() })
    }

    /// Ends later solves after `limit` each.
    ///
    /// # Errors
    /// [`Fault`] where HiGHS refuses it.
    pub fn set_time_limit(&mut self, limit: Duration) -> Result<(), Fault> {
        self.handle.set_option(c"time_limit", OptionValue::Double(limit.as_secs_f64()))
    }

    /// How many columns there are.
    pub fn column_count(&self) -> usize {
        self.handle.column_count()
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.handle.row_count()
    }

    /// Adds the row lower ≤ Σ coefficient · column ≤ upper, and returns its index.
    ///
    /// # Errors
    /// [`Fault`] where a column does not exist or a number is not one.
    pub fn add_row(&mut self, lower: f64, upper: f64, entries: &[(usize, f64)]) -> Result<usize, Fault> {
        self.handle.add_row(lower, upper, entries)
    }

    /// Adds a column with its coefficients in existing rows, and returns its index.
    ///
    /// # Errors
    /// [`Fault`] where a row does not exist or a number is not one.
    pub fn add_column(&mut self, cost: f64, lower: f64, upper: f64, entries: &[(usize, f64)]) -> Result<usize, Fault> {
        self.handle.add_column(cost, lower, upper, entries)
    }

    /// Changes the bounds of a column.
    ///
    /// # Errors
    /// [`Fault`] where the column does not exist.
    pub fn set_column_bounds(&mut self, column: usize, lower: f64, upper: f64) -> Result<(), Fault> {
        self.handle.set_column_bounds(column, lower, upper)
    }

    /// Changes the cost of a column.
    ///
    /// # Errors
    /// [`Fault`] where the column does not exist.
    pub fn set_column_cost(&mut self, column: usize, cost: f64) -> Result<(), Fault> {
        self.handle.set_column_cost(column, cost)
    }

    /// Changes the bounds of a row.
    ///
    /// # Errors
    /// [`Fault`] where the row does not exist.
    pub fn set_row_bounds(&mut self, row: usize, lower: f64, upper: f64) -> Result<(), Fault> {
        self.handle.set_row_bounds(row, lower, upper)
    }

    /// Solves the program.
    ///
    /// # Errors
    /// [`Fault`] where HiGHS fails; limits are a status.
    pub fn solve(&mut self) -> Result<LpStatus, Fault> {
        let status = match self.handle.run(None)? {
            ModelStatus::Optimal => LpStatus::Optimal,
            ModelStatus::Infeasible => LpStatus::Infeasible,
            ModelStatus::Unbounded => LpStatus::Unbounded,
            _ => LpStatus::Stopped,
        };
        (self.values, self.duals) = self.handle.solution()?;
        Ok(status)
    }

    /// The objective of the last solve.
    ///
    /// # Errors
    /// [`Fault`] where there was none.
    pub fn objective(&mut self) -> Result<f64, Fault> {
        self.handle.info(c"objective_function_value")
    }

    /// The value of each column after the last solve.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The dual of each row after the last solve: how the optimum changes per unit of the row's binding bound. It is at
    /// least zero at a lower bound and at most zero at an upper one.
    pub fn duals(&self) -> &[f64] {
        &self.duals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cutting rolls of 10 into 20 pieces of 3 and 10 of 5, with the patterns (3,0), (0,2) and later (1,1).
    #[test]
    fn a_new_column_improves_the_master_and_duals_price_it() {
        let mut lp = Lp::new().unwrap();
        let threes = lp.add_row(20.0, f64::INFINITY, &[]).unwrap();
        let fives = lp.add_row(10.0, f64::INFINITY, &[]).unwrap();
        lp.add_column(1.0, 0.0, f64::INFINITY, &[(threes, 3.0)]).unwrap();
        lp.add_column(1.0, 0.0, f64::INFINITY, &[(fives, 1.0)]).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Optimal);
        assert!((lp.objective().unwrap() - (20.0 / 3.0 + 10.0)).abs() < 1e-9);
        assert!((lp.duals()[threes] - 1.0 / 3.0).abs() < 1e-9 && (lp.duals()[fives] - 1.0).abs() < 1e-9);

        let mixed = lp.add_column(1.0, 0.0, f64::INFINITY, &[(threes, 1.0), (fives, 1.0)]).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Optimal);
        assert!((lp.objective().unwrap() - (10.0 / 3.0 + 10.0)).abs() < 1e-9);
        assert!((lp.values()[mixed] - 10.0).abs() < 1e-9);

        lp.set_column_bounds(mixed, 0.0, 4.0).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Optimal);
        assert!((lp.objective().unwrap() - (16.0 / 3.0 + 10.0)).abs() < 1e-9);
        lp.add_row(f64::NEG_INFINITY, 9.0, &[(0, 1.0), (1, 1.0), (mixed, 1.0)]).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Infeasible);
    }

    #[test]
    fn costs_and_row_bounds_change() {
        let mut lp = Lp::new().unwrap();
        let x = lp.add_column(-1.0, 0.0, f64::INFINITY, &[]).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Unbounded);
        let cap = lp.add_row(f64::NEG_INFINITY, 3.0, &[(x, 1.0)]).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Optimal);
        assert_eq!((lp.objective().unwrap(), lp.duals()[cap]), (-3.0, -1.0));
        lp.set_row_bounds(cap, f64::NEG_INFINITY, 5.0).unwrap();
        lp.set_column_cost(x, -2.0).unwrap();
        assert_eq!(lp.solve().unwrap(), LpStatus::Optimal);
        assert_eq!(lp.objective().unwrap(), -10.0);
    }

    #[test]
    fn a_row_over_no_column_is_a_fault() {
        let mut lp = Lp::new().unwrap();
        assert_eq!(lp.add_row(0.0, 1.0, &[(7, 1.0)]).unwrap_err().call, "Highs_addRow");
    }
}
