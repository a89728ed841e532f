//! The dynamic program over pairs of ideals (Tarnawski 2020, section 5.1.1, equation 3), below a target.
//!
//! For each ideal it keeps the best values with which chains of stages reach it, for each use of devices. Whoever is
//! reached is left once, by a walk through all ideals above: each stage is looked at once for each kind of device, its
//! load kept up to date unit by unit. What a stage computes, and what it moves over its lower boundary, only grows
//! along the walk, so the walk turns back where that alone exceeds the target, and where what may still join is too little
//! for the devices after it. No chain is continued whose remaining devices cannot do the remaining work, or that
//! [`super::dominance`] says to go on a unit farther on.

use std::ops::Range;

use super::chain::{Bits, IdealChain};
use super::dominance::Dominance;
use super::lattice::Lattice;
use super::loads::{Value, contains, objective, ones};
use super::pins::{Costs, Pins, Sums};
use super::rests::Rests;
use super::setting::Setting;
use super::zone::Zones;
use crate::cost::compute_load;
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

/// The program on one problem.
pub struct Pairs<'a> {
    setting: &'a Setting<'a>,
    lattice: &'a Lattice,
    kinds: Vec<Costs<'a>>,
    /// What the stages above each ideal take at least, added up.
    rest: Vec<f64>,
    /// How much of that the devices left after each use can take, as a multiple of the largest load.
    left: Vec<f64>,
    /// How often that counts in the objective, whatever the largest load is.
    once: f64,
    /// For each unit that may join an ideal, in the lattice's order, whether no later stage loses by that; empty where
    /// nobody can tell.
    free: Vec<bool>,
    zones: Zones<'a>,
}

impl<'a> Pairs<'a> {
    /// Prepares the program. O(ideals · width · pins of a unit's nets).
    pub fn new(setting: &'a Setting<'a>, lattice: &'a Lattice) -> Self {
        let Setting { reduced, consumption, .. } = setting;
        let rests = Rests::new(reduced);
        let kinds = 0..reduced.kinds.len();
        let left = |used| kinds.clone().map(|kind| consumption.left(used, kind) as f64 * rests.speeds[kind]).sum();
        Self {
            setting,
            lattice,
            kinds: kinds.clone().map(|kind| Costs::new(setting, kind)).collect(),
            rest: rests.above_each(reduced, lattice),
            left: consumption.all().map(left).collect(),
            once: if setting.loads.is_step() { 1.0 / setting.most_replicas() as f64 } else { 0.0 },
            free: free_units(setting, lattice),
            zones: Zones::new(&reduced.order, rests.units),
        }
    }

    /// The best chain of an objective of at most `target`, with its value, where none is better than `bound`; the number of
    /// pairs is added to `pairs`.
    pub fn best(
        &self,
        (bound, target): (f64, f64),
        cx: &SearchContext,
        pairs: &mut u64,
    ) -> Verdict<(IdealChain, Value)> {
        let mut chains: Vec<Vec<Reached>> = vec![Vec::new(); self.lattice.count()];
        chains[0].push(Reached { used: 0, stage: 0, from: (0, 0), value: [0.0; 2] });
        let mut walk = Walk::new(self, (bound, target), cx);
        for ideal in 0..self.lattice.count() {
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

/// A stage kind that may follow some chain to an ideal.
#[derive(Clone, Copy)]
struct Usable {
    stage: usize,
    replicas: f64,
    limit: Option<f64>,
    /// The most time that devices have after it.
    time_left: f64,
}

/// A walk through the ideals above one, with the stage between.
struct Walk<'a> {
    pairs: &'a Pairs<'a>,
    bound: f64,
    target: f64,
    /// No stage of a chain within the target has a larger load.
    most_load: f64,
    cx: &'a SearchContext,
    steps: u64,
    /// The ideal below the stage.
    from: usize,
    nets: Vec<Pins>,
    /// The stage's units, and who can hold them.
    set: Vec<u64>,
    usable: Vec<Usable>,
    /// No stage computes longer.
    most_compute: f64,
    /// Which units the stage may hold; empty where that is not known.
    zone: Bits,
    /// For each depth of the walk a row of bits: the units that are not to join from there on.
    barred: Vec<u64>,
}

impl<'a> Walk<'a> {
    fn new(pairs: &'a Pairs<'a>, (bound, target): (f64, f64), cx: &'a SearchContext) -> Self {
        let reduced = pairs.setting.reduced;
        Self {
            pairs,
            bound,
            target,
            most_load: pairs.setting.loads.most_load(target),
            cx,
            steps: 0,
            from: 0,
            nets: vec![Pins::ABOVE; reduced.nets.len()],
            set: vec![0; pairs.lattice.words()],
            usable: Vec::new(),
            most_compute: 0.0,
            zone: Bits::default(),
            barred: vec![0; (reduced.unit_count() + 1) * pairs.lattice.words()],
        }
    }

    /// Continues the chains that reach `from` by every stage within the target. `above` begins with the next ideal.
    fn run(&mut self, from: usize, chains: &[Reached], above: &mut [Vec<Reached>]) -> Result<(), Stopped> {
        let pairs = self.pairs;
        self.from = from;
        self.nets.fill(Pins::ABOVE);
        for u in ones(pairs.lattice.bits(from)) {
            for &e in pairs.setting.reduced.nets_of.row(u) {
                let is_source = pairs.setting.reduced.nets[e as usize].source as usize == u;
                self.nets[e as usize].put_below(is_source);
            }
        }
        for costs in &pairs.kinds {
            self.usable = costs.stages.iter().filter_map(|&s| self.usable(s, chains)).collect();
            let a_unit = compute_load(&costs.kind.pieces, 1.0);
            let most = self.usable.iter().map(|usable| usable.replicas * self.most_load / a_unit * ROUNDING);
            if let Some(most) = most.max_by(f64::total_cmp) {
                self.most_compute = most;
                self.barred[..pairs.lattice.words()].fill(0);
                let spare = self.survey(costs);
                self.descend((costs, 0), from, (&Sums::default(), spare), chains, above)?;
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
        let time_left = most * self.most_load * ROUNDING;
        Some(Usable { stage, replicas: kind.replicas as f64, limit, time_left })
    }

    /// Finds the zone of `from`. Returns how much of it a stage can do without, if what is left is not to be too much for
    /// the devices after it.
    fn survey(&mut self, costs: &Costs) -> f64 {
        let Pairs { lattice, zones, .. } = self.pairs;
        let from = lattice.bits(self.from);
        let ready = lattice.above(self.from).iter().map(|&(u, _)| u as usize);
        let time = |u: usize| costs.own[u].as_ref().map(|own| own.iter().map(|terms| terms.compute).sum());
        let zone = zones.of(from, ready, time, self.most_compute * ROUNDING);
        let time_left = self.usable.iter().map(|usable| usable.time_left).fold(0.0, f64::max);
        let (zone, work) = zone.unwrap_or((Bits::default(), f64::INFINITY));
        self.zone = zone;
        work - (zones.above(from) - time_left) + (ROUNDING - 1.0) * work
    }

    /// Looks at all stages that hold the present one.
    fn descend(
        &mut self,
        (costs, depth): (&'a Costs<'a>, usize),
        ideal: usize,
        (sums, mut spare): (&Sums, f64),
        chains: &[Reached],
        above: &mut [Vec<Reached>],
    ) -> Result<(), Stopped> {
        let words = self.set.len();
        let row = depth * words..(depth + 1) * words;
        for &(unit, larger) in self.pairs.lattice.above(ideal) {
            let u = unit as usize;
            if spare < 0.0 {
                break;
            }
            if contains(&self.barred[row.clone()], u) {
                continue;
            }
            self.steps += 1;
            if self.steps.is_multiple_of(STEPS_PER_LOOK) && self.cx.should_stop() {
                return Err(Stopped);
            }
            if let Some(sums) = self.join(costs, u, sums) {
                let reached = &mut above[larger as usize - self.from - 1];
                if self.continue_chains(costs, larger as usize, &sums, chains, reached) {
                    self.barred.copy_within(row.clone(), row.end);
                    self.descend((costs, depth + 1), larger as usize, (&sums, spare), chains, above)?;
                }
                self.leave(costs, u);
            }
            // What holds this unit has been looked at.
            spare -= self.bar(u, row.clone());
        }
        Ok(())
    }

    /// Bars a unit from joining; what the stage loses by that.
    fn bar(&mut self, u: usize, row: Range<usize>) -> f64 {
        let barred = &mut self.barred[row];
        if self.zone.is_empty() {
            barred[u / 64] |= 1 << (u % 64);
            return 0.0;
        }
        self.pairs.zones.bar(u, &self.zone, barred)
    }

    /// The stage's sums once it holds `u`, too; `None` where the kind of device cannot run that, or not in time.
    fn join(&mut self, costs: &Costs, u: usize, sums: &Sums) -> Option<Sums> {
        let own = costs.own[u].as_ref()?;
        let computed: f64 = sums.terms.iter().chain(own).map(|terms| terms.compute).sum();
        if computed > self.most_compute {
            return None;
        }
        let mut sums = *sums;
        for (pass, own) in own.iter().enumerate() {
            sums.terms[pass].add(own);
            sums.lasting[pass].add(own);
        }
        sums.memory += costs.kind.memory[u];
        sums.boundary += costs.kind.boundary.added(u, |v| contains(&self.set, v));
        sums.parameter_bytes += self.pairs.setting.reduced.parameter_bytes[u];
        self.set[u / 64] |= 1 << (u % 64);
        for pin in &costs.pins[u] {
            self.nets[pin.net as usize].add(pin, &mut sums);
        }
        Some(sums)
    }

    /// Takes `u`, the last one that joined, out again.
    fn leave(&mut self, costs: &Costs, u: usize) {
        self.set[u / 64] &= !(1 << (u % 64));
        costs.pins[u].iter().for_each(|pin| self.nets[pin.net as usize].take(pin));
    }

    /// Continues the chains by the present stage, up to the ideal `to`; whether a stage that holds it may be within the target.
    fn continue_chains(
        &mut self,
        costs: &Costs,
        to: usize,
        sums: &Sums,
        chains: &[Reached],
        reached: &mut Vec<Reached>,
    ) -> bool {
        let loads = &self.pairs.setting.loads;
        let mut may_grow = false;
        for index in 0..self.usable.len() {
            let usable = self.usable[index];
            let stage = self.pairs.setting.stages[usable.stage];
            let least = loads.value(stage, &sums.lasting, sums.parameter_bytes);
            if !fits(sums.memory, usable.limit) || objective(least) > self.target {
                continue;
            }
            may_grow = true;
            if self.pairs.rest[to] > usable.time_left {
                continue;
            }
            let value = self.value(&usable, sums).filter(|&value| objective(value) <= self.target);
            if let Some(value) = value
                && !self.goes_farther(costs, to, sums, &usable)
            {
                self.record((to, usable.stage), value, chains, reached);
            }
        }
        may_grow
    }

    /// The value of the present stage on devices of a kind; `None` where it does not fit.
    fn value(&self, usable: &Usable, sums: &Sums) -> Option<Value> {
        let Setting { loads, stages, .. } = self.pairs.setting;
        let fits = fits(sums.memory + sums.boundary, usable.limit);
        fits.then(|| loads.value(stages[usable.stage], &sums.terms, sums.parameter_bytes))
    }

    /// Whether the stage may as well hold a unit more, at no loss to it or a later one: it stays within what every chain
    /// has for its largest load.
    fn goes_farther(&mut self, costs: &Costs, to: usize, sums: &Sums, usable: &Usable) -> bool {
        let Pairs { lattice, free, .. } = self.pairs;
        let free = free.get(lattice.range_above(to)).unwrap_or(&[]);
        let free = lattice.above(to).iter().zip(free).filter(|&(_, &is_free)| is_free);
        for (&(u, _), _) in free {
            if let Some(larger) = self.join(costs, u as usize, sums) {
                let value = self.value(usable, &larger);
                self.leave(costs, u as usize);
                if value.is_some_and(|value| objective(value) <= self.bound) {
                    return true;
                }
            }
        }
        false
    }

    /// Keeps the chains that a stage of this value continues, as far as they are worth it.
    fn record(&self, (to, s): (usize, usize), value: Value, chains: &[Reached], reached: &mut Vec<Reached>) {
        let Setting { consumption, stages, loads, .. } = self.pairs.setting;
        for (index, chain) in chains.iter().enumerate() {
            let Some(used) = consumption.add(chain.used as usize, stages[s]) else { continue };
            let value = loads.together(value, chain.value);
            let rest = self.pairs.rest[to];
            let is_late = rest > self.pairs.left[used] * self.most_load * ROUNDING
                || objective(value) + self.pairs.once * rest > self.target * ROUNDING;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Objective, Problem, ProblemSpec, Replication};

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
        let program = Pairs::new(&setting, &lattice);
        assert!(
            matches!(program.best((0.0, 12.5), &cx, &mut 0), Verdict::Found((_, value)) if super::objective(value) == 12.5)
        );
        assert!(matches!(program.best((0.0, 12.4), &cx, &mut 0), Verdict::Refuted));
    }
}
