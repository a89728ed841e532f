//! Classes of devices that nothing tells apart, or little.

use crate::mapping::Topology;

/// The devices of a topology by class. Exchanging two devices of a class changes nothing, but for blocks taken as classes.
#[derive(Debug, Clone)]
pub struct Classes {
    /// By class: its devices.
    pub members: Vec<Vec<usize>>,
    /// By class: devices whose links are like those of all of them.
    samples: Vec<Vec<usize>>,
}

impl Classes {
    /// The classes of a topology. O(D² · classes) at worst.
    pub fn new(topology: &Topology) -> Self {
        let mut members: Vec<Vec<usize>> = Vec::new();
        for device in 0..topology.len() {
            match members.iter_mut().find(|class| are_alike(topology, class[0], device)) {
                Some(class) => class.push(device),
                None => members.push(vec![device]),
            }
        }
        let samples = members.iter().map(|devices| devices.iter().copied().take(2).collect()).collect();
        Self { members, samples }
    }

    /// These devices of each block as a class; `None` where that makes no fewer.
    pub fn merged(&self, blocks: Vec<Vec<usize>>) -> Option<Self> {
        (self.len() > blocks.len()).then(|| Self { samples: blocks.clone(), members: blocks })
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The class of each device.
    pub fn by_device(&self) -> Vec<usize> {
        let mut classes = vec![0; self.members.iter().map(Vec::len).sum()];
        for (class, members) in self.members.iter().enumerate() {
            members.iter().for_each(|&device| classes[device] = class);
        }
        classes
    }

    /// The least cost between different devices of two classes; infinite where these are one class of one device.
    /// O(1), or with blocks O(devices of the one · devices of the other).
    pub fn least(&self, a: usize, b: usize, cost: impl Fn(usize, usize) -> f64) -> f64 {
        let pairs = self.samples[a].iter().flat_map(|&one| self.samples[b].iter().map(move |&other| (one, other)));
        pairs.filter(|(one, other)| one != other).map(|(one, other)| cost(one, other)).fold(f64::INFINITY, f64::min)
    }
}

fn are_alike(topology: &Topology, a: usize, b: usize) -> bool {
    let same = |(a, b): (usize, usize), (c, d): (usize, usize)| {
        topology.bandwidth(a, b) == topology.bandwidth(c, d) && topology.latency(a, b) == topology.latency(c, d)
    };
    let (one, other) = (&topology.devices[a], &topology.devices[b]);
    let mut others = (0..topology.len()).filter(|&c| c != a && c != b);
    one.speed == other.speed
        && one.memory == other.memory
        && same((a, b), (b, a))
        && others.all(|c| same((a, c), (b, c)) && same((c, a), (c, b)))
}
