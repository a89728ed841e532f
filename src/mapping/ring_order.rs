//! The order of pipelines that makes rings of their stages' copies.
//!
//! Where pipelines are, each copy's messages take what they take, whichever replica it is. The slowest copy of each stage
//! says what it leaves of a target to its ring, and with that which pipelines may follow one another. A Hamiltonian cycle
//! through these is the order of the replicas.

use super::{Counted, Mapping, MappingProblem, ROUNDING, StageCost};

/// Extensions of a way before a search for a cycle is given up: nearly all cycles are found in fewer.
const EXTENSIONS: u64 = 2000;

/// How often the times that the best order may take are halved.
const STEPS: usize = 8;

/// The most replicas.
const MOST: usize = 128;

/// Orders of the pipelines of one problem.
pub(super) struct RingOrder<'a> {
    problem: &'a MappingProblem,
    /// The problem without its rings.
    loads: MappingProblem,
}

impl<'a> RingOrder<'a> {
    /// `None` where messages or rings do not count, or where there are too many replicas.
    pub fn new(problem: &'a MappingProblem) -> Option<Self> {
        let cost = StageCost { counted: Counted::Messages, ..problem.cost.clone() };
        let counts = problem.cost.counted == Counted::Both && (2..=MOST).contains(&problem.replicas);
        counts.then(|| Self { problem, loads: MappingProblem { cost, ..problem.clone() } })
    }

    /// The mapping with its pipelines in the best order found, where that takes at most `most`; none takes less than
    /// `least`.
    pub fn best(&self, mapping: &Mapping, least: f64, most: f64) -> Option<Mapping> {
        let replicas = self.problem.replicas;
        let pipeline = |replica: usize| mapping.devices.iter().skip(replica).step_by(replicas).copied().collect();
        let pipelines: Vec<Vec<usize>> = (0..replicas).map(pipeline).collect();
        let pipelines: Vec<&[usize]> = pipelines.iter().map(Vec::as_slice).collect();
        let mut best = self.within(&pipelines, most * (1.0 + ROUNDING)).0?;
        let mut low = least;
        for _ in 0..STEPS {
            let limit = f64::midpoint(low, self.problem.objective(&best));
            match self.within(&pipelines, limit * (1.0 + ROUNDING)).0 {
                Some(found) => best = found,
                None => low = limit,
            }
        }
        Some(best)
    }

    /// The mapping of these pipelines, by stage their devices, in an order whose rings are within the limit, and how many
    /// extensions that took.
    pub fn within(&self, pipelines: &[&[usize]], limit: f64) -> (Option<Mapping>, u64) {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        let place = |order: &[usize]| Mapping {
            devices: (0..stages).flat_map(|stage| order.iter().map(move |&index| pipelines[index][stage])).collect(),
        };
        let times = self.loads.times(&place(&(0..replicas).collect::<Vec<_>>()));
        let slowest = times.chunks(replicas).map(|times| times.iter().copied().fold(0.0, f64::max));
        let left: Vec<f64> =
            slowest.map(|load| if self.problem.cost.adds_all_reduce() { limit - load } else { limit }).collect();
        // Both ways, so that links that differ by direction leave out some orders.
        let follows = |a: usize, b: usize| {
            let link = |stage: usize, a: usize, b: usize| {
                self.problem.all_reduce_time(stage, pipelines[a][stage], pipelines[b][stage])
            };
            (0..stages).all(|stage| link(stage, a, b).max(link(stage, b, a)) <= left[stage])
        };
        let beside =
            |a: usize| (0..replicas).filter(|&b| b != a && follows(a, b)).fold(0_u128, |beside, b| beside | 1 << b);
        let mut cycle =
            HamiltonianCycle { beside: (0..replicas).map(beside).collect(), way: vec![0], extensions: EXTENSIONS };
        let is_closed = cycle.close();
        (is_closed.then(|| place(&cycle.way)), EXTENSIONS - cycle.extensions)
    }
}

/// A search for a cycle through all nodes of a graph.
struct HamiltonianCycle {
    /// By node: those that may be beside it, as bits.
    beside: Vec<u128>,
    /// The first nodes of the cycle.
    way: Vec<usize>,
    extensions: u64,
}

impl HamiltonianCycle {
    /// Whether the way, which has a node at least, becomes a cycle; `false` also where the extensions are used up.
    fn close(&mut self) -> bool {
        let visited = self.way.iter().fold(0_u128, |visited, &node| visited | 1 << node);
        let (first, last) = (self.way[0], self.way[self.way.len() - 1]);
        let rest: Vec<usize> = (0..self.beside.len()).filter(|&node| visited >> node & 1 == 0).collect();
        if rest.is_empty() {
            return self.beside[last] >> first & 1 == 1;
        }
        let open = !visited | 1 << first | 1 << last;
        // The cycle comes to each node from one and goes on to another; of two nodes, to the same.
        let ways = |node: usize| (self.beside[node] & open).count_ones();
        if self.extensions == 0 || self.beside.len() > 2 && rest.iter().any(|&node| ways(node) < 2) {
            return false;
        }
        self.extensions -= 1;
        let mut next: Vec<usize> = rest.iter().copied().filter(|&node| self.beside[last] >> node & 1 == 1).collect();
        next.sort_by_key(|&node| ways(node));
        for node in next {
            self.way.push(node);
            if self.close() {
                return true;
            }
            self.way.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::samples::{is_mapping, orders, problem};

    #[test]
    fn the_best_order_of_pipelines_is_found() {
        let mut looked = 0;
        for seed in 0..400 {
            let mut problem = problem(seed);
            problem.cost = StageCost::additive(Counted::Both);
            let (stages, replicas) = (problem.stages.stages.len(), problem.replicas);
            problem.stages.stages.iter_mut().for_each(|stage| stage.parameter_bytes = 12.0);
            // Where links are alike both ways, no order within a limit is left out.
            problem.topology = problem.topology.with_latency(|_, _| 0.0);
            let mapping = Mapping { devices: (0..problem.copies()).collect() };
            let Some(ring_order) = RingOrder::new(&problem).filter(|_| is_mapping(&problem, &mapping)) else {
                continue;
            };
            let mut least = f64::INFINITY;
            orders(&mut (0..replicas).collect(), 0, &mut |order: &[usize]| {
                let devices = (0..stages).flat_map(|stage| order.iter().map(move |index| stage * replicas + index));
                least = least.min(problem.objective(&Mapping { devices: devices.collect() }));
            });
            let best = ring_order.best(&mapping, least, 10.0 * least);
            let best = best.unwrap_or_else(|| panic!("no order of seed {seed}"));
            assert!(is_mapping(&problem, &best));
            assert_eq!(problem.objective(&best), least, "seed {seed}");
            assert_eq!(ring_order.best(&mapping, 0.0, least * (1.0 - 1e-9)), None, "seed {seed}");
            looked += 1;
        }
        assert!(looked > 50, "{looked} looked at");
    }

    #[test]
    fn cycles_lead_once_through_every_node() {
        // A cube's corners.
        let beside: Vec<u128> =
            (0..8_usize).map(|node| [1, 2, 4].iter().fold(0, |all, bit| all | 1 << (node ^ bit))).collect();
        let mut cycle = HamiltonianCycle { beside: beside.clone(), way: vec![0], extensions: EXTENSIONS };
        assert!(cycle.close());
        let links = cycle.way.iter().zip(cycle.way.iter().cycle().skip(1));
        assert!(links.into_iter().all(|(&a, &b)| beside[a] >> b & 1 == 1));
        let mut nodes = cycle.way.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..8).collect::<Vec<_>>());
        // Two squares that share a corner.
        let pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5), (5, 6), (6, 0)];
        let mut beside = vec![0_u128; 7];
        pairs.iter().for_each(|&(a, b)| {
            beside[a] |= 1 << b;
            beside[b] |= 1 << a;
        });
        assert!(!HamiltonianCycle { beside, way: vec![0], extensions: EXTENSIONS }.close());
    }
}
