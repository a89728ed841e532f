//! What is known of the stages behind an ideal: how many parts of a batch they take, and how many devices.

/// Stages that hold all units of one filter.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// The sum of their data degrees.
    pub parts: usize,
    /// The devices that they use.
    pub devices: usize,
    /// The units that they hold, by the number of their set in the lattice.
    pub set: u32,
    /// The label without the first of them, by its number; that without any names itself.
    pub behind: u32,
    /// The index of the first one's tensor degree.
    pub tensor: usize,
    /// Its data degree.
    pub data: usize,
}

/// The labels of a set that no other of them is better than: by their parts ascending, their devices descending.
#[derive(Debug, Clone, Default)]
pub struct Front(Vec<(usize, usize, u32)>);

impl Front {
    /// Whether some label takes no more parts and devices.
    pub fn dominates(&self, parts: usize, devices: usize) -> bool {
        let end = self.0.partition_point(|&(p, ..)| p <= parts);
        end > 0 && self.0[end - 1].1 <= devices
    }

    /// Adds a label that is not dominated, in the place of those that it dominates.
    pub fn insert(&mut self, parts: usize, devices: usize, label: u32) {
        let start = self.0.partition_point(|&(p, ..)| p < parts);
        let dominated = self.0[start..].iter().take_while(|&&(_, d, _)| d >= devices).count();
        self.0.splice(start..start + dominated, [(parts, devices, label)]);
    }

    /// The labels: parts, devices, number.
    pub fn labels(&self) -> &[(usize, usize, u32)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_keeps_what_nothing_is_better_than() {
        let mut front = Front::default();
        for (label, (parts, devices)) in [(4, 8), (2, 16), (6, 4), (3, 12), (3, 7)].into_iter().enumerate() {
            assert!(!front.dominates(parts, devices));
            front.insert(parts, devices, label as u32);
        }
        assert_eq!(front.labels(), [(2, 16, 1), (3, 7, 4), (6, 4, 2)]);
        assert!(front.dominates(3, 7) && front.dominates(4, 7) && front.dominates(7, 5));
        assert!(!front.dominates(3, 6) && !front.dominates(1, 99) && !front.dominates(5, 6));
    }
}
