//! The reason `ideals`: no chain of ideals has stages within the target (Tarnawski et al. 2020, section 5.1.1).

use std::collections::HashMap;
use std::rc::Rc;

use crate::instance::Instance;
use crate::leaves;
use crate::order::components;
use crate::problem::{Kind, Problem, Terms};
use crate::question::{Objective, Question, Scope};
use crate::work::Work;

/// The most ideals that are listed, chains that reach one of them, and kinds of devices of which these tell how many are left.
const MOST_IDEALS: usize = 1_000_000;
const MOST_CHAINS: usize = 4096;
const MOST_KINDS: usize = 8;

/// The most ideals that are looked at from all others: about a minute.
const MOST_STEPS: usize = 300_000_000;

/// Whether no chain of stages within the target holds all units of the `whole` problem, which is this question about this
/// instance; else why not. `weights` of the kinds bound what stages to come take. O(pairs of ideals within the target ·
/// kinds), and memory for all ideals.
pub fn refutes(whole: &Problem, (instance, question): (&Instance, &Question), weights: &[i128]) -> Result<(), String> {
    if whole.scope != Scope::Acyclic {
        return Err("chains of ideals are the acyclic splits alone".into());
    }
    let problem = &Problem::of_order(instance, question, whole.order.joined(&leaves::hosts(whole)))?;
    let work = Work::new(problem, weights)?;
    let mut left = [0; MOST_KINDS];
    if problem.kinds.len() > MOST_KINDS {
        return Err(format!("there are more than {MOST_KINDS} kinds of devices"));
    }
    left.iter_mut().zip(&problem.kinds).for_each(|(left, kind)| *left = kind.count);
    let mut walk = Walk::new(problem, &work);
    // The chains that reach each ideal, and the ideals that are reached, by how many units they hold.
    let mut reached = vec![vec![Chain { left, largest: [0; 2] }]];
    let mut of_size = vec![Vec::new(); problem.order.units + 1];
    of_size[0].push(0);
    for size in 0..problem.order.units {
        for from in std::mem::take(&mut of_size[size]) {
            let shorter = std::mem::take(&mut reached[from]);
            for (k, kind) in problem.kinds.iter().enumerate().filter(|(_, kind)| kind.count > 0) {
                let stages = match problem.objective {
                    Objective::Throughput => walk.stages::<1>(from, kind)?,
                    Objective::GPipe => walk.stages::<2>(from, kind)?,
                };
                reached.resize(walk.ideals.len(), Vec::new());
                for stage in stages {
                    let (ideal, front) = (&walk.ideals[stage.to], &mut reached[stage.to]);
                    let is_new = front.is_empty();
                    let longer = shorter.iter().filter_map(|chain| chain.with((k, &stage), problem, &work, ideal.rest));
                    longer.for_each(|chain| keep(chain, front));
                    if front.len() > MOST_CHAINS {
                        return Err(format!("more than {MOST_CHAINS} chains reach an ideal"));
                    }
                    if is_new && !front.is_empty() {
                        of_size[ideal.size].push(stage.to);
                    }
                }
            }
        }
    }
    match of_size[problem.order.units].is_empty() {
        true => Ok(()),
        false => Err("a chain of ideals has every load within the target".into()),
    }
}

/// A chain of stages, as far as what follows it goes: how many devices of each kind it leaves, and what it asks of each of
/// the maxima that the objective adds up.
#[derive(Clone, Copy)]
struct Chain {
    left: [u32; MOST_KINDS],
    largest: [i128; 2],
}

impl Chain {
    /// The chain with another stage on devices of a kind, where those that are left then may do the `rest`.
    fn with(&self, (kind, stage): (usize, &Stage), problem: &Problem, work: &Work, rest: i128) -> Option<Self> {
        let mut longer = *self;
        longer.left[kind] = self.left[kind].checked_sub(stage.replicas)?;
        longer.largest = [0, 1].map(|i| self.largest[i].max(stage.largest[i]));
        let most: i128 = longer.left.iter().zip(&work.of_device).map(|(&left, device)| i128::from(left) * device).sum();
        (most >= rest && problem.is_within(longer.largest)).then_some(longer)
    }

    fn is_as_good(&self, other: &Self) -> bool {
        self.left.iter().zip(other.left).all(|(&a, b)| a >= b) && (0..2).all(|i| self.largest[i] <= other.largest[i])
    }
}

/// Adds a chain where no other one is as good, and drops those that are no better.
fn keep(chain: Chain, front: &mut Vec<Chain>) {
    if !front.iter().any(|known| known.is_as_good(&chain)) {
        front.retain(|known| !chain.is_as_good(known));
        front.push(chain);
    }
}

/// A stage within the target: the ideal that it ends at, how many devices share it, and what it asks of the objective's maxima.
struct Stage {
    to: usize,
    replicas: u32,
    largest: [i128; 2],
}

/// Sums over a stage for each pass; of in and out some last: every larger stage from the same ideal pays these, too.
#[derive(Clone, Copy)]
struct Sums<const PASSES: usize> {
    passes: [Terms; PASSES],
    lasting: [[i128; 2]; PASSES],
    memory: i128,
    parameters: i128,
}

/// A set of units, as bits.
type Bits = Rc<[u64]>;

/// An ideal: its units, how many they are, and what those outside take at least.
struct Ideal {
    bits: Bits,
    size: usize,
    rest: i128,
}

/// The units that may join an ideal, each with the ideal that results.
type Above = Rc<[(usize, usize)]>;

fn holds(bits: &[u64], unit: usize) -> bool {
    bits[unit / 64] >> (unit % 64) & 1 == 1
}

/// Whether a unit pays for its edge: on each kind of device its time is no less than what a stage without it pays for the nets
/// that it sends, and for those to it whose source no edge of the order has before it. O(nets of the unit · log edges).
fn pays(problem: &Problem, nets: &[usize], unit: usize) -> bool {
    let is_before = |source: usize| problem.order.edges.binary_search(&(source, unit)).is_ok();
    let nets = nets.iter().map(|&e| &problem.nets[e]);
    let sent: i128 = nets.clone().filter(|net| net.source == unit).map(|net| net.cost).sum();
    let given = nets.filter(|net| net.source != unit && !is_before(net.source));
    let given: i128 = given.map(|net| net.cost).sum();
    let on_kind = |kind: &Kind| {
        let exceeds = |time: i128| kind.pieces.iter().any(|[a, b, c]| a * time < b * sent + c * given);
        kind.count == 0 || !kind.time[unit].is_some_and(exceeds)
    };
    problem.kinds.iter().all(on_kind)
}

/// Looks at all ideals above one, with the stage between. Ideals are numbered as they are found, the empty one first.
struct Walk<'a> {
    problem: &'a Problem,
    work: &'a Work,
    nets_of: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// All units, and the place of each, in an order in which they follow what they need.
    sequence: Vec<usize>,
    place: Vec<usize>,
    ideals: Vec<Ideal>,
    number: HashMap<Bits, usize>,
    /// What is above each ideal, once that has been asked for; in the order of the units.
    above: Vec<Option<Above>>,
    /// Whether each unit pays for its edge: where it joins an ideal, what follows has no larger load.
    pays: Vec<bool>,
    /// Which walk last found a stage within the target that ends at each ideal, and how many walks there were.
    found: Vec<usize>,
    walks: usize,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, work: &'a Work) -> Self {
        let mut before = vec![Vec::new(); problem.order.units];
        problem.order.edges.iter().for_each(|&(a, b)| before[b].push(a));
        let place = components(problem.order.units, problem.order.edges.iter().copied());
        let mut sequence: Vec<usize> = (0..problem.order.units).collect();
        sequence.sort_unstable_by_key(|&u| place[u]);
        let nets_of = problem.nets_of();
        let pays = nets_of.iter().enumerate().map(|(unit, nets)| pays(problem, nets, unit)).collect();
        let empty: Bits = vec![0; problem.order.units.div_ceil(64)].into();
        Self {
            problem,
            work,
            nets_of,
            before,
            sequence,
            place,
            number: HashMap::from([(empty.clone(), 0)]),
            ideals: vec![Ideal { bits: empty, size: 0, rest: work.of_unit.iter().sum() }],
            above: vec![None],
            pays,
            found: Vec::new(),
            walks: 0,
            steps: 0,
        }
    }

    /// What is above an ideal. O(units + edges) at the first call, O(1) later.
    fn above(&mut self, ideal: usize) -> Above {
        if let Some(above) = &self.above[ideal] {
            return above.clone();
        }
        let Ideal { bits, size, rest } = &self.ideals[ideal];
        let (bits, size, rest) = (bits.clone(), size + 1, *rest);
        let joins = |u: &usize| !holds(&bits, *u) && self.before[*u].iter().all(|&v| holds(&bits, v));
        let joining: Vec<usize> = self.sequence.iter().copied().filter(joins).collect();
        let with = |u: usize| {
            let mut larger = bits.to_vec();
            larger[u / 64] |= 1 << (u % 64);
            let larger: Bits = larger.into();
            let number = *self.number.entry(larger.clone()).or_insert(self.ideals.len());
            if number == self.ideals.len() {
                self.ideals.push(Ideal { bits: larger, size, rest: rest - self.work.of_unit[u] });
                self.above.push(None);
            }
            (u, number)
        };
        let above: Above = joining.into_iter().map(with).collect();
        self.above[ideal] = Some(above.clone());
        above
    }

    /// The stages within the target from an ideal on. Units join in their order, so that each stage is come to once: the last
    /// one of a stage is needed by none of the others.
    fn stages<const PASSES: usize>(&mut self, from: usize, kind: &Kind) -> Result<Vec<Stage>, String> {
        let below = self.ideals[from].bits.clone();
        let none = Sums { passes: [[0; 3]; PASSES], lasting: [[0; 2]; PASSES], memory: 0, parameters: 0 };
        let (mut stages, mut open) = (Vec::new(), vec![(from, 0, none)]);
        while let Some((ideal, first, sums)) = open.pop() {
            let above = self.above(ideal);
            let later = above.iter().rev().take_while(|&&(u, _)| self.place[u] >= first);
            self.steps += later.clone().count();
            if self.ideals.len() > MOST_IDEALS || self.steps > MOST_STEPS {
                return Err(format!("it takes more than {MOST_IDEALS} ideals or {MOST_STEPS} steps"));
            }
            for &(u, larger) in later {
                let Some(times) = kind.passes(u) else { continue };
                let sums = self.join(&sums, (u, times), &below, &self.ideals[larger].bits);
                if self.may_grow(kind, larger, &sums, &mut stages) {
                    open.push((larger, self.place[u] + 1, sums));
                }
            }
        }
        if kind.most_replicas <= 1 && self.problem.objective == Objective::Throughput {
            self.drop_dominated(&mut stages);
        }
        Ok(stages)
    }

    /// Drops stages from one ideal to which a unit that pays for its own edge can be added within the target.
    fn drop_dominated(&mut self, stages: &mut Vec<Stage>) {
        self.walks += 1;
        self.found.resize(self.ideals.len(), 0);
        stages.iter().for_each(|stage| self.found[stage.to] = self.walks);
        let is_dominated =
            |above: &Above| above.iter().any(|&(u, larger)| self.pays[u] && self.found[larger] == self.walks);
        stages.retain(|stage| !self.above[stage.to].as_ref().is_some_and(is_dominated));
    }

    /// The sums of a stage that `u` joins, so that it then holds the units of `ideal` that are not `below`.
    fn join<const PASSES: usize>(
        &self,
        sums: &Sums<PASSES>,
        (u, times): (usize, [i128; 2]),
        below: &[u64],
        ideal: &[u64],
    ) -> Sums<PASSES> {
        let mut sums = *sums;
        sums.passes.iter_mut().zip(times).for_each(|(terms, time)| terms[0] += time);
        sums.memory += self.problem.memory[u];
        sums.parameters += self.problem.parameters[u];
        let is_in = |&v: &usize| holds(ideal, v) && !holds(below, v);
        for net in self.nets_of[u].iter().map(|&e| &self.problem.nets[e]) {
            let cost_if = |is_paid: bool| if is_paid { net.cost } else { 0 };
            let (terms, [lasting_in, lasting_out]) = (&mut sums.passes[net.pass], &mut sums.lasting[net.pass]);
            if net.source == u {
                terms[1] -= cost_if(net.sinks.iter().any(is_in));
                terms[2] += cost_if(!net.sinks.iter().all(is_in));
                *lasting_out += cost_if(net.sinks.iter().any(|&v| holds(below, v)));
            } else if is_in(&net.source) {
                terms[2] -= cost_if(net.sinks.iter().all(is_in));
            } else if !net.sinks.iter().any(|v| *v != u && is_in(v)) {
                terms[1] += net.cost;
                *lasting_in += cost_if(holds(below, net.source));
            }
        }
        sums
    }

    /// Adds the stage of these sums that ends at `to`, where it is within the target; whether a larger one may be.
    fn may_grow<const PASSES: usize>(
        &self,
        kind: &Kind,
        to: usize,
        sums: &Sums<PASSES>,
        stages: &mut Vec<Stage>,
    ) -> bool {
        let fits = kind.capacity.is_none_or(|capacity| sums.memory <= capacity);
        let mut may_grow = false;
        for replicas in 1..=if fits { kind.most_replicas } else { 0 } {
            let loads = |passes| self.problem.loads(kind, replicas, passes, sums.parameters);
            let largest = loads(&sums.passes);
            if self.problem.is_within(largest) {
                may_grow = true;
                stages.push(Stage { to, replicas, largest: self.problem.kept(largest) });
            } else if !may_grow {
                let lasting: [Terms; PASSES] =
                    std::array::from_fn(|p| [sums.passes[p][0], sums.lasting[p][0], sums.lasting[p][1]]);
                may_grow = self.problem.is_within(loads(&lasting));
            }
        }
        may_grow
    }
}
