//! A walk through all ideals above one, with the stage between: each stage within a target is looked at once for each kind
//! of device, its load kept up to date unit by unit.

use super::{Looks, Pairs};
use crate::cost::compute_load;
use crate::preprocess::Net;
use crate::problem::fits;
use crate::search::Stopped;
use crate::solve::dp::chain::Bits;
use crate::solve::dp::costs::{Costs, Known, Sums};
use crate::solve::dp::loads::{Loads, Value, contains, objective, ones, zeros};
use crate::solve::dp::setting::Setting;
use crate::solve::dp::stage::StageKind;

/// Room for the rounding of products in the bound by work.
pub const ROUNDING: f64 = 1.0 + 1e-12;

/// Room for the rounding of sums in what a stage has to compute, as a part of the most that it can.
const MARGIN: f64 = 1e-9;

/// At lower prices what compute costs is no normal number, or how much a count of one buys no finite one.
const LEAST_PRICE: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// A stage within the target that a walk has come to.
pub struct Stage<'w> {
    /// The ideal after it.
    pub to: usize,
    /// Its kind.
    pub kind: usize,
    /// Its value.
    pub value: Value,
    /// What its value is made of.
    pub sums: &'w Sums,
    /// The nets that its kind of device pays for and that it touches, as words of a bit set.
    pub nets: &'w [u64],
    /// Its units, as words of a bit set.
    pub set: &'w [u64],
    /// The units below it.
    pub below: &'w [u64],
}

impl Stage<'_> {
    /// Its objective as a stage of this kind if it moves these nets between servers, which cost it no more than others so far.
    pub fn objective_with(&self, loads: &Loads, kind: StageKind, far: impl Iterator<Item = usize>) -> f64 {
        let mut terms = self.sums.terms;
        for e in far {
            let more = loads.reduced.kinds[kind.kind].transfers[e] * (loads.reduced.between[e] - 1.0);
            *terms[0].side(contains(self.set, loads.reduced.nets[e].source as usize)) += more;
        }
        objective(loads.value(kind, &terms, self.sums.parameter_bytes))
    }

    /// Whether it touches a net that has pins above it.
    pub fn rises(&self, e: usize, net: &Net) -> bool {
        let is_above = |p: usize| !contains(self.set, p) && !contains(self.below, p);
        contains(self.nets, e) && net.pins.iter().any(|&p| is_above(p as usize))
    }
}

/// What becomes of the stages of a walk.
pub trait Visitor {
    /// The most that may be left above a stage of this kind, in terms of [`Pairs::rest`], where no load of a chain exceeds
    /// `most_load`; `None` where it cannot come next.
    fn left_after(&self, kind: usize, most_load: f64) -> Option<f64>;

    /// Looks at a stage.
    fn visit(&mut self, stage: &Stage);
}

/// A stage kind that may come next.
#[derive(Clone, Copy)]
struct Usable {
    stage: usize,
    replicas: f64,
    limit: Option<f64>,
    /// The most that may be left above it.
    time_left: f64,
    /// The least that its units count, in terms of [`Zones`](crate::solve::dp::zone::Zones).
    least: f64,
}

/// What the units that may join a stage, and those it has, can still count.
#[derive(Clone, Copy)]
struct Outlook {
    /// What can be done without.
    spare: f64,
    /// What they count at most beyond the price of what they compute.
    gain: f64,
}

/// Walks from ideals within one target.
pub struct Walk<'a> {
    pairs: &'a Pairs<'a>,
    bound: f64,
    target: f64,
    /// No stage of a chain within the target has a larger load.
    most_load: f64,
    looks: &'a Looks<'a>,
    /// Stages looked at that have not been counted yet, and how many may be until the rest is left.
    steps: u64,
    steps_left: u64,
    /// What it has left.
    rests: Vec<Rest>,
    /// The ideal below the stage, and the kind of device.
    from: usize,
    kind: usize,
    /// The stage's units, and who can hold them.
    set: Vec<u64>,
    usable: Vec<Usable>,
    /// No stage computes longer.
    most_compute: f64,
    /// Which units the stage may hold.
    zone: Bits,
    /// How much compute a count of one buys; zero where there is no price.
    per_price: f64,
    /// What each unit of the zone counts beyond the price of what it computes; nothing reads it where there is no price.
    gains: Vec<f64>,
    /// The units that are not to join from some depth of the walk on: those below, those beyond the zone, and those barred.
    gone: Rows,
    /// The nets of such units.
    closed: Rows,
    /// The nets of the stage's units.
    touched: Rows,
}

/// The stages that hold one, as far as a long walk has left them.
pub struct Rest {
    /// The ideal below the stage.
    pub from: usize,
    kind: usize,
    /// The ideal after it.
    to: usize,
    sums: Sums,
    outlook: Outlook,
    /// Its units, the units that are gone, their nets, and the stage's nets.
    bits: [Box<[u64]>; 4],
}

/// A bit set for each depth of a walk.
struct Rows {
    words: usize,
    all: Vec<u64>,
}

impl Rows {
    /// One row of so many bits.
    fn new(bits: usize) -> Self {
        let words = bits.div_ceil(64).max(1);
        Self { words, all: vec![0; words] }
    }

    #[inline]
    fn at(&self, depth: usize) -> &[u64] {
        &self.all[depth * self.words..][..self.words]
    }

    #[inline]
    fn at_mut(&mut self, depth: usize) -> &mut [u64] {
        &mut self.all[depth * self.words..][..self.words]
    }

    /// Begins the next depth with what holds at this one.
    #[inline]
    fn copy_down(&mut self, depth: usize) {
        let next = (depth + 1) * self.words;
        if self.all.len() < next + self.words {
            self.all.resize(next + self.words, 0);
        }
        self.all.copy_within(next - self.words..next, next);
    }
}

impl<'a> Walk<'a> {
    /// Walks within `target`, where no chain is better than `bound`.
    pub fn new(pairs: &'a Pairs<'a>, (bound, target): (f64, f64), looks: &'a Looks<'a>) -> Self {
        let reduced = pairs.setting.reduced;
        Self {
            pairs,
            bound,
            target,
            most_load: pairs.setting.loads.most_load(target),
            looks,
            steps: 0,
            steps_left: u64::MAX,
            rests: Vec::new(),
            from: 0,
            kind: usize::MAX,
            set: vec![0; pairs.lattice.words()],
            usable: Vec::new(),
            most_compute: 0.0,
            zone: Bits::default(),
            per_price: 0.0,
            gains: vec![0.0; reduced.unit_count()],
            gone: Rows::new(64 * pairs.lattice.words()),
            closed: Rows::new(reduced.nets.len()),
            touched: Rows::new(reduced.nets.len()),
        }
    }

    /// Looks at every stage within the target that begins at the ideal `from`.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn run(&mut self, from: usize, visitor: &mut impl Visitor) -> Result<(), Stopped> {
        let kinds: &'a [Costs] = &self.pairs.kinds;
        self.run_with(from, kinds, visitor)
    }

    /// The same where devices of each kind have these costs.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn run_with(&mut self, from: usize, kinds: &[Costs], visitor: &mut impl Visitor) -> Result<(), Stopped> {
        for (kind, costs) in kinds.iter().enumerate() {
            if let Some(outlook) = self.begin((from, kind), costs, visitor) {
                self.leave_out(costs);
                self.set.fill(0);
                self.descend((costs, 0), from, (Sums::default(), outlook), visitor)?;
            }
        }
        self.count()
    }

    /// Looks at some of these stages, and returns what it leaves of them, in order.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn run_some(&mut self, from: usize, visitor: &mut impl Visitor) -> Result<Vec<Rest>, Stopped> {
        self.steps_left = self.pairs.steps_per_look;
        self.run(from, visitor)?;
        Ok(std::mem::take(&mut self.rests))
    }

    /// The same from what a run has left, whichever walk had it, with a visitor that admits the same.
    ///
    /// # Errors
    /// [`Stopped`] where a limit is reached.
    pub fn go_on(&mut self, rest: &Rest, visitor: &mut impl Visitor) -> Result<Vec<Rest>, Stopped> {
        let costs = &self.pairs.kinds[rest.kind];
        if (self.from, self.kind) != (rest.from, rest.kind) {
            self.begin((rest.from, rest.kind), costs, visitor);
        }
        let [set, gone, closed, touched] = &rest.bits;
        self.set.copy_from_slice(set);
        self.gone.at_mut(0).copy_from_slice(gone);
        self.closed.at_mut(0).copy_from_slice(closed);
        self.touched.at_mut(0).copy_from_slice(touched);
        self.steps_left = self.pairs.steps_per_look;
        self.descend((costs, 0), rest.to, (rest.sums, rest.outlook), visitor)?;
        self.count()?;
        Ok(std::mem::take(&mut self.rests))
    }

    /// Begins with stages from an ideal on a kind of device; what they can count, if any can come next.
    fn begin(&mut self, (from, kind): (usize, usize), costs: &Costs, visitor: &impl Visitor) -> Option<Outlook> {
        let pairs = self.pairs;
        (self.from, self.kind) = (from, kind);
        let above = pairs.zones.above(pairs.lattice.bits(from));
        self.usable = costs.stages.iter().filter_map(|&s| self.usable(s, above, visitor)).collect();
        let a_unit = compute_load(&costs.kind.pieces, 1.0);
        let most = self.usable.iter().map(|usable| usable.replicas * self.most_load / a_unit * ROUNDING);
        self.most_compute = most.max_by(f64::total_cmp)?;
        Some(self.survey(costs, kind))
    }

    /// Counts the stages looked at.
    fn count(&mut self) -> Result<(), Stopped> {
        self.looks.count(std::mem::take(&mut self.steps), self.pairs.steps_per_look)
    }

    /// What is worth knowing of a stage kind, if it may come next.
    fn usable(&self, stage: usize, above: f64, visitor: &impl Visitor) -> Option<Usable> {
        let Setting { stages, reduced, .. } = self.pairs.setting;
        let kind = stages[stage];
        let limit = reduced.kinds[kind.kind].capacity(kind.replicas);
        let time_left = visitor.left_after(stage, self.most_load)? * ROUNDING;
        Some(Usable { stage, replicas: kind.replicas as f64, limit, time_left, least: above - time_left })
    }

    /// Finds the zone of `from`, and what a stage can count of it, if what is left is not to be too much for the devices after it.
    fn survey(&mut self, costs: &Costs, kind: usize) -> Outlook {
        let Pairs { lattice, zones, .. } = self.pairs;
        let from = lattice.bits(self.from);
        let ready = lattice.above(self.from).iter().map(|&(u, _)| u as usize);
        let (zone, work) = zones.of(from, ready, |u| costs.computes(u), self.most_compute * ROUNDING);
        self.zone = zone;
        let least = self.usable.iter().map(|usable| usable.least).fold(f64::INFINITY, f64::min);
        let price = self.price(kind, least);
        self.per_price = if price > 0.0 { 1.0 / price } else { 0.0 };
        for u in ones(&self.zone) {
            self.gains[u] = zones.share(u) - price * costs.computes(u).unwrap_or_default();
        }
        let gain: f64 = ones(&self.zone).map(|u| self.gains[u].max(0.0)).sum();
        // Room for the rounding of what units count: at a low price the least bit of it buys much compute.
        let room = (ROUNDING - 1.0) * work;
        Outlook { spare: work - least + room, gain: gain + room }
    }

    /// The price of compute at which [`Self::least_compute`] is most for units that count so much; zero where the whole zone
    /// counts less. Where those come first that count most for what they compute, it is that of the last unit needed.
    fn price(&self, kind: usize, least: f64) -> f64 {
        let mut counted = 0.0;
        for &(u, ratio) in self.pairs.by_ratio[kind].iter().filter(|&&(u, _)| contains(&self.zone, u as usize)) {
            counted += self.pairs.zones.share(u as usize);
            if counted >= least {
                return if (LEAST_PRICE..f64::INFINITY).contains(&ratio) { ratio } else { 0.0 };
            }
        }
        0.0
    }

    /// What a stage of this kind has to compute at least: what its units count is no more than the price of that and their
    /// gain. This is the Lagrangian bound of a knapsack.
    fn least_compute(&self, usable: &Usable, gain: f64) -> f64 {
        (usable.least - gain) * self.per_price - MARGIN * self.most_compute
    }

    /// Begins with the units gone that no stage from here can hold: those below, and those beyond the zone.
    fn leave_out(&mut self, costs: &Costs) {
        let gone = self.gone.at_mut(0);
        gone.copy_from_slice(self.pairs.lattice.bits(self.from));
        zeros(&self.zone, costs.own.len()).for_each(|u| gone[u / 64] |= 1 << (u % 64));
        self.touched.at_mut(0).fill(0);
        let closed = self.closed.at_mut(0);
        closed.fill(0);
        ones(gone).for_each(|u| costs.begin_after(u, closed));
    }

    /// Looks at all stages that hold the present one.
    fn descend(
        &mut self,
        (costs, depth): (&Costs, usize),
        ideal: usize,
        (mut sums, mut outlook): (Sums, Outlook),
        visitor: &mut impl Visitor,
    ) -> Result<(), Stopped> {
        let above = self.pairs.lattice.above(ideal);
        for (index, &(unit, larger)) in above.iter().enumerate() {
            let u = unit as usize;
            if outlook.spare < 0.0 {
                break;
            }
            if contains(self.gone.at(depth), u) {
                continue;
            }
            (self.steps, self.steps_left) = (self.steps + 1, self.steps_left.saturating_sub(1));
            if self.steps == self.pairs.steps_per_look {
                self.count()?;
            }
            if let Some(sums) = self.join(costs, (depth, depth), u, &sums) {
                let outlook = Outlook { gain: outlook.gain + self.gains[u].min(0.0), ..outlook };
                if self.look_at((costs, depth), larger as usize, (&sums, outlook.gain), visitor) {
                    self.gone.copy_down(depth);
                    self.closed.copy_down(depth);
                    if self.steps_left == 0 {
                        self.rests.push(self.rest(depth + 1, larger as usize, (sums, outlook)));
                    } else {
                        self.descend((costs, depth + 1), larger as usize, (sums, outlook), visitor)?;
                    }
                }
                self.leave(u);
            }
            if index + 1 == above.len() {
                break;
            }
            // What holds this unit has been looked at.
            self.bar((costs, depth), u, (&mut sums, &mut outlook));
            if !self.usable.iter().any(|usable| self.may_grow(usable, &sums, outlook.gain)) {
                break;
            }
        }
        Ok(())
    }

    /// The stages that hold the present one, up to the ideal `to`.
    fn rest(&self, depth: usize, to: usize, (sums, outlook): (Sums, Outlook)) -> Rest {
        let bits = [&self.set, self.gone.at(depth), self.closed.at(depth), self.touched.at(depth)];
        Rest { from: self.from, kind: self.kind, to, sums, outlook, bits: bits.map(Into::into) }
    }

    /// Bars a unit from joining, and with it all that comes after it; nets that are cut for good then count as lasting.
    fn bar(&mut self, (costs, depth): (&Costs, usize), u: usize, (sums, outlook): (&mut Sums, &mut Outlook)) {
        let Self { pairs: Pairs { zones, .. }, set, gains, .. } = self;
        let (gone, touched, closed) = (self.gone.at_mut(depth), self.touched.at(depth), self.closed.at_mut(depth));
        costs.close(u, (set, gone), touched, closed, sums);
        for (word, (&after, gone)) in zones.after(u).iter().zip(gone).enumerate() {
            for v in ones(&[after & !*gone]).map(|bit| 64 * word + bit) {
                outlook.spare -= zones.share(v);
                outlook.gain -= gains[v].max(0.0);
            }
            *gone |= after;
        }
    }

    /// The stage's sums once it holds `u`, too; `None` where the kind of device cannot run that, or not in time. The stage has
    /// so many units already, and units are gone as from `depth` on.
    fn join(&mut self, costs: &Costs, (depth, units): (usize, usize), u: usize, sums: &Sums) -> Option<Sums> {
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
        self.touched.copy_down(units);
        let known = Known { set: &self.set, gone: self.gone.at(depth), closed: self.closed.at(depth) };
        costs.join(u, &known, self.touched.at_mut(units + 1), &mut sums);
        Some(sums)
    }

    /// Takes `u`, the last one that joined, out again.
    fn leave(&mut self, u: usize) {
        self.set[u / 64] &= !(1 << (u % 64));
    }

    /// Looks at the present stage, to which a unit has come at this depth, up to the ideal `to`; whether a stage that holds it may
    /// be within the target.
    fn look_at(
        &mut self,
        (costs, depth): (&Costs, usize),
        to: usize,
        (sums, gain): (&Sums, f64),
        visitor: &mut impl Visitor,
    ) -> bool {
        let mut may_grow = false;
        for index in 0..self.usable.len() {
            let usable = self.usable[index];
            if !self.may_grow(&usable, sums, gain) {
                continue;
            }
            may_grow = true;
            if self.pairs.rest[to] > usable.time_left {
                continue;
            }
            let value = self.value(&usable, sums).filter(|&value| objective(value) <= self.target);
            if let Some(value) = value
                && !self.goes_farther((costs, depth), to, sums, &usable)
            {
                let (nets, below) = (self.touched.at(depth + 1), self.pairs.lattice.bits(self.from));
                visitor.visit(&Stage { to, kind: usable.stage, value, sums, nets, set: &self.set, below });
            }
        }
        may_grow
    }

    /// Whether the present stage, or one that holds it, may be within the target and leave no more than may be left.
    fn may_grow(&self, usable: &Usable, sums: &Sums, gain: f64) -> bool {
        let Setting { loads, stages, .. } = self.pairs.setting;
        let mut lasting = sums.lasting;
        lasting[0].compute = lasting[0].compute.max(self.least_compute(usable, gain));
        let least = loads.value(stages[usable.stage], &lasting, sums.parameter_bytes);
        fits(sums.memory, usable.limit) && objective(least) <= self.target
    }

    /// The value of the present stage on devices of a kind; `None` where it does not fit.
    fn value(&self, usable: &Usable, sums: &Sums) -> Option<Value> {
        let Setting { loads, stages, .. } = self.pairs.setting;
        let fits = fits(sums.memory + sums.boundary, usable.limit);
        fits.then(|| loads.value(stages[usable.stage], &sums.terms, sums.parameter_bytes))
    }

    /// Whether the stage may as well hold a unit more, at no loss to it or a later one: it stays within what every chain
    /// has for its largest load.
    fn goes_farther(&mut self, (costs, depth): (&Costs, usize), to: usize, sums: &Sums, usable: &Usable) -> bool {
        let Pairs { lattice, free, .. } = self.pairs;
        let free = free.get(lattice.range_above(to)).unwrap_or(&[]);
        let free = lattice.above(to).iter().zip(free).filter(|&(_, &is_free)| is_free);
        for (&(u, _), _) in free {
            if let Some(larger) = self.join(costs, (depth, depth + 1), u as usize, sums) {
                let value = self.value(usable, &larger);
                self.leave(u as usize);
                if value.is_some_and(|value| objective(value) <= self.bound) {
                    return true;
                }
            }
        }
        false
    }
}
