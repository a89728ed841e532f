//! The reason `ideals`: no chain of ideals has stages within the target (Tarnawski et al. 2020, section 5.1.1).

use std::collections::HashMap;
use std::rc::Rc;

use crate::problem::{Kind, Problem};
use crate::question::Scope;
use crate::work::Work;

/// The most ideals that are listed, and the most uses of devices told apart.
const MOST_IDEALS: usize = 1_000_000;
const MOST_USES: usize = 4096;

/// The most ideals that are looked at from all others: about a minute.
const MOST_STEPS: usize = 300_000_000;

/// Whether no chain of stages within the target holds all units; else why not. `weights` of the kinds bound what stages to
/// come take. O(pairs of ideals within the target · kinds), and memory for all ideals.
pub fn refutes(problem: &Problem, weights: &[i128]) -> Result<(), String> {
    if problem.scope != Scope::Acyclic {
        return Err("chains of ideals are the acyclic splits alone".into());
    }
    let work = Work::new(problem, weights)?;
    let uses = Uses::new(problem, &work)?;
    let mut walk = Walk::new(problem, &work);
    // The uses of devices with which chains reach each ideal, and the ideals that are reached, by their size.
    let mut reached = vec![uses.none()];
    let mut of_size = vec![Vec::new(); problem.order.units + 1];
    of_size[0].push(0);
    for size in 0..problem.order.units {
        for from in std::mem::take(&mut of_size[size]) {
            let chains = std::mem::take(&mut reached[from]);
            for (k, kind) in problem.kinds.iter().enumerate().filter(|(_, kind)| kind.count > 0) {
                let stages = walk.stages(from, kind)?;
                reached.resize(walk.ideals.len(), Vec::new());
                for stage in stages {
                    let is_new = reached[stage.to].is_empty();
                    uses.extend(&chains, (k, &stage), &mut reached[stage.to]);
                    if is_new && !reached[stage.to].is_empty() {
                        of_size[size + stage.units].push(stage.to);
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

/// Uses of devices: for each number of devices of the other kinds the least number of the first kind, where there is any.
struct Uses {
    first: u32,
    /// What a device of the first kind does within the target.
    of_first: i128,
    /// What one device of each kind adds to an index.
    strides: Vec<usize>,
    /// For each index how many devices of each kind are left, and what those of the other kinds do.
    left: Vec<(Vec<u32>, i128)>,
}

impl Uses {
    fn new(problem: &Problem, work: &Work) -> Result<Self, String> {
        let units = problem.order.units as u32;
        let useful = |kind: &Kind| kind.count.min(units.saturating_mul(kind.most_replicas.max(1)));
        let counts: Vec<u32> = problem.kinds.iter().map(useful).collect();
        let (mut strides, mut len) = (vec![0], 1_usize);
        for &count in &counts[1..] {
            strides.push(len);
            len = len.saturating_mul(count as usize + 1);
        }
        if len > MOST_USES {
            return Err("there are too many devices of several kinds".into());
        }
        let left = (0..len).map(|index| {
            let used = |k: usize| (index / strides[k].max(1)) as u32 % (counts[k] + 1);
            let left: Vec<u32> = (0..counts.len()).map(|k| counts[k] - if k > 0 { used(k) } else { 0 }).collect();
            let others =
                left.iter().zip(&work.of_device).skip(1).map(|(&left, device)| i128::from(left) * device).sum();
            (left, others)
        });
        Ok(Self { left: left.collect(), first: counts[0], of_first: work.of_device[0], strides })
    }

    /// What the chain of no stage uses.
    fn none(&self) -> Vec<Option<u32>> {
        (0..self.left.len()).map(|index| (index == 0).then_some(0)).collect()
    }

    /// Extends chains by a stage on devices of a kind, where those that are left then may do the rest.
    fn extend(&self, chains: &[Option<u32>], (kind, stage): (usize, &Stage), reached: &mut Vec<Option<u32>>) {
        for (index, first) in chains.iter().enumerate().filter_map(|(index, first)| Some((index, (*first)?))) {
            let first = if kind == 0 { first + stage.replicas } else { first };
            if first > self.first || self.left[index].0[kind] < stage.replicas {
                continue;
            }
            let to = index + self.strides[kind] * stage.replicas as usize;
            let may_do = self.left[to].1 + i128::from(self.first - first) * self.of_first;
            if may_do >= stage.rest && reached.get(to).is_none_or(|known| known.is_none_or(|known| first < known)) {
                reached.resize(self.left.len(), None);
                reached[to] = Some(first);
            }
        }
    }
}

/// A stage within the target: the ideal that it ends at, how many units it holds and devices share it, and what the units
/// outside the ideal take at least.
struct Stage {
    to: usize,
    units: usize,
    replicas: u32,
    rest: i128,
}

/// Sums over a stage; what lasts is what every larger stage from the same ideal pays, too.
#[derive(Clone, Copy, Default)]
struct Sums {
    units: usize,
    terms: [i128; 3],
    lasting: [i128; 3],
    memory: i128,
    parameters: i128,
    rest: i128,
}

/// A set of units, as bits.
type Bits = Rc<[u64]>;

/// The units that may join an ideal, each with the ideal that results.
type Above = Rc<[(usize, usize)]>;

fn holds(bits: &[u64], unit: usize) -> bool {
    bits[unit / 64] >> (unit % 64) & 1 == 1
}

/// Looks at all ideals above one, with the stage between. Ideals are numbered as they are found, the empty one first.
struct Walk<'a> {
    problem: &'a Problem,
    work: &'a Work,
    nets_of: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    ideals: Vec<Bits>,
    number: HashMap<Bits, usize>,
    /// What is above each ideal, once that has been asked for.
    above: Vec<Option<Above>>,
    /// The last walk that came to an ideal, and how many there were.
    seen: Vec<usize>,
    walks: usize,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, work: &'a Work) -> Self {
        let mut before = vec![Vec::new(); problem.order.units];
        problem.order.edges.iter().for_each(|&(a, b)| before[b].push(a));
        let empty: Bits = vec![0; problem.order.units.div_ceil(64)].into();
        Self {
            problem,
            work,
            nets_of: problem.nets_of(),
            before,
            number: HashMap::from([(empty.clone(), 0)]),
            ideals: vec![empty],
            above: vec![None],
            seen: vec![0],
            walks: 0,
            steps: 0,
        }
    }

    /// What is above an ideal. O(units + edges) at the first call, O(1) later.
    fn above(&mut self, ideal: usize) -> Above {
        if let Some(above) = &self.above[ideal] {
            return above.clone();
        }
        let bits = self.ideals[ideal].clone();
        let joins = |u: &usize| !holds(&bits, *u) && self.before[*u].iter().all(|&v| holds(&bits, v));
        let joining: Vec<usize> = (0..self.before.len()).filter(joins).collect();
        let with = |u: usize| {
            let mut larger = bits.to_vec();
            larger[u / 64] |= 1 << (u % 64);
            let larger: Bits = larger.into();
            let number = *self.number.entry(larger.clone()).or_insert(self.ideals.len());
            if number == self.ideals.len() {
                self.ideals.push(larger);
                self.above.push(None);
                self.seen.push(0);
            }
            (u, number)
        };
        let above: Above = joining.into_iter().map(with).collect();
        self.above[ideal] = Some(above.clone());
        above
    }

    /// The stages within the target from an ideal on.
    fn stages(&mut self, from: usize, kind: &Kind) -> Result<Vec<Stage>, String> {
        self.walks += 1;
        let below = self.ideals[from].clone();
        let outside = self.work.of_unit.iter().enumerate().filter(|&(u, _)| !holds(&below, u));
        let empty = Sums { rest: outside.map(|(_, least)| least).sum(), ..Sums::default() };
        let (mut stages, mut open) = (Vec::new(), vec![(from, empty)]);
        while let Some((ideal, sums)) = open.pop() {
            let above = self.above(ideal);
            self.steps += above.len();
            if self.ideals.len() > MOST_IDEALS || self.steps > MOST_STEPS {
                return Err(format!("it takes more than {MOST_IDEALS} ideals or {MOST_STEPS} steps"));
            }
            for &(u, larger) in above.iter() {
                let is_new = std::mem::replace(&mut self.seen[larger], self.walks) < self.walks;
                let Some(time) = kind.time[u].filter(|_| is_new) else { continue };
                let sums = self.join(sums, (u, time), &below, &self.ideals[larger]);
                if self.may_grow(kind, larger, &sums, &mut stages) {
                    open.push((larger, sums));
                }
            }
        }
        Ok(stages)
    }

    /// The sums of a stage that `u` joins, so that it then holds the units of `ideal` that are not `below`.
    fn join(&self, mut sums: Sums, (u, time): (usize, i128), below: &[u64], ideal: &[u64]) -> Sums {
        sums.units += 1;
        sums.terms[0] += time;
        sums.lasting[0] += time;
        sums.memory += self.problem.memory[u];
        sums.parameters += self.problem.parameters[u];
        sums.rest -= self.work.of_unit[u];
        let is_in = |&v: &usize| holds(ideal, v) && !holds(below, v);
        for net in self.nets_of[u].iter().map(|&e| &self.problem.nets[e]) {
            let cost_if = |is_paid: bool| if is_paid { net.cost } else { 0 };
            if net.source == u {
                sums.terms[1] -= cost_if(net.sinks.iter().any(is_in));
                sums.terms[2] += cost_if(!net.sinks.iter().all(is_in));
                sums.lasting[2] += cost_if(net.sinks.iter().any(|&v| holds(below, v)));
            } else if is_in(&net.source) {
                sums.terms[2] -= cost_if(net.sinks.iter().all(is_in));
            } else if !net.sinks.iter().any(|v| *v != u && is_in(v)) {
                sums.terms[1] += net.cost;
                sums.lasting[1] += cost_if(holds(below, net.source));
            }
        }
        sums
    }

    /// Adds the stage of these sums that ends at `to`, where it is within the target; whether a larger one may be.
    fn may_grow(&self, kind: &Kind, to: usize, sums: &Sums, stages: &mut Vec<Stage>) -> bool {
        let fits = kind.capacity.is_none_or(|capacity| sums.memory <= capacity);
        let mut may_grow = false;
        for replicas in 1..=if fits { kind.most_replicas } else { 0 } {
            let is_within = |terms| self.problem.load(kind, replicas, terms, sums.parameters) <= self.problem.target;
            may_grow |= is_within(&sums.lasting);
            if is_within(&sums.terms) {
                stages.push(Stage { to, units: sums.units, replicas, rest: sums.rest });
            }
        }
        may_grow
    }
}
