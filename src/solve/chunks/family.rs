//! Sets of units at which stages may begin and end, and what the stages between two of them take.

use crate::graph::{NodeSet, is_subset};
use crate::preprocess::Reduced;
use crate::problem::{Problem, fits};
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::lattice::Lattice;

/// Sets of units, each an ideal: the first is empty, the last holds all.
pub struct Family {
    /// The units of each set, as words of a bit set.
    sets: Vec<Vec<u64>>,
    /// How many units each set has.
    sizes: Vec<usize>,
    /// The bytes that all units occupy.
    pub bytes: f64,
    /// The stages that begin at each set, on devices that they fit.
    pub stages: Vec<Vec<Stage>>,
    /// The stages that end at each set, with the sets at which they begin.
    pub before: Vec<Vec<(usize, Stage)>>,
}

/// The units that one set has beyond another.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// The larger set.
    pub end: usize,
    /// How many units there are.
    pub units: usize,
    /// What a device takes for them.
    pub load: f64,
    /// The bytes that they occupy, with a microbatch in flight.
    pub memory: f64,
    /// Those of them that are there for each microbatch in flight.
    pub kept: f64,
    /// The least of these that a unit has which may be the first.
    pub kept_first: f64,
}

impl Family {
    /// All ideals. O(ideals² · (n + pins)).
    ///
    /// # Errors
    /// A limit came first.
    pub fn of_lattice(
        problem: &Problem,
        units: &Reduced,
        lattice: &Lattice,
        cx: &SearchContext,
    ) -> Result<Self, Stopped> {
        let sets = (0..lattice.count()).map(|ideal| lattice.bits(ideal).to_vec()).collect();
        Self::new(problem, units, sets, cx)
    }

    /// The sets before these positions of an order, and the whole.
    ///
    /// # Errors
    /// A limit came first.
    pub fn of_order(
        problem: &Problem,
        units: &Reduced,
        order: &[usize],
        positions: &[usize],
        cx: &SearchContext,
    ) -> Result<Self, Stopped> {
        let set = |&position: &usize| {
            let mut words = vec![0; order.len().div_ceil(64).max(1)];
            order[..position].iter().for_each(|&unit| words[unit / 64] |= 1_u64 << (unit % 64));
            words
        };
        Self::new(problem, units, positions.iter().map(set).collect(), cx)
    }

    fn new(problem: &Problem, units: &Reduced, sets: Vec<Vec<u64>>, cx: &SearchContext) -> Result<Self, Stopped> {
        let sizes = sets.iter().map(|set| set.iter().map(|word| word.count_ones() as usize).sum()).collect();
        let bytes = units.kinds[0].memory.iter().sum();
        let before = vec![Vec::new(); sets.len()];
        let mut family = Self { sets, sizes, bytes, stages: Vec::new(), before };
        for begin in 0..family.sets.len() {
            if cx.should_stop() {
                return Err(Stopped);
            }
            let ends = begin + 1..family.sets.len();
            let stages: Vec<Stage> = ends.filter_map(|end| family.stage(problem, units, begin, end)).collect();
            stages.iter().for_each(|&stage| family.before[stage.end].push((begin, stage)));
            family.stages.push(stages);
        }
        Ok(family)
    }

    /// The stage between two sets, if there is one and a device can hold it.
    fn stage(&self, problem: &Problem, units: &Reduced, begin: usize, end: usize) -> Option<Stage> {
        let kind = problem.device_kinds()[0];
        let held = is_subset(&self.sets[begin], &self.sets[end]).then(|| self.between(begin, end))?;
        let nodes = held.iter().flat_map(|&unit| units.members[unit].iter().copied());
        let set = NodeSet::from_nodes(problem.node_count(), nodes);
        let memory = problem.costs.memory_of(&problem.graph, &set, kind)?;
        let load = problem.costs.load(&set, kind).filter(|_| fits(memory, problem.memory_limit(kind)))?;
        let kept = set.iter().map(|v| problem.costs.kind(kind).kept_bytes(v)).sum();
        let kept_first = if kept > 0.0 { first(problem, units, &held).map_or(0.0, |(_, kept)| kept) } else { 0.0 };
        Some(Stage { end, units: self.sizes[end] - self.sizes[begin], load, memory, kept, kept_first })
    }

    /// The units that the set `end` has beyond the set `begin`.
    pub fn between(&self, begin: usize, end: usize) -> Vec<usize> {
        let words = self.sets[begin].iter().zip(&self.sets[end]).enumerate();
        let units = words.flat_map(|(at, (small, large))| {
            (0..64).filter(move |bit| (large & !small) >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        });
        units.collect()
    }

    /// The largest load of a stage.
    pub fn largest_load(&self) -> f64 {
        self.stages.iter().flatten().map(|stage| stage.load).fold(0.0, f64::max)
    }

    /// How many units a set has.
    pub fn size(&self, set: usize) -> usize {
        self.sizes[set]
    }

    /// How many sets there are.
    pub fn count(&self) -> usize {
        self.sets.len()
    }
}

/// Of the units of a stage that none of the others has to come before, the one that keeps the least for each microbatch in flight,
/// and what that is.
pub fn first(problem: &Problem, units: &Reduced, held: &[usize]) -> Option<(usize, f64)> {
    let cost = problem.costs.kind(problem.device_kinds()[0]);
    let kept = |unit: usize| units.members[unit].iter().map(|&v| cost.kept_bytes(v)).sum();
    let is_first = |&&unit: &&usize| {
        units.order.predecessors(unit).iter().all(|&before| held.binary_search(&(before as usize)).is_err())
    };
    let firsts = held.iter().filter(is_first).map(|&unit| (unit, kept(unit)));
    firsts.min_by(|a: &(usize, f64), b| a.1.total_cmp(&b.1))
}
