//! All-reduces: against closed forms, and against a machine that sends every message of every step.

use std::collections::BTreeSet;

use dagsplit::mapping::{Device, Topology};
use dagsplit::simulate::{AllReduce, Collective};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const ALL: [Collective; 4] = [Collective::Ring, Collective::Hierarchical, Collective::Tree, Collective::Auto];

/// A message: from and to which copy, which shares, and whether what they hold is added to what is there.
type Message = (usize, usize, Vec<usize>, bool);

/// Copies of a stage, each with the gradients that it has of each share: a bit for each copy that they come from.
struct Machine<'a> {
    topology: &'a Topology,
    devices: &'a [usize],
    /// Bytes of a share.
    share: f64,
    has: Vec<Vec<u32>>,
    time: f64,
}

impl<'a> Machine<'a> {
    fn new(topology: &'a Topology, devices: &'a [usize], bytes: f64, shares: usize) -> Self {
        let has = (0..devices.len()).map(|copy| vec![1 << copy; shares]).collect();
        Self { topology, devices, share: bytes / shares as f64, has, time: 0.0 }
    }

    /// All of these at once; each copy sends one at most, and gets one at most.
    fn step(&mut self, messages: &[Message]) {
        let (before, mut slowest) = (self.has.clone(), 0.0_f64);
        let ends: BTreeSet<_> = messages.iter().flat_map(|(from, to, ..)| [(0, from), (1, to)]).collect();
        assert_eq!(ends.len(), 2 * messages.len(), "a copy has one port");
        for (from, to, shares, adds) in messages {
            for &share in shares {
                let (sent, held) = (before[*from][share], &mut self.has[*to][share]);
                assert!(!adds || *held & sent == 0, "gradients count once");
                *held = if *adds { *held | sent } else { sent };
            }
            let bytes = self.share * shares.len() as f64;
            slowest = slowest.max(self.topology.message_time(self.devices[*from], self.devices[*to], bytes));
        }
        self.time += slowest;
    }

    /// Rings of these copies side by side: a step in which each hands on one of its ring's shares to the next one. `held` says
    /// which shares the share of a number in a ring is.
    fn around(&mut self, rings: &[Vec<usize>], held: &dyn Fn(usize, usize) -> Vec<usize>, begins: usize, adds: bool) {
        let size = rings[0].len();
        for step in 0..size - 1 {
            let messages = rings.iter().enumerate().flat_map(|(r, ring)| {
                let send =
                    move |i: usize| (ring[i], ring[(i + 1) % size], held(r, (i + begins + size - step) % size), adds);
                (0..size).map(send)
            });
            let messages: Vec<Message> = messages.collect();
            self.step(&messages);
        }
    }

    /// How long it took, all copies having everything.
    fn done(self) -> f64 {
        let everything = (1 << self.devices.len()) - 1;
        assert!(self.has.iter().flatten().all(|&from| from == everything), "{:?}", self.has);
        self.time
    }
}

fn ring(topology: &Topology, devices: &[usize], bytes: f64) -> f64 {
    let mut machine = Machine::new(topology, devices, bytes, devices.len());
    let all = [(0..devices.len()).collect()];
    machine.around(&all, &|_, share| vec![share], 0, true);
    machine.around(&all, &|_, share| vec![share], 1, false);
    machine.done()
}

fn hierarchical(topology: &Topology, devices: &[usize], bytes: f64, hosts: &[Vec<usize>]) -> f64 {
    let (inside, count) = (hosts[0].len(), hosts.len());
    let mut machine = Machine::new(topology, devices, bytes, devices.len());
    let of_host = |_: usize, share: usize| (share * count..(share + 1) * count).collect::<Vec<_>>();
    let rails: Vec<Vec<usize>> = (0..inside).map(|k| hosts.iter().map(|host| host[k]).collect()).collect();
    // Copy k of a host has all of the share k + 1 by then.
    let of_rail = |rail: usize, share: usize| vec![(rail + 1) % inside * count + share];
    machine.around(hosts, &of_host, 0, true);
    machine.around(&rails, &of_rail, 0, true);
    machine.around(&rails, &of_rail, 1, false);
    machine.around(hosts, &of_host, 1, false);
    machine.done()
}

fn tree(topology: &Topology, devices: &[usize], bytes: f64) -> f64 {
    let count = devices.len();
    let power = (0..).map(|k| 1 << k).take_while(|&power| power <= count).last().unwrap();
    let mut machine = Machine::new(topology, devices, bytes, power);
    let beyond = count - power;
    let core: Vec<usize> = (0..count).filter(|&copy| copy >= 2 * beyond || copy % 2 == 0).collect();
    let all: Vec<usize> = (0..power).collect();
    let outer = |back: bool| -> Vec<Message> {
        let pair = |i: usize| {
            if back { (2 * i, 2 * i + 1, all.clone(), false) } else { (2 * i + 1, 2 * i, all.clone(), true) }
        };
        (0..beyond).map(pair).collect()
    };
    machine.step(&outer(false));
    // Copy i is left with the shares that have its lowest bits first, halved bit by bit.
    let kept = |i: usize, bits: u32| -> Vec<usize> {
        all.iter().copied().filter(|share| (share ^ i) & ((1 << bits) - 1) == 0).collect()
    };
    for bit in 0..power.ilog2() {
        let messages: Vec<Message> =
            (0..power).map(|i| (core[i], core[i ^ (1 << bit)], kept(i ^ (1 << bit), bit + 1), true)).collect();
        machine.step(&messages);
    }
    for bit in (0..power.ilog2()).rev() {
        let messages: Vec<Message> =
            (0..power).map(|i| (core[i], core[i ^ (1 << bit)], kept(i, bit + 1), false)).collect();
        machine.step(&messages);
    }
    machine.step(&outer(true));
    machine.done()
}

/// The copies by what links of so much bandwidth or more join in both directions.
fn joined(topology: &Topology, devices: &[usize], least: f64) -> Vec<Vec<usize>> {
    let mut hosts: Vec<Vec<usize>> = Vec::new();
    for copy in 0..devices.len() {
        if hosts.iter().any(|host| host.contains(&copy)) {
            continue;
        }
        let mut host = vec![copy];
        while let Some(next) = (0..devices.len()).find(|other| {
            let is_near = |&member: &usize| {
                let (a, b) = (devices[member], devices[*other]);
                topology.bandwidth(a, b) >= least && topology.bandwidth(b, a) >= least
            };
            !host.contains(other) && host.iter().any(is_near)
        }) {
            host.push(next);
        }
        host.sort_unstable();
        hosts.push(host);
    }
    hosts
}

/// What the machine takes.
fn sent(collective: Collective, topology: &Topology, devices: &[usize], bytes: f64) -> f64 {
    let time = |collective| sent(collective, topology, devices, bytes);
    match collective {
        Collective::Ring => ring(topology, devices, bytes),
        Collective::Tree => tree(topology, devices, bytes),
        Collective::Auto => ALL[..3].iter().map(|&collective| time(collective)).fold(f64::INFINITY, f64::min),
        Collective::Hierarchical => {
            let pairs = devices.iter().flat_map(|&a| devices.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
            let hosts = pairs.map(|(a, b)| joined(topology, devices, topology.bandwidth(a, b)));
            let is_even = |hosts: &Vec<Vec<usize>>| {
                let size = hosts[0].len();
                size > 1 && size < devices.len() && hosts.iter().all(|host| host.len() == size)
            };
            let times = hosts.filter(is_even).map(|hosts| hierarchical(topology, devices, bytes, &hosts));
            times.min_by(f64::total_cmp).unwrap_or_else(|| time(Collective::Ring))
        }
    }
}

fn time(collective: Collective, topology: &Topology, devices: &[usize], bytes: f64, parts: usize) -> f64 {
    AllReduce { after: Vec::new(), ways: collective.ways(topology, devices, bytes) }.time(parts)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Hosts of so many devices, with so many bytes per millisecond inside and between, and a latency.
fn hosts(count: usize, size: usize, (inside, between): (f64, f64), latency: f64) -> Topology {
    let devices = (0..count * size).map(|d| Device::new(d.to_string())).collect();
    Topology::new("hosts", "made up", devices, move |a, b| if a / size == b / size { inside } else { between })
        .with_latency(move |_, _| latency)
}

#[test]
fn times_are_those_of_the_closed_forms() {
    for (count, size) in [(2, 4), (4, 2), (4, 8), (8, 8), (3, 4), (5, 3)] {
        let (fast, slow, latency, bytes) = (16.0, 2.0, 0.25, 96.0);
        let topology = hosts(count, size, (fast, slow), latency);
        let all = count * size;
        let devices: Vec<usize> = (0..all).collect();
        let [g, h, r] = [size, count, all].map(|n| n as f64);
        let time = |collective| time(collective, &topology, &devices, bytes, 1);
        assert!(near(time(Collective::Ring), 2.0 * (r - 1.0) * (latency + bytes / r / slow)));
        let inside = 2.0 * (g - 1.0) * (latency + bytes / g / fast);
        let rails = 2.0 * (h - 1.0) * (latency + bytes / r / slow);
        assert!(near(time(Collective::Hierarchical), inside + rails), "{count} hosts of {size}");
        if all.is_power_of_two() {
            let bytes = |hosts: f64, link: f64| 2.0 * (hosts - 1.0) / hosts * bytes / link;
            let expected = 2.0 * r.log2() * latency + bytes(g, fast) + bytes(h, slow) / g;
            assert!(near(time(Collective::Tree), expected), "{count} hosts of {size}");
        }
        let least = ALL[..3].iter().map(|&collective| time(collective)).fold(f64::INFINITY, f64::min);
        assert_eq!(time(Collective::Auto), least);
    }
}

/// A third copy sends all that it has to a neighbour and gets it back.
#[test]
fn copies_beyond_a_power_of_two_take_part_through_a_neighbour() {
    let topology = hosts(1, 3, (1.0, 1.0), 0.5);
    assert_eq!(time(Collective::Tree, &topology, &[0, 1, 2], 8.0, 1), 2.0 * (0.5 + 8.0) + 2.0 * (0.5 + 4.0));
    assert_eq!(time(Collective::Tree, &topology, &[2], 8.0, 1), 0.0);
}

/// Of a link that is late and one that is slow the former decides about small parts, the latter about large ones.
#[test]
fn parts_wait_for_the_link_that_is_slowest_for_them() {
    let devices = (0..2).map(|d| Device::new(d.to_string())).collect();
    let topology = Topology::new("two", "made up", devices, |a, _| [8.0, 1.0][a]).with_latency(|a, _| [4.0, 0.0][a]);
    let time = |parts| time(Collective::Ring, &topology, &[0, 1], 16.0, parts);
    assert_eq!((time(1), time(2), time(4)), (2.0 * 8.0, 2.0 * 4.5, 2.0 * 4.25));
}

proptest! {
    #[test]
    fn all_copies_get_everything_and_take_as_long(
        count in 1..10usize, rates in vec(select(vec![1.0_f64, 2.0, 8.0]), 81), even in any::<bool>(), size in 1..5usize,
        latencies in vec(0..4u8, 81), order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(), parts in 1..4usize,
    ) {
        let devices = (0..9).map(|d| Device::new(d.to_string())).collect();
        let bandwidth = |a: usize, b: usize| match (even, a / size == b / size) {
            (true, true) => 16.0,
            (true, false) => rates[0],
            (false, _) => rates[a * 9 + b],
        };
        let topology = Topology::new("any", "made up", devices, bandwidth).with_latency(|a, b| latencies[a * 9 + b].into());
        let bytes = 60.0;
        for collective in ALL {
            let (taken, expected) = (time(collective, &topology, &order[..count], bytes, parts), sent(collective, &topology, &order[..count], bytes / parts as f64));
            prop_assert!(near(taken, expected), "{collective:?}: {taken} for {expected}");
        }
    }
}
