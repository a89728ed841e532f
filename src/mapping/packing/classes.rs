//! Classes of devices that no link, speed or memory tells apart.

use crate::mapping::Topology;

/// The devices of a topology by class. Exchanging two devices of a class changes nothing.
#[derive(Debug, Clone)]
pub struct Classes {
    /// By class: its devices.
    pub members: Vec<Vec<usize>>,
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
        Self { members }
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

    /// Devices of two classes, different ones where the classes are the same; `None` where that has but one.
    pub fn pair(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        match a == b {
            true => Some((self.members[a][0], *self.members[a].get(1)?)),
            false => Some((self.members[a][0], self.members[b][0])),
        }
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
