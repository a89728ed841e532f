//! Named kinds of problems.

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy};

use super::strategies::{InstanceOptions, Shape, Weights, instances};
use crate::generate::{Costs, Dnn, Layered, RandomDag, RandomFamily, Recipe, generate};
use crate::instance::Instance;

/// A kind of problems, by name.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its name in reports and on the command line.
    pub name: &'static str,
    /// What is special about it, in one line.
    pub summary: &'static str,
    /// What its instances may contain.
    pub options: InstanceOptions,
}

impl Family {
    /// Its instances of at most `max_groups` colour groups.
    pub fn instances(&self, max_groups: usize) -> BoxedStrategy<Instance> {
        instances(max_groups, self.options).boxed()
    }

    /// The family of this name.
    pub fn named(name: &str) -> Option<Self> {
        FAMILIES.iter().find(|family| family.name == name).copied()
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

const PLAIN: InstanceOptions = InstanceOptions::PLAIN;

/// Every family.
pub const FAMILIES: &[Family] = &[
    Family { name: "chain", summary: "one path", options: InstanceOptions { shape: Shape::Chain, ..PLAIN } },
    Family {
        name: "series-parallel",
        summary: "two-terminal series-parallel graphs",
        options: InstanceOptions { shape: Shape::SeriesParallel, ..PLAIN },
    },
    Family {
        name: "layered",
        summary: "layers of up to three nodes, several sources and sinks",
        options: InstanceOptions { shape: Shape::Layered, ..PLAIN },
    },
    Family {
        name: "dnn",
        summary: "blocks of parallel branches with shortcuts and skip connections",
        options: InstanceOptions { shape: Shape::Dnn, ..PLAIN },
    },
    Family {
        name: "random",
        summary: "any DAG, often with isolated nodes",
        options: InstanceOptions { shape: Shape::Random, ..PLAIN },
    },
    Family {
        name: "training",
        summary: "forward and backward pass, joined by colour classes",
        options: InstanceOptions { training: true, ..PLAIN },
    },
    Family {
        name: "colocated",
        summary: "colour classes of several forward nodes, as layers that share weights",
        options: InstanceOptions { shared_colors: true, ..PLAIN },
    },
    Family {
        name: "heterogeneous",
        summary: "two accelerator classes, and nodes that some kinds of device cannot run",
        options: InstanceOptions { unsupported: true, max_classes: 2, max_accelerators: 2, ..PLAIN },
    },
    Family {
        name: "tight-memory",
        summary: "accelerators whose memory is just enough, or just not",
        options: InstanceOptions { memory_limits: true, tight_memory: true, ..PLAIN },
    },
    Family {
        name: "ties",
        summary: "all costs are equal",
        options: InstanceOptions { weights: Weights::Equal, ..PLAIN },
    },
    Family {
        name: "near-ties",
        summary: "costs that differ by one part in ten thousand or ten billion",
        options: InstanceOptions { weights: Weights::NearTies, ..PLAIN },
    },
    Family {
        name: "zero-costs",
        summary: "most costs are zero",
        options: InstanceOptions { weights: Weights::MostlyZero, ..PLAIN },
    },
    Family {
        name: "adversarial",
        summary: "zeros, small weights and weights up to 2³⁰ beside each other",
        options: InstanceOptions { weights: Weights::Extreme, training: true, ..PLAIN },
    },
    Family { name: "everything", summary: "all of this at once", options: InstanceOptions::ALL },
];

/// What reports call the graphs of some hundred nodes.
pub(super) const LARGE: &str = "large";

/// A graph of about 200 nodes, for time limits: one of several shapes, with and without a backward pass.
pub(super) fn large(index: u64) -> Instance {
    let family = if index.is_multiple_of(2) {
        RandomFamily::Dnn(Dnn { nodes: 200, ..Dnn::default() })
    } else {
        RandomFamily::Layered(Layered { layers: 25, width: 8, ..Layered::default() })
    };
    let costs = Costs { integer: true, ..Costs::default() };
    let recipe = Recipe { training: index % 4 >= 2, ..Recipe::new(RandomDag { family, seed: index, costs }) };
    generate(&recipe).unwrap_or_else(|error| unreachable!("the recipe is sound: {error}"))
}
