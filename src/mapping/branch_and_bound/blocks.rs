//! Blocks: devices that look alike from outside, as the devices of a node or a rack.

use crate::mapping::Topology;
use crate::small_set::Set;
use crate::solve::SearchContext;

/// Pairs of devices between two looks at the limits.
const PAIRS: usize = 1 << 14;

/// A partition of the devices into blocks. The link between devices of two blocks depends on the blocks alone.
#[derive(Debug, Clone)]
pub struct Partition<const W: usize> {
    /// The blocks, each with its devices.
    pub blocks: Vec<Set<W>>,
    /// By device: its block.
    pub block: Vec<usize>,
}

impl<const W: usize> Partition<W> {
    /// The partitions of a topology from the coarsest to the finest: the components that its links of at least some
    /// bandwidth leave, where these are blocks. O(D³) at worst.
    pub fn all(topology: &Topology, cx: &SearchContext) -> Vec<Self> {
        let devices = topology.len();
        if !cx.admits(2 * devices * devices * size_of::<usize>()) {
            return Vec::new();
        }
        let width = |a: usize, b: usize| topology.bandwidth(a, b).max(topology.bandwidth(b, a));
        let mut pairs: Vec<(usize, usize)> = (0..devices).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        pairs.sort_by(|&(a, b), &(c, d)| width(c, d).total_cmp(&width(a, b)));
        let mut block: Vec<usize> = (0..devices).collect();
        let (mut partitions, mut has_changed) = (Vec::new(), false);
        for (index, &(a, b)) in pairs.iter().enumerate() {
            if index % PAIRS == PAIRS - 1 && cx.should_stop() {
                break;
            }
            let (low, high) = (block[a].min(block[b]), block[a].max(block[b]));
            if low != high {
                block.iter_mut().filter(|block| **block == high).for_each(|block| *block = low);
                has_changed = true;
            }
            let is_last = pairs.get(index + 1).is_none_or(|&(c, d)| width(c, d) < width(a, b));
            if is_last && std::mem::take(&mut has_changed) && block.iter().any(|&block| block != 0) {
                partitions
                    .extend(Some(&block).filter(|block| are_blocks(topology, block)).map(|block| Self::of(block)));
            }
        }
        partitions.reverse();
        partitions
    }

    /// The devices block by block, each block followed by the nearest of those that are left, from a far one on.
    /// O(blocks² + D).
    pub fn line(&self, topology: &Topology) -> Vec<usize> {
        let first = |block: &usize| self.blocks[*block].first().unwrap_or_default();
        let time = |a: usize, b: usize| topology.message_time(first(&a), first(&b), 1.0);
        let path = |start: usize| {
            let (mut path, mut rest) = (vec![start], (0..self.blocks.len()).collect::<Vec<_>>());
            rest.retain(|&block| block != start);
            while let Some(next) = (0..rest.len())
                .min_by(|&a, &b| time(path[path.len() - 1], rest[a]).total_cmp(&time(path[path.len() - 1], rest[b])))
            {
                path.push(rest.remove(next));
            }
            path
        };
        let end = path(0).pop().unwrap_or_default();
        path(end).into_iter().flat_map(|block| self.blocks[block].iter()).collect()
    }

    /// By block: its devices.
    pub fn devices(&self) -> Vec<Vec<usize>> {
        self.blocks.iter().map(|block| block.iter().collect()).collect()
    }

    fn of(block: &[usize]) -> Self {
        let mut numbers: Vec<usize> = block.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let block: Vec<usize> = block.iter().map(|block| numbers.partition_point(|number| number < block)).collect();
        let devices = |number: usize| (0..block.len()).filter(|&device| block[device] == number).collect();
        Self { blocks: (0..numbers.len()).map(devices).collect(), block }
    }
}

/// Whether links between blocks depend on the blocks alone. Blocks are named by their lowest device.
fn are_blocks(topology: &Topology, block: &[usize]) -> bool {
    let devices = topology.len();
    let alike = |a: usize, b: usize| {
        let (low_a, low_b) = (block[a], block[b]);
        low_a == low_b
            || topology.bandwidth(a, b) == topology.bandwidth(low_a, low_b)
                && topology.latency(a, b) == topology.latency(low_a, low_b)
    };
    (0..devices).all(|a| (0..devices).all(|b| alike(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Device;

    #[test]
    fn the_line_follows_the_blocks_from_end_to_end() {
        // Three nodes in a row, the middle one first, whose devices take turns.
        let place = |device: usize| -> usize { [1, 0, 2][device % 3] };
        let devices = (0..9).map(|index| Device::new(index.to_string())).collect();
        let topology = Topology::new("row", "", devices, |a, b| match place(a).abs_diff(place(b)) {
            0 => 10.0,
            distance => 1.0 / distance as f64,
        });
        let partition = &Partition::<1>::all(&topology, &SearchContext::new())[0];
        let places: Vec<usize> = partition.line(&topology).into_iter().map(place).collect();
        let there = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        assert!(places == there || places.iter().rev().eq(&there), "{places:?}");
    }
}
