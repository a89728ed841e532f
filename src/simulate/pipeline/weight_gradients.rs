//! The backward pass in two: gradients of the inputs, and of the weights (Qi et al. 2024, "Zero bubble pipeline
//! parallelism", section 2).

use super::{Block, Flow, Pass, Pipeline, Way};

/// The share of a backward pass that the gradients of the weights take where nobody says: as long as those of the
/// inputs, as in a matrix product (Qi et al. 2024, section 2).
pub const WEIGHT_GRADIENT: f64 = 0.5;

impl Pipeline {
    /// This pipeline with the gradients of the weights in blocks of their own, which take `weight_gradient` of the
    /// compute of the backward blocks and wait for what is left of them. The copies of a stage bring their gradients
    /// together after these. A pipeline that has such blocks stays as it is. O(blocks + flows).
    pub(in crate::simulate) fn with_weight_gradients(&self) -> Self {
        let mut split = self.clone();
        if self.blocks.iter().any(|block| block.pass == Pass::WeightGradient) {
            return split;
        }
        for (i, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.pass == Pass::Backward) {
            let target = split.blocks.len();
            let compute = self.weight_gradient * block.compute;
            split.blocks[i].compute -= compute;
            split.blocks.push(Block {
                stage: block.stage,
                pass: Pass::WeightGradient,
                input: 0.0,
                compute,
                output: 0.0,
            });
            split.flows.push(Flow { source: i, target, way: Way::Kept });
            let after = split.all_reduces.iter_mut().flat_map(|reduce| &mut reduce.after);
            after.filter(|block| **block == i).for_each(|block| *block = target);
        }
        split
    }
}
