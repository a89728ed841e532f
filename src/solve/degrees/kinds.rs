//! Nodes whose options are alike: models repeat their layers, so that thousands of nodes are of some dozens of kinds.

use std::collections::BTreeMap;

use super::shape::Shape;
use crate::cost::{OptionCost, StageBytes, StageCosts};

/// What an option takes.
#[derive(Debug, Clone, Copy)]
pub struct Amounts {
    pub compute: f64,
    pub parameters: f64,
    pub bytes: StageBytes,
    pub working: f64,
}

/// The kinds of nodes: those of one kind have the same options but for what they exchange and are called.
pub struct Kinds {
    /// The options of each kind by the index of their shape.
    pub options: Vec<Vec<Vec<Amounts>>>,
    /// The kind of each node.
    pub of_node: Vec<usize>,
}

impl Kinds {
    /// The kinds of all nodes. O(shapes · options · log kinds).
    pub fn new(costs: &StageCosts, shapes: &[Shape]) -> Self {
        let (mut options, mut known) = (Vec::new(), BTreeMap::new());
        let mut kind = |all: &Vec<OptionCost>| {
            let of_shape = |shape: &Shape| {
                let own = all.iter().filter(|option| option.is_of(shape.class, shape.tensor));
                own.map(|option| Amounts::of(costs, option)).collect::<Vec<_>>()
            };
            let own: Vec<Vec<Amounts>> = shapes.iter().map(of_shape).collect();
            let key: Vec<Vec<[u64; 6]>> = own.iter().map(|own| own.iter().map(Amounts::bits).collect()).collect();
            *known.entry(key).or_insert_with(|| {
                options.push(own);
                options.len() - 1
            })
        };
        let of_node = costs.options.iter().map(&mut kind).collect();
        Self { options, of_node }
    }
}

impl Amounts {
    fn of(costs: &StageCosts, option: &OptionCost) -> Self {
        let &OptionCost { compute, parameters, working, .. } = option;
        Self { compute, parameters, bytes: costs.bytes(option), working }
    }

    fn bits(&self) -> [u64; 6] {
        let StageBytes { per_microbatch, fixed, shared } = self.bytes;
        [self.compute, self.parameters, per_microbatch, fixed, shared, self.working].map(f64::to_bits)
    }
}
