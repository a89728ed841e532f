//! All-reduces: the messages that bring the gradients of a stage's copies together.

use petgraph::unionfind::UnionFind;

use crate::mapping::{MessageTime, Topology};

/// How the copies of a stage bring their gradients together: B bytes on each of R of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collective {
    /// A ring: R − 1 steps add up a share of B / R for each copy, and as many hand on the sums (Patarasuk and Yuan 2009; Thakur
    /// et al. 2005, sections 4.1 and 4.2).
    #[default]
    Ring,
    /// Rings in h hosts of g copies each leave a g-th of B summed up on each copy, rings of the k-th copies of all hosts (rails)
    /// sum these up, and the first rings hand on the sums (Cho et al. 2019, BlueConnect, section 3). Hosts are what links of
    /// some bandwidth or more join in both directions, in equal numbers; of several such bandwidths the quickest counts. A ring
    /// where there are none.
    Hierarchical,
    /// As deep as a tree: in step i copies whose numbers differ in bit i alone halve between them what both have, and hand it on
    /// in the reverse order: recursive halving and doubling (Thakur et al. 2005, section 4.5; Rabenseifner 2004). Of copies
    /// beyond a power of two the first ones take part through a neighbour, which gets all of B before, and sends it back.
    Tree,
    /// Whichever of these is quickest on the links of each stage.
    Auto,
}

/// Steps of an all-reduce, in each of which every one of some links carries one message of the same size.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// How many steps there are; each waits for all messages of the one before.
    pub steps: usize,
    /// What the messages take, all of them at once.
    pub links: Vec<MessageTime>,
}

impl Phase {
    /// How long it takes for one of so many equal parts of the bytes: the slowest of its links for each step.
    pub fn time(&self, parts: usize) -> f64 {
        let message = |link: &MessageTime| link.latency + link.transfer / parts as f64;
        self.steps as f64 * self.links.iter().map(message).fold(0.0, f64::max)
    }
}

impl Collective {
    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Hierarchical => "hierarchical",
            Self::Tree => "tree",
            Self::Auto => "auto",
        }
    }

    /// The ways in which it may be done on these devices, one for each copy, with so many bytes on each: phases that follow one
    /// another. O(R² log R) for R devices.
    pub fn ways(self, topology: &Topology, devices: &[usize], bytes: f64) -> Vec<Vec<Phase>> {
        let copies = Copies { topology, devices, bytes };
        match self {
            Self::Ring => vec![copies.ring()],
            Self::Hierarchical => {
                let ways: Vec<_> = copies.hosts().iter().map(|hosts| copies.hierarchical(hosts)).collect();
                if ways.is_empty() { vec![copies.ring()] } else { ways }
            }
            Self::Tree => vec![copies.tree()],
            Self::Auto => {
                let each = [Self::Ring, Self::Tree, Self::Hierarchical];
                each.into_iter().flat_map(|way| way.ways(topology, devices, bytes)).collect()
            }
        }
    }

    /// The least time for each byte, latencies left out, on any `copies` devices of which so many hang together by links that
    /// take `apart` for a byte at least. That of a link is the least bandwidth of any of a set that joins so many.
    ///
    /// All links of a way join all copies, so that one of them is as slow as that. The rings inside hosts join g, the rails h,
    /// and one of the two has that slow link. Of a tree's steps, any i join 2^i copies, so that the i-th fastest of them is no
    /// faster than that allows, and the first ones carry the most. O(copies).
    pub(crate) fn least(self, copies: usize, apart: &dyn Fn(usize) -> f64) -> f64 {
        let count = copies as f64;
        let around = |of: usize, share: usize, link: f64| 2.0 * (of - 1) as f64 / share as f64 * link;
        let halving = |step: u32| apart(2 << step) / f64::from(1 << step);
        match self {
            _ if copies < 2 => 0.0,
            Self::Ring => 2.0 * (count - 1.0) / count * apart(copies),
            Self::Hierarchical => {
                let least = |inside: usize| {
                    let hosts = copies / inside;
                    let of = |link, rail| around(inside, inside, link) + around(hosts, copies, rail);
                    f64::min(of(apart(copies), apart(hosts)), of(apart(inside), apart(copies)))
                };
                (1..copies).filter(|&inside| copies.is_multiple_of(inside)).map(least).fold(f64::INFINITY, f64::min)
            }
            Self::Tree => {
                let through = if copies.is_power_of_two() { 0.0 } else { 2.0 * apart(2) };
                through + (0..copies.ilog2()).map(halving).sum::<f64>()
            }
            Self::Auto => {
                let each = [Self::Ring, Self::Tree, Self::Hierarchical];
                each.into_iter().map(|way| way.least(copies, apart)).fold(f64::INFINITY, f64::min)
            }
        }
    }
}

/// What is to be brought together, and where it is.
struct Copies<'a> {
    topology: &'a Topology,
    devices: &'a [usize],
    bytes: f64,
}

impl Copies<'_> {
    /// So many steps of messages between these pairs of copies.
    fn phase(&self, steps: usize, pairs: impl Iterator<Item = (usize, usize)>, bytes: f64) -> Phase {
        let messages: Vec<(usize, usize)> = pairs.map(|(from, to)| (self.devices[from], self.devices[to])).collect();
        let mut links = self.topology.at_once(&messages, bytes);
        links.dedup();
        Phase { steps, links }
    }

    fn ring(&self) -> Vec<Phase> {
        let all: Vec<usize> = (0..self.devices.len()).collect();
        vec![self.phase(2 * (all.len() - 1), around(&all), self.bytes / all.len() as f64)]
    }

    fn hierarchical(&self, hosts: &[Vec<usize>]) -> Vec<Phase> {
        let (inside, all) = (hosts[0].len(), self.devices.len() as f64);
        let rails: Vec<Vec<usize>> = (0..inside).map(|k| hosts.iter().map(|host| host[k]).collect()).collect();
        let in_hosts = hosts.iter().flat_map(|host| around(host));
        let in_rails = rails.iter().flat_map(|rail| around(rail));
        vec![
            self.phase(2 * (inside - 1), in_hosts, self.bytes / inside as f64),
            self.phase(2 * (hosts.len() - 1), in_rails, self.bytes / all),
        ]
    }

    fn tree(&self) -> Vec<Phase> {
        let depth = self.devices.len().ilog2();
        let beyond = self.devices.len() - (1 << depth);
        let others = || (0..beyond).map(|i| (2 * i + 1, 2 * i));
        let core: Vec<usize> = (0..beyond).map(|i| 2 * i).chain(2 * beyond..self.devices.len()).collect();
        let halving = |step: u32| {
            let pairs = (0..core.len()).map(|i| (core[i], core[i ^ (1 << step)]));
            self.phase(2, pairs, self.bytes / f64::from(2 << step))
        };
        let through = [self.phase(1, others(), self.bytes), self.phase(1, others().map(|(a, b)| (b, a)), self.bytes)];
        through.into_iter().chain((0..depth).map(halving)).collect()
    }

    /// The copies by hosts: more than one, with more than one copy each, and equally many.
    fn hosts(&self) -> Vec<Vec<Vec<usize>>> {
        let count = self.devices.len();
        let bandwidth = |&(a, b): &(usize, usize)| {
            let (a, b) = (self.devices[a], self.devices[b]);
            self.topology.bandwidth(a, b).min(self.topology.bandwidth(b, a))
        };
        let mut pairs: Vec<(usize, usize)> = (0..count).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        pairs.sort_by(|a, b| bandwidth(b).total_cmp(&bandwidth(a)));
        let (mut joined, mut found) = (UnionFind::new(count), Vec::new());
        for alike in pairs.chunk_by(|a, b| bandwidth(a) == bandwidth(b)) {
            // Each of them joins, whether one before has or not.
            if alike.iter().filter(|&&(a, b)| joined.union(a, b)).count() > 0 {
                let hosts = sets(&joined, count);
                let is_even = hosts.iter().all(|host| host.len() == hosts[0].len());
                found.extend(Some(hosts).filter(|hosts| is_even && (2..count).contains(&hosts.len())));
            }
        }
        found
    }
}

/// Each member with the next one, and the last with the first.
fn around(members: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    members.iter().copied().zip(members.iter().copied().cycle().skip(1))
}

/// The sets of numbers below `count` that are joined, by their least.
fn sets(joined: &UnionFind<usize>, count: usize) -> Vec<Vec<usize>> {
    let (mut place, mut sets) = (vec![None; count], Vec::<Vec<usize>>::new());
    for i in 0..count {
        let set = *place[joined.find(i)].get_or_insert(sets.len());
        sets.resize(sets.len().max(set + 1), Vec::new());
        sets[set].push(i);
    }
    sets
}
