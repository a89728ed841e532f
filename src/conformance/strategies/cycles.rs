//! Instances whose relaxations leave a gap.

use proptest::collection::vec;
use proptest::prelude::*;

use super::costs;
use crate::instance::{AcceleratorClass, Edge, Instance, Node, Platform};

/// A triangle's edges.
const EDGES: [(u64, u64); 3] = [(0, 1), (1, 2), (0, 2)];

/// What the nodes of a triangle take on an accelerator, and their transfers: two of a triangle are lighter than any two
/// nodes of different triangles, and than all three.
const TIMES: [f64; 3] = [33.0, 32.0, 32.0];
const TRANSFERS: [f64; 3] = [8.0, 8.0, 0.0];

/// So many triangles of nodes whose times nearly tie, for an accelerator less than twice as many, of two equal classes: two
/// for three, three for five. Halves of the pairs cover an odd cycle with fewer devices than whole sets do, so that a branch
/// and bound whose root bound is that of set covering has to branch.
pub fn odd_cycles(triangles: usize) -> impl Strategy<Value = Instance> {
    vec(costs::near_ties(), 3 * triangles).prop_map(move |noise| {
        let node = |(id, noise): (usize, u64)| Node {
            accelerator_times: vec![Some(TIMES[id % 3] * UNIT + noise as f64); 2],
            transfer_time: TRANSFERS[id % 3] * UNIT,
            ..Node::new(id as u64)
        };
        let class = |count| AcceleratorClass { count, ..AcceleratorClass::default() };
        let triangle = |first| EDGES.map(|(source, target)| Edge { source: first + source, target: first + target });
        Instance {
            platform: Platform { accelerators: vec![class(triangles), class(triangles - 1)], cpus: 0, bandwidth: None },
            nodes: noise.into_iter().enumerate().map(node).collect(),
            edges: (0..triangles as u64).flat_map(|i| triangle(3 * i)).collect(),
            ..Instance::default()
        }
    })
}

/// Beside this, [`costs::near_ties`] are small.
const UNIT: f64 = (1u64 << 38) as f64;
