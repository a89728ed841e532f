//! Moves that no better split makes, found by the least costs from the start and to the end.

use super::counts::{is_below, lower};
use super::crossing::Crossing;
use super::moves::{Moves, Part};
use super::table::Table;
use super::watch::Watch;
use super::weighted::Weighted;

impl Weighted<'_> {
    /// Drops the moves and parts that no split below `upper` makes: those of which the least cost from the start, their own
    /// and the least cost to the end are no less together. `None` where a limit came.
    pub fn narrow(&self, moves: &mut [Moves], completions: &Table, upper: f64, watch: &mut Watch) -> Option<()> {
        let (lattice, counts) = (self.lattice, &self.counts);
        let mut heads = self.table();
        heads.ideal_mut(0)[0] = 0.0;
        let (mut row, mut crossing) = (vec![0.0; counts.places()], Crossing::default());
        let mut kept = vec![0; moves.len()];
        let mut cut = 0;
        for i in 0..lattice.len() - 1 {
            if lattice.cuts[cut + 1] == i {
                cut += 1;
                moves.iter().enumerate().for_each(|(class, moves)| self.head_open(&mut heads, cut, class, moves));
            }
            row.copy_from_slice(heads.ideal(i));
            for step in lattice.steps(i) {
                lower(heads.ideal_mut(step.next as usize), &row, self.on_cpu(step.unit));
            }
            self.cross(i, &mut crossing);
            for (class, moves) in moves.iter_mut().enumerate() {
                self.spend(watch, moves.of(i).len()).continue_value()?;
                kept[class] = moves.retain_from(i, kept[class], |step| {
                    let (to, cost) = (step.to as usize, self.of_move(&crossing, step));
                    let is_of_use = counts.is_below(class, &row, completions.ideal(to), upper - cost);
                    if is_of_use {
                        counts.lower_after(class, &row, heads.ideal_mut(to), cost);
                    }
                    is_of_use
                });
                if let Some(part) = moves.up_to(cut + 1, i) {
                    let (after, _) = heads.open_and_ideal((cut + 1, class, self.step(class, part.memory)), i);
                    counts.lower_after(class, &row, after, self.past_cut(part.inside));
                }
            }
        }
        for (class, (moves, kept)) in moves.iter_mut().zip(kept).enumerate() {
            moves.end_retain(kept);
            self.narrow_parts(class, moves, &heads, completions, upper);
        }
        Some(())
    }

    /// What comes of sets that are open at a cut.
    fn head_open(&self, table: &mut Table, cut: usize, class: usize, moves: &Moves) {
        for (part, most) in self.going_on(cut, class, moves) {
            for step in 0..=most {
                let (row, after) = table.open_pair(cut, class, (step, self.step_with(class, step, part)));
                lower(after, row, self.past_cut(part.inside));
            }
        }
        // From here on: the least of all that hold no more.
        for step in 1..self.steps {
            let (less, more) = table.open_steps(cut, class, step);
            lower(more, less, 0.0);
        }
        for part in moves.from(cut) {
            let Some(most) = self.most_before(class, part) else { continue };
            let (row, after) = table.open_and_ideal((cut, class, most), part.ideal as usize);
            lower(after, row, self.past_cut(part.end));
        }
    }

    /// Drops the parts that no split below `upper` makes.
    fn narrow_parts(&self, class: usize, moves: &mut Moves, heads: &Table, completions: &Table, upper: f64) {
        let admits_up_to = |cut: usize, part: &Part| {
            self.admits_part(class, heads.ideal(part.ideal as usize), cut, part, completions, upper)
        };
        let admits_from = |cut: usize, part: &Part| {
            let Some(most) = self.most_before(class, part) else { return false };
            let to = part.ideal as usize;
            let ends = upper - self.past_cut(part.end);
            let goes_on = upper - self.past_cut(part.inside);
            let is_next = self.lattice.next_open(cut) == Some(to);
            is_below(heads.open(cut, class, most), completions.ideal(to), ends)
                || is_next
                    && (0..=most).any(|step| {
                        let after = completions.open(cut + 1, class, self.step_with(class, step, part));
                        is_below(heads.open(cut, class, step), after, goes_on)
                    })
        };
        moves.retain_parts(admits_up_to, admits_from);
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::solve::SearchContext;
    use crate::solve::latency::flow::{Along, Paths};
    use crate::solve::latency::generated;
    use crate::solve::latency::lattice::Lattice;
    use crate::solve::latency::model::Model;
    use crate::solve::latency::search::{Guide, Pass};

    /// A flow along some of the paths more than along others.
    fn any_flow(paths: &Paths, rng: &mut SmallRng) -> Along {
        let mut times = paths.zeros();
        [&mut times.nodes, &mut times.arcs, &mut times.starts].into_iter().flatten().for_each(|time| {
            *time = rng.random_range(0..8) as f64;
        });
        paths.softmax(&times, 1.0)
    }

    #[test]
    fn any_flow_bounds_the_optimum_and_narrows_to_it() {
        let cx = SearchContext::new();
        for (seed, problem) in generated::problems(2000) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let lattice = Lattice::new(&model, None, 1000, &cx).unwrap();
            let paths = Paths::new(&model, &lattice);
            let (rng, mut watch) = (&mut SmallRng::seed_from_u64(seed), Watch::new(&cx));
            for _ in 0..4 {
                let mut moves = Moves::all(&model, &lattice, &cx).unwrap();
                let weighted = Weighted::new(&model, &lattice, &paths, any_flow(&paths, rng));
                let completions = weighted.completions(&moves, &mut watch).unwrap();
                let guide = Guide { weighted, completions };
                let (bound, upper) = (guide.bound(), best.map_or(f64::MAX, |best| best + 1e-6));
                assert!(bound < upper || best.is_none(), "seed {seed}: the bound {bound} is above {best:?}");
                let passed = |moves: &[Moves], upper: f64, beam: usize| {
                    let mut pass = Pass::new(&guide, moves, upper, beam, &cx);
                    assert!(pass.run().is_continue());
                    let found = pass.best().map(|label| pass.end(label));
                    let is_best = found.zip(best).is_some_and(|(found, best)| (found - best).abs() < 1e-9);
                    let is_right = is_best || found.is_none() && best.is_none();
                    assert!(is_right || pass.incomplete, "seed {seed}: {found:?} for {best:?}");
                    pass.incomplete
                };
                passed(&moves, f64::MAX, 1);
                assert!(!passed(&moves, f64::MAX, usize::MAX));
                guide.weighted.narrow(&mut moves, &guide.completions, upper, &mut watch).unwrap();
                assert!(!passed(&moves, upper, usize::MAX));
            }
        }
    }
}
