//! Times of candidate stages: the intervals of blocks in topological order.

use crate::graph::Csr;
use crate::preprocess::Reduced;
use crate::problem::fits;

/// Forward and backward time of a stage for one sample, with the time to send its outputs (RaNNC 2021, section III-C).
pub type StageTime = [f64; 2];

/// Profiles intervals of blocks, which are the units of a reduced problem in topological order, on one kind of device.
pub struct Profile<'a> {
    reduced: &'a Reduced,
    kind: usize,
    /// The first and the last block of each net.
    spans: Vec<(usize, usize)>,
    /// The nets that each block sends.
    sent: Csr,
    /// The nets that each block is the first of.
    begun: Csr,
}

impl<'a> Profile<'a> {
    /// Prepares for devices of `kind`. O(nets · pins).
    pub fn new(reduced: &'a Reduced, kind: usize) -> Self {
        let ends = |pins: &[u32]| (pins[0] as usize, pins[pins.len() - 1] as usize);
        let spans: Vec<(usize, usize)> = reduced.nets.iter().map(|net| ends(&net.pins)).collect();
        let n = reduced.unit_count();
        let sent = Csr::new(n, reduced.nets.iter().enumerate().map(|(e, net)| (net.source as usize, e)));
        let begun = Csr::new(n, spans.iter().enumerate().map(|(e, &(first, _))| (first, e)));
        Self { reduced, kind, spans, sent, begun }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.reduced.unit_count()
    }

    /// The times of the stages that end with block `end - 1`, by their first block; of those that begin before what the
    /// row holds, none fits. The row is turned round: its first entry is the shortest stage. O(nets of the blocks).
    pub fn ending_at(&self, end: usize) -> Vec<StageTime> {
        let kind = &self.reduced.kinds[self.kind];
        let mut row = Vec::new();
        let mut time = [0.0; 2];
        let mut memory = 0.0;
        for block in (0..end).rev() {
            memory += kind.memory[block];
            let Some(own) = kind.times[block].filter(|_| fits(memory, kind.memory_limit)) else { break };
            time[0] += own.forward;
            time[1] += own.backward;
            for e in self.sent.row(block).iter().map(|&e| e as usize) {
                let (first, last) = self.spans[e];
                if first < block || last >= end {
                    time[usize::from(self.reduced.nets[e].backward)] += kind.transfers[e];
                }
            }
            // What was sent back to this block no longer leaves the stage.
            for e in self.begun.row(block).iter().map(|&e| e as usize) {
                let source = self.reduced.nets[e].source as usize;
                if source > block && source < end && self.spans[e].1 < end {
                    time[usize::from(self.reduced.nets[e].backward)] -= kind.transfers[e];
                }
            }
            row.push(time);
        }
        row
    }
}
