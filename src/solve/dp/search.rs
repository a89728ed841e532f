//! Layered exact search: is there a chain of ideals whose stages all meet a target?
//!
//! Layer by layer (by devices used) it keeps the ideals that exact stages reach. From each it enumerates, on the
//! frontier automaton, only the ideals that the boundary relaxation admits: those that do not ask too much of the
//! stage below and give enough to the stages above. An empty search refutes the target. A search within a beam looks at
//! few ideals, and so finds chains quickly or not at all.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::chain::{Bits, IdealChain};
use super::dominance::{Covered, Dominance, Extension};
use super::enumerate::{Enumerator, Query};
use super::loads::{Loads, SetLoads, Value, objective, worse};
use super::relaxation::Windows;
use crate::search::{SearchContext, Stopped, Verdict};

/// What became of a target: a chain that meets it, and its worst value.
pub type ChainVerdict = Verdict<(IdealChain, Value)>;

/// A reached ideal.
struct Reached {
    ideal: Bits,
    value: Value,
    /// Use and index of the ideal before, and the stage kind between; none for the empty ideal.
    from: Option<(usize, usize, usize)>,
}

/// What the search works on.
pub struct LayeredSearch<'a> {
    /// Loads of stages.
    pub loads: &'a Loads<'a>,
    /// Enumerates the ideals that may come next.
    pub enumerator: Enumerator<'a>,
    /// The dominance rule, where it holds.
    pub dominance: Option<&'a Dominance<'a>>,
    /// The most stages to evaluate before giving up.
    pub max_evaluated: usize,
    /// What it looks at; everything without a beam.
    pub beam: Option<Beam>,
}

/// A part of a search, which can find chains but refutes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Beam {
    /// How many ideals of each layer are expanded, the most promising ones.
    pub width: usize,
    /// How many stages from an ideal are looked at for each kind of stage, the largest ones.
    pub stages: usize,
}

/// An enumeration may take a decision for every so many units, and at least two, for each stage that may be evaluated: a
/// search gives up when it exceeds them, too. A stage of a large graph takes as long as many decisions.
const UNITS_PER_STEP: usize = 256;

/// Counts of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    /// Ideals reached.
    pub reached: usize,
    /// Stages evaluated.
    pub evaluated: usize,
}

/// Ideals reached so far, each with the uses and values that are not dominated.
type Known = FxHashMap<Bits, Vec<(usize, Value)>>;

impl LayeredSearch<'_> {
    /// Looks for a chain with an objective of at most the windows' target. Runs on the current rayon pool.
    pub fn run(&self, windows: &Windows, cx: &SearchContext, effort: &mut Effort) -> ChainVerdict {
        let consumption = self.enumerator.relaxation.consumption;
        let most = effort.evaluated + self.max_evaluated;
        let all = self.all_units();
        let start = Reached { ideal: vec![0; all.len()].into(), value: [0.0; 2], from: None };
        let mut layers: Vec<Vec<Reached>> = (0..consumption.count()).map(|_| Vec::new()).collect();
        let mut known = Known::default();
        layers[0].push(start);
        for used in consumption.all() {
            self.keep_promising(&mut layers[used], used, windows);
            // Blocks bound the memory for candidates and let a found chain end the search early. What the first ones
            // reach spares later ones the same ideals, so these are small.
            let mut done = 0;
            while done < layers[used].len() {
                let range = done..layers[used].len().min(done + (done + 1).min(BLOCK));
                done = range.end;
                let expanded: Result<Vec<_>, Stopped> = range
                    .into_par_iter()
                    .map_init(
                        || SetLoads::new(self.loads),
                        |sets, i| self.expand(&layers, &known, (used, i), windows, sets, cx),
                    )
                    .collect();
                let Ok(expanded) = expanded else { return Verdict::Unknown };
                for (candidates, evaluated) in expanded {
                    effort.evaluated += evaluated;
                    for (to, reached) in candidates {
                        if reached.ideal == all {
                            let value = reached.value;
                            return Verdict::Found((trace(&layers, reached), value));
                        }
                        let uses = known.entry(reached.ideal.clone()).or_default();
                        if !self.is_beaten(uses, to, reached.value) {
                            uses.push((to, reached.value));
                            effort.reached += 1;
                            layers[to].push(reached);
                        }
                    }
                }
                if effort.evaluated > most || cx.should_stop() {
                    return Verdict::Unknown;
                }
            }
        }
        if self.beam.is_some() { Verdict::Unknown } else { Verdict::Refuted }
    }

    /// Drops the ideals of a layer that are outside the beam: those that give least to the stages above them.
    fn keep_promising(&self, layer: &mut Vec<Reached>, used: usize, windows: &Windows) {
        let Some(beam) = self.beam.filter(|beam| beam.width < layer.len()) else { return };
        let left = self.enumerator.relaxation.consumption.full() - used;
        let slack = |reached: &Reached| self.enumerator.slack(&reached.ideal, windows, left);
        let mut ranked: Vec<(f64, Reached)> = layer.drain(..).map(|reached| (slack(&reached), reached)).collect();
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        ranked.truncate(beam.width);
        layer.extend(ranked.into_iter().map(|(_, reached)| reached));
    }

    /// Whether an ideal reached with one of these uses and values makes it useless to reach it with use `to` and `value`.
    ///
    /// Where the objective is one load, any two within the target are as good as each other.
    fn is_beaten(&self, uses: &[(usize, Value)], to: usize, value: Value) -> bool {
        let consumption = self.enumerator.relaxation.consumption;
        uses.iter().any(|&(used, known)| {
            consumption.contains(to, used) && (self.loads.is_one_load() || known[0] <= value[0] && known[1] <= value[1])
        })
    }

    /// The most decisions of one enumeration.
    pub fn max_steps(&self) -> usize {
        let per_stage = (self.loads.reduced.unit_count() / UNITS_PER_STEP).max(2);
        self.max_evaluated.saturating_mul(per_stage)
    }

    /// The ideal that holds all units.
    pub fn all_units(&self) -> Bits {
        let n = self.loads.reduced.unit_count();
        let mut all: Bits = vec![0; n.div_ceil(64)].into();
        (0..n).for_each(|u| all[u / 64] |= 1 << (u % 64));
        all
    }

    /// The ideals that one more stage reaches from one ideal, each with the use after it, and the stages evaluated.
    fn expand(
        &self,
        layers: &[Vec<Reached>],
        known: &Known,
        (used, index): (usize, usize),
        windows: &Windows,
        sets: &mut SetLoads,
        cx: &SearchContext,
    ) -> Result<(Vec<(usize, Reached)>, usize), Stopped> {
        let relaxation = self.enumerator.relaxation;
        let from = &layers[used][index];
        let mut set: Bits = from.ideal.clone();
        let mut candidates = Vec::new();
        let mut evaluated = 0;
        let most = self.beam.map(|beam| beam.stages);
        for (s, &stage) in relaxation.stages.iter().enumerate() {
            let Some(to) = relaxation.consumption.add(used, stage) else { continue };
            let mut covered = Covered::default();
            let mut evaluate = |ideal: &Bits| {
                let is_beaten = known.get(ideal).is_some_and(|uses| self.is_beaten(uses, to, from.value));
                if is_beaten || covered.dominates(ideal, from.value, self.loads.is_one_load()) {
                    return;
                }
                set.iter_mut().zip(ideal).zip(&from.ideal).for_each(|((s, j), a)| *s = j & !a);
                evaluated += 1;
                let Some(sums) = sets.least_sums(stage, &set, &from.ideal, ideal) else { return };
                let Some(value) = self.loads.finish(stage, &sums).map(|v| worse(v, from.value)) else { return };
                if objective(value) > windows.target {
                    return;
                }
                let mut next = Extension { ideal: ideal.clone(), set: set.clone(), sums, value };
                if let Some(rule) = self.dominance
                    && !rule.extend(&mut next, stage, (&from.ideal, from.value), (sets, &mut covered), windows.target)
                {
                    return;
                }
                let Extension { ideal, value, .. } = next;
                candidates.push((to, Reached { ideal, value, from: Some((used, index, s)) }));
            };
            evaluate(&self.all_units());
            let left = relaxation.consumption.full() - to;
            let query = Query { windows, from: &from.ideal, stage: s, left, most };
            match self.enumerator.run(&query, self.max_steps(), cx, &mut evaluate) {
                Err(Stopped) if self.beam.is_none() || cx.should_stop() => return Err(Stopped),
                _ => {}
            }
        }
        Ok((candidates, evaluated))
    }
}

/// The most ideals that are expanded before their candidates are merged.
const BLOCK: usize = 64;

fn trace(layers: &[Vec<Reached>], last: Reached) -> IdealChain {
    let mut chain = Vec::new();
    let mut reached = &last;
    while let Some((used, index, stage)) = reached.from {
        chain.push((reached.ideal.clone(), stage));
        reached = &layers[used][index];
    }
    chain.reverse();
    chain
}
