//! The dynamic program over pairs of ideals (Tarnawski 2020, section 5.1.1, equation 3), below a target.
//!
//! For each ideal it keeps the best values with which chains of stages reach it, for each use of devices. Whoever is
//! reached is left once, by a walk through all ideals above: each stage is looked at once for each kind of device, its
//! load kept up to date unit by unit. What a stage computes, and what it moves over its lower boundary, only grows
//! along the walk, so the walk turns back where that alone exceeds the target; and no chain is continued whose remaining
//! devices cannot do the remaining work.

use super::chain::IdealChain;
use super::lattice::Lattice;
use super::loads::{Value, contains, objective, ones, worse};
use super::setting::Setting;
use crate::cost::{Terms, compute_load};
use crate::preprocess::{KindCosts, Net, joint};
use crate::problem::fits;
use crate::search::{SearchContext, Stopped, Verdict};

/// Steps of a walk between two looks at the limits.
const STEPS_PER_LOOK: u64 = 1 << 14;

/// Room for the rounding of products in the bound by work.
const ROUNDING: f64 = 1.0 + 1e-12;

/// A chain of stages up to an ideal.
#[derive(Debug, Clone, Copy)]
struct Reached {
    used: u32,
    /// The stage kind of the last stage, and the ideal with the chain before it.
    stage: u32,
    from: (u32, u32),
    value: Value,
}

/// What a stage that grows is made of.
#[derive(Clone, Copy, Default)]
struct Sums {
    terms: [Terms; 2],
    /// The part of them that stays whatever joins.
    lasting: [Terms; 2],
    memory: f64,
    /// Bytes kept for the edges that the stage cuts.
    boundary: f64,
    parameter_bytes: f64,
}

/// The program on one problem.
pub struct Pairs<'a> {
    setting: &'a Setting<'a>,
    lattice: &'a Lattice,
    /// The least time in which the units outside each ideal are done, on whatever devices.
    rest: Vec<f64>,
    /// How many devices are left after each use.
    left: Vec<f64>,
    /// Stage kinds by kind of device.
    stages: Vec<Vec<usize>>,
}

impl<'a> Pairs<'a> {
    /// Prepares the program. O(ideals · width).
    pub fn new(setting: &'a Setting<'a>, lattice: &'a Lattice) -> Self {
        let reduced = setting.reduced;
        let least = |u: usize| {
            let load = |kind: &KindCosts| kind.terms(u).map(|terms| compute_load(&kind.pieces, joint(&terms).compute));
            reduced.kinds.iter().filter_map(load).fold(f64::INFINITY, f64::min)
        };
        let least: Vec<f64> = (0..reduced.unit_count()).map(least).collect();
        let mut rest = vec![0.0; lattice.len()];
        for ideal in (0..lattice.len()).rev() {
            if let Some(&(u, larger)) = lattice.above(ideal).first() {
                rest[ideal] = rest[larger as usize] + least[u as usize];
            }
        }
        let of_kind = |kind| (0..setting.stages.len()).filter(move |&s| setting.stages[s].kind == kind).collect();
        let consumption = &setting.consumption;
        Self {
            setting,
            lattice,
            rest,
            left: consumption.all().map(|used| consumption.left(used) as f64).collect(),
            stages: (0..reduced.kinds.len()).map(of_kind).collect(),
        }
    }

    /// The best chain of an objective of at most `target`, with its value; the number of pairs is added to `pairs`.
    pub fn best(&self, target: f64, cx: &SearchContext, pairs: &mut u64) -> Verdict<(IdealChain, Value)> {
        let mut chains: Vec<Vec<Reached>> = vec![Vec::new(); self.lattice.len()];
        chains[0].push(Reached { used: 0, stage: 0, from: (0, 0), value: [0.0; 2] });
        let mut walk = Walk::new(self, target, cx);
        for ideal in 0..self.lattice.len() {
            let (below, above) = chains.split_at_mut(ideal + 1);
            if !below[ideal].is_empty() && walk.run(ideal, &below[ideal], above).is_err() {
                *pairs += walk.steps;
                return Verdict::Unknown;
            }
        }
        *pairs += walk.steps;
        let last = chains.last().into_iter().flatten().min_by(|a, b| objective(a.value).total_cmp(&objective(b.value)));
        match last {
            Some(last) => Verdict::Found((self.trace(&chains, last), last.value)),
            None => Verdict::Refuted,
        }
    }

    fn trace(&self, chains: &[Vec<Reached>], last: &Reached) -> IdealChain {
        let mut chain = Vec::new();
        let (mut ideal, mut reached) = (self.lattice.len() - 1, last);
        while ideal != 0 {
            chain.push((self.lattice.bits(ideal).into(), reached.stage as usize));
            let (before, index) = reached.from;
            ideal = before as usize;
            reached = &chains[ideal][index as usize];
        }
        chain.reverse();
        chain
    }
}

/// A stage kind that may follow some chain to an ideal.
#[derive(Clone, Copy)]
struct Usable {
    stage: usize,
    limit: Option<f64>,
    /// The most time that devices have after it.
    time_left: f64,
}

/// A walk through the ideals above one, with the stage between.
struct Walk<'a> {
    pairs: &'a Pairs<'a>,
    target: f64,
    cx: &'a SearchContext,
    steps: u64,
    /// The ideal below the stage, and how many pins of each net lie in it.
    from: usize,
    below: Vec<u32>,
    /// How many pins of each net the stage holds, and its units.
    inside: Vec<u32>,
    set: Vec<u64>,
    /// Who can hold the stage.
    usable: Vec<Usable>,
    /// For each unit that is not to join, the depth of the walk from which on; else 0.
    excluded: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(pairs: &'a Pairs<'a>, target: f64, cx: &'a SearchContext) -> Self {
        let reduced = pairs.setting.reduced;
        Self {
            pairs,
            target,
            cx,
            steps: 0,
            from: 0,
            below: vec![0; reduced.nets.len()],
            inside: vec![0; reduced.nets.len()],
            set: vec![0; pairs.lattice.words()],
            usable: Vec::new(),
            excluded: vec![0; reduced.unit_count()],
        }
    }

    /// Continues the chains that reach `from` by every stage within the target. `above` begins with the next ideal.
    fn run(&mut self, from: usize, chains: &[Reached], above: &mut [Vec<Reached>]) -> Result<(), Stopped> {
        let reduced = self.pairs.setting.reduced;
        self.from = from;
        self.below.fill(0);
        for u in ones(self.pairs.lattice.bits(from)) {
            reduced.nets_of.row(u).iter().for_each(|&e| self.below[e as usize] += 1);
        }
        for kind in 0..reduced.kinds.len() {
            self.usable = self.pairs.stages[kind].iter().filter_map(|&s| self.usable(s, chains)).collect();
            if !self.usable.is_empty() {
                self.descend((kind, 1), from, &Sums::default(), chains, above)?;
            }
        }
        Ok(())
    }

    /// What is worth knowing of a stage kind, if it may follow one of these chains.
    fn usable(&self, stage: usize, chains: &[Reached]) -> Option<Usable> {
        let Setting { stages, consumption, reduced, .. } = self.pairs.setting;
        let kind = stages[stage];
        let left = chains.iter().filter_map(|chain| consumption.add(chain.used as usize, kind));
        let most = left.map(|used| self.pairs.left[used]).max_by(f64::total_cmp)?;
        let limit = reduced.kinds[kind.kind].capacity(kind.replicas);
        Some(Usable { stage, limit, time_left: most * self.target * ROUNDING })
    }

    /// Looks at all stages that hold the present one, at a depth from 1 on.
    fn descend(
        &mut self,
        (kind, depth): (usize, u32),
        ideal: usize,
        sums: &Sums,
        chains: &[Reached],
        above: &mut [Vec<Reached>],
    ) -> Result<(), Stopped> {
        let joining = self.pairs.lattice.above(ideal);
        for &(unit, larger) in joining {
            let u = unit as usize;
            if self.excluded[u] > 0 {
                continue;
            }
            self.steps += 1;
            if self.steps % STEPS_PER_LOOK == 0 && self.cx.should_stop() {
                return Err(Stopped);
            }
            if let Some(sums) = self.join(kind, u, sums) {
                let reached = &mut above[larger as usize - self.from - 1];
                if self.continue_chains(larger as usize, &sums, chains, reached) {
                    self.descend((kind, depth + 1), larger as usize, &sums, chains, above)?;
                }
                self.leave(u);
            }
            // What holds this unit has been looked at.
            self.excluded[u] = depth;
        }
        for &(u, _) in joining {
            let excluded = &mut self.excluded[u as usize];
            *excluded = if *excluded == depth { 0 } else { *excluded };
        }
        Ok(())
    }

    /// The stage's sums once it holds `u`, too; `None` where the kind of device cannot run that.
    fn join(&mut self, kind: usize, u: usize, sums: &Sums) -> Option<Sums> {
        let reduced = self.pairs.setting.reduced;
        let costs = &reduced.kinds[kind];
        let own = costs.terms(u)?;
        let mut sums = *sums;
        for (pass, own) in own.iter().enumerate() {
            sums.terms[pass].add(own);
            sums.lasting[pass].add(own);
        }
        sums.memory += costs.memory[u];
        sums.boundary += reduced.boundary.added(u, |v| contains(&self.set, v));
        sums.parameter_bytes += reduced.parameter_bytes[u];
        self.set[u / 64] |= 1 << (u % 64);
        for &e in reduced.nets_of.row(u) {
            self.count_pin(e as usize, u, costs.transfers[e as usize], &mut sums);
        }
        Some(sums)
    }

    /// Counts a pin of net `e`, which takes so long to transfer, as the stage's.
    fn count_pin(&mut self, e: usize, u: usize, time: f64, sums: &mut Sums) {
        let net: &Net = &self.pairs.setting.reduced.nets[e];
        let (pass, source) = (usize::from(net.backward), net.source as usize);
        let (brings_source, has_source) = (source == u, contains(&self.set, source));
        if self.inside[e] > 0 {
            *sums.terms[pass].side(has_source && !brings_source) -= time;
        }
        // What has pins below the stage, too, is cut for good; which way it goes is known once its source is.
        if self.below[e] > 0 {
            let is_entering = self.inside[e] == 0 && contains(self.pairs.lattice.bits(self.from), source);
            if brings_source || is_entering {
                *sums.lasting[pass].side(brings_source) += time;
            }
        }
        self.inside[e] += 1;
        if (self.inside[e] as usize) < net.pins.len() {
            *sums.terms[pass].side(has_source) += time;
        }
    }

    /// Takes `u`, the last one that joined, out again.
    fn leave(&mut self, u: usize) {
        self.set[u / 64] &= !(1 << (u % 64));
        self.pairs.setting.reduced.nets_of.row(u).iter().for_each(|&e| self.inside[e as usize] -= 1);
    }

    /// Continues the chains by the present stage, up to the ideal `to`; whether a stage that holds it may be within the target.
    fn continue_chains(&self, to: usize, sums: &Sums, chains: &[Reached], reached: &mut Vec<Reached>) -> bool {
        let Setting { loads, stages, .. } = self.pairs.setting;
        let mut may_grow = false;
        for usable in &self.usable {
            let stage = stages[usable.stage];
            let least = |terms| loads.value(stage, terms, sums.parameter_bytes);
            if !fits(sums.memory, usable.limit) || objective(least(&sums.lasting)) > self.target {
                continue;
            }
            may_grow = true;
            if self.pairs.rest[to] > usable.time_left || !fits(sums.memory + sums.boundary, usable.limit) {
                continue;
            }
            let value = least(&sums.terms);
            if objective(value) <= self.target {
                self.record((to, usable.stage), value, chains, reached);
            }
        }
        may_grow
    }

    /// Keeps the chains that a stage of this value continues, as far as they are worth it.
    fn record(
        &self,
        (to, s): (usize, usize),
        value: Value,
        chains: &[Reached],
        reached: &mut Vec<Reached>,
    ) {
        let Setting { consumption, stages, .. } = self.pairs.setting;
        for (index, chain) in chains.iter().enumerate() {
            let Some(used) = consumption.add(chain.used as usize, stages[s]) else { continue };
            let value = worse(value, chain.value);
            let is_late = self.pairs.rest[to] > self.pairs.left[used] * self.target * ROUNDING;
            if is_late || objective(value) > self.target {
                continue;
            }
            let is_beaten = |by: (usize, Value), one: (usize, Value)| {
                by.1[0] <= one.1[0] && by.1[1] <= one.1[1] && consumption.contains(one.0, by.0)
            };
            if !reached.iter().any(|known| is_beaten((known.used as usize, known.value), (used, value))) {
                reached.retain(|known| !is_beaten((used, value), (known.used as usize, known.value)));
                let from = (self.from as u32, index as u32);
                reached.push(Reached { used: used as u32, stage: s as u32, from, value });
            }
        }
    }
}
