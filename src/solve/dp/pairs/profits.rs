//! Profits in place of work: what the stages left can hold at most, by the dual of covering all units with stages.
//!
//! Let each unit have a profit y(u) ≥ 0, and let no stage of a chain within the target earn more than z_d on a device of kind d. Then
//! no chain can be continued from an ideal above which the units are worth more than Σ n_d · z_d, over the devices left.
//! Work is such a profit, with the target as z. Better ones count what stages have to move, too: of all profits those
//! that leave devices least to spare are sought by the [bundle method](crate::solve::bundle), as in branch and price, with
//! stages between listed ideals for columns. Where a few percent are to spare instead of ten, a tenth of the pairs is left
//! to look at.
//!
//! What z_d is has to be known exactly, but only of stages in chains within the target. These begin at ideals with enough
//! devices below for the units below and enough above for those above, by profits that are known already. So profits get
//! better in rounds: each is exact on the ideals that the one before has left, and leaves fewer.

use super::walk::{Stage, Visitor};
use super::{Lanes, Looks, Pairs};
use crate::search::{Stopped, Verdict};
use crate::solve::bundle::{Bundle, Offer, Prices};
use crate::solve::dp::chain::IdealChain;
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::loads::{Value, ones};
use crate::solve::dp::rests::{Rests, Speeds};
use crate::solve::dp::setting::Setting;

/// The program below a target, by profits where there is much to look at.
pub struct PricedPairs<'a> {
    program: Pairs<'a>,
    /// Once a target has had so many pairs profits are found; `None` where loads are no plain ones.
    many: Option<u64>,
    /// What finds them.
    pricer: Option<Pricer<'a>>,
    /// The most pairs within a target.
    most_pairs: u64,
    /// Pairs looked at for profits.
    pub priced_pairs: u64,
    /// What profits refute about, where there are any.
    refuted: Option<f64>,
}

impl<'a> PricedPairs<'a> {
    /// The program on `setting`, without servers, with profits once a target has had `many` pairs.
    pub fn new(setting: &'a Setting<'a>, lattice: &'a Lattice, many: u64) -> Self {
        let program = Pairs::new(setting, lattice).with_dominance();
        let work = program.zones.above(lattice.bits(0));
        let is_plain = setting.loads.is_one_load() && !setting.loads.is_step() && setting.most_replicas() == 1;
        let many = (is_plain && work.is_finite() && work > 0.0).then_some(many);
        Self { program, many, pricer: None, most_pairs: 0, priced_pairs: 0, refuted: None }
    }

    /// The next target to look at, between `bound` and `last`, where it would be `size` farther without profits.
    pub fn next_target(&self, bound: f64, size: f64, last: f64) -> f64 {
        let Some(refuted) = self.refuted else { return last.min(bound + size) };
        let next = refuted.max(bound) * STEP;
        if next * STEP.sqrt() >= last { last } else { next }
    }

    /// As [`Pairs::best`].
    pub fn best(&mut self, range: (f64, f64), looks: &Looks) -> Verdict<(IdealChain, Value)> {
        let before = looks.pairs();
        if self.many.is_some_and(|many| self.most_pairs >= many) {
            let Pairs { setting, lattice, .. } = self.program;
            let pricer = self.pricer.get_or_insert_with(|| Pricer::new(setting, lattice));
            let most = self.most_pairs.max(FEW_PAIRS);
            let Ok((rests, refuted)) = pricer.rests(range.1, most, looks) else { return Verdict::Unknown };
            self.program.measure_by(rests);
            self.refuted = Some(refuted);
        }
        self.priced_pairs += looks.pairs() - before;
        let before = looks.pairs();
        let verdict = self.program.best(range, looks);
        self.most_pairs = self.most_pairs.max(looks.pairs() - before);
        verdict
    }
}

/// Finds profits.
struct Pricer<'a> {
    /// The program without dominance, which sees all stages.
    pairs: Pairs<'a>,
    work: Vec<f64>,
    /// The best profits so far.
    center: Vec<f64>,
    /// Ideals where stages began that earned most of some profits.
    hot: Vec<usize>,
}

impl<'a> Pricer<'a> {
    /// A pricer that knows of work alone.
    fn new(setting: &'a Setting<'a>, lattice: &'a Lattice) -> Self {
        let work = Rests::new(setting.reduced).units;
        Self { pairs: Pairs::new(setting, lattice), center: work.clone(), work, hot: Vec::new() }
    }

    /// What is left above ideals within `target`, by the best profits found, and about what these refute. For each set of profits
    /// it looks at about `most` pairs, and then at as many as it takes.
    fn rests(&mut self, target: f64, most: u64, looks: &Looks) -> Result<(Rests, f64), Stopped> {
        let mut rests = Rests::new(self.pairs.setting.reduced);
        self.pairs.measure_by(rests.clone());
        let mut spare = self.pairs.spare(target);
        for _ in 0..MOST_ROUNDS {
            let starts = self.pairs.starts(target);
            self.hot.retain(|ideal| starts.binary_search(ideal).is_ok());
            let profits = self.ascend(target, &starts, most, looks);
            let next = self.exact(target, &profits, &starts, looks)?;
            let left = self.pairs.spare(target);
            let is_enough = left <= ENOUGH || left > FEW_ENOUGH * spare;
            if left < spare {
                (rests, spare, self.center) = (next, left, profits);
            }
            if is_enough {
                break;
            }
        }
        Ok((rests, target * (1.0 - spare.min(0.0))))
    }

    /// Measures by `profits`, with the most that a stage from one of the ideals `starts` earns.
    fn exact(&mut self, target: f64, profits: &[f64], starts: &[usize], looks: &Looks) -> Result<Rests, Stopped> {
        let mut rests = Rests::of_profits(profits.to_vec(), self.pairs.setting.reduced);
        self.pairs.measure_by(rests.clone());
        let all = hot_first(&self.hot, starts.iter().copied());
        let best = self.pairs.price(target, (1.0, STEPS), &all, looks)?;
        let speeds = |kind: &Most| kind.most.iter().map(|most| most * ROOM / target).collect();
        rests.speeds = Speeds { of: best.kinds.iter().map(speeds).collect(), step: best.step_of / target };
        self.pairs.allow(&rests.speeds);
        Ok(rests)
    }

    /// About the best profits for stages that begin at the ideals `starts`. Each round prices stages from some of them, and
    /// from the hot ones.
    fn ascend(&mut self, target: f64, starts: &[usize], most: u64, looks: &Looks) -> Vec<f64> {
        let Self { pairs: program, work, center, hot } = self;
        let reduced = program.setting.reduced;
        let counts: Vec<usize> = reduced.kinds.iter().map(|kind| kind.count).collect();
        let stride = starts.len().div_ceil(SAMPLE).max(1);
        let (mut round, begun) = (0, looks.pairs());
        let prices: Prices = Box::new(|profit| {
            program.measure_by(Rests::of_profits(that_count(profit), reduced));
            let some = starts.iter().copied().skip(round * PHASE % stride).step_by(stride);
            round += 1;
            let best = program.price(target, (NEARLY, 1), &hot_first(hot, some), looks);
            let Ok(best) = best else { return vec![Offer::default(); reduced.kinds.len()] };
            let (offers, begun) = best.into_offers();
            hot.extend(begun);
            hot.sort_unstable();
            hot.dedup();
            offers
        });
        let mut bundle = Bundle::new(&counts, prices, work, center);
        let mut rounds = 0;
        while rounds < BUNDLE_ROUNDS && looks.pairs() - begun < most {
            rounds += ROUNDS_PER_LOOK;
            if !bundle.improve(ROUNDS_PER_LOOK, looks.cx) || rounds >= FEWEST_ROUNDS && bundle.refutes() {
                break;
            }
        }
        that_count(bundle.center())
    }
}

/// These profits, but none where a unit has less than none, or so little that it is lost in the rounding of others.
fn that_count(profits: &[f64]) -> Vec<f64> {
    let least = LEAST_PROFIT * profits.iter().copied().fold(0.0, f64::max);
    profits.iter().map(|&profit| if profit > least { profit } else { 0.0 }).collect()
}

/// Some ideals, hot ones first: what is known to be earned has not to be looked for.
fn hot_first(hot: &[usize], others: impl Iterator<Item = usize>) -> Vec<usize> {
    hot.iter().copied().chain(others.filter(|ideal| hot.binary_search(ideal).is_err())).collect()
}

impl Pairs<'_> {
    /// What all devices can earn beyond what all units are worth, as a part of that.
    fn spare(&self, target: f64) -> f64 {
        self.left[0] * self.setting.loads.most_load(target) / self.rest[0] - 1.0
    }

    /// The ideals at which a stage of a chain within `target` can begin, as far as what is below and above them tells.
    fn starts(&self, target: f64) -> Vec<usize> {
        let most_load = self.setting.loads.most_load(target);
        // For each use what may be left, with the most that can have been taken where so much may be left.
        let both = self.left.iter().zip(&self.taken);
        let mut rooms: Vec<(f64, f64)> = both.map(|(left, taken)| (left * most_load, taken * most_load)).collect();
        rooms.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut all = 0.0;
        for (_, taken) in &mut rooms {
            all = taken.max(all);
            *taken = all;
        }
        let is_start = |&ideal: &usize| {
            let (above, below) = (self.rest[ideal], self.zones.below(self.lattice.bits(ideal)));
            let count = rooms.partition_point(|&(left, _)| left * ROOM >= above);
            count > 0 && below <= rooms[count - 1].1 * ROOM + (ROOM - 1.0) * all
        };
        (0..self.lattice.count() - 1).filter(is_start).collect()
    }

    /// The most that stages earn which begin at these ideals, by how much is left there, in so many steps, and some that earn this
    /// `part` of it.
    fn price(
        &self,
        target: f64,
        (part, steps): (f64, usize),
        starts: &[usize],
        looks: &Looks,
    ) -> Result<Best<'_>, Stopped> {
        let mut best = Best::new(self, part, steps);
        let mut lanes = Lanes::new(self, (0.0, target), looks);
        let mut done = 0;
        while done < starts.len() {
            // What is known of the most is the same for all of these, so that it does not matter how many threads there are.
            let end = starts.len().min(done + (1 + done / 4).min(STARTS_AT_ONCE));
            let earned = |from| Earned { best: &best, from, stages: Vec::new() };
            let stages = lanes.run(&starts[done..end], earned, |earned| earned.stages)?;
            stages.into_iter().for_each(|stage| best.add(stage));
            done = end;
        }
        Ok(best)
    }
}

/// The stages seen that earn most.
struct Best<'p> {
    pairs: &'p Pairs<'p>,
    /// A stage is kept that earns this part of the most.
    part: f64,
    /// How much of what is left is a step.
    step_of: f64,
    kinds: Vec<Most>,
}

/// What stages on one kind of device earn.
#[derive(Debug, Clone, Default)]
struct Most {
    /// By how much is left before them.
    most: Vec<f64>,
    /// The best stage from each ideal where one was kept.
    stages: Vec<Column>,
}

/// The stage that earns most of those from one ideal on a kind of device.
#[derive(Debug, Clone)]
struct Column {
    kind: usize,
    profit: f64,
    from: usize,
    set: Vec<usize>,
}

impl<'p> Best<'p> {
    fn new(pairs: &'p Pairs<'p>, part: f64, steps: usize) -> Self {
        let most = Most { most: vec![0.0; steps], stages: Vec::new() };
        let step_of = pairs.rest[0] / steps as f64;
        Self { pairs, part, step_of, kinds: vec![most; pairs.kinds.len()] }
    }

    /// The step of what is left above an ideal.
    fn step(&self, ideal: usize) -> usize {
        ((self.pairs.rest[ideal] / self.step_of) as usize).min(self.kinds[0].most.len() - 1)
    }

    /// Adds a stage.
    fn add(&mut self, stage: Column) {
        let step = self.step(stage.from);
        let kind = &mut self.kinds[stage.kind];
        if stage.profit > self.part * kind.most[step] {
            kind.most[step] = kind.most[step].max(stage.profit);
            kind.stages.push(stage);
            if kind.stages.len() >= 2 * KEPT {
                kind.forget();
            }
        }
    }

    /// The stages kept, and where they begin.
    fn into_offers(mut self) -> (Vec<Offer>, Vec<usize>) {
        self.kinds.iter_mut().for_each(Most::forget);
        let begun = self.kinds.iter().flat_map(|kind| &kind.stages).map(|stage| stage.from).collect();
        let sets = |stages: Vec<Column>| stages.into_iter().map(|stage| stage.set).collect();
        let offer = |kind: Most| Offer { most: kind.most[0], sets: sets(kind.stages) };
        (self.kinds.into_iter().map(offer).collect(), begun)
    }
}

impl Most {
    /// Keeps the stages that earn most.
    fn forget(&mut self) {
        self.stages.sort_by(|a, b| b.profit.total_cmp(&a.profit).then(a.from.cmp(&b.from)));
        self.stages.truncate(KEPT);
    }
}

/// The stages from one ideal that earn most.
struct Earned<'b> {
    best: &'b Best<'b>,
    from: usize,
    /// The best one for each kind of device where it earns enough to be kept.
    stages: Vec<Column>,
}

impl Earned<'_> {
    /// What a stage on this kind of device has to earn more than.
    fn least(&self, kind: usize) -> f64 {
        self.best.part * self.best.kinds[kind].most[self.best.step(self.from)]
    }
}

impl Visitor for Earned<'_> {
    fn left_after(&self, kind: usize, _: f64) -> Option<f64> {
        let Pairs { rest, setting, .. } = self.best.pairs;
        Some(rest[self.from] - self.least(setting.stages[kind].kind))
    }

    fn visit(&mut self, stage: &Stage) {
        let Pairs { rest, setting, .. } = self.best.pairs;
        let kind = setting.stages[stage.kind].kind;
        let profit = rest[self.from] - rest[stage.to];
        let column = || Column { kind, profit, from: self.from, set: ones(stage.set).collect() };
        match self.stages.iter().position(|known| known.kind == kind) {
            Some(known) if profit > self.stages[known].profit => self.stages[known] = column(),
            None if profit > self.least(kind) => self.stages.push(column()),
            _ => {}
        }
    }
}

/// How often profits get better for one target, and when they are left: when so little is to spare, or this part of what was.
const MOST_ROUNDS: usize = 4;
const ENOUGH: f64 = 0.1;
const FEW_ENOUGH: f64 = 0.8;

/// Rounds of the bundle method, and from about how many ideals stages are priced in each; how the rounds take turns.
const BUNDLE_ROUNDS: usize = 96;
const ROUNDS_PER_LOOK: usize = 8;
const FEWEST_ROUNDS: usize = 24;
const SAMPLE: usize = 200;
const PHASE: usize = 17;

/// How many steps there are of what is left.
const STEPS: usize = 32;

/// From so many ideals stages are priced before they count.
const STARTS_AT_ONCE: usize = 64;

/// The fewest pairs that the rounds for one set of profits may look at.
const FEW_PAIRS: u64 = 1 << 16;

/// How many times what profits refute the next target is.
const STEP: f64 = 1.02;

/// How many stages are kept of each kind, and which part of what the best one earns they earn at least.
const KEPT: usize = 16;
const NEARLY: f64 = 0.99;

/// Which part of the largest profit the others are at least, if they are any.
const LEAST_PROFIT: f64 = 1e-12;

/// Room for the rounding of profits.
const ROOM: f64 = 1.0 + 1e-9;

#[cfg(test)]
mod tests {
    use super::super::walk::Walk;
    use super::*;
    use crate::graph::is_subset;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Problem, ProblemSpec};
    use crate::search::SearchContext;
    use crate::solve::dp::chain::Bits;
    use crate::solve::dp::loads::{SetLoads, objective};

    /// Layers of five nodes, each of which reads two of those before it.
    fn layers(count: u64) -> Instance {
        let node = |id: u64| Node {
            accelerator_times: vec![Some(10.0 + (id * 37 % 53) as f64)],
            transfer_time: 20.0 + (id * 29 % 31) as f64,
            ..Node::new(id)
        };
        let edge = |target: u64, step: u64| Edge { source: target / 5 * 5 - 5 + (target * 3 + step) % 5, target };
        Instance {
            platform: Platform::uniform(4, None, 0),
            nodes: (0..5 * count).map(node).collect(),
            edges: (5..5 * count).flat_map(|target| [edge(target, 0), edge(target, 2)]).collect(),
            ..Instance::default()
        }
    }

    /// So many nodes, one after another.
    fn chain(count: u64) -> Instance {
        Instance {
            platform: Platform::uniform(4, None, 0),
            nodes: (0..count).map(|id| Node { accelerator_times: vec![Some(1.0)], ..Node::new(id) }).collect(),
            edges: (1..count).map(|target| Edge { source: target - 1, target }).collect(),
            ..Instance::default()
        }
    }

    /// Runs a test on all ideals of an instance.
    fn on(instance: &Instance, test: impl FnOnce(&Setting, &Lattice)) {
        let problem = Problem::new(instance, ProblemSpec::of(instance)).unwrap();
        let reduced = Reduced::new(&problem);
        let lattice = Lattice::new(&reduced.order, 1 << 16, &SearchContext::new()).unwrap().unwrap();
        test(&Setting::new(&problem, &reduced), &lattice);
    }

    #[test]
    fn what_devices_earn_is_exact() {
        on(&layers(4), |setting, lattice| {
            let cx = SearchContext::new();
            let profits: Vec<f64> = (0..setting.reduced.unit_count()).map(|u| (u * 13 % 7) as f64).collect();
            let target = 200.0;
            let mut pricer = Pricer::new(setting, lattice);
            let all: Vec<usize> = (0..lattice.count() - 1).collect();
            let rests = pricer.exact(target, &profits, &all, &Looks::new(&cx)).unwrap();
            let all = stages(setting, lattice, target);
            let step_of = earned(lattice, &profits, (0, lattice.count() - 1)) / STEPS as f64;
            assert_eq!(rests.speeds.step, step_of / target);
            for (step, speed) in rests.speeds.of[0].iter().enumerate() {
                let left = |ideal: usize| earned(lattice, &profits, (ideal, lattice.count() - 1));
                let begin = all.iter().filter(|&&(from, _)| ((left(from) / step_of) as usize).min(STEPS - 1) == step);
                let most = begin.map(|&stage| earned(lattice, &profits, stage)).fold(0.0, f64::max);
                assert_eq!(*speed, most * ROOM / target, "{step}");
            }
        });
    }

    /// What the units of a stage are worth.
    fn earned(lattice: &Lattice, profits: &[f64], (from, to): (usize, usize)) -> f64 {
        let worth = |ideal| ones(lattice.bits(ideal)).map(|u| profits[u]).sum::<f64>();
        worth(to) - worth(from)
    }

    /// All stages within a target, by the ideals at which they begin and end.
    fn stages(setting: &Setting, lattice: &Lattice, target: f64) -> Vec<(usize, usize)> {
        let mut sets = SetLoads::new(&setting.loads);
        let all = (0..lattice.count()).flat_map(|from| (from + 1..lattice.count()).map(move |to| (from, to)));
        let is_within = |&(from, to): &(usize, usize)| {
            let (below, above): (Bits, Bits) = (lattice.bits(from).into(), lattice.bits(to).into());
            let set: Bits = below.iter().zip(&above).map(|(below, above)| above & !below).collect();
            is_subset(&below, &above)
                && sets
                    .least_value(setting.stages[0], &set, &below, &above)
                    .is_some_and(|value| objective(value) <= target)
        };
        all.filter(is_within).collect()
    }

    /// Parts of the most that a stage earns.
    const PARTS: [f64; 4] = [0.0, 0.5, 0.8, 1.0];

    /// Keeps the stages that earn at least `least`.
    struct Earning<'p> {
        pairs: &'p Pairs<'p>,
        least: f64,
        from: usize,
        seen: Vec<(usize, usize)>,
    }

    impl Visitor for Earning<'_> {
        fn left_after(&self, _: usize, _: f64) -> Option<f64> {
            Some(self.pairs.rest[self.from] - self.least)
        }

        fn visit(&mut self, stage: &Stage) {
            self.seen.push((self.from, stage.to));
        }
    }

    /// Asserts that walks see once each stage within `target` that earns one of these `parts` of the most that one earns, and no
    /// other. Returns how many steps that took, by part.
    fn steps_to_see<const N: usize>(
        (setting, lattice): (&Setting, &Lattice),
        target: f64,
        parts: [f64; N],
        profit: impl Fn(usize) -> f64,
    ) -> [u64; N] {
        let within = stages(setting, lattice, target);
        let mut pairs = Pairs::new(setting, lattice);
        let profits: Vec<f64> = (0..setting.reduced.unit_count()).map(profit).collect();
        pairs.measure_by(Rests::of_profits(profits.clone(), setting.reduced));
        let earned = |&stage: &(usize, usize)| earned(lattice, &profits, stage);
        let most = within.iter().map(earned).fold(0.0, f64::max);
        parts.map(|part| {
            let (least, cx, mut seen) = (part * most, SearchContext::new(), Vec::new());
            let looks = Looks::new(&cx);
            for from in 0..lattice.count() - 1 {
                let mut visitor = Earning { pairs: &pairs, least, from, seen: Vec::new() };
                Walk::new(&pairs, (0.0, target), &looks).run(from, &mut visitor).unwrap();
                seen.extend(visitor.seen);
            }
            seen.sort_unstable();
            let enough: Vec<_> = within.iter().filter(|stage| earned(stage) >= least).copied().collect();
            assert_eq!(seen, enough, "{part}");
            looks.pairs()
        })
    }

    #[test]
    fn a_walk_sees_once_each_stage_that_earns_enough_and_no_other() {
        on(&layers(4), |setting, lattice| {
            // Profits of zero, profits that have nothing to do with what units compute, and equal ones.
            for step in [13, 5, 2, 0] {
                let steps = steps_to_see((setting, lattice), 200.0, PARTS, |u| ((u * step + 3) % 7) as f64);
                assert!(steps.is_sorted_by(|more, fewer| more > fewer), "{step}: {steps:?}");
            }
        });
    }

    #[test]
    fn a_walk_does_so_where_compute_is_worth_next_to_nothing() {
        on(&layers(4), |setting, lattice| {
            for tiny in [1e-307, 1e-100, 1e-14] {
                // What stages earn is rounded in more ways than one, and none earns just so much.
                let parts = PARTS.map(|part| part * (1.0 - 1e-9));
                steps_to_see((setting, lattice), 200.0, parts, |u| [tiny, tiny, 0.1 * (u % 7) as f64, 0.3][u % 4]);
            }
        });
    }

    #[test]
    fn a_walk_does_so_where_a_zone_is_long() {
        on(&chain(150), |setting, lattice| {
            steps_to_see((setting, lattice), 145.0, PARTS, |u| (u % 3) as f64);
        });
    }

    #[test]
    fn stages_begin_where_devices_have_just_enough_room() {
        on(&chain(4), |setting, lattice| {
            let pairs = Pairs::new(setting, lattice);
            assert_eq!(pairs.starts(1.0), (0..lattice.count() - 1).collect::<Vec<usize>>());
            assert_eq!(pairs.starts(0.99), [0usize; 0]);
        });
    }

    /// The least objective of a chain.
    fn optimum(program: &Pairs, cx: &SearchContext) -> f64 {
        match program.best((0.0, f64::MAX), &Looks::new(cx)) {
            Verdict::Found((_, value)) => objective(value),
            _ => panic!("there is a chain"),
        }
    }

    #[test]
    fn threads_change_no_profit_no_chain_and_no_count() {
        on(&layers(12), |setting, lattice| {
            let of_threads = |threads: usize| {
                let mut cx = SearchContext::new();
                cx.threads = threads;
                let looks = Looks::new(&cx);
                looks.count(1 << 20, u64::MAX).expect("no limit");
                let mut program = Pairs { steps_per_look: 16, ..Pairs::new(setting, lattice).with_dominance() };
                let target = optimum(&program, &cx);
                let mut pricer = Pricer::new(setting, lattice);
                pricer.pairs.steps_per_look = 16;
                let (rests, _) = pricer.rests(target, 1 << 20, &looks).unwrap();
                program.measure_by(rests.clone());
                let Verdict::Found((chain, _)) = program.best((0.0, target), &looks) else {
                    panic!("there is a chain")
                };
                (rests.units, rests.speeds.of, chain, looks.pairs())
            };
            assert_eq!(of_threads(1), of_threads(3), "where walks of more than 16 steps leave something");
        });
    }

    #[test]
    fn profits_leave_the_best_chain_and_few_pairs() {
        on(&layers(12), |setting, lattice| {
            let cx = SearchContext::new();
            let [by_work, by_profits, for_profits] = [(); 3].map(|()| Looks::new(&cx));
            let mut program = Pairs::new(setting, lattice).with_dominance();
            let optimum = optimum(&program, &cx);
            let below = optimum * (1.0 - 1e-9);
            assert!(matches!(program.best((0.0, below), &by_work), Verdict::Refuted));
            let mut pricer = Pricer::new(setting, lattice);
            for target in [below, optimum] {
                let (rests, _) = pricer.rests(target, 1 << 20, &for_profits).unwrap();
                program.measure_by(rests);
                let verdict = program.best((0.0, target), &by_profits);
                assert_eq!(matches!(verdict, Verdict::Refuted), target == below);
            }
            let [by_work, by_profits, for_profits] = [by_work, by_profits, for_profits].map(|looks| looks.pairs());
            assert!(
                2 * by_profits < by_work,
                "{by_profits} pairs by profits, {by_work} by work, {for_profits} for them"
            );
        });
    }
}
