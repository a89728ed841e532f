//! Two-level interconnects: which stages share a server, and the exact search over servers.
//!
//! A stage's load depends on its whole server: a net that leaves the server costs its price between servers. The
//! boundaries of a stage say most of it, for a net that crosses a boundary between servers does leave. So a
//! [`super::stage::StageKind`] says where its two boundaries lie, and relaxation, linearized DP and layered search charge by that.
//! What they leave out is nets that pass by another stage of the same server before they leave it. Where this matters,
//! the search here settles a target: an outer one over ideals between servers, each reached by one CPU stage or by
//! one whole server, which an [inner search](super::inner) fills with stages under exact loads.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::chain::{Bits, IdealChain};
use super::grouping::Grouping;
use super::inner::{Inner, Part};
use super::loads::{Value, objective};
use super::relaxation::Windows;
use super::search::{ChainVerdict, Effort, LayeredSearch};
use crate::search::{SearchContext, Stopped, Verdict};

/// Looks for a chain with an objective of at most the windows' target, by exact loads.
pub fn run(search: &LayeredSearch, windows: &Windows, cx: &SearchContext, effort: &mut Effort) -> ChainVerdict {
    let verdict = search.run(windows, cx, effort);
    let relaxation = search.enumerator.relaxation;
    if !search.loads.has_servers() {
        return verdict;
    }
    let Verdict::Found((chain, _)) = verdict else { return verdict };
    let grouping = Grouping { loads: search.loads, stages: relaxation.stages, consumption: relaxation.consumption };
    let grouped = grouping.best(chain.into_iter().map(|(ideal, s)| (ideal, relaxation.stages[s])).collect());
    match grouped.filter(|(value, _)| objective(*value) <= windows.target) {
        Some((value, chain)) => Verdict::Found((chain, value)),
        None => OuterSearch { search, windows, cx }.run(effort),
    }
}

/// The outer search: ideals between servers, by devices used.
struct OuterSearch<'a> {
    search: &'a LayeredSearch<'a>,
    windows: &'a Windows,
    cx: &'a SearchContext,
}

/// An ideal between servers, reached by exact stages.
struct Reached {
    ideal: Bits,
    value: Value,
    /// Use and index of the ideal before, and the stages since; none for the empty ideal.
    from: Option<(usize, usize, IdealChain)>,
}

impl OuterSearch<'_> {
    fn run(&self, effort: &mut Effort) -> ChainVerdict {
        let consumption = self.search.enumerator.relaxation.consumption;
        let all = self.search.all_units();
        let mut layers: Vec<Vec<Reached>> = (0..consumption.count()).map(|_| Vec::new()).collect();
        layers[0].push(Reached { ideal: vec![0; all.len()].into(), value: [0.0; 2], from: None });
        let mut known: FxHashMap<Bits, Vec<(usize, Value)>> = FxHashMap::default();
        for used in consumption.all() {
            for block in 0..layers[used].len().div_ceil(BLOCK) {
                let range = block * BLOCK..layers[used].len().min((block + 1) * BLOCK);
                let budget = self.search.max_evaluated.saturating_sub(effort.evaluated);
                let expanded: Result<Vec<_>, Stopped> =
                    range.clone().into_par_iter().map(|i| self.expand(&layers[used][i], used, budget)).collect();
                let Ok(expanded) = expanded else { return Verdict::Unknown };
                for (index, (parts, evaluated)) in range.zip(expanded) {
                    effort.evaluated += evaluated;
                    for Part { used: to, value, stages } in parts {
                        let Some((ideal, _)) = stages.last() else { continue };
                        let reached = Reached { ideal: ideal.clone(), value, from: Some((used, index, stages)) };
                        if reached.ideal == all {
                            return Verdict::Found((trace(&layers, &reached), value));
                        }
                        let uses = known.entry(reached.ideal.clone()).or_default();
                        let better = |&(u, v): &(usize, Value)| {
                            consumption.contains(to, u) && v[0] <= value[0] && v[1] <= value[1]
                        };
                        if !uses.iter().any(better) {
                            uses.push((to, value));
                            effort.reached += 1;
                            layers[to].push(reached);
                        }
                    }
                }
                if effort.evaluated > self.search.max_evaluated || self.cx.should_stop() {
                    return Verdict::Unknown;
                }
            }
        }
        Verdict::Refuted
    }

    /// Everything that one CPU stage or one server can add to a reached ideal, and the stages evaluated.
    fn expand(&self, from: &Reached, used: usize, budget: usize) -> Result<(Vec<Part>, usize), Stopped> {
        let Self { search, windows, cx } = *self;
        Inner { search, windows, cx, start: &from.ideal, before: from.value, budget }.run(used)
    }
}

/// How many ideals are expanded before the parts found are merged.
const BLOCK: usize = 16;

fn trace(layers: &[Vec<Reached>], last: &Reached) -> IdealChain {
    let mut parts = Vec::new();
    let mut reached = last;
    while let Some((used, index, stages)) = &reached.from {
        parts.push(stages);
        reached = &layers[*used][*index];
    }
    parts.into_iter().rev().flatten().cloned().collect()
}
