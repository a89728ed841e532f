//! Swap annealing of mappings.

mod compound;
mod line;
mod times;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use self::compound::Compound;
use self::line::Line;
use self::times::Times;
use super::group_action::GroupAction;
use super::local::LocalCost;
use super::orders::{nearest_next, seeds};
use super::{Mapping, MappingProblem, MappingRace};
use crate::cost::{Synchronisation, Terms, max_of_pieces};
use crate::search::{Race, SearchContext};

/// Marks a device without a copy.
const FREE: usize = usize::MAX;

/// Part of the moves that turn round a part of a ring.
const REVERSALS: f64 = 0.05;

/// Part of the moves of every other round that exchange much at once, where there are such. With more devices than
/// [`FEW`] they take longer, and are rarer.
const COMPOUND: f64 = 0.2;
const FEW: f64 = 64.0;

/// The first temperature of a round, as a part of how far the target lies below the best mapping, and that of a round with
/// compound moves.
const HOT: f64 = 0.3;
const COMPOUND_HOT: f64 = 1.0;

/// Part of the swaps with devices that are near, where it is known which are.
const NEAR: f64 = 0.5;

/// How many coolings share the moves of one call.
const ROUNDS: u64 = 8;

/// Swap annealing that betters the best mapping of a race.
///
/// The objective is a maximum and says little about which way is down. So the energy is the sum over copies of what they
/// take above a target that lies below the best mapping: once it is zero, there is a better one. Half of it counts, in
/// place of the slowest link of a copy's ring, only the copy's own two links, so that every slow link of a ring counts.
pub struct Annealer<'a> {
    problem: &'a MappingProblem,
    cost: LocalCost<'a>,
    /// Where images of the copies are placed along with them.
    action: Option<&'a GroupAction<'a>>,
    has_rings: bool,
    devices: Vec<usize>,
    copies: Vec<usize>,
    times: Times,
    rng: Xoshiro256PlusPlus,
    moves: u64,
    /// Moves that exchange much at once.
    compound: Option<Compound>,
    /// Which devices are near.
    line: Option<Line>,
    /// The first temperature of rounds without such moves, as a part of how far the target lies below the best mapping.
    hot: f64,
    /// How often such moves are made.
    often: f64,
    /// Rounds so far.
    rounds: u64,
}

impl<'a> Annealer<'a> {
    /// Nothing is annealed yet.
    pub fn new(problem: &'a MappingProblem, seed: u64) -> Self {
        Self::with(problem, None, seed)
    }

    /// The same for mappings of the copies that `action` places.
    pub(super) fn of_action(problem: &'a MappingProblem, action: &'a GroupAction<'a>, seed: u64) -> Self {
        Self::with(problem, Some(action), seed)
    }

    fn with(problem: &'a MappingProblem, action: Option<&'a GroupAction<'a>>, seed: u64) -> Self {
        let cost = LocalCost::new(problem);
        let has_rings = cost.has_rings() || action.is_some() && problem.cost.counted.all_reduce();
        Self {
            problem,
            cost,
            action,
            has_rings,
            devices: Vec::new(),
            copies: Vec::new(),
            times: Times::new(problem.copies(), problem.stages.stages.len()),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            moves: 0,
            compound: None,
            line: None,
            hot: HOT,
            often: 0.0,
            rounds: 0,
        }
    }

    /// A race that begins with `first`, a mapping that fits, and the orders that come to mind, to a bound.
    pub fn race<'c>(&self, first: &Mapping, bound: f64, cx: &'c SearchContext) -> MappingRace<'c> {
        let mut race = Race::new(bound, (), cx);
        self.offer(&mut race, first);
        if self.action.is_none() {
            seeds(self.problem).iter().for_each(|mapping| self.offer(&mut race, mapping));
        }
        race
    }

    /// From now on makes moves that exchange much at once, too. They are for topologies with blocks.
    pub fn allow_compound(&mut self) {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        self.compound = Some(Compound { line: nearest_next(self.problem), stages, replicas });
    }

    /// From now on often swaps devices that are near each other in this order of all.
    pub fn prefer_near(&mut self, devices: Vec<usize>) {
        self.line = Some(Line::new(devices));
    }

    /// From now on begins rounds at this temperature, as a part of how far the target lies below the best mapping.
    pub fn heat(&mut self, hot: f64) {
        self.hot = hot;
    }

    /// Whether it makes moves that exchange much at once.
    pub fn is_compound(&self) -> bool {
        self.compound.is_some()
    }

    /// How many moves it has tried.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    fn offer(&self, race: &mut MappingRace, mapping: &Mapping) {
        let objective = match self.action {
            Some(action) => action.objective(mapping),
            None => self.problem.objective(mapping),
        };
        race.offer(objective, mapping.clone());
    }

    /// Anneals for about so many moves, until the best mapping is no longer than the bound, or a limit comes.
    pub fn anneal(&mut self, race: &mut MappingRace, moves: u64) {
        let end = self.moves + moves;
        let mut depth = 0.5;
        while let Some((mapping, before)) = race.solution().cloned().zip(race.objective()) {
            if self.moves >= end || before <= race.bound() || race.cx.should_stop() {
                break;
            }
            // Near the best, aim at anything better.
            let target = (before - depth * (before - race.bound())).min(before * (1.0 - 1e-9));
            self.round((&mapping, before), target, moves.div_ceil(ROUNDS), race);
            depth = if race.objective() < Some(before) { 0.5 } else { depth * 0.5 };
        }
    }

    /// Anneals `mapping`, most of whose copies are within a target, for about so many moves.
    pub fn repair(&mut self, mapping: &Mapping, target: f64, hot: f64, moves: u64, race: &mut MappingRace) {
        self.offer(race, mapping);
        if race.objective().is_none_or(|objective| objective > target) {
            let repaired = self.below(mapping, target, hot, moves, race);
            self.offer(race, &repaired);
        }
    }

    /// Where one cooling of so many moves from `hot` on leads that lessens what copies take above a target.
    pub fn below(&mut self, mapping: &Mapping, target: f64, hot: f64, moves: u64, race: &mut MappingRace) -> Mapping {
        self.often = 0.0;
        self.cool(mapping, target, hot, moves, race);
        Mapping { devices: self.devices.clone() }
    }

    /// One cooling under a fixed target, from the best mapping on.
    fn round(&mut self, (best, objective): (&Mapping, f64), target: f64, moves: u64, race: &mut MappingRace) {
        self.rounds += 1;
        let is_compound = self.compound.is_some() && self.rounds.is_multiple_of(2);
        self.often =
            if is_compound { COMPOUND * (FEW / self.problem.topology.len().max(1) as f64).min(1.0) } else { 0.0 };
        let hot = if is_compound { COMPOUND_HOT } else { self.hot } * (objective - target).max(0.002 * objective);
        self.cool(best, target, hot, moves, race);
    }

    /// One cooling under a fixed target.
    fn cool(&mut self, first: &Mapping, target: f64, hot: f64, moves: u64, race: &mut MappingRace) {
        let mut energy = self.restart(first, target);
        for step in 0..moves {
            if step % 1024 == 0 && race.cx.should_stop() {
                return;
            }
            let temperature = hot * (1.0 - step as f64 / moves as f64).powi(3);
            self.moves += 1;
            energy += self.step(target, temperature);
            if energy < 1e-9 * target {
                self.offer(race, &Mapping { devices: self.devices.clone() });
                energy = (0..self.devices.len()).map(|copy| self.times.energy(copy)).sum();
                if energy <= 0.0 {
                    return;
                }
            }
        }
    }

    /// Goes to `mapping`, and returns its energy.
    fn restart(&mut self, mapping: &Mapping, target: f64) -> f64 {
        self.devices.clone_from(&mapping.devices);
        self.copies = vec![FREE; self.problem.topology.len()];
        for (copy, &device) in self.devices.iter().enumerate() {
            self.copies[device] = copy;
        }
        let all: Vec<usize> = (0..self.devices.len()).collect();
        let stages: Vec<usize> = (0..self.problem.stages.stages.len()).collect();
        self.update(&all, &all, &stages, &all, target);
        all.iter().map(|&copy| self.times.energy(copy)).sum()
    }

    /// Makes a move where it is worth it, and returns by how much the energy grew.
    fn step(&mut self, target: f64, temperature: f64) -> f64 {
        let swaps = if self.problem.replicas > 3 && self.has_rings && self.rng.random_bool(REVERSALS) {
            self.pick_reversal()
        } else if self.often > 0.0 && self.rng.random_bool(self.often) {
            self.pick_compound()
        } else {
            let swap = self.pick_swap();
            let companion =
                |&(from, to): &(usize, usize)| self.action?.companion(from, to, |device| self.copies[device] != FREE);
            swap.into_iter().chain(swap.as_ref().and_then(companion)).collect()
        };
        swaps.iter().for_each(|&(a, b)| self.swap(a, b));
        let change = match swaps[..] {
            [] => return 0.0,
            [(a, b)] => self.update_around(&[self.copies[a], self.copies[b]], target),
            _ => {
                let moved: Vec<usize> = swaps.iter().flat_map(|&(a, b)| [self.copies[a], self.copies[b]]).collect();
                self.update_around(&moved, target)
            }
        };
        if change > 0.0 && self.rng.random::<f64>() >= (-change / temperature).exp() {
            self.swap_back(&swaps);
            self.times.take_back();
            return 0.0;
        }
        change
    }

    /// Two devices whose contents may be swapped, one of them often of a copy that takes too long.
    fn pick_swap(&mut self) -> Option<(usize, usize)> {
        let (copy, device) = self.pick();
        let (from, other) = (self.devices[copy], self.copies[device]);
        let fits = self.fits(copy, device) && (other == FREE || self.fits(other, from));
        (from != device && fits).then_some((from, device))
    }

    /// The swaps that turn round a part of the ring, of one stage, or of all where messages tie them together.
    fn pick_reversal(&mut self) -> Vec<(usize, usize)> {
        let replicas = self.problem.replicas;
        let (copy, _) = self.pick();
        let (start, length) = (copy % replicas, self.rng.random_range(2..=replicas / 2));
        let stages = if self.problem.cost.counted.messages() {
            0..self.problem.stages.stages.len()
        } else {
            copy / replicas..copy / replicas + 1
        };
        let at = |stage: usize, step: usize| self.devices[stage * replicas + (start + step) % replicas];
        stages
            .flat_map(|stage| (0..length / 2).map(move |step| (stage, step)))
            .map(|(stage, step)| (at(stage, step), at(stage, length - 1 - step)))
            .collect()
    }

    /// The swaps of a compound move after which all copies still fit; none where there are no such moves.
    fn pick_compound(&mut self) -> Vec<(usize, usize)> {
        let Some(compound) = &self.compound else { return Vec::new() };
        let swaps = compound.pick(&self.devices, &mut self.rng);
        swaps.iter().for_each(|&(a, b)| self.swap(a, b));
        let mut devices = swaps.iter().flat_map(|&(a, b)| [a, b]);
        let fits = devices.all(|device| self.copies[device] == FREE || self.fits(self.copies[device], device));
        self.swap_back(&swaps);
        if fits { swaps } else { Vec::new() }
    }

    fn swap_back(&mut self, swaps: &[(usize, usize)]) {
        swaps.iter().rev().for_each(|&(a, b)| self.swap(a, b));
    }

    fn pick(&mut self) -> (usize, usize) {
        let mut copy = self.rng.random_range(0..self.devices.len());
        for _ in 0..8 {
            if self.times.energy(copy) > 0.0 {
                break;
            }
            copy = self.rng.random_range(0..self.devices.len());
        }
        let device = match &self.line {
            Some(line) if self.rng.random_bool(NEAR) => line.pick(self.devices[copy], &mut self.rng),
            _ => self.rng.random_range(0..self.copies.len()),
        };
        (copy, device)
    }

    fn fits(&self, copy: usize, device: usize) -> bool {
        self.problem.fits(copy / self.problem.replicas, device)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.copies.swap(a, b);
        for device in [a, b] {
            if self.copies[device] != FREE {
                self.devices[self.copies[device]] = device;
            }
        }
    }

    /// Brings the times up to date where these copies have moved. Returns by how much the energy grew.
    fn update_around(&mut self, moved: &[usize], target: f64) -> f64 {
        let replicas = self.problem.replicas;
        let has_ring = self.has_rings;
        let (mut loads, mut links, mut stages, mut energies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &copy in moved.iter().filter(|&&copy| copy != FREE) {
            let (stage, replica) = (copy / replicas, copy % replicas);
            loads.push(copy);
            loads.extend(self.cost.traffic(stage).iter().map(|traffic| traffic.stage * replicas + replica));
            if has_ring && !stages.contains(&stage) {
                stages.push(stage);
                energies.extend(stage * replicas..(stage + 1) * replicas);
            }
            if has_ring {
                links.extend([copy, stage * replicas + (replica + replicas - 1) % replicas]);
            }
        }
        if moved.len() > 2 {
            for list in [&mut loads, &mut links] {
                list.sort_unstable();
                list.dedup();
            }
        }
        for &copy in &loads {
            let is_known = || moved.len() == 2 && energies.contains(&copy);
            if !stages.contains(&(copy / replicas)) && !is_known() {
                energies.push(copy);
            }
        }
        self.update(&loads, &links, &stages, &energies, target)
    }

    /// Brings the loads, links, rings and energies of these copies and stages up to date. Returns by how much the energy
    /// grew.
    fn update(&mut self, loads: &[usize], links: &[usize], rings: &[usize], energies: &[usize], target: f64) -> f64 {
        let replicas = self.problem.replicas;
        self.times.keep();
        for &copy in loads {
            let load = self.load(copy);
            self.times.set(self.times.loads + copy, load);
        }
        if self.has_rings {
            for &copy in links {
                let time = self.link_time(copy);
                self.times.set(self.times.links + copy, time);
            }
            for &stage in rings {
                let ring = (stage * replicas..(stage + 1) * replicas).map(|copy| self.times.link(copy));
                let ring = ring.fold(0.0, f64::max);
                self.times.set(self.times.rings + stage, ring);
            }
        }
        let mut growth = 0.0;
        for &copy in energies {
            let energy = self.energy(copy, target);
            growth += self.times.set(self.times.energies + copy, energy);
        }
        growth
    }

    fn energy(&self, copy: usize, target: f64) -> f64 {
        let (replicas, load) = (self.problem.replicas, self.times.load(copy));
        let above = |ring: f64| match self.problem.cost.synchronisation {
            Synchronisation::Added => (load + ring - target).max(0.0),
            Synchronisation::Overlapped => (load.max(ring) - target).max(0.0),
        };
        let previous = copy - copy % replicas + (copy % replicas + replicas - 1) % replicas;
        let own = self.times.link(copy).max(self.times.link(previous));
        0.5 * (above(self.times.ring(copy / replicas)) + above(own))
    }

    /// Time of the all-reduce over the link to the next replica.
    fn link_time(&self, copy: usize) -> f64 {
        let replicas = self.problem.replicas;
        let (stage, replica) = (copy / replicas, copy % replicas);
        let ring = &self.devices[copy - replica..][..replicas];
        match self.action {
            Some(action) => action.link_time(stage, replica, ring),
            None => self.problem.all_reduce_time(stage, ring[replica], ring[(replica + 1) % replicas]),
        }
    }

    fn load(&self, copy: usize) -> f64 {
        let problem = self.problem;
        let (stage, replica, device) = (copy / problem.replicas, copy % problem.replicas, self.devices[copy]);
        let topology = &problem.topology;
        let mut terms = Terms {
            compute: problem.stages.stages[stage].compute() / topology.devices[device].speed,
            ..Terms::default()
        };
        for traffic in self.cost.traffic(stage) {
            let there = self.devices[traffic.stage * problem.replicas + replica];
            terms.comm_out += topology.message_time(device, there, traffic.out);
            terms.comm_in += topology.message_time(there, device, traffic.back);
        }
        max_of_pieces(&problem.cost.pieces, &terms)
    }
}
