//! The reason `ideals`: no chain of ideals has stages within the target (Tarnawski et al. 2020, section 5.1.1).

use std::collections::{BTreeSet, HashMap};
use std::mem::take;
use std::rc::Rc;

use crate::Result;
use crate::problem::{Kind, Net, Problem, Terms};
use crate::question::{Objective, Question, Scope};
use crate::work::weighted;

/// The most ideals that are listed, chains that reach one of them, and kinds of devices of which these tell how many are left.
const MOST_IDEALS: usize = 1_000_000;
const MOST_CHAINS: usize = 4096;
const MOST_KINDS: usize = 8;

/// The most ideals that are looked at from all others: about a minute.
const MOST_STEPS: usize = 300_000_000;

/// Whether no chain of stages within the target holds all units of the `whole` problem; else why not. `weights` of the kinds
/// bound what stages to come take. O(pairs of ideals within the target · kinds), and memory for all ideals.
pub fn refutes(whole: &Problem, weights: &[i128]) -> Result<()> {
    if whole.question.objective == Objective::Gpipe {
        // No split is within the target where the load of no device is, of both passes together.
        let alone = Question { objective: Objective::Throughput, ..whole.question.clone() };
        if refutes(&Problem::new(whole.instance, &alone)?, weights).is_ok() {
            return Ok(());
        }
    }
    ensure!(whole.question.scope == Scope::Acyclic, "chains of ideals are the acyclic splits alone");
    ensure!(whole.kinds.len() <= MOST_KINDS, "there are more than {MOST_KINDS} kinds of devices");
    let problem = &Problem::of_order(whole.instance, whole.question, whole.order.joined(&hosts(whole)))?;
    let mut walk = Walk::new(problem, weighted(problem, weights)?);
    for size in 0..problem.order.units {
        // Larger ideals alone are found from here on.
        for from in take(&mut walk.of_size[size]) {
            walk.leave(from)?;
        }
    }
    let is_whole_reached = walk.of_size[problem.order.units].iter().any(|&ideal| !walk.ideals[ideal].chains.is_empty());
    ensure!(!is_whole_reached, "a chain of ideals has every load within the target");
    Ok(())
}

/// For each unit the one whose device it may share: itself or, for a leaf that costs nothing, the one at which that hangs. Once a
/// leaf is gone its neighbour may be one. O(leaves · units + nets · sinks · log units).
fn hosts(problem: &Problem) -> Vec<usize> {
    // The units that each one is ordered with, or shares a net with as maker and reader.
    let mut neighbours = vec![BTreeSet::new(); problem.order.units];
    let of_nets = problem.nets.iter().flat_map(|net| net.sinks.iter().map(|&sink| (net.source, sink)));
    for (a, b) in problem.order.between_units().chain(of_nets) {
        neighbours[a].insert(b);
        neighbours[b].insert(a);
    }
    let is_roomy = problem.kinds.iter().all(|kind| kind.capacity.is_none());
    let is_free = |u: usize| {
        let takes_no_time = problem.present().all(|(_, kind)| kind.time(u) == Some(0));
        takes_no_time && problem.parameters[u] == 0 && (is_roomy || problem.memory[u] == 0)
    };
    let mut hosts: Vec<usize> = (0..problem.order.units).collect();
    while let Some(leaf) = (0..hosts.len()).find(|&u| neighbours[u].len() == 1 && is_free(u)) {
        for neighbour in take(&mut neighbours[leaf]) {
            neighbours[neighbour].remove(&leaf);
            hosts.iter_mut().filter(|host| **host == leaf).for_each(|host| *host = neighbour);
        }
    }
    hosts
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

/// Sums over a stage for each pass; of in and out some last: every larger stage from the same ideal pays these, too.
#[derive(Clone, Copy, Default)]
struct Sums {
    passes: [Terms; 2],
    lasting: [Terms; 2],
    memory: i128,
    parameters: i128,
}

impl Sums {
    /// Whether a stage asks no more with a unit that adds so much than without it, and so does every larger one.
    fn is_free(&self, kind: &Kind) -> bool {
        let takes_room = self.memory > 0 && kind.capacity.is_some();
        !takes_room && self.parameters == 0 && self.passes.iter().all(|terms| kind.load(terms) <= 0)
    }
}

/// A set of units, as bits.
type Bits = Rc<[u64]>;

fn holds(bits: &[u64], unit: usize) -> bool {
    bits[unit / 64] >> (unit % 64) & 1 == 1
}

/// An ideal: its units, what those outside take at least, and the chains that reach it.
struct Ideal {
    bits: Bits,
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
    /// What each unit takes at least, and what a device of each kind does.
    of_unit: Vec<i128>,
    of_device: Vec<i128>,
    nets_of: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    ideals: Vec<Ideal>,
    number: HashMap<Bits, usize>,
    /// The ideals of so many units.
    of_size: Vec<Vec<usize>>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, (of_unit, of_device): (Vec<i128>, Vec<i128>)) -> Self {
        let units = problem.order.units;
        let (mut before, of_size) = (vec![Vec::new(); units], vec![Vec::new(); units + 1]);
        problem.order.between_units().for_each(|(a, b)| before[b].push(a));
        let (ideals, number, nets_of) = (Vec::new(), HashMap::new(), problem.nets_of());
        let mut walk = Self { problem, of_unit, of_device, nets_of, before, ideals, number, of_size, steps: 0 };
        let empty = walk.found(vec![0; units.div_ceil(64)].into(), walk.of_unit.iter().sum());
        let left = std::array::from_fn(|k| problem.kinds.get(k).map_or(0, |kind| kind.count));
        walk.ideals[empty].chains.push(Chain { left, largest: [0; 2] });
        walk
    }

    /// The number of an ideal of these units.
    fn found(&mut self, bits: Bits, rest: i128) -> usize {
        let fresh = self.ideals.len();
        let number = *self.number.entry(bits.clone()).or_insert(fresh);
        if number == fresh {
            let size: u32 = bits.iter().map(|word| word.count_ones()).sum();
            self.of_size[size as usize].push(number);
            self.ideals.push(Ideal { bits, rest, chains: Vec::new(), above: None });
        }
        number
    }

    /// What is above an ideal. O(units + edges + nets) at the first call, O(1) later.
    fn above(&mut self, ideal: usize) -> Rc<[Join]> {
        let Ideal { ref bits, rest, ref above, .. } = self.ideals[ideal];
        if let Some(above) = above {
            return above.clone();
        }
        let bits = bits.clone();
        let may_join = |u: &usize| !holds(&bits, *u) && self.before[*u].iter().all(|&v| holds(&bits, v));
        let joining: Vec<usize> = (0..self.problem.order.units).filter(may_join).collect();
        let join = |unit: usize| {
            let mut larger = bits.to_vec();
            larger[unit / 64] |= 1 << (unit % 64);
            let to = self.found(larger.into(), rest - self.of_unit[unit]);
            Join { unit, to, pays: self.pays(unit, &bits) }
        };
        let above: Rc<[Join]> = joining.into_iter().map(join).collect();
        self.ideals[ideal].above = Some(above.clone());
        above
    }

    /// Whether a unit pays for its edge where it joins an ideal: whatever later stage it leaves for it, on each kind of device,
    /// has no larger load, in each pass. None gains more than the stage of all units outside. O(nets of the unit · their sinks).
    fn pays(&self, unit: usize, ideal: &[u64]) -> bool {
        let mut outside: Vec<u64> = ideal.iter().map(|word| !word).collect();
        outside[unit / 64] &= !(1 << (unit % 64));
        let is_paid = |(kind, times): (&Kind, _)| {
            let lost = self.join(Sums::default(), unit, times, ideal, &outside);
            lost.passes.iter().all(|&[time, into, out]| kind.load(&[-time, -into, -out]) <= 0)
        };
        self.problem.present().filter_map(|(_, kind)| Some((kind, kind.time[unit]?))).all(is_paid)
    }

    /// Has the chains that reach an ideal go on, but for those that may be left out for one that holds a unit besides.
    fn leave(&mut self, ideal: usize) -> Result<()> {
        let mut chains = take(&mut self.ideals[ideal].chains);
        if !chains.is_empty() {
            let above = self.above(ideal);
            let better = || above.iter().filter(|join| join.pays).flat_map(|join| &self.ideals[join.to].chains);
            chains.retain(|chain| !better().any(|other| other.is_as_good(chain)));
        }
        let mut present = self.problem.present().filter(|_| !chains.is_empty());
        present.try_for_each(|(k, _)| self.extend(&chains, ideal, k))
    }

    /// Extends chains that reach an ideal by all stages within the target on a kind of device, but for those that a unit can join
    /// at no loss. Units join by ascending number, so that each stage is come to once: its last one is needed by none of the others.
    fn extend(&mut self, chains: &[Chain], from: usize, k: usize) -> Result<()> {
        let (kind, below) = (&self.problem.kinds[k], self.ideals[from].bits.clone());
        let mut open = vec![(from, 0, Sums::default())];
        while let Some((ideal, first, sums)) = open.pop() {
            let stages = self.within(kind, &sums, &sums.passes);
            if stages.is_empty() && self.within(kind, &sums, &sums.lasting).is_empty() {
                continue;
            }
            let above = self.above(ideal);
            self.steps += above.len();
            let is_small = self.ideals.len() <= MOST_IDEALS && self.steps <= MOST_STEPS;
            ensure!(is_small, "it takes more than {MOST_IDEALS} ideals or {MOST_STEPS} steps");
            let bits = self.ideals[ideal].bits.iter();
            let inside: Vec<u64> = bits.zip(&below[..]).map(|(all, below)| all & !below).collect();
            let with = |sums: Sums, to: &Join| Some(self.join(sums, to.unit, kind.time[to.unit]?, &below, &inside));
            let mut idle = above.iter().filter(|join| join.pays && kind.time[join.unit] == Some([0; 2]));
            let is_free = |join: &&Join| with(Sums::default(), join).is_some_and(|more| more.is_free(kind));
            if let Some(free) = idle.find(is_free) {
                // What is without it is left out, and so is all where it was to stay outside.
                open.extend(with(sums, free).filter(|_| free.unit >= first).map(|sums| (free.to, first, sums)));
                continue;
            }
            let later = above.iter().filter(|join| join.unit >= first);
            open.extend(later.filter_map(|join| Some((join.to, join.unit + 1, with(sums, join)?))));
            for (replicas, loads) in stages.into_iter().filter(|_| ideal != from) {
                let mut front = take(&mut self.ideals[ideal].chains);
                let longer = chains.iter().filter_map(|chain| self.longer(chain, ideal, k, replicas, loads));
                longer.for_each(|chain| keep(chain, &mut front));
                ensure!(front.len() <= MOST_CHAINS, "more than {MOST_CHAINS} chains reach an ideal");
                self.ideals[ideal].chains = front;
            }
        }
        Ok(())
    }

    /// The stages of these sums within the target, where its devices ask what these passes make of it: how many share it, and the
    /// loads.
    fn within(&self, kind: &Kind, sums: &Sums, passes: &[Terms; 2]) -> Vec<(u32, [i128; 2])> {
        let fits = kind.capacity.is_none_or(|capacity| sums.memory <= capacity);
        let shared = 1..=if fits { kind.most_replicas } else { 0 };
        let stages = shared.map(|replicas| (replicas, self.problem.loads(kind, replicas, passes, sums.parameters)));
        stages.filter(|&(_, loads)| self.problem.is_within(loads)).collect()
    }

    /// The chain with another stage up to an ideal, where the devices that are left then may do the rest.
    fn longer(&self, chain: &Chain, to: usize, kind: usize, replicas: u32, loads: [i128; 2]) -> Option<Chain> {
        let mut longer = *chain;
        longer.left[kind] = chain.left[kind].checked_sub(replicas)?;
        if self.problem.question.objective == Objective::Gpipe {
            longer.largest = [0, 1].map(|pass| chain.largest[pass].max(loads[pass]));
        }
        let devices = longer.left.iter().zip(&self.of_device);
        let most: i128 = devices.map(|(&left, device)| i128::from(left) * device).sum();
        (most >= self.ideals[to].rest && self.problem.is_within(longer.largest)).then_some(longer)
    }

    /// What the sums of a stage of the units `inside`, from an ideal of those `below` on, are once `u` joins it.
    fn join(&self, mut sums: Sums, u: usize, times: [i128; 2], below: &[u64], inside: &[u64]) -> Sums {
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
}
