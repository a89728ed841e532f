//! What the link between two devices costs, sorted so that thresholds become sets of devices.

use crate::mapping::Topology;
use crate::small_set::Set;
use crate::solve::SearchContext;

/// Devices whose links are priced, or sorted, between two looks at the limits.
const ROWS: usize = 64;

/// A cost of ordered pairs of devices: a sum of bandwidths' inverses and latencies of both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Bytes from the first device to the second.
    pub bytes_out: f64,
    /// Bytes from the second device to the first.
    pub bytes_in: f64,
    /// How often the latency from the first device to the second counts.
    pub latency_out: f64,
    /// How often the latency from the second device to the first counts.
    pub latency_in: f64,
}

impl Weights {
    /// The same costs up to the factor that comes with them, in a form in which equal costs look equal: latencies that
    /// are none and directions that do not differ are left out.
    pub fn normalised(self, topology: &Form) -> (Self, f64) {
        let mut weights = self;
        if topology.symmetric {
            weights.bytes_out += std::mem::take(&mut weights.bytes_in);
            weights.latency_out += std::mem::take(&mut weights.latency_in);
        }
        if topology.instant {
            (weights.latency_out, weights.latency_in) = (0.0, 0.0);
        }
        let Self { bytes_out, bytes_in, latency_out, latency_in } = weights;
        let scale = bytes_out.max(bytes_in);
        let weights = Self {
            bytes_out: bytes_out / scale,
            bytes_in: bytes_in / scale,
            latency_out: latency_out / scale,
            latency_in: latency_in / scale,
        };
        (weights, scale)
    }

    fn cost(&self, topology: &Topology, a: usize, b: usize) -> f64 {
        let part = |weight: f64, cost: f64| if weight == 0.0 { 0.0 } else { weight * cost };
        part(self.bytes_out, 1.0 / topology.bandwidth(a, b))
            + part(self.bytes_in, 1.0 / topology.bandwidth(b, a))
            + part(self.latency_out, topology.latency(a, b))
            + part(self.latency_in, topology.latency(b, a))
    }
}

/// What a topology's links have in common.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Both directions of every link are alike.
    pub symmetric: bool,
    /// No link has a latency.
    pub instant: bool,
}

impl Form {
    /// The form of `topology`.
    pub fn of(topology: &Topology) -> Self {
        let pairs = || (0..topology.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let alike = |(a, b)| {
            topology.bandwidth(a, b) == topology.bandwidth(b, a) && topology.latency(a, b) == topology.latency(b, a)
        };
        let instant = |(a, b)| topology.latency(a, b) == 0.0 && topology.latency(b, a) == 0.0;
        Self { symmetric: pairs().all(alike), instant: pairs().all(instant) }
    }
}

/// The costs of all links, and for each device the others from the cheapest on.
#[derive(Debug)]
pub struct Relation<const W: usize> {
    devices: usize,
    cost: Vec<f64>,
    /// Where each device's levels begin; one more at the end.
    starts: Vec<usize>,
    levels: Vec<f64>,
    /// The devices that cost at most a level.
    within: Vec<Set<W>>,
}

impl<const W: usize> Relation<W> {
    /// The relation of these weights; `None` where a limit comes first.
    pub fn new(topology: &Topology, weights: &Weights, cx: &SearchContext) -> Option<Self> {
        let devices = topology.len();
        if !cx.admits(devices * devices * size_of::<f64>()) {
            return None;
        }
        let cost = |a, b| if a == b { 0.0 } else { weights.cost(topology, a, b) };
        let mut costs = Vec::with_capacity(devices * devices);
        for a in 0..devices {
            if a % ROWS == ROWS - 1 && cx.should_stop() {
                return None;
            }
            costs.extend((0..devices).map(|b| cost(a, b)));
        }
        let mut relation = Self { devices, cost: costs, starts: vec![0], levels: Vec::new(), within: Vec::new() };
        for device in 0..devices {
            // Lists of levels may double.
            let most = relation.within.capacity().max(devices) * size_of::<Set<W>>();
            if device % ROWS == ROWS - 1 && (cx.should_stop() || !cx.admits(most)) {
                return None;
            }
            relation.sort(device);
        }
        Some(relation)
    }

    fn sort(&mut self, device: usize) {
        let mut others: Vec<usize> = (0..self.devices).filter(|&other| other != device).collect();
        others.sort_by(|&a, &b| self.cost(device, a).total_cmp(&self.cost(device, b)));
        let start = self.levels.len();
        let mut reached = Set::EMPTY;
        for other in others {
            let cost = self.cost(device, other);
            reached.insert(other);
            if self.levels.len() > start && self.levels[self.levels.len() - 1] == cost {
                self.within.pop();
            } else {
                self.levels.push(cost);
            }
            self.within.push(reached);
        }
        self.starts.push(self.levels.len());
    }

    /// The different costs of links.
    pub fn distinct(&self) -> Vec<f64> {
        let mut costs = self.levels.clone();
        costs.sort_by(f64::total_cmp);
        costs.dedup();
        costs
    }

    /// Cost between two devices.
    #[inline]
    pub fn cost(&self, a: usize, b: usize) -> f64 {
        self.cost[a * self.devices + b]
    }

    /// The least cost from `device` to another of `set`, and all of them that have it.
    #[inline]
    pub fn cheapest(&self, device: usize, set: &Set<W>) -> Option<(f64, Set<W>)> {
        let range = self.starts[device]..self.starts[device + 1];
        let within = &self.within[range.clone()];
        // Most often one of the first levels does.
        let near = within.iter().take(4).position(|within| within.meets(set));
        let level = near.unwrap_or_else(|| within.partition_point(|within| !within.meets(set)));
        let devices = *within.get(level)? & *set;
        Some((self.levels[range.start + level], devices))
    }

    /// The costs from `device` to the others of `set`, from the least on.
    pub fn nearest(&self, device: usize, set: Set<W>) -> impl Iterator<Item = (f64, usize)> {
        let (mut rest, mut level) = (set, (0.0, Set::EMPTY));
        std::iter::from_fn(move || {
            if level.1.is_empty() {
                level = self.cheapest(device, &rest)?;
                rest = rest.minus(&level.1);
            }
            let other = level.1.first()?;
            level.1.remove(other);
            Some((level.0, other))
        })
    }

    /// The other devices that cost at most `limit` from `device`.
    #[inline]
    pub fn within(&self, device: usize, limit: f64) -> Set<W> {
        let (start, end) = (self.starts[device], self.starts[device + 1]);
        let levels = &self.levels[start..end];
        let count = match levels.last() {
            Some(&last) if last <= limit => levels.len(),
            _ => levels.partition_point(|&level| level <= limit),
        };
        if count == 0 { Set::EMPTY } else { self.within[start + count - 1] }
    }
}
