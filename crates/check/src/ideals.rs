//! The reason `ideals`: no chain of ideals has stages within the target (Tarnawski et al. 2020, section 5.1.1).

use crate::lattice::{Above, Lattice, holds};
use crate::problem::{Kind, Problem, Terms};
use crate::question::Scope;
use crate::work::Work;

/// The most ideals that are listed, and the most uses of devices told apart.
const MOST_IDEALS: usize = 1_000_000;
const MOST_USES: usize = 4096;

/// The most steps of all walks: about a minute.
const MOST_STEPS: u64 = 300_000_000;

/// Says that a number of devices is not reached.
const NEVER: u32 = u32::MAX;

/// Whether no chain of stages within the target holds all units. `weights` of the kinds bound what stages to come take.
///
/// O(pairs of ideals within the target · kinds) and memory for all ideals.
///
/// # Errors
/// There is such a chain, or the problem is too large for this reason.
pub fn refutes(problem: &Problem, weights: &[i128]) -> Result<(), String> {
    if problem.scope != Scope::Acyclic {
        return Err("chains of ideals are the acyclic splits alone".into());
    }
    let work = Work::new(problem, weights)?;
    let uses = Uses::new(problem)?;
    let mut walk = Walk::new(problem, &work);
    // The uses of devices with which chains reach each ideal, and the ideals that are reached, by their size.
    let mut reached = vec![uses.none()];
    let mut of_size = vec![Vec::new(); problem.order.units + 1];
    of_size[0].push(0);
    for size in 0..problem.order.units {
        for from in std::mem::take(&mut of_size[size]) {
            let chains = std::mem::take(&mut reached[from]);
            for (k, kind) in problem.kinds.iter().enumerate().filter(|(_, kind)| kind.count > 0) {
                walk.run(from, kind, &mut |stage| {
                    if reached.len() <= stage.to {
                        reached.resize(stage.to + 1, Vec::new());
                    }
                    let known = &mut reached[stage.to];
                    let is_new = known.is_empty();
                    uses.extend(&chains, (k, stage.replicas), known, &mut |left| may_do(&work, left) >= stage.rest);
                    if is_new && !known.is_empty() {
                        of_size[size + stage.units].push(stage.to);
                    }
                })?;
            }
        }
    }
    match of_size[problem.order.units].is_empty() {
        true => Ok(()),
        false => Err("a chain of ideals has every load within the target".into()),
    }
}

/// How much the devices left do within the target.
fn may_do(work: &Work, left: &[u32]) -> i128 {
    left.iter().zip(&work.of_device).map(|(&left, device)| i128::from(left) * device).sum()
}

/// What the units outside an ideal take at least.
fn rest(work: &Work, bits: &[u64]) -> i128 {
    work.of_unit.iter().enumerate().filter(|&(u, _)| !holds(bits, u)).map(|(_, least)| least).sum()
}

/// Uses of devices: for each number of devices of the other kinds the least number of the first kind.
struct Uses {
    counts: Vec<u32>,
    /// What one device of each kind but the first adds to an index.
    strides: Vec<usize>,
    len: usize,
}

impl Uses {
    fn new(problem: &Problem) -> Result<Self, String> {
        let useful =
            |kind: &Kind| kind.count.min((problem.order.units as u32).saturating_mul(kind.most_replicas.max(1)));
        let counts: Vec<u32> = problem.kinds.iter().map(useful).collect();
        let (mut strides, mut len) = (vec![0], 1_usize);
        for &count in &counts[1..] {
            strides.push(len);
            len = len.saturating_mul(count as usize + 1);
        }
        if len > MOST_USES {
            return Err("there are too many devices of several kinds".into());
        }
        Ok(Self { counts, strides, len })
    }

    /// What the chain of no stage uses.
    fn none(&self) -> Vec<u32> {
        let mut none = vec![NEVER; self.len];
        none[0] = 0;
        none
    }

    /// Extends chains by a stage, where `is_enough` says that the devices left may do what is left.
    fn extend(
        &self,
        chains: &[u32],
        (kind, replicas): (usize, u32),
        reached: &mut Vec<u32>,
        is_enough: &mut dyn FnMut(&[u32]) -> bool,
    ) {
        let mut left = self.counts.clone();
        for (index, &first) in chains.iter().enumerate().filter(|&(_, &first)| first != NEVER) {
            left[0] = self.counts[0] - first;
            for ((left, count), stride) in left.iter_mut().zip(&self.counts).zip(&self.strides).skip(1) {
                *left = count - (index / stride) as u32 % (count + 1);
            }
            if left[kind] < replicas {
                continue;
            }
            left[kind] -= replicas;
            let first = self.counts[0] - left[0];
            let to = index + self.strides[kind] * replicas as usize;
            if reached.get(to).is_some_and(|&known| known <= first) || !is_enough(&left) {
                continue;
            }
            if reached.is_empty() {
                reached.resize(self.len, NEVER);
            }
            reached[to] = reached[to].min(first);
        }
    }
}

/// A stage within the target.
struct Stage {
    /// The ideal that it ends at.
    to: usize,
    /// How many units it holds.
    units: usize,
    /// How many devices share it.
    replicas: u32,
    /// What the units outside the ideal take at least.
    rest: i128,
}

/// How a net lies to the stage.
#[derive(Clone, Copy, Default)]
struct Pins {
    is_source_below: bool,
    is_source_in: bool,
    sinks_in: usize,
    sinks_below: usize,
}

/// Sums over the stage; what lasts is what every larger stage of the walk pays, too.
#[derive(Clone, Copy, Default)]
struct Sums {
    terms: Terms,
    lasting: Terms,
    memory: i128,
    parameters: i128,
    /// What the units outside the stage's ideal take at least.
    rest: i128,
}

/// An ideal on the way of a walk.
struct Step {
    above: Above,
    /// The unit that led to it.
    joined: Option<usize>,
    sums: Sums,
    /// The next ideal above to look at.
    next: usize,
}

/// A walk through all ideals above one, each looked at once, with the stage between.
struct Walk<'a> {
    problem: &'a Problem,
    work: &'a Work,
    lattice: Lattice,
    /// The nets that each unit makes or needs.
    nets_of: Vec<Vec<usize>>,
    pins: Vec<Pins>,
    /// For each unit that is not to join, the depth of the walk from which on; else 0.
    excluded: Vec<usize>,
    /// How many ideals were looked at.
    steps: u64,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, work: &'a Work) -> Self {
        let mut nets_of = vec![Vec::new(); problem.order.units];
        for (e, net) in problem.nets.iter().enumerate() {
            net.sinks.iter().chain([&net.source]).for_each(|&u| nets_of[u].push(e));
        }
        let pins = vec![Pins::default(); problem.nets.len()];
        let lattice = Lattice::new(&problem.order);
        Self { problem, work, lattice, nets_of, pins, excluded: vec![0; problem.order.units], steps: 0 }
    }

    /// Tells of each stage within the target above the ideal `from`.
    fn run(&mut self, from: usize, kind: &Kind, tell: &mut dyn FnMut(Stage)) -> Result<(), String> {
        for (pins, net) in self.pins.iter_mut().zip(&self.problem.nets) {
            let below = |u: usize| holds(self.lattice.bits(from), u);
            let sinks_below = net.sinks.iter().filter(|&&u| below(u)).count();
            *pins = Pins { is_source_below: below(net.source), sinks_below, ..Pins::default() };
        }
        let sums = Sums { rest: rest(self.work, self.lattice.bits(from)), ..Sums::default() };
        let mut path = vec![Step { above: self.lattice.above(from), joined: None, sums, next: 0 }];
        while let Some(step) = path.last_mut() {
            let (sums, next) = (step.sums, step.next);
            step.next += 1;
            let Some(&(u, larger)) = step.above.get(next) else {
                self.leave(&mut path);
                continue;
            };
            self.steps += 1;
            let Some(time) = kind.time[u].filter(|_| self.excluded[u] == 0) else { continue };
            let sums = self.join(u, time, sums);
            if self.may_grow(kind, (larger, path.len()), &sums, tell) {
                path.push(Step { above: self.lattice.above(larger), joined: Some(u), sums, next: 0 });
            } else {
                self.take_out(u);
                self.excluded[u] = path.len();
            }
            if self.lattice.count() > MOST_IDEALS || self.steps > MOST_STEPS {
                return Err(format!("it takes more than {MOST_IDEALS} ideals or {MOST_STEPS} steps"));
            }
        }
        Ok(())
    }

    /// Goes back from the last ideal of the path: what holds its unit has been looked at.
    fn leave(&mut self, path: &mut Vec<Step>) {
        let depth = path.len();
        let Some(Step { above, joined, .. }) = path.pop() else { return };
        for &(u, _) in above.iter() {
            if self.excluded[u] == depth {
                self.excluded[u] = 0;
            }
        }
        if let Some(u) = joined {
            self.take_out(u);
            self.excluded[u] = path.len();
        }
    }

    /// The sums of the stage with `u`.
    fn join(&mut self, u: usize, time: i128, mut sums: Sums) -> Sums {
        sums.terms[0] += time;
        sums.lasting[0] += time;
        sums.memory += self.problem.memory[u];
        sums.rest -= self.work.of_unit[u];
        sums.parameters += self.problem.parameters[u];
        for &e in &self.nets_of[u] {
            let (net, pins) = (&self.problem.nets[e], &mut self.pins[e]);
            if net.source == u {
                pins.is_source_in = true;
                sums.terms[1] -= if pins.sinks_in > 0 { net.cost } else { 0 };
                sums.terms[2] += if pins.sinks_in < net.sinks.len() { net.cost } else { 0 };
                sums.lasting[2] += if pins.sinks_below > 0 { net.cost } else { 0 };
            } else {
                pins.sinks_in += 1;
                let is_new = !pins.is_source_in && pins.sinks_in == 1;
                sums.terms[1] += if is_new { net.cost } else { 0 };
                sums.lasting[1] += if is_new && pins.is_source_below { net.cost } else { 0 };
                let is_last = pins.is_source_in && pins.sinks_in == net.sinks.len();
                sums.terms[2] -= if is_last { net.cost } else { 0 };
            }
        }
        sums
    }

    /// Takes `u` out of the nets' counts again.
    fn take_out(&mut self, u: usize) {
        for &e in &self.nets_of[u] {
            if self.problem.nets[e].source == u {
                self.pins[e].is_source_in = false;
            } else {
                self.pins[e].sinks_in -= 1;
            }
        }
    }

    /// Tells of the present stage, up to the ideal `to`, where it is within the target; whether a larger one may be.
    fn may_grow(&self, kind: &Kind, (to, units): (usize, usize), sums: &Sums, tell: &mut dyn FnMut(Stage)) -> bool {
        if kind.capacity.is_some_and(|capacity| sums.memory > capacity) {
            return false;
        }
        let (load, lasting) = (kind.largest_piece(&sums.terms), kind.largest_piece(&sums.lasting));
        let mut may_grow = false;
        for replicas in 1..=kind.most_replicas {
            let Some(most) = self.problem.allowance(kind, replicas, sums.parameters) else { continue };
            may_grow |= lasting <= most;
            if load <= most {
                tell(Stage { to, units, replicas, rest: sums.rest });
            }
        }
        may_grow
    }
}
