//! Exact covers of devices by pipelines (Knuth 2000, algorithm X).

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::search::{SearchContext, Verdict};

/// Decisions of a draw.
const DECISIONS: u64 = 200;

/// So many sets looked at are a step.
const LOOKED_AT: u64 = 4;

/// Sets that cover each element of `all` just once, drawn at random, or what else so short a search finds out.
pub fn draw(
    sets: &[u128],
    all: u128,
    effort: &mut u64,
    rng: &mut Xoshiro256PlusPlus,
    cx: &SearchContext,
) -> Verdict<Vec<u128>> {
    let mut search = CoverSearch { decisions: DECISIONS, effort, rng, cx, chosen: Vec::new() };
    match search.explore(sets.to_vec(), all) {
        Some(true) => Verdict::Found(search.chosen),
        Some(false) => Verdict::Refuted,
        None => Verdict::Unknown,
    }
}

struct CoverSearch<'a> {
    decisions: u64,
    effort: &'a mut u64,
    rng: &'a mut Xoshiro256PlusPlus,
    cx: &'a SearchContext,
    chosen: Vec<u128>,
}

impl CoverSearch<'_> {
    /// Whether some of `sets`, all of them within `rest`, cover it; `None` where a limit came first.
    fn explore(&mut self, sets: Vec<u128>, rest: u128) -> Option<bool> {
        if rest == 0 {
            return Some(true);
        }
        self.decisions = self.decisions.checked_sub(1)?;
        *self.effort = self.effort.saturating_sub(1 + sets.len() as u64 / LOOKED_AT);
        if *self.effort == 0 || self.cx.should_stop() {
            return None;
        }
        let uses = uses(&sets);
        let rarest = elements(rest).min_by_key(|&element| uses[element])?;
        for set in self.shuffled(&sets, rarest) {
            self.chosen.push(set);
            let others = sets.iter().copied().filter(|other| other & set == 0).collect();
            if self.explore(others, rest & !set)? {
                return Some(true);
            }
            self.chosen.pop();
        }
        Some(false)
    }

    /// The sets that hold `element`, in any order, so that covers of all kinds are found.
    fn shuffled(&mut self, sets: &[u128], element: usize) -> Vec<u128> {
        let holding = sets.iter().copied().filter(|set| set >> element & 1 == 1);
        let mut ranked: Vec<(f64, u128)> = holding.map(|set| (self.rng.random_range(0.5..1.5), set)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().map(|(_, set)| set).collect()
    }
}

/// How many sets hold each element.
fn uses(sets: &[u128]) -> Vec<u32> {
    let mut uses = vec![0; 128];
    for &set in sets {
        elements(set).for_each(|element| uses[element] += 1);
    }
    uses
}

fn elements(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let element = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(element)
    })
}
