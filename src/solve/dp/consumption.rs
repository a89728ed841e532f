//! How many devices of each kind a prefix of the pipeline uses, as one mixed-radix index.

use super::stage::{Boundary, StageKind};
use crate::preprocess::Reduced;
use crate::problem::{DeviceKind, Problem};

/// The uses of devices: index = Σ used\[kind\] · stride\[kind\]. A larger use has a larger index.
///
/// Servers are filled one after another. A server is *open* while it is partly used: the next stage lies in it too.
/// The last stage of a server uses up the rest of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumption {
    counts: Vec<usize>,
    strides: Vec<usize>,
    /// Devices in a server of each kind; `None` where the kind has no servers.
    server_sizes: Vec<Option<usize>>,
    len: usize,
}

impl Consumption {
    /// The uses of the device kinds of `reduced`. A kind has no more devices than could hold a unit each.
    pub fn new(problem: &Problem, reduced: &Reduced, stages: &[StageKind]) -> Self {
        let most_replicas = stages.iter().map(|s| s.replicas).max().unwrap_or(1);
        let server_size = problem.spec.interconnect.map(|i| i.server_size);
        let server_sizes: Vec<Option<usize>> =
            reduced.kinds.iter().map(|kind| server_size.filter(|_| kind.kind != DeviceKind::Cpu)).collect();
        let useful = |size: &Option<usize>| reduced.unit_count().saturating_mul(size.unwrap_or(most_replicas));
        let counts: Vec<usize> =
            reduced.kinds.iter().zip(&server_sizes).map(|(kind, size)| kind.count.min(useful(size))).collect();
        let mut strides = Vec::with_capacity(counts.len());
        let mut len = 1;
        for &count in &counts {
            strides.push(len);
            len *= count + 1;
        }
        Self { counts, strides, server_sizes, len }
    }

    /// How many uses there are; at least one.
    pub fn count(&self) -> usize {
        self.len
    }

    /// The use of all devices.
    pub fn full(&self) -> usize {
        self.len - 1
    }

    /// All uses, each after those it contains.
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.len
    }

    /// How many devices are in use, of all kinds together.
    pub fn device_count(&self, used: usize) -> usize {
        (0..self.counts.len()).map(|kind| self.of(used, kind)).sum()
    }

    fn of(&self, index: usize, kind: usize) -> usize {
        index / self.strides[kind] % (self.counts[kind] + 1)
    }

    /// How many devices of `kind` are left after `used`.
    pub fn left(&self, used: usize, kind: usize) -> usize {
        self.counts[kind] - self.of(used, kind)
    }

    /// Devices of `kind` used in its open server; 0 when none is open.
    fn in_server(&self, used: usize, kind: usize) -> usize {
        self.server_sizes[kind].map_or(0, |size| self.of(used, kind) % size)
    }

    /// The kind whose server is open.
    fn open_server(&self, used: usize) -> Option<usize> {
        (0..self.counts.len()).find(|&kind| self.in_server(used, kind) > 0)
    }

    /// The devices of the largest server, where what has no servers is one by itself.
    pub fn largest_server(&self) -> usize {
        self.server_sizes.iter().flatten().copied().max().unwrap_or(1)
    }

    /// How many devices are left in the open server; none where no server is open.
    pub fn room_in_server(&self, used: usize) -> usize {
        self.open_server(used).and_then(|kind| Some(self.server_sizes[kind]? - self.in_server(used, kind))).unwrap_or(0)
    }

    /// How many servers are left after those of `used`, devices without servers among them.
    pub fn servers_left(&self, used: usize) -> usize {
        let left = |kind: usize| self.left(used, kind).div_ceil(self.server_sizes[kind].unwrap_or(1));
        (0..self.counts.len()).map(left).sum()
    }

    /// The least use after a stage of this kind.
    pub fn least_after(&self, stage: StageKind) -> Option<usize> {
        (stage.replicas <= self.counts[stage.kind]).then(|| stage.replicas * self.strides[stage.kind])
    }

    /// How many devices a stage that follows `used` can have, if its lower boundary can lie there.
    fn room(&self, used: usize, stage: StageKind) -> Option<usize> {
        match (self.open_server(used), stage.lower) {
            (None, Boundary::Between) => {
                let left = self.counts[stage.kind] - self.of(used, stage.kind);
                Some(self.server_sizes[stage.kind].map_or(left, |size| size.min(left)))
            }
            (Some(kind), Boundary::Inside) if kind == stage.kind => {
                self.server_sizes[kind].map(|size| size - self.in_server(used, kind))
            }
            _ => None,
        }
    }

    /// `used` and the devices of one more stage, if there are enough.
    #[inline]
    pub fn add(&self, used: usize, stage: StageKind) -> Option<usize> {
        let room = self.room(used, stage)?;
        let taken = match (stage.upper, self.server_sizes[stage.kind]) {
            (Boundary::Between, Some(_)) if stage.replicas <= room => room,
            (Boundary::Between, None) if stage.replicas <= room => stage.replicas,
            (Boundary::Inside, _) if stage.replicas < room => stage.replicas,
            _ => return None,
        };
        Some(used + taken * self.strides[stage.kind])
    }

    /// `left` without the devices of one stage, if it has them.
    #[inline]
    pub fn take(&self, left: usize, stage: StageKind) -> Option<usize> {
        self.add(self.full() - left, stage).map(|used| self.full() - used)
    }

    /// The uses from which a stage leads to `used`.
    pub fn before(&self, used: usize, stage: StageKind) -> impl Iterator<Item = usize> + '_ {
        let most = self.server_sizes[stage.kind].unwrap_or(stage.replicas);
        let fewer = move |taken: usize| used.checked_sub(taken * self.strides[stage.kind]);
        (stage.replicas..=most).filter_map(fewer).filter(move |&before| self.add(before, stage) == Some(used))
    }

    /// Whether whatever can follow `used` can follow `other`.
    #[inline]
    pub fn contains(&self, used: usize, other: usize) -> bool {
        (0..self.counts.len()).all(|kind| {
            let (more, less) = (self.in_server(used, kind), self.in_server(other, kind));
            self.of(used, kind) >= self.of(other, kind) && more >= less && (more == 0) == (less == 0)
        })
    }
}
