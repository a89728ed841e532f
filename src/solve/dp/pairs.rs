//! The dynamic program over pairs of ideals (Tarnawski 2020, section 5.1.1, equation 3), below a target.
//!
//! For each ideal it keeps the best values with which chains of stages reach it, for each use of devices. Whoever is
//! reached is left once, by a walk through all ideals above: each stage is looked at once for each kind of device, its
//! load kept up to date unit by unit. What a stage computes, and what it moves over its lower boundary, only grows
//! along the walk, so the walk turns back where that alone exceeds the target, and where what may still join is too little
//! for the devices after it. No chain is continued whose remaining devices cannot do the remaining work, or that
//! [`super::dominance`] says to go on a unit farther on. [`ServerPairs`] is the same where links between servers are slower.

use super::chain::{Bits, IdealChain};
use super::costs::Costs;
use super::dominance::Dominance;
use super::lattice::Lattice;
use super::loads::{Value, objective};
use super::rests::{Rests, Speeds};
use super::setting::Setting;
use super::zone::Zones;
use crate::search::{Stopped, Verdict};

mod ends;
mod lanes;
mod looks;
mod profits;
mod prospects;
mod server;
mod servers;
mod walk;

use lanes::Lanes;
pub use looks::Looks;
pub use profits::PricedPairs;
pub use servers::ServerPairs;
use walk::{ROUNDING, Stage, Visitor, Walk};

/// A chain of stages up to an ideal.
#[derive(Debug, Clone, Copy)]
struct Reached {
    used: u32,
    /// The stage kind of the last stage, and the ideal with the chain before it.
    stage: u32,
    from: (u32, u32),
    value: Value,
}

/// Steps of a walk between two looks at the limits where units have few nets: where each has so many more, a step takes as long again.
const STEPS_PER_LOOK: usize = 1 << 14;
const USUAL_PINS: usize = 4;

/// From so many ideals of one size chains are continued before what they reach is kept.
const IDEALS_AT_ONCE: usize = 64;

/// The program on one problem.
pub struct Pairs<'a> {
    setting: &'a Setting<'a>,
    lattice: &'a Lattice,
    kinds: Vec<Costs<'a>>,
    /// What the stages above each ideal take at least, added up.
    rest: Vec<f64>,
    /// How much of that may be left after each use, and how much can have been taken, as multiples of the largest load.
    left: Vec<f64>,
    taken: Vec<f64>,
    /// How often that counts in the objective, whatever the largest load is.
    once: f64,
    /// For each unit that may join an ideal, in the lattice's order, whether no later stage loses by that; empty where
    /// nobody can tell.
    free: Vec<bool>,
    zones: Zones<'a>,
    /// For each kind of device the units that it can run and that count anything in a zone, those first that count most for what they
    /// compute, with how much that is. None where each pass is a load of its own.
    by_ratio: Vec<Vec<(u32, f64)>>,
    /// Steps of a walk between two looks at the limits.
    steps_per_look: u64,
}

impl<'a> Pairs<'a> {
    /// Prepares the program. O(ideals · width · pins of a unit's nets).
    pub fn new(setting: &'a Setting<'a>, lattice: &'a Lattice) -> Self {
        let reduced = setting.reduced;
        let pins: usize = reduced.nets.iter().map(|net| net.pins.len()).sum();
        let mut pairs = Self {
            setting,
            lattice,
            kinds: (0..reduced.kinds.len()).map(|kind| Costs::new(setting, kind)).collect(),
            rest: Vec::new(),
            left: Vec::new(),
            taken: Vec::new(),
            once: if setting.loads.is_step() { 1.0 / setting.most_replicas() as f64 } else { 0.0 },
            free: Vec::new(),
            zones: Zones::new(&reduced.order, Vec::new()),
            by_ratio: Vec::new(),
            steps_per_look: (STEPS_PER_LOOK / (1 + pins / (USUAL_PINS * reduced.unit_count().max(1)))).max(1) as u64,
        };
        pairs.measure_by(Rests::new(reduced));
        pairs
    }

    /// Measures what is left above ideals by `rests`. O(ideals · pins of a unit's nets + kinds · n log n).
    fn measure_by(&mut self, rests: Rests) {
        self.rest = rests.above_each(self.setting.reduced, self.lattice);
        self.allow(&rests.speeds);
        self.zones.count_by(rests.units);
        self.by_ratio = self.kinds.iter().map(|costs| self.by_ratio(costs)).collect();
    }

    /// What [`Self::by_ratio`] holds of a kind.
    fn by_ratio(&self, costs: &Costs) -> Vec<(u32, f64)> {
        let count = if self.setting.loads.is_one_load() { costs.own.len() } else { 0 };
        let ratio = |u: usize| Some((u as u32, self.zones.share(u) / costs.computes(u)?));
        let mut all: Vec<(u32, f64)> = (0..count).filter_map(ratio).filter(|(_, ratio)| *ratio > 0.0).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Has devices of each kind take so much.
    fn allow(&mut self, speeds: &Speeds) {
        let (consumption, most) = (&self.setting.consumption, speeds.most());
        let left =
            |used| most.iter().enumerate().map(|(kind, speed)| consumption.left(used, kind) as f64 * speed).sum();
        self.left = consumption.all().map(left).collect();
        self.taken = self.left.iter().map(|left| self.left[0] - left).collect();
        if speeds.step.is_finite() {
            self.left = self.left_by_steps(speeds);
        }
    }

    /// How much may be left after each use where devices take more or less by how much is left: what is left after one has to be
    /// within the reach of those after it.
    fn left_by_steps(&self, speeds: &Speeds) -> Vec<f64> {
        let Setting { consumption, stages, .. } = self.setting;
        let mut left = vec![0.0f64; consumption.count()];
        for used in consumption.all().rev() {
            for &stage in stages {
                if let Some(next) = consumption.add(used, stage) {
                    left[used] = left[used].max(speeds.most_before(stage.kind, left[next]));
                }
            }
        }
        left
    }

    /// The same with dominance, for [`Self::best`].
    #[must_use]
    pub fn with_dominance(self) -> Self {
        Self { free: free_units(self.setting, self.lattice), ..self }
    }

    /// The best chain of an objective of at most `target`, with its value, where none is better than `bound`.
    pub fn best(&self, (bound, target): (f64, f64), looks: &Looks) -> Verdict<(IdealChain, Value)> {
        let Ok(chains) = self.reach((bound, target), looks, |_| {}) else { return Verdict::Unknown };
        let last = chains.last().into_iter().flatten().min_by(|a, b| objective(a.value).total_cmp(&objective(b.value)));
        match last {
            Some(last) => Verdict::Found((self.trace(&chains, last), last.value)),
            None => Verdict::Refuted,
        }
    }

    /// The chains of an objective of at most `target` that reach each ideal. All stages looked at are shown to `see`.
    fn reach(
        &self,
        (bound, target): (f64, f64),
        looks: &Looks,
        see: impl Fn(&Stage) + Sync,
    ) -> Result<Vec<Vec<Reached>>, Stopped> {
        let mut chains: Vec<Vec<Reached>> = vec![Vec::new(); self.lattice.count()];
        chains[0].push(Reached { used: 0, stage: 0, from: (0, 0), value: [0.0; 2] });
        let mut lanes = Lanes::new(self, (bound, target), looks);
        for level in self.lattice.levels().windows(2) {
            let reached: Vec<usize> = (level[0]..level[1]).filter(|&ideal| !chains[ideal].is_empty()).collect();
            for ideals in reached.chunks(IDEALS_AT_ONCE) {
                let visitor =
                    |from| Chains { pairs: self, target, from, chains: &chains, found: Vec::new(), see: &see };
                let mut found = lanes.run(ideals, visitor, |visitor| visitor.found)?;
                // Of chains as good as each other the one from the first ideal is kept.
                found.sort_unstable_by_key(|&(to, reached)| (to, reached.from, reached.stage));
                found.into_iter().for_each(|(to, reached)| self.keep(&mut chains[to], reached));
            }
        }
        Ok(chains)
    }

    /// Adds a chain to those that reach an ideal, unless one of them is as good.
    fn keep(&self, chains: &mut Vec<Reached>, reached: Reached) {
        if !self.is_beaten(chains, &reached) {
            chains.retain(|known| !self.beats(&reached, known));
            chains.push(reached);
        }
    }

    /// Whether one of these chains is as good as another up to the same ideal.
    fn is_beaten(&self, chains: &[Reached], other: &Reached) -> bool {
        chains.iter().any(|chain| self.beats(chain, other))
    }

    /// Whether a chain is as good as another up to the same ideal.
    fn beats(&self, one: &Reached, other: &Reached) -> bool {
        let is_within = one.value[0] <= other.value[0] && one.value[1] <= other.value[1];
        is_within && self.setting.consumption.contains(other.used as usize, one.used as usize)
    }

    fn trace(&self, chains: &[Vec<Reached>], last: &Reached) -> IdealChain {
        let mut chain = Vec::new();
        let (mut ideal, mut reached) = (self.lattice.count() - 1, last);
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

/// What [`Pairs::free`] holds. A step is a sum, too, in which each load counts.
fn free_units(setting: &Setting, lattice: &Lattice) -> Vec<bool> {
    let is_largest_load = setting.loads.is_one_load() && !setting.loads.is_step();
    let rule = is_largest_load.then(|| Dominance::new(setting.problem, setting.reduced)).flatten();
    let free_above = |rule: &Dominance, ideal: usize| -> Vec<bool> {
        let bits: Bits = lattice.bits(ideal).into();
        lattice.above(ideal).iter().map(|&(u, _)| rule.is_free(u as usize, &bits)).collect()
    };
    rule.iter().flat_map(|rule| (0..lattice.count()).flat_map(|ideal| free_above(rule, ideal))).collect()
}

/// Continues the chains that reach one ideal.
struct Chains<'a, F> {
    pairs: &'a Pairs<'a>,
    target: f64,
    from: usize,
    /// The chains that reach each ideal, as far as they are known.
    chains: &'a [Vec<Reached>],
    /// Those found, each with the ideal that it reaches.
    found: Vec<(usize, Reached)>,
    /// Sees each stage.
    see: &'a F,
}

impl<F: Fn(&Stage)> Visitor for Chains<'_, F> {
    fn left_after(&self, kind: usize, most_load: f64) -> Option<f64> {
        let Setting { stages, consumption, .. } = self.pairs.setting;
        let left = self.chains[self.from].iter().filter_map(|chain| consumption.add(chain.used as usize, stages[kind]));
        left.map(|used| self.pairs.left[used] * most_load).max_by(f64::total_cmp)
    }

    /// Keeps the chains that the stage continues, as far as they are worth it.
    fn visit(&mut self, stage: &Stage) {
        (self.see)(stage);
        let Pairs { setting: Setting { consumption, stages, loads, .. }, .. } = self.pairs;
        let most_load = loads.most_load(self.target);
        for (index, chain) in self.chains[self.from].iter().enumerate() {
            let Some(used) = consumption.add(chain.used as usize, stages[stage.kind]) else { continue };
            let value = loads.together(stage.value, chain.value);
            let rest = self.pairs.rest[stage.to];
            let is_late = rest > self.pairs.left[used] * most_load * ROUNDING
                || objective(value) + self.pairs.once * rest > self.target * ROUNDING;
            if is_late || objective(value) > self.target {
                continue;
            }
            let from = (self.from as u32, index as u32);
            let reached = Reached { used: used as u32, stage: stage.kind as u32, from, value };
            if !self.pairs.is_beaten(&self.chains[stage.to], &reached) {
                self.found.push((stage.to, reached));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Objective, Problem, ProblemSpec, Replication};
    use crate::search::SearchContext;

    #[test]
    fn replicas_share_what_is_left_of_a_step() {
        // Two microbatches take two devices half of 5 and two others half of 10: 2.5 + 5, and 5 for the second.
        let node = |id, time| Node { accelerator_times: vec![Some(time)], ..Node::new(id) };
        let instance = Instance {
            platform: Platform::uniform(4, None, 0),
            nodes: vec![node(0, 5.0), node(1, 10.0)],
            edges: vec![crate::instance::Edge { source: 0, target: 1 }],
            ..Instance::default()
        };
        let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
        let objective = Objective::Step { microbatches: 2 };
        let spec = ProblemSpec { objective, replication, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).unwrap();
        let reduced = Reduced::new(&problem);
        let setting = Setting::new(&problem, &reduced);
        let cx = SearchContext::new();
        let lattice = Lattice::new(&reduced.order, 4, &cx).unwrap().unwrap();
        let program = Pairs::new(&setting, &lattice).with_dominance();
        assert!(
            matches!(program.best((0.0, 12.5), &Looks::new(&cx)), Verdict::Found((_, value)) if super::objective(value) == 12.5)
        );
        assert!(matches!(program.best((0.0, 12.4), &Looks::new(&cx)), Verdict::Refuted));
    }
}
