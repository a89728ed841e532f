//! Families of generated workloads, each in any size.

use dagsplit::generate::{Architecture, Dnn, Model, Nasnet, RandomDag, RandomFamily, Recipe, Transformer, generate};
use dagsplit::instance::Instance;
use serde::{Deserialize, Serialize};

/// A family of workloads that grow in depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// Cells of two to four branches, some of which read a cell long before; random costs.
    Dnn,
    /// The same with the backward pass.
    DnnTraining,
    /// Cells of two to four branches, none of which reads a cell long before; random costs.
    Inception,
    /// BERT-base with more or fewer layers; modelled costs.
    Transformer,
    /// NASNet-A mobile with more or fewer cells; modelled costs.
    Nasnet,
}

/// Memory of an accelerator that holds any of the graphs, so that size alone varies.
const AMPLE: f64 = 1e15;

impl Family {
    /// Every family.
    pub const ALL: [Self; 5] = [Self::Dnn, Self::DnnTraining, Self::Inception, Self::Transformer, Self::Nasnet];

    /// A name to show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dnn => "cells with skips",
            Self::DnnTraining => "cells with skips, training",
            Self::Inception => "cells",
            Self::Transformer => "transformer",
            Self::Nasnet => "NASNet",
        }
    }

    /// Whether a member comes near this size: networks have a smallest one.
    pub fn has(self, nodes: usize) -> bool {
        self.instance(nodes).nodes.len().abs_diff(nodes) * 5 <= nodes
    }

    /// The member of about `nodes` nodes, for six accelerators and one CPU.
    pub fn instance(self, nodes: usize) -> Instance {
        let cells = |nodes, skip| {
            let family = RandomFamily::Dnn(Dnn { nodes, skip, ..Dnn::default() });
            Recipe::new(RandomDag::new(family, 1))
        };
        let skip = Dnn::default().skip;
        let recipe = match self {
            Self::Dnn => cells(nodes, skip),
            Self::DnnTraining => Recipe { training: true, ..cells(nodes / 2, skip) },
            Self::Inception => cells(nodes, 0.0),
            Self::Transformer => {
                repeated(nodes, |layers| Architecture::from(Transformer { layers, ..Transformer::bert_base() }))
            }
            Self::Nasnet => repeated(nodes, |repeats| Architecture::from(Nasnet { repeats, ..Nasnet::mobile() })),
        };
        made(&recipe)
    }
}

/// The network with the number of layers that brings it closest to `nodes` nodes.
fn repeated(nodes: usize, network: impl Fn(u32) -> Architecture) -> Recipe {
    let recipe = |layers| {
        let model = Model { architecture: network(layers), hardware: Default::default() };
        Recipe { memory: Some(AMPLE), ..Recipe::new(model) }
    };
    let size = |layers| made(&recipe(layers)).nodes.len();
    let (one, two) = (size(1), size(2));
    let further = (nodes.saturating_sub(one) as f64 / (two - one) as f64).round();
    recipe(1 + further as u32)
}

/// The workload of a recipe that is known to make sense.
pub fn made(recipe: &Recipe) -> Instance {
    generate(recipe).unwrap_or_else(|error| panic!("{error}"))
}
