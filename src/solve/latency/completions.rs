//! The least costs from each state to the end.

use super::counts::lower;
use super::crossing::Crossing;
use super::moves::{Moves, Part};
use super::table::Table;
use super::watch::Watch;
use super::weighted::Weighted;

impl Weighted<'_> {
    /// The least costs from each state to the end, by what was used before. `None` where a limit came.
    pub fn completions(&self, moves: &[Moves], watch: &mut Watch) -> Option<Table> {
        let (lattice, counts) = (self.lattice, &self.counts);
        let mut table = self.table();
        table.ideal_mut(lattice.len() - 1).fill(0.0);
        let (mut row, mut crossing) = (vec![0.0; counts.places()], Crossing::default());
        let mut cut = lattice.cuts.len() - 1;
        for i in (0..lattice.len() - 1).rev() {
            cut -= usize::from(lattice.cuts[cut] > i);
            row.fill(f64::INFINITY);
            for step in lattice.steps(i) {
                lower(&mut row, table.ideal(step.next as usize), self.on_cpu(step.unit));
            }
            self.cross(i, &mut crossing);
            for (class, moves) in moves.iter().enumerate() {
                self.spend(watch, moves.of(i).len()).continue_value()?;
                for step in moves.of(i) {
                    counts.lower(class, &mut row, table.ideal(step.to as usize), self.of_move(&crossing, step));
                }
                if let Some(part) = moves.up_to(cut + 1, i) {
                    let after = table.open(cut + 1, class, self.step(class, part.memory));
                    counts.lower(class, &mut row, after, self.past_cut(part.inside));
                }
            }
            table.ideal_mut(i).copy_from_slice(&row);
            if lattice.cuts[cut] == i {
                moves.iter().enumerate().for_each(|(class, moves)| self.complete_open(&mut table, cut, class, moves));
            }
        }
        Some(table)
    }

    /// The costs to the end of sets that are open at a cut.
    fn complete_open(&self, table: &mut Table, cut: usize, class: usize, moves: &Moves) {
        for part in moves.from(cut) {
            let Some(most) = self.most_before(class, part) else { continue };
            let (row, after) = table.open_and_ideal((cut, class, most), part.ideal as usize);
            lower(row, after, self.past_cut(part.end));
        }
        // Who holds less may do what one may do who holds more.
        for step in (1..self.steps).rev() {
            let (less, more) = table.open_steps(cut, class, step);
            lower(less, more, 0.0);
        }
        for (part, most) in self.going_on(cut, class, moves) {
            for step in 0..=most {
                let (row, after) = table.open_pair(cut, class, (step, self.step_with(class, step, part)));
                lower(row, after, self.past_cut(part.inside));
            }
        }
    }

    /// The parts that lead from a cut to the next, with the most that may be held before.
    pub fn going_on<'m>(
        &'m self,
        cut: usize,
        class: usize,
        moves: &'m Moves,
    ) -> impl Iterator<Item = (&'m Part, usize)> + 'm {
        let next = self.lattice.next_open(cut);
        let parts = moves.from(cut).iter().filter(move |part| Some(part.ideal as usize) == next);
        parts.filter_map(move |part| Some((part, self.most_before(class, part)?)))
    }
}
