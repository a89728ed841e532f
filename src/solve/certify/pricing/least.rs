//! The least load of a device that holds a unit: a dynamic program over memory alone, forth and back along the line.

use super::rows::{LOAD, MEMORY};
use super::sweep::{Arc, Sweep};

/// The least loads of the partial sets in one state, by the most cells of memory that they take.
type Row = Vec<f64>;

impl Sweep<2> {
    /// For each step the least load of a set that has its variable inside and takes no more than so many cells of memory;
    /// infinity where there is none.
    ///
    /// O(arcs · cells).
    pub fn least_loads(&self, memory: usize) -> Vec<f64> {
        let forth = self.forth(memory);
        let mut back: Vec<Row> = vec![vec![0.0; memory + 1]; self.steps.last().map_or(1, |step| step.states.len())];
        let mut least = vec![f64::INFINITY; self.steps.len()];
        for (number, step) in self.steps.iter().enumerate().rev() {
            let mut before = vec![vec![f64::INFINITY; memory + 1]; forth[number].len()];
            for (arcs, rest) in step.states.iter().zip(&back) {
                for arc in arcs {
                    spread(&mut before[arc.from], rest, arc);
                    if arc.is_inside() {
                        least[number] = least[number].min(through(arc, &forth[number][arc.from], rest));
                    }
                }
            }
            back = before;
        }
        least
    }

    /// The rows of the states before each step.
    fn forth(&self, memory: usize) -> Vec<Vec<Row>> {
        let mut rows = vec![vec![vec![0.0; memory + 1]]];
        for step in &self.steps {
            let before = rows.last().map_or(&[][..], Vec::as_slice);
            let row = |arcs: &Vec<Arc<2>>| {
                let mut row = vec![f64::INFINITY; memory + 1];
                arcs.iter().for_each(|arc| spread(&mut row, &before[arc.from], arc));
                row
            };
            let next = step.states.iter().map(row).collect();
            rows.push(next);
        }
        rows
    }
}

/// The least load of all partial sets before an arc and after it that have room together.
fn through(arc: &Arc<2>, before: &Row, after: &Row) -> f64 {
    let room = after.len().saturating_sub(arc.cells[MEMORY]);
    let loads = before.iter().zip(after[..room].iter().rev());
    loads.map(|(before, after)| before + arc.used[LOAD] + after).fold(f64::INFINITY, f64::min)
}

/// Lowers the entries of `row` to those of `source` and an arc between them.
fn spread(row: &mut Row, source: &Row, arc: &Arc<2>) {
    for (entry, known) in row.iter_mut().skip(arc.cells[MEMORY]).zip(source) {
        *entry = entry.min(known + arc.used[LOAD]);
    }
}
