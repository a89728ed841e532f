//! A program under construction: good_lp's variables and rows, each with a name that a reader of its file understands.

use good_lp::{
    Constraint, Expression, IntoAffineExpression, ProblemVariables, SolverModel, Variable, VariableDefinition,
};

use super::highs::{Fault, Mip};

/// Variables and rows; the objective is minimised.
#[derive(Default)]
pub(super) struct Model {
    variables: ProblemVariables,
    names: Vec<String>,
    rows: Vec<(String, Constraint)>,
    objective: Expression,
}

impl Model {
    pub fn variable(&mut self, name: String, definition: VariableDefinition) -> Variable {
        self.names.push(name);
        self.variables.add(definition)
    }

    pub fn row(&mut self, name: String, constraint: Constraint) {
        self.rows.push((name, constraint));
    }

    pub fn minimise(&mut self, objective: impl Into<Expression>) {
        self.objective = objective.into();
    }

    /// The program for HiGHS, whose columns are numbered as the variables were added, and its names.
    pub fn into_mip(self) -> Result<(Mip, Names), Fault> {
        let mut model = self.variables.minimise(self.objective).using(good_lp::highs);
        let mut rows = Vec::with_capacity(self.rows.len());
        for (name, constraint) in self.rows {
            model.add_constraint(constraint);
            rows.push(name);
        }
        Ok((Mip::new(model)?, Names { columns: self.names, rows }))
    }
}

/// What a reader of the program's file finds.
pub(super) struct Names {
    columns: Vec<String>,
    rows: Vec<String>,
}

impl Names {
    /// Names the columns and rows of the program, which a search has no use for.
    pub fn give(&self, mip: &mut Mip) -> Result<(), Fault> {
        mip.set_names(self.columns.iter().map(String::as_str), self.rows.iter().map(String::as_str))
    }
}

/// Σ weight · term over the pairs whose weight is not zero.
pub(super) fn weighted<T: IntoAffineExpression>(pairs: impl IntoIterator<Item = (f64, T)>) -> Expression {
    let mut sum = Expression::default();
    for (weight, term) in pairs {
        if weight != 0.0 {
            sum.add_mul(weight, term);
        }
    }
    sum
}
