//! A split of least cost under a flow.

use super::crossing::Crossing;
use super::labels::Used;
use super::moves::{Moves, Part};
use super::table::Table;
use super::weighted::Weighted;

/// A state on the way: an ideal, the place of what was used before, and the accelerators.
#[derive(Debug, Clone, Copy)]
struct State {
    ideal: usize,
    place: usize,
    used: Used,
}

impl Weighted<'_> {
    /// The ideals that a split of least cost passes, ascending, and the accelerators used before each; `None` where there is
    /// no split. As far as the relaxations go, which may take a set for lighter than it is.
    pub fn cheapest(&self, moves: &[Moves], completions: &Table) -> Option<Vec<(usize, Used)>> {
        let mut state = State { ideal: 0, place: 0, used: Used::default() };
        let mut path = vec![(0, state.used)];
        while state.ideal + 1 < self.lattice.len() {
            state = self.next(state, moves, completions)?;
            path.push((state.ideal, state.used));
        }
        Some(path)
    }

    /// The state after one block, of those that give the least cost.
    fn next(&self, state: State, moves: &[Moves], completions: &Table) -> Option<State> {
        let State { ideal: i, place, used } = state;
        let value = completions.ideal(i)[place];
        if !value.is_finite() {
            return None;
        }
        for step in self.lattice.steps(i) {
            let next = step.next as usize;
            if self.on_cpu(step.unit) + completions.ideal(next)[place] == value {
                return Some(State { ideal: next, ..state });
            }
        }
        let cut = self.lattice.cuts.partition_point(|&cut| cut <= i) - 1;
        let mut crossing = Crossing::default();
        self.cross(i, &mut crossing);
        for (class, moves) in moves.iter().enumerate() {
            let Some(place) = self.counts.plus_one(place, class).filter(|_| used.of(class) < Used::MAX_COUNT) else {
                continue;
            };
            let used = used.plus_one(class);
            for step in moves.of(i) {
                let to = step.to as usize;
                if self.of_move(&crossing, step) + completions.ideal(to)[place] == value {
                    return Some(State { ideal: to, place, used });
                }
            }
            if let Some(part) = moves.up_to(cut + 1, i) {
                let step = self.step(class, part.memory);
                if self.past_cut(part.inside) + completions.open(cut + 1, class, step)[place] == value {
                    let ideal = self.end_of_open(class, moves, completions, (cut + 1, step, place))?;
                    return Some(State { ideal, place, used });
                }
            }
        }
        None
    }

    /// The ideal with a set that holds so many steps at a cut, and all of which it ends with.
    fn end_of_open(
        &self,
        class: usize,
        moves: &Moves,
        completions: &Table,
        (mut cut, mut step, place): (usize, usize, usize),
    ) -> Option<usize> {
        loop {
            let value = completions.open(cut, class, step)[place];
            let has_room = |part: &&Part| self.most_before(class, part).is_some_and(|most| most >= step);
            let ends = |part: &&Part| self.past_cut(part.end) + completions.ideal(part.ideal as usize)[place] == value;
            if let Some(part) = moves.from(cut).iter().filter(ends).find(has_room) {
                return Some(part.ideal as usize);
            }
            // The value may be that of more steps.
            let next = self.going_on(cut, class, moves).find_map(|(part, most)| {
                let after = (step..=most).map(|step| self.step_with(class, step, part));
                after
                    .into_iter()
                    .find(|&after| self.past_cut(part.inside) + completions.open(cut + 1, class, after)[place] == value)
            });
            (cut, step) = (cut + 1, next?);
        }
    }
}
