//! Flat searches down a hierarchy of devices (section 2.5).

use std::ops::Range;
use std::str::FromStr;

use super::kernighan_lin::flat_search;
use crate::problem::Problem;
use crate::solve::sharding::{self, GroupWeights, Model, Shards};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported, in_pool};

/// The recursive search of Chen 2024 over a hierarchy of devices: nodes are split over the groups of the first level,
/// each group's nodes over its groups of the second, down to devices.
///
/// Each split is a flat search ([`KernighanLin`](super::KernighanLin)) over groups: these balance their weights, and an
/// edge between two groups costs the mean over their devices. Groups are successive devices of equal number, so that
/// servers stay together. Where a group cannot hold the nodes it was given, the search ends without a split.
/// O(n · Σ levels) for all sweeps of all levels, where the flat search has O(n · Π levels).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchical {
    /// Into how many groups each level divides those above it.
    pub levels: Levels,
    /// Random placements to start from in each split; at least 1.
    pub starts: usize,
    /// The most sweeps from each start: N in the paper.
    pub sweeps: usize,
    /// The most passes in each split, as in [`KernighanLin`](super::KernighanLin::passes). The paper has none.
    pub passes: usize,
    /// Whether to search as the authors' program does, as in [`KernighanLin`](super::KernighanLin::published). Then groups
    /// of any size balance their whole weights, too, as there.
    pub published: bool,
}

impl Default for Hierarchical {
    fn default() -> Self {
        Self { levels: Levels::Automatic, starts: 16, sweeps: 1000, passes: 0, published: false }
    }
}

/// The levels of a device hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Levels {
    /// The prime factors of the number of servers, then those of the accelerators in one; without servers, or with
    /// CPUs beside them, those of the number of devices.
    Automatic,
    /// These; their product is the number of devices.
    Given(Vec<usize>),
}

/// `auto`, or numbers separated by slashes: `4/4/6`.
impl FromStr for Levels {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Automatic),
            _ => text.split('/').map(str::parse).collect::<Result<_, _>>().map(Self::Given),
        }
    }
}

impl Solver for Hierarchical {
    fn name(&self) -> &str {
        "hierarchical"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        sharding::supports(self.name(), problem)?;
        let devices: usize = problem.device_kinds().into_iter().map(|kind| problem.device_count(kind)).sum();
        match &self.levels {
            Levels::Given(levels) if levels.iter().try_fold(1, |n: usize, &l| n.checked_mul(l)) != Some(devices) => {
                let reason = format!(
                    "its levels {levels:?} do not multiply to the {devices} devices; give levels that do, or `auto`"
                );
                Err(Unsupported { solver: self.name().into(), reason })
            }
            _ => Ok(()),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let cx = &*cx;
        let shards = Shards::new(problem);
        let mut levels = match &self.levels {
            Levels::Automatic => automatic(&shards),
            Levels::Given(levels) => levels.clone(),
        };
        if levels.is_empty() {
            levels.push(1);
        }
        let model = &shards.model;
        let mut recursion = Recursion { method: self, model, cx, part_of: vec![0; model.unit_count()] };
        let units: Vec<usize> = (0..model.unit_count()).collect();
        let is_placed = in_pool(cx, || recursion.place(&units, 0..model.part_count(), &levels).is_some());
        let outcome = shards.outcome(is_placed.then_some(&recursion.part_of[..]));
        let stats = Stats::of([("units", model.unit_count() as f64), ("levels", levels.len() as f64)]);
        Ok(Run { outcome, stats })
    }
}

/// The way down the hierarchy.
struct Recursion<'a> {
    method: &'a Hierarchical,
    model: &'a Model,
    cx: &'a SearchContext,
    part_of: Vec<u32>,
}

impl Recursion<'_> {
    /// Places `units` on `parts`; `None` where they do not fit.
    fn place(&mut self, units: &[usize], parts: Range<usize>, levels: &[usize]) -> Option<()> {
        let Some((&groups, below)) = levels.split_first() else {
            units.iter().for_each(|&u| self.part_of[u] = parts.start as u32);
            return Some(());
        };
        let size = parts.len() / groups;
        let groups: Vec<Range<usize>> =
            (0..groups).map(|g| parts.start + g * size..parts.start + (g + 1) * size).collect();
        let Hierarchical { starts, sweeps, passes, published, .. } = *self.method;
        let judged = if published { GroupWeights::Whole } else { GroupWeights::Shared };
        let model = self.model.grouped(units, &groups, judged);
        // Sibling searches draw different numbers.
        let seed = self.cx.seed.wrapping_add(parts.start.wrapping_mul(starts) as u64);
        let (_, group_of) =
            flat_search(sweeps, passes, published).best_of_starts(&model, starts.max(1), seed, self.cx)?;
        for (g, group) in groups.into_iter().enumerate() {
            let held = units.iter().zip(&group_of).filter(|&(_, &of)| of as usize == g).map(|(&u, _)| u);
            self.place(&held.collect::<Vec<_>>(), group, below)?;
        }
        Some(())
    }
}

fn automatic(shards: &Shards) -> Vec<usize> {
    let devices = shards.model.part_count();
    match shards.server_size() {
        Some(size) => [prime_factors(devices / size), prime_factors(size)].concat(),
        None => prime_factors(devices),
    }
}

/// The prime factors of `n`, largest first.
fn prime_factors(mut n: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut p = 2;
    while p * p <= n {
        while n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        }
        p += 1;
    }
    factors.extend((n > 1).then_some(n));
    factors.reverse();
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_found() {
        assert_eq!("4/4/6".parse(), Ok(Levels::Given(vec![4, 4, 6])));
        assert_eq!("auto".parse(), Ok(Levels::Automatic));
        assert!("4/x".parse::<Levels>().is_err());
        assert_eq!(prime_factors(96), [3, 2, 2, 2, 2, 2]);
        assert_eq!((prime_factors(1), prime_factors(49), prime_factors(11)), (vec![], vec![7, 7], vec![11]));
    }
}
