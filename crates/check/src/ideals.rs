//! The reason `ideals`: no chain of ideals has stages within the target (Tarnawski et al. 2020, section 5.1.1).

use std::collections::HashMap;
use std::rc::Rc;

use crate::Result;
use crate::leaves;
use crate::order::components;
use crate::problem::{Kind, Net, Problem, Terms};
use crate::question::{Question, Scope};
use crate::work::Work;

/// The most ideals that are listed, chains that reach one of them, and kinds of devices of which these tell how many are left.
const MOST_IDEALS: usize = 1_000_000;
const MOST_CHAINS: usize = 4096;
const MOST_KINDS: usize = 8;

/// The most ideals that are looked at from all others: about a minute.
const MOST_STEPS: usize = 300_000_000;

/// Whether no chain of stages within the target holds all units of the `whole` problem; else why not. `weights` of the kinds
/// bound what stages to come take. O(pairs of ideals within the target · kinds), and memory for all ideals.
pub fn refutes(whole: &Problem, weights: &[i128]) -> Result<()> {
    if whole.question.is_gpipe {
        // No split is within the target where the load of no device is, of both passes together.
        let alone = Question { is_gpipe: false, ..whole.question.clone() };
        if refutes(&Problem::new(whole.instance, &alone)?, weights).is_ok() {
            return Ok(());
        }
    }
    ensure!(whole.question.scope == Scope::Acyclic, "chains of ideals are the acyclic splits alone");
    ensure!(whole.kinds.len() <= MOST_KINDS, "there are more than {MOST_KINDS} kinds of devices");
    let problem = &whole.joined(&leaves::hosts(whole))?;
    let mut walk = Walk::new(problem, Work::new(problem, weights)?);
    for size in 0..problem.order.units {
        // Larger ideals alone are found from here on.
        for from in std::mem::take(&mut walk.of_size[size]) {
            let shorter = walk.taken(from);
            for (k, kind) in problem.present().filter(|_| !shorter.is_empty()) {
                for stage in walk.stages(from, kind)? {
                    let mut front = std::mem::take(&mut walk.ideals[stage.to].chains);
                    let longer = shorter.iter().filter_map(|chain| walk.longer(chain, k, &stage));
                    longer.for_each(|chain| keep(chain, &mut front));
                    ensure!(front.len() <= MOST_CHAINS, "more than {MOST_CHAINS} chains reach an ideal");
                    walk.ideals[stage.to].chains = front;
                }
            }
        }
    }
    let is_reached = |&ideal: &usize| !walk.ideals[ideal].chains.is_empty();
    let is_whole_reached = walk.of_size[problem.order.units].iter().any(is_reached);
    ensure!(!is_whole_reached, "a chain of ideals has every load within the target");
    Ok(())
}

/// A chain of stages, as far as what follows it goes: how many devices of each kind it leaves, and for GPipe the largest loads
/// of its passes.
#[derive(Clone, Copy)]
struct Chain {
    left: [u32; MOST_KINDS],
    largest: [i128; 2],
}

impl Chain {
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

/// A stage within the target: the ideal that it ends at, how many devices share it, and the loads of its passes.
struct Stage {
    to: usize,
    replicas: u32,
    loads: [i128; 2],
}

/// Sums over a stage for each pass; of in and out some last: every larger stage from the same ideal pays these, too.
#[derive(Clone, Copy, Default)]
struct Sums {
    passes: [Terms; 2],
    lasting: [Terms; 2],
    memory: i128,
    parameters: i128,
}

/// A set of units, as bits.
type Bits = Rc<[u64]>;

fn holds(bits: &[u64], unit: usize) -> bool {
    bits[unit / 64] >> (unit % 64) & 1 == 1
}

/// An ideal: its units, how many they are, what those outside take at least, and the chains that reach it.
struct Ideal {
    bits: Bits,
    size: usize,
    rest: i128,
    chains: Vec<Chain>,
    /// The units that may join, once that has been asked for.
    above: Option<Rc<[Join]>>,
}

/// A unit that may join an ideal, the ideal that results, and whether it pays for its edge there.
struct Join {
    unit: usize,
    to: usize,
    pays: bool,
}

/// Looks at all ideals above one, with the stage between. Ideals are numbered as they are found, the empty one first.
struct Walk<'a> {
    problem: &'a Problem<'a>,
    work: Work,
    nets_of: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// The place of each unit in an order in which they follow what they need.
    place: Vec<usize>,
    ideals: Vec<Ideal>,
    number: HashMap<Bits, usize>,
    /// The ideals of so many units.
    of_size: Vec<Vec<usize>>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, work: Work) -> Self {
        let mut before = vec![Vec::new(); problem.order.units];
        problem.order.between_units().for_each(|(a, b)| before[b].push(a));
        let place = components(problem.order.units, problem.order.between_units());
        let bits: Bits = vec![0; problem.order.units.div_ceil(64)].into();
        let number = HashMap::from([(bits.clone(), 0)]);
        let left = std::array::from_fn(|k| problem.kinds.get(k).map_or(0, |kind| kind.count));
        let chains = vec![Chain { left, largest: [0; 2] }];
        let ideals = vec![Ideal { bits, size: 0, rest: work.of_unit.iter().sum(), chains, above: None }];
        let mut of_size = vec![Vec::new(); problem.order.units + 1];
        of_size[0].push(0);
        Self { problem, work, nets_of: problem.nets_of(), before, place, ideals, number, of_size, steps: 0 }
    }

    /// Takes the chains that reach an ideal, without those that may be left out for one that holds a unit besides.
    fn taken(&mut self, ideal: usize) -> Vec<Chain> {
        let mut chains = std::mem::take(&mut self.ideals[ideal].chains);
        if !chains.is_empty() {
            let above = self.above(ideal);
            let better = || above.iter().filter(|join| join.pays).flat_map(|join| &self.ideals[join.to].chains);
            chains.retain(|chain| !better().any(|other| other.is_as_good(chain)));
        }
        chains
    }

    /// The chain with another stage on devices of a kind, where those that are left then may do the rest.
    fn longer(&self, chain: &Chain, kind: usize, stage: &Stage) -> Option<Chain> {
        let mut longer = *chain;
        longer.left[kind] = chain.left[kind].checked_sub(stage.replicas)?;
        if self.problem.question.is_gpipe {
            longer.largest = [0, 1].map(|pass| chain.largest[pass].max(stage.loads[pass]));
        }
        let devices = longer.left.iter().zip(&self.work.of_device);
        let most: i128 = devices.map(|(&left, device)| i128::from(left) * device).sum();
        (most >= self.ideals[stage.to].rest && self.problem.is_within(longer.largest)).then_some(longer)
    }

    /// What is above an ideal. O(units + edges + nets) at the first call, O(1) later.
    fn above(&mut self, ideal: usize) -> Rc<[Join]> {
        if let Some(above) = &self.ideals[ideal].above {
            return above.clone();
        }
        let Ideal { ref bits, size, rest, .. } = self.ideals[ideal];
        let bits = bits.clone();
        let may_join = |u: &usize| !holds(&bits, *u) && self.before[*u].iter().all(|&v| holds(&bits, v));
        let mut joining: Vec<usize> = (0..self.problem.order.units).filter(may_join).collect();
        joining.sort_unstable_by_key(|&u| self.place[u]);
        let with = |unit: usize| {
            let mut larger = bits.to_vec();
            larger[unit / 64] |= 1 << (unit % 64);
            let larger: Bits = larger.into();
            let to = *self.number.entry(larger.clone()).or_insert(self.ideals.len());
            if to == self.ideals.len() {
                let rest = rest - self.work.of_unit[unit];
                self.ideals.push(Ideal { bits: larger, size: size + 1, rest, chains: Vec::new(), above: None });
                self.of_size[size + 1].push(to);
            }
            Join { unit, to, pays: self.pays(unit, &bits) }
        };
        let above: Rc<[Join]> = joining.into_iter().map(with).collect();
        self.ideals[ideal].above = Some(above.clone());
        above
    }

    /// Whether a unit pays for its edge where it joins an ideal: whatever later stage it leaves for it, on each kind of device,
    /// has no larger load, in each pass. O(nets of the unit · their sinks).
    fn pays(&self, unit: usize, ideal: &[u64]) -> bool {
        let mut gained = [Terms::default(); 2];
        for net in self.nets_of[unit].iter().map(|&e| &self.problem.nets[e]) {
            let [_, into, out] = &mut gained[net.pass];
            let in_ideal = |v: &usize| holds(ideal, *v);
            if net.source == unit {
                // What it sends to a later unit may come in, and is no longer sent to those that are in the ideal.
                *into += if net.sinks.iter().all(in_ideal) { 0 } else { net.cost };
                *out -= if net.sinks.iter().any(in_ideal) { net.cost } else { 0 };
            } else if !in_ideal(&net.source) {
                *out += net.cost;
            } else if net.sinks.iter().all(|v| *v == unit || in_ideal(v)) {
                *into -= net.cost;
            }
        }
        let mut able = self.problem.present().filter_map(|(_, kind)| Some((kind, kind.time[unit]?)));
        let is_paid = |kind: &Kind, time: i128, [_, into, out]: Terms| kind.load(&[-time, into, out]) <= 0;
        able.all(|(kind, times)| is_paid(kind, times[0], gained[0]) && is_paid(kind, times[1], gained[1]))
    }

    /// The stages within the target from an ideal on, but for those that a unit can join at no loss. Units join in their order,
    /// so that each stage is come to once: the last one of a stage is needed by none of the others.
    fn stages(&mut self, from: usize, kind: &Kind) -> Result<Vec<Stage>> {
        let below = self.ideals[from].bits.clone();
        let (mut stages, mut open) = (Vec::new(), vec![(from, 0, Sums::default())]);
        while let Some((ideal, first, sums)) = open.pop() {
            let (known, others) = (stages.len(), open.len());
            if !self.may_grow(kind, ideal, &sums, &mut stages) {
                continue;
            }
            let above = self.above(ideal);
            self.steps += above.len();
            let is_small = self.ideals.len() <= MOST_IDEALS && self.steps <= MOST_STEPS;
            ensure!(is_small, "it takes more than {MOST_IDEALS} ideals or {MOST_STEPS} steps");
            let bits = self.ideals[ideal].bits.iter();
            let inside: Vec<u64> = bits.zip(&below[..]).map(|(all, below)| all & !below).collect();
            for &Join { unit, to, pays } in above.iter() {
                let (Some(times), place) = (kind.time[unit], self.place[unit]) else { continue };
                let may_be_free = pays && times == [0; 2];
                if place < first && !may_be_free {
                    continue;
                }
                let with = self.join(sums, (unit, times), &below, &inside);
                if may_be_free && is_free(kind, &sums, &with) {
                    // What is without it is left out, and so is all where it was to stay outside.
                    stages.truncate(known);
                    open.truncate(others);
                    open.extend((place >= first).then_some((to, first, with)));
                    break;
                }
                if place >= first {
                    open.push((to, place + 1, with));
                }
            }
        }
        stages.retain(|stage| stage.to != from);
        Ok(stages)
    }

    /// What the sums of a stage of the units `inside`, from an ideal of those `below` on, are once `u` joins it.
    fn join(&self, mut sums: Sums, (u, times): (usize, [i128; 2]), below: &[u64], inside: &[u64]) -> Sums {
        for (pass, time) in times.into_iter().enumerate() {
            sums.passes[pass][0] += time;
            sums.lasting[pass][0] += time;
        }
        sums.memory += self.problem.memory[u];
        sums.parameters += self.problem.parameters[u];
        for &Net { source, ref sinks, cost, pass } in self.nets_of[u].iter().map(|&e| &self.problem.nets[e]) {
            let cost_if = |is_paid: bool| if is_paid { cost } else { 0 };
            let (terms, lasting) = (&mut sums.passes[pass], &mut sums.lasting[pass]);
            let is_read = sinks.iter().any(|&v| holds(inside, v));
            if source == u {
                terms[1] -= cost_if(is_read);
                terms[2] += cost_if(!sinks.iter().all(|&v| holds(inside, v)));
                lasting[2] += cost_if(sinks.iter().any(|&v| holds(below, v)));
            } else if holds(inside, source) {
                terms[2] -= cost_if(sinks.iter().all(|&v| v == u || holds(inside, v)));
            } else if !is_read {
                terms[1] += cost;
                lasting[1] += cost_if(holds(below, source));
            }
        }
        sums
    }

    /// Adds the stage of these sums that ends at `to`, where it is within the target; whether a larger one may be.
    fn may_grow(&self, kind: &Kind, to: usize, sums: &Sums, stages: &mut Vec<Stage>) -> bool {
        let fits = kind.capacity.is_none_or(|capacity| sums.memory <= capacity);
        let mut may_grow = false;
        for replicas in 1..=if fits { kind.most_replicas } else { 0 } {
            let loads = |passes| self.problem.loads(kind, replicas, passes, sums.parameters);
            let own = loads(&sums.passes);
            let is_within = self.problem.is_within(own);
            stages.extend(is_within.then_some(Stage { to, replicas, loads: own }));
            may_grow = may_grow || is_within || self.problem.is_within(loads(&sums.lasting));
        }
        may_grow
    }
}

/// Whether a stage asks no more with a unit than without it, and so does every larger one.
fn is_free(kind: &Kind, without: &Sums, with: &Sums) -> bool {
    let more = |pass: usize| [0, 1, 2].map(|i| with.passes[pass][i] - without.passes[pass][i]);
    let takes_room = with.memory > without.memory && kind.capacity.is_some();
    let is_no_more = kind.load(&more(0)) <= 0 && kind.load(&more(1)) <= 0;
    is_no_more && with.parameters == without.parameters && !takes_room
}
