//! Every assignment of colour groups to devices, interchangeable devices and servers looked at once.

use crate::problem::{DeviceKind, Objective, Problem};
use crate::solve::SearchContext;

/// One device, or group of replicas, and the colour groups on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    pub kind: DeviceKind,
    pub replicas: usize,
    pub server: Option<usize>,
    /// Bit g: holds group g.
    pub mask: u32,
}

impl Stage {
    /// The groups on the stage, ascending.
    pub fn groups(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..u32::BITS as usize).filter(move |g| mask >> g & 1 == 1)
    }
}

/// The devices of one kind that no stage has taken yet.
struct Pool {
    kind: DeviceKind,
    free: usize,
    max_replicas: usize,
    /// Free accelerators of each server; empty where servers do not matter.
    servers: Vec<usize>,
    /// Number of the first server.
    first_server: usize,
    server_size: usize,
}

impl Pool {
    /// The servers that can take `replicas` more accelerators, as positions: those in use, and one untouched.
    fn places(&self, replicas: usize) -> Vec<Option<usize>> {
        if self.servers.is_empty() {
            return vec![None];
        }
        let untouched = self.servers.iter().position(|&free| free == self.server_size);
        let fits =
            |&s: &usize| self.servers[s] >= replicas && (self.servers[s] < self.server_size || Some(s) == untouched);
        (0..self.servers.len()).filter(fits).map(Some).collect()
    }

    fn take(&mut self, replicas: usize, place: Option<usize>) {
        self.free -= replicas;
        if let Some(s) = place {
            self.servers[s] -= replicas;
        }
    }

    fn give_back(&mut self, replicas: usize, place: Option<usize>) {
        self.free += replicas;
        if let Some(s) = place {
            self.servers[s] += replicas;
        }
    }
}

fn pools(problem: &Problem) -> Vec<Pool> {
    let size = problem.spec.interconnect.map(|interconnect| interconnect.server_size);
    let replicas = problem.spec.most_replicas();
    let mut first_server = 0;
    let mut pools = Vec::new();
    for kind in problem.device_kinds() {
        let free = match (kind, problem.spec.objective) {
            // For the latency one CPU does what several do.
            (DeviceKind::Cpu, Objective::Latency { .. }) => 1,
            _ => problem.device_count(kind),
        };
        let (size, replicas) = if kind == DeviceKind::Cpu { (None, 1) } else { (size, replicas) };
        let servers = size.map_or_else(Vec::new, |size| vec![size; free / size]);
        let max_replicas = replicas.min(size.unwrap_or(free));
        let next_server = first_server + servers.len();
        pools.push(Pool { kind, free, max_replicas, servers, first_server, server_size: size.unwrap_or(0) });
        first_server = next_server;
    }
    pools
}

/// At least as many complete splits, subgraphs counted, as an enumeration of `groups` groups looks at.
pub(super) fn enumeration_bound(problem: &Problem, groups: usize) -> f64 {
    let pools = pools(problem);
    let devices: usize = pools.iter().map(|pool| pool.free).sum();
    let ways = |pool: &Pool| pool.max_replicas.min(pool.free) as f64 * pool.servers.len().max(1) as f64;
    let ways_to_open: f64 = pools.iter().map(ways).sum();
    // splits[s]: complete splits of the groups still to come, with s stages open.
    let mut splits = vec![1.0; groups + 2];
    for placed in (0..groups).rev() {
        for open in 0..=placed {
            let opened = if open < devices { ways_to_open * splits[open + 1] } else { 0.0 };
            splits[open] = open as f64 * splits[open] + opened;
        }
    }
    match problem.spec.objective {
        Objective::Latency { subgraphs } => splits[0] * (subgraphs as f64).powi(problem.node_count() as i32),
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Sharding(_) => splits[0],
    }
}

/// A depth-first walk over all assignments.
pub(super) struct Enumeration<'a> {
    groups: usize,
    pools: Vec<Pool>,
    stages: Vec<Stage>,
    cx: &'a SearchContext,
    /// Complete splits seen.
    pub splits: u64,
    /// Whether a limit ended the walk.
    pub stopped: bool,
}

impl<'a> Enumeration<'a> {
    /// How many splits are looked at between two looks at the clock.
    const PATIENCE: u64 = 256;

    pub fn new(problem: &Problem, groups: usize, cx: &'a SearchContext) -> Self {
        Self { groups, pools: pools(problem), stages: Vec::new(), cx, splits: 0, stopped: cx.should_stop() }
    }

    /// Calls `visit` with the stages of every complete assignment until a limit is reached.
    pub fn run(&mut self, visit: &mut dyn FnMut(&[Stage])) {
        self.place(0, visit);
    }

    fn place(&mut self, group: usize, visit: &mut dyn FnMut(&[Stage])) {
        if self.stopped {
            return;
        }
        if group == self.groups {
            visit(&self.stages);
            self.splits += 1;
            self.stopped = self.splits.is_multiple_of(Self::PATIENCE) && self.cx.should_stop();
            return;
        }
        for stage in 0..self.stages.len() {
            self.stages[stage].mask |= 1 << group;
            self.place(group + 1, visit);
            self.stages[stage].mask &= !(1 << group);
        }
        for pool in 0..self.pools.len() {
            self.open(pool, group, visit);
        }
    }

    /// Places `group` on a new stage of each shape that the pool allows.
    fn open(&mut self, pool: usize, group: usize, visit: &mut dyn FnMut(&[Stage])) {
        for replicas in 1..=self.pools[pool].max_replicas.min(self.pools[pool].free) {
            for place in self.pools[pool].places(replicas) {
                let Pool { kind, first_server, .. } = self.pools[pool];
                let server = place.map(|s| first_server + s);
                self.pools[pool].take(replicas, place);
                self.stages.push(Stage { kind, replicas, server, mask: 1 << group });
                self.place(group + 1, visit);
                self.stages.pop();
                self.pools[pool].give_back(replicas, place);
            }
        }
    }
}
