//! All ways to split the units of two devices anew, by a sweep over them.

use rand::{Rng, RngExt};

use super::super::assignment::{Assignment, Setting};
use super::super::pricing::{Arc, End, INSIDE, LOAD, Limit, MEMORY, Network, Resource, Sweep, Tables, cell_of, narrow};
use crate::preprocess::KindCosts;
use crate::problem::{Objective, Scope, fits};
use crate::solve::dp::loads::objective;

/// What splits of two devices need to know of the others.
pub struct Pairs<'a> {
    setting: &'a Setting<'a>,
    /// Where each unit stands in an order that follows the graph.
    rank: Vec<usize>,
    /// What loads a device of each kind, and the size of a cell of it.
    kinds: Vec<(Resource, f64)>,
}

/// What a new split of two devices is to be like.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// The first device gets at most the target, the second as little as possible.
    pub devices: (usize, usize),
    /// The most load that a device shall have.
    pub target: f64,
    /// By how much what is consumed is blurred at most.
    pub noise: f64,
}

/// Bytes of the first of two devices.
struct Memory {
    most: f64,
    least: f64,
}

impl<'a> Pairs<'a> {
    /// `None` where sets have to be convex, loads have several pieces, or nothing takes time.
    pub fn new(setting: &'a Setting<'a>) -> Option<Self> {
        let spec = &setting.problem.spec;
        if spec.scope != Scope::Arbitrary || spec.objective != Objective::Throughput || setting.device_count() < 2 {
            return None;
        }
        let units = &setting.unordered.units;
        let of_kind = |kind| {
            let mut loads = Resource::of(units, kind).into_iter().filter(|resource| resource.capacity.is_none());
            let load = loads.next().filter(|_| loads.next().is_none())?;
            let cell = cell_of(&load.unit)?;
            Some((load, cell))
        };
        let kinds: Vec<(Resource, f64)> = units.kinds.iter().map(of_kind).collect::<Option<_>>()?;
        let load = std::slice::from_ref(&kinds.first()?.0);
        let network = Network::<1>::new(setting.unordered, &|_| true, load, DIRECT_PINS);
        let mut rank = vec![0; network.domains.len()];
        narrow(&network).into_iter().enumerate().for_each(|(i, v)| rank[v] = i);
        Some(Self { setting, rank, kinds })
    }

    /// The load of each device; `None` for a split that is not valid.
    pub fn loads(&self, split: &Assignment) -> Option<Vec<f64>> {
        let memory = self.setting.memory(split);
        let is_valid = (0..memory.len()).all(|d| fits(memory[d], self.setting.kind(d).memory_limit));
        let loads = self.setting.loads(split).filter(|_| is_valid)?;
        Some(loads.into_iter().map(objective).collect())
    }

    /// By how much all devices together are above the target; `None` for a split that is not valid.
    pub fn excess(&self, split: &Assignment, target: f64) -> Option<f64> {
        Some(self.loads(split)?.into_iter().map(|load| (load - target).max(0.0)).sum())
    }

    /// The split that meets the wish best, and its [excess](Self::excess); `None` where there are too many units, or
    /// none is valid. Loads and memory are rounded to whole cells while it is sought, not where it is chosen among the last
    /// few. O(units of both · states · cells).
    pub fn split(
        &self,
        split: &Assignment,
        wish: Wish,
        tables: &mut Tables,
        rng: &mut impl Rng,
    ) -> Option<(Assignment, f64)> {
        let Wish { devices, target, noise } = wish;
        let is_theirs = |&u: &usize| [devices.0, devices.1].contains(&(split.device_of[u] as usize));
        let mut units: Vec<usize> = (0..self.setting.unit_count()).filter(is_theirs).collect();
        units.sort_unstable_by_key(|&u| self.rank[u]);
        let (network, order) = self.network(&units, devices);
        let memory = self.memory(&units, devices);
        let finest = self.kinds[self.setting.kind_of[devices.0]].1;
        let most_cells = if memory.is_some() { CELLS_BESIDE_MEMORY } else { MOST_CELLS };
        let cell = finest * (target / (finest * most_cells)).ceil().max(1.0);
        let mut sweep = Sweep::new(&network, &order)?.counted(0, cell, LOAD);
        let (mut planes, mut least) = (0, 0);
        if let Some(memory) = memory {
            let size = (memory.most / MEMORY_CELLS).max(f64::MIN_POSITIVE);
            sweep = sweep.counted(2, size, MEMORY);
            (planes, least) = (sweep.capacity(MEMORY_CELLS, MEMORY), (memory.least / size) as usize);
        }
        let capacity = [sweep.capacity(target / cell, LOAD), planes];
        sweep.effort(capacity, LIMIT)?;
        // What the second device is spared.
        let most: Vec<f64> = sweep.steps.iter().map(|step| step.most_used(1) + noise).collect();
        let per_unit = sweep.most_gain() / most.iter().sum::<f64>();
        let gain = |step: usize, arc: &Arc<3>| {
            let blur = if noise > 0.0 { noise * rng.random::<f64>() } else { 0.0 };
            ((most[step] - arc.used[1] - blur) * per_unit).max(0.0) as i32
        };
        sweep.fill(tables, capacity, gain, None);
        let mut ends: Vec<End> = Vec::new();
        for end in sweep.gains(tables).filter(|end| end.memory >= least) {
            let at = ends.partition_point(|known| known.gain >= end.gain);
            if at < ENDS {
                ends.insert(at, end);
                ends.truncate(ENDS);
            }
        }
        let anew = |&end: &End| {
            let mut split = split.clone();
            for (step, arc) in sweep.trace(tables, end).filter(|(step, _)| step.variable < units.len()) {
                split.device_of[units[step.variable]] = (if arc.is_inside() { devices.0 } else { devices.1 }) as u32;
            }
            let excess = self.excess(&split, target)?;
            Some((split, excess))
        };
        ends.iter().filter_map(anew).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The memory of the first device with which these units fit on both; `None` where they fit on each.
    fn memory(&self, units: &[usize], devices: (usize, usize)) -> Option<Memory> {
        let [first, second] = [devices.0, devices.1].map(|d| self.setting.kind(d));
        let all = |kind: &KindCosts| units.iter().map(|&u| kind.memory[u]).sum::<f64>();
        let fits_on = |kind: &KindCosts| fits(all(kind), kind.memory_limit);
        let most = |kind: &KindCosts| kind.memory_limit.unwrap_or(f64::INFINITY).min(all(kind));
        let is_alike = units.iter().all(|&u| first.memory[u] == second.memory[u]);
        let least = if is_alike { all(first) - most(second) } else { 0.0 };
        (!fits_on(first) || !fits_on(second)).then(|| Memory { most: most(first), least })
    }

    /// The ways to split these units over two devices, inside being the first, and what each of the two consumes. The
    /// variables are the units in their order, then hubs of nets; and an order of them all.
    fn network(&self, units: &[usize], devices: (usize, usize)) -> (Network<3>, Vec<usize>) {
        let reduced = &self.setting.unordered.units;
        let mut network = Network { domains: vec![2; units.len()], factors: Vec::new(), units: units.len() };
        let mut variable_of = vec![None; reduced.unit_count()];
        let [first, second] =
            [devices.0, devices.1].map(|d| (&self.kinds[self.setting.kind_of[d]].0, self.setting.kind(d)));
        for (v, &u) in units.iter().enumerate() {
            variable_of[u] = Some(v);
            let on = |(load, kind): (&Resource, &KindCosts)| kind.times[u].map(|_| load.unit[u]);
            let (inside, outside) = (on(first), on(second));
            let memory = first.1.memory[u];
            let consumed =
                |x: &[u8]| if x[0] == INSIDE { Some([inside?, 0.0, memory]) } else { Some([0.0, outside?, 0.0]) };
            network.add(vec![v], consumed);
        }
        let mut around: Vec<usize> = units.iter().flat_map(|&u| reduced.nets_of.row(u)).map(|&e| e as usize).collect();
        around.sort_unstable();
        around.dedup();
        // Hubs come just before the first of their pins.
        let mut places: Vec<(usize, bool, usize)> = (0..units.len()).map(|v| (v, true, v)).collect();
        for e in around {
            let net = &reduced.nets[e];
            let mut pins: Vec<usize> = net.pins.iter().filter_map(|&u| variable_of[u as usize]).collect();
            pins.sort_unstable();
            let source = variable_of[net.source as usize];
            let leaves = pins.len() < net.pins.len();
            // What a device pays that holds some pins: whether it holds the source, and whether it holds all.
            let pays = |load: &Resource, holds_source: bool, holds_all: bool| match (holds_source, holds_all && !leaves)
            {
                (_, true) => 0.0,
                (true, false) => load.net_out[e],
                (false, false) => load.net_in[e],
            };
            let cost = |is_source_inside: Option<bool>, some_inside: bool, some_outside: bool| {
                let inside = pays(first.0, is_source_inside == Some(true), !some_outside);
                let outside = pays(second.0, is_source_inside == Some(false), !some_inside);
                Some([if some_inside { inside } else { 0.0 }, if some_outside { outside } else { 0.0 }, 0.0])
            };
            if pins.len() <= DIRECT_PINS {
                let at = source.and_then(|s| pins.iter().position(|&v| v == s));
                network.add(pins, |x| {
                    let is_inside = |value: &u8| *value == INSIDE;
                    cost(at.map(|at| x[at] == INSIDE), x.iter().any(is_inside), !x.iter().all(is_inside))
                });
                continue;
            }
            let hub = network.domains.len();
            network.domains.push(3);
            places.push((pins[0], false, hub));
            for &v in &pins {
                network.add(vec![hub, v], |x| (x[0] > INSIDE || x[0] == x[1]).then_some([0.0; 3]));
            }
            match source {
                Some(s) => network.add(vec![hub, s], |x| cost(Some(x[1] == INSIDE), x[0] >= INSIDE, x[0] != INSIDE)),
                None => network.add(vec![hub], |x| cost(None, x[0] >= INSIDE, x[0] != INSIDE)),
            }
        }
        places.sort_unstable();
        (network, places.into_iter().map(|(_, _, v)| v).collect())
    }
}

/// Nets of no more pins need no hub.
const DIRECT_PINS: usize = 2;

/// How many of the best splits of two devices are looked at without rounding.
const ENDS: usize = 16;

/// Cells of a load: so few that rows stay in the cache. Coarser ones than the times' own blur a split by less than the
/// noise does.
const MOST_CELLS: f64 = 10_000.0;

/// Cells of a load, and of memory, where devices have too little for all units of both.
const CELLS_BESIDE_MEMORY: f64 = 800.0;
const MEMORY_CELLS: f64 = 16.0;

/// What one split may take.
const LIMIT: Limit = Limit { sums: 400_000_000, entries: 100_000_000 };

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};

    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::problem::{Problem, ProblemSpec};

    /// Eleven nodes in a chain with detours, some with many consumers, on accelerators of so much memory and one CPU.
    fn problem(memory: Option<f64>) -> Problem {
        let mixed = |v: u64, most: u64| (v.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % most;
        let node = |v| Node {
            cpu_time: Some((2 + mixed(v + 50, 12)) as f64),
            accelerator_times: vec![Some((1 + mixed(v, 9)) as f64)],
            transfer_time: mixed(v + 100, 4) as f64,
            memory: (1 + v * 5 % 4) as f64,
            ..Node::new(v)
        };
        let edges = |v: u64| [1, 3, 4].into_iter().map(move |d| Edge { source: v, target: v + d });
        let instance = Instance {
            platform: Platform::uniform(2, memory, 1),
            nodes: (0..11).map(node).collect(),
            edges: (0..11).flat_map(edges).filter(|edge| edge.target < 11).collect(),
            ..Instance::default()
        };
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        Problem::new(&instance, spec).unwrap()
    }

    /// Compares the splits of these pairs of devices with the best of all.
    fn check(problem: &Problem, start: &Assignment, pairs_of_devices: &[(usize, usize)]) {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let pairs = Pairs::new(&setting).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        for &devices in pairs_of_devices {
            let theirs: Vec<usize> =
                (0..11).filter(|&u| [devices.0 as u32, devices.1 as u32].contains(&start.device_of[u])).collect();
            for target in (4..60).step_by(3).map(f64::from) {
                let all = (0..1u32 << theirs.len()).filter_map(|bits| {
                    let mut split = start.clone();
                    for (i, &u) in theirs.iter().enumerate() {
                        split.device_of[u] = (if bits >> i & 1 == 1 { devices.0 } else { devices.1 }) as u32;
                    }
                    let loads = pairs.loads(&split)?;
                    (loads[devices.0] <= target).then_some(loads[devices.1])
                });
                let least = all.fold(f64::MAX, f64::min);
                let wish = Wish { devices, target, noise: 0.0 };
                let found = pairs.split(start, wish, &mut Tables::default(), &mut rng);
                let Some((split, excess)) = found else {
                    assert_eq!(least, f64::MAX, "{devices:?} at {target}");
                    continue;
                };
                let loads = pairs.loads(&split).unwrap();
                assert!(loads[devices.0] <= target, "{devices:?} at {target}: {loads:?}");
                assert_eq!(loads[devices.1].max(target), least.max(target), "{devices:?} at {target}");
                assert_eq!(excess, pairs.excess(&split, target).unwrap());
            }
        }
    }

    #[test]
    fn splits_of_two_devices_are_the_best_of_all() {
        let start = Assignment { device_of: (0..11).map(|u| u * u % 3).collect() };
        check(&problem(None), &start, &[(0, 1), (1, 0), (0, 2), (2, 1)]);
    }

    /// So little that few splits fit, of two accelerators and of one beside the CPU. Bytes are whole cells.
    #[test]
    fn splits_of_two_devices_keep_to_their_memory() {
        let (halves, beside_cpu): (Vec<u32>, Vec<u32>) = (0..11).map(|u| (u % 2, u % 2 * 2)).unzip();
        check(&problem(Some(16.0)), &Assignment { device_of: halves }, &[(0, 1), (1, 0)]);
        for memory in [8.0, 16.0] {
            check(&problem(Some(memory)), &Assignment { device_of: beside_cpu.clone() }, &[(0, 2)]);
        }
    }
}
