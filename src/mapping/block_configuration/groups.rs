//! Groups of stages that blocks of devices may hold, and how long they take there at least.

use crate::cost::Terms;
use crate::mapping::local::LocalCost;
use crate::mapping::{MappingProblem, Topology};

/// The most groups, and the most times of groups in blocks.
const MOST_GROUPS: usize = 1 << 15;
const MOST_LOADS: usize = 1 << 21;

/// Where the ring of a stage lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tie {
    /// That is open.
    Anywhere,
    /// In no block alone.
    Across,
    /// In one block of this kind.
    Inside(usize),
}

/// Blocks of devices that nothing tells apart that counts here.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Each with its devices, equally many.
    pub blocks: Vec<Vec<usize>>,
    /// By group: the least that its slowest copy takes; infinite where it does not fit.
    pub loads: Vec<f64>,
    site: Site,
}

impl Kind {
    /// Number of devices of each block.
    pub fn size(&self) -> usize {
        self.blocks[0].len()
    }
}

/// The stages of one pipeline that are in one block, as far as messages connect them.
#[derive(Debug)]
pub struct Groups {
    /// By group: its stages, as bits.
    pub members: Vec<u64>,
    /// The blocks.
    pub kinds: Vec<Kind>,
}

/// The least time of a message along any of some links.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    latency: f64,
    per_byte: f64,
}

impl Way {
    fn least(topology: &Topology, links: impl Iterator<Item = (usize, usize)>) -> Self {
        let none = Self { latency: f64::INFINITY, per_byte: f64::INFINITY };
        links.fold(none, |least, (a, b)| Self {
            latency: least.latency.min(topology.latency(a, b)),
            per_byte: least.per_byte.min(1.0 / topology.bandwidth(a, b)),
        })
    }

    fn time(self, bytes: f64) -> f64 {
        if bytes == 0.0 { 0.0 } else { self.latency + bytes * self.per_byte }
    }
}

/// All of a block that counts here.
#[derive(Debug, Clone, PartialEq)]
struct Site {
    size: usize,
    speed: f64,
    /// The stages that some device has the memory for, as bits.
    fits: u64,
    inside: Way,
    /// From the block, and to it.
    outside: [Way; 2],
}

impl Groups {
    /// The groups of a problem in these blocks; `None` where there are too many. O(D² + groups · blocks · messages).
    pub fn new(problem: &MappingProblem, blocks: &[Vec<usize>]) -> Option<Self> {
        let (cost, stages) = (LocalCost::new(problem), problem.stages.stages.len());
        if stages > 64 {
            return None;
        }
        let bits = |stage: usize| cost.traffic(stage).iter().fold(0, |bits, traffic| bits | 1 << traffic.stage);
        let neighbours: Vec<u64> = (0..stages).map(bits).collect();
        let largest = blocks.iter().map(Vec::len).max()?;
        let members = connected(&neighbours, largest)?;
        let mut kinds: Vec<Kind> = Vec::new();
        for block in blocks {
            let site = Site::new(problem, block);
            if let Some(kind) = kinds.iter_mut().find(|kind| kind.site == site) {
                kind.blocks.push(block.clone());
                continue;
            }
            if (kinds.len() + 1) * members.len() > MOST_LOADS {
                return None;
            }
            kinds.push(Kind { blocks: vec![block.clone()], loads: Vec::new(), site });
        }
        let mut groups = Self { members, kinds };
        groups.tie(problem, &vec![Tie::Anywhere; stages]);
        Some(groups)
    }

    /// Renews the loads for rings that lie so. O(groups · kinds · messages).
    pub fn tie(&mut self, problem: &MappingProblem, ties: &[Tie]) {
        let cost = LocalCost::new(problem);
        for (number, kind) in self.kinds.iter_mut().enumerate() {
            let ring = |stage: usize| kind.site.ring(problem, stage, ties[stage], number);
            let rings: Vec<f64> = match cost.has_rings() {
                true => (0..ties.len()).map(ring).collect(),
                false => vec![0.0; ties.len()],
            };
            kind.loads = self.members.iter().map(|&group| kind.site.load(problem, &cost, group, &rings)).collect();
        }
    }

    /// By stage: the neighbours, as bits, that are in the same block as its copies where its ring lies so, as a message to
    /// another block would take too long.
    pub fn co_located(&self, problem: &MappingProblem, tie: Tie, limit: f64) -> Vec<u64> {
        let cost = LocalCost::new(problem);
        let least = |stage: usize, neighbour: usize| -> f64 {
            let cut = |(number, kind): (usize, &Kind)| {
                let ring = if cost.has_rings() { kind.site.ring(problem, stage, tie, number) } else { 0.0 };
                kind.site.cut(problem, &cost, stage, neighbour, ring)
            };
            self.kinds.iter().enumerate().map(cut).fold(f64::INFINITY, f64::min)
        };
        let co_located = |stage: usize| {
            let neighbours = cost.traffic(stage).iter().map(|traffic| traffic.stage);
            neighbours.filter(|&other| least(stage, other) > limit).fold(0, |bits, other| bits | 1 << other)
        };
        (0..problem.stages.stages.len()).map(co_located).collect()
    }
}

impl Site {
    fn new(problem: &MappingProblem, block: &[usize]) -> Self {
        let topology = &problem.topology;
        let mut is_inside = vec![false; topology.len()];
        block.iter().for_each(|&device| is_inside[device] = true);
        let others = || (0..topology.len()).filter(|&device| !is_inside[device]);
        let pairs = block.iter().flat_map(|&a| block.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
        let fits = |stage: &usize| block.iter().any(|&device| problem.fits(*stage, device));
        Self {
            size: block.len(),
            speed: block.iter().map(|&device| topology.devices[device].speed).fold(0.0, f64::max),
            fits: (0..problem.stages.stages.len()).filter(fits).fold(0, |bits, stage| bits | 1 << stage),
            inside: Way::least(topology, pairs),
            outside: [
                Way::least(topology, block.iter().flat_map(|&a| others().map(move |b| (a, b)))),
                Way::least(topology, block.iter().flat_map(|&a| others().map(move |b| (b, a)))),
            ],
        }
    }

    fn load(&self, problem: &MappingProblem, cost: &LocalCost, group: u64, rings: &[f64]) -> f64 {
        if group.count_ones() as usize > self.size || group & !self.fits != 0 {
            return f64::INFINITY;
        }
        let time = |stage: usize| {
            let compute = problem.stages.stages[stage].compute() / self.speed;
            let mut terms = Terms { compute, ..Terms::default() };
            for traffic in cost.traffic(stage) {
                let is_inside = group >> traffic.stage & 1 == 1;
                let [there, back] = if is_inside { [self.inside; 2] } else { self.outside };
                terms.comm_out += there.time(traffic.out);
                terms.comm_in += back.time(traffic.back);
            }
            problem.time(&terms, rings[stage])
        };
        bits(group).map(time).fold(0.0, f64::max)
    }

    /// The least time of a stage's copy here with this time for its ring and a neighbour in another block.
    fn cut(&self, problem: &MappingProblem, cost: &LocalCost, stage: usize, neighbour: usize, ring: f64) -> f64 {
        let mut terms = Terms { compute: problem.stages.stages[stage].compute() / self.speed, ..Terms::default() };
        for traffic in cost.traffic(stage) {
            let times = |[there, back]: [Way; 2]| (there.time(traffic.out), back.time(traffic.back));
            let (outside, inside) = (times(self.outside), times([self.inside; 2]));
            let is_outside = traffic.stage == neighbour;
            terms.comm_out += if is_outside { outside.0 } else { outside.0.min(inside.0) };
            terms.comm_in += if is_outside { outside.1 } else { outside.1.min(inside.1) };
        }
        problem.time(&terms, ring)
    }

    /// The least time of the all-reduce of a stage one copy of which is here, in a block of kind `number`: either all are, or
    /// its ring leads out and in.
    fn ring(&self, problem: &MappingProblem, stage: usize, tie: Tie, number: usize) -> f64 {
        let (replicas, bytes) = (problem.replicas as f64, problem.stages.stages[stage].parameter_bytes);
        let link = |way: Way| 2.0 * (replicas - 1.0) * way.time(bytes / replicas);
        let across = link(self.outside[0]).max(link(self.outside[1]));
        let inside = if self.size < problem.replicas { f64::INFINITY } else { link(self.inside) };
        match tie {
            Tie::Anywhere => across.min(inside),
            Tie::Across => across,
            Tie::Inside(kind) if kind == number => inside,
            Tie::Inside(_) => f64::INFINITY,
        }
    }
}

/// The numbers of the bits that are set.
pub fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// The connected sets of up to `largest` stages, each once; `None` where there are too many.
fn connected(neighbours: &[u64], largest: usize) -> Option<Vec<u64>> {
    let mut groups = Vec::new();
    for first in 0..neighbours.len() {
        let only = 1_u64 << first;
        let mut waiting = vec![(only, neighbours[first], only | (only - 1))];
        while let Some((group, around, mut closed)) = waiting.pop() {
            groups.push(group);
            if groups.len() + waiting.len() > MOST_GROUPS {
                return None;
            }
            if (group.count_ones() as usize) < largest {
                for stage in bits(around & !closed) {
                    closed |= 1 << stage;
                    waiting.push((group | 1 << stage, around | neighbours[stage], closed));
                }
            }
        }
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connected_set_is_a_group_once() {
        // A circle of four stages with a fifth on one of them.
        let neighbours = [0b11010, 0b00101, 0b01010, 0b00101, 0b00001];
        let is_connected = |set: u64| {
            let grow = |reached: u64| bits(reached).fold(reached, |all, stage| all | neighbours[stage] & set);
            set != 0 && (0..5).fold(set & set.wrapping_neg(), |reached, _| grow(reached)) == set
        };
        for largest in 1..=5 {
            let expected = (1..32).filter(|&set| is_connected(set) && set.count_ones() as usize <= largest);
            let mut groups = connected(&neighbours, largest).expect("there are few");
            groups.sort_unstable();
            assert_eq!(groups, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn too_many_groups_are_refused() {
        assert_eq!(connected(&[(1 << 40) - 1; 40], 40), None);
    }
}
