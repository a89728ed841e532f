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

    /// The program for HiGHS, and the names of its columns, which are numbered as the variables were added.
    pub fn into_mip(self) -> Result<(Mip, Vec<String>), Fault> {
        let mut model = self.variables.minimise(self.objective).using(good_lp::highs);
        let mut row_names = Vec::with_capacity(self.rows.len());
        for (name, constraint) in self.rows {
            model.add_constraint(constraint);
            row_names.push(name);
        }
        let mut mip = Mip::new(model)?;
        mip.set_names(self.names.iter().map(String::as_str), row_names.iter().map(String::as_str))?;
        Ok((mip, self.names))
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
