//! The configuration program over the columns known so far (Gilmore and Gomory 1961).
//!
//! Let x_S be how much of the set S is a block, in fractions: at most as many as there are accelerators, and at most one for
//! each item. A path takes what its items take outside blocks, as far as they are, and x_S times the duration of each S that it
//! enters. The least end that no path is later than is a linear program, and so at most the latency of any split. Its dual
//! weighs paths: a flow, with a price for each item and each accelerator, under which no column gains. Columns to come are
//! rows to come of the dual, so it is solved as a cutting-plane method that only adds rows.

use std::time::Duration;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::items::Items;
use super::prices::{Column, Prices};
use crate::search::SearchContext;

/// The dual program.
pub struct Master {
    dual: Dual,
    solution: Solution,
}

/// Its variables.
struct Dual {
    flow: Vec<Variable>,
    /// Of items that nothing feeds.
    entry: Vec<Option<Variable>>,
    item: Vec<Variable>,
    accelerator: Vec<Variable>,
}

impl Master {
    /// The program of these columns. `None` on numerical failure, or where time is up.
    pub fn new(items: &Items, columns: &[Column], cx: &SearchContext) -> Option<Self> {
        let mut program = program(OptimizationDirection::Maximize, cx);
        // Nothing is worth more than all items together: larger prices are of no use.
        let most = items.outside.iter().sum::<f64>()
            + items.classes.iter().flat_map(|class| class.compute.iter().flatten()).sum::<f64>();
        let target = items.graph.edges().map(|(_, v)| v);
        let flow: Vec<Variable> = target.map(|v| program.add_var(items.outside[v], (0.0, 1.0))).collect();
        let entry: Vec<Option<Variable>> = (0..items.len())
            .map(|v| items.before[v].is_empty().then(|| program.add_var(items.outside[v], (0.0, 1.0))))
            .collect();
        let least = |v: usize| if items.needs_block[v] { -most } else { 0.0 };
        let item = (0..items.len()).map(|v| program.add_var(-1.0, (least(v), most))).collect();
        let accelerator =
            items.classes.iter().map(|class| program.add_var(-(class.count as f64), (0.0, most))).collect();
        for v in (0..items.len()).filter(|&v| !items.after[v].is_empty()) {
            let comes = items.before[v].iter().map(|&(_, e)| (flow[e], 1.0));
            let goes = items.after[v].iter().map(|&(_, e)| (flow[e], -1.0));
            let row: Vec<_> = comes.chain(goes).chain(entry[v].map(|begin| (begin, 1.0))).collect();
            program.add_constraint(row, ComparisonOp::Eq, 0.0);
        }
        program.add_constraint(
            entry.iter().flatten().map(|&begin| (begin, 1.0)).collect::<Vec<_>>(),
            ComparisonOp::Eq,
            1.0,
        );
        let dual = Dual { flow, entry, item, accelerator };
        for column in columns {
            program.add_constraint(dual.row(items, column), ComparisonOp::Le, 0.0);
        }
        let solution = program.solve().ok()?.into_solution().ok()?;
        Some(Self { dual, solution })
    }

    /// Adds a column. `None` on numerical failure, or where time is up.
    pub fn add(self, items: &Items, column: &Column) -> Option<Self> {
        let row = self.dual.row(items, column);
        let solution = self.solution.add_constraint(row, ComparisonOp::Le, 0.0).ok()?.into_solution().ok()?;
        Some(Self { solution, ..self })
    }

    /// The least end under the columns known so far.
    pub fn value(&self) -> f64 {
        self.solution.objective()
    }

    /// The best prices under the columns known so far. Their flow is one, whatever the rounding of the solution.
    pub fn prices(&self, items: &Items) -> Prices {
        let amount = |&variable: &Variable| self.solution.var_value(variable).max(0.0);
        let Dual { flow, entry, item, accelerator } = &self.dual;
        let begin: Vec<f64> = entry.iter().map(|entry| entry.as_ref().map_or(0.0, amount)).collect();
        let share: Vec<f64> = flow.iter().map(amount).collect();
        let price = |(variable, &is_signed): (&Variable, &bool)| match is_signed {
            true => self.solution.var_value(*variable),
            false => amount(variable),
        };
        let item = item.iter().zip(&items.needs_block).map(price).collect();
        Prices::new(items, &begin, &share, item, accelerator.iter().map(amount).collect())
    }
}

impl Dual {
    /// What the column gains less the price of its accelerator: at most zero.
    fn row(&self, items: &Items, column: &Column) -> Vec<(Variable, f64)> {
        let savings = Savings::new(items, column);
        let mut row = vec![(self.accelerator[column.class], -1.0)];
        row.extend(column.set.iter().map(|v| (self.item[v], -1.0)));
        row.extend(savings.along.into_iter().map(|(e, saved)| (self.flow[e], saved)));
        row.extend(savings.begin.into_iter().filter_map(|(v, saved)| Some((self.entry[v]?, saved))));
        row.retain(|&(_, coefficient)| coefficient != 0.0);
        row
    }
}

/// By how much sooner paths end where a column is a block.
struct Savings {
    /// Along edges into its items.
    along: Vec<(usize, f64)>,
    /// At its items that paths begin with.
    begin: Vec<(usize, f64)>,
}

impl Savings {
    /// A path saves what an item takes outside, and pays the block's duration where it enters.
    fn new(items: &Items, column: &Column) -> Self {
        let duration = items.duration(column.class, &column.set);
        let (mut along, mut begin) = (Vec::new(), Vec::new());
        for v in column.set.iter() {
            along.extend(items.before[v].iter().map(|&(u, e)| {
                let entered = if column.set.contains(u) { 0.0 } else { duration };
                (e, items.outside[v] - entered)
            }));
            if items.before[v].is_empty() {
                begin.push((v, items.outside[v] - duration));
            }
        }
        Self { along, begin }
    }
}

/// A program that may take the time that is left.
fn program(direction: OptimizationDirection, cx: &SearchContext) -> Problem {
    let mut program = Problem::new(direction);
    program.set_time_limit(cx.remaining().unwrap_or(Duration::MAX));
    program
}

/// How much of each of these columns is a block in the best solution over them; `None` on numerical failure, or where time is
/// up.
pub fn weights(items: &Items, columns: &[&Column], cx: &SearchContext) -> Option<Vec<f64>> {
    let mut program = program(OptimizationDirection::Minimize, cx);
    let last = program.add_var(1.0, (0.0, f64::INFINITY));
    let end: Vec<Variable> = (0..items.len()).map(|_| program.add_var(0.0, (0.0, f64::INFINITY))).collect();
    let weight: Vec<Variable> = columns.iter().map(|_| program.add_var(0.0, (0.0, f64::INFINITY))).collect();
    let mut along: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); items.edge_count()];
    let mut at: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); items.len()];
    let mut holding: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); items.len()];
    let mut of_class: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); items.classes.len()];
    for (column, &x) in columns.iter().zip(&weight) {
        let savings = Savings::new(items, column);
        of_class[column.class].push((x, 1.0));
        column.set.iter().for_each(|v| holding[v].push((x, 1.0)));
        savings.along.into_iter().for_each(|(e, saved)| along[e].push((x, saved)));
        savings.begin.into_iter().for_each(|(v, saved)| at[v].push((x, saved)));
    }
    for (mut row, (u, v)) in along.into_iter().zip(items.graph.edges()) {
        row.extend([(end[v], 1.0), (end[u], -1.0)]);
        program.add_constraint(row, ComparisonOp::Ge, items.outside[v]);
    }
    for v in 0..items.len() {
        if items.before[v].is_empty() {
            let row: Vec<_> = at[v].iter().copied().chain([(end[v], 1.0)]).collect();
            program.add_constraint(row, ComparisonOp::Ge, items.outside[v]);
        }
        if items.after[v].is_empty() {
            program.add_constraint([(last, 1.0), (end[v], -1.0)], ComparisonOp::Ge, 0.0);
        }
    }
    for (row, &is_needed) in holding.into_iter().zip(&items.needs_block) {
        program.add_constraint(row, if is_needed { ComparisonOp::Eq } else { ComparisonOp::Le }, 1.0);
    }
    for (row, class) in of_class.into_iter().zip(&items.classes) {
        program.add_constraint(row, ComparisonOp::Le, class.count as f64);
    }
    let solution = program.solve().ok()?.into_solution().ok()?;
    Some(weight.iter().map(|&x| solution.var_value(x)).collect())
}
