//! Random DAGs of several families with random costs.

mod chain;
mod costs;
mod dag;
mod dnn;
mod erdos_renyi;
mod layered;
mod series_parallel;

pub use chain::Chain;
pub use costs::Costs;
pub use dnn::Dnn;
pub use erdos_renyi::ErdosRenyi;
pub use layered::Layered;
pub use series_parallel::SeriesParallel;

use std::fmt;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde::Serialize;

use super::Workload;
use super::checks::Checks;
use super::training::add_backward_pass;
use crate::instance::{Edge, Instance, Node};
use dag::Dag;

/// A generator whose numbers are the same on every platform and in every version.
type Rng = Xoshiro256PlusPlus;

/// A family of random DAGs with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
pub enum RandomFamily {
    /// One path.
    Chain(Chain),
    /// Two-terminal series-parallel graphs.
    SeriesParallel(SeriesParallel),
    /// Layers of equal width, edges between neighbouring layers and skips.
    Layered(Layered),
    /// Cells of parallel branches, as in deep networks.
    Dnn(Dnn),
    /// Each pair joined independently.
    ErdosRenyi(ErdosRenyi),
}

impl RandomFamily {
    fn shape(&self) -> &dyn Shape {
        match self {
            Self::Chain(shape) => shape,
            Self::SeriesParallel(shape) => shape,
            Self::Layered(shape) => shape,
            Self::Dnn(shape) => shape,
            Self::ErdosRenyi(shape) => shape,
        }
    }
}

impl fmt::Display for RandomFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape();
        write!(f, "{}-{:.0}", shape.name(), shape.size().0)
    }
}

/// What a family must tell and do.
trait Shape {
    /// The family's name on the command line.
    fn name(&self) -> &'static str;
    /// Checks the parameters, but not the size.
    fn check(&self, checks: &mut Checks);
    /// The number of nodes, and of edges as expected.
    fn size(&self) -> (f64, f64);
    /// Draws a graph.
    fn draw(&self, rng: &mut Rng) -> Dag;
}

/// A random DAG with random costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RandomDag {
    /// The family the graph is drawn from.
    #[serde(flatten)]
    pub family: RandomFamily,
    /// Equal seeds give equal workloads.
    pub seed: u64,
    /// How costs are drawn.
    #[serde(flatten)]
    pub costs: Costs,
}

impl RandomDag {
    /// The graph of `family` that `seed` gives, with the default costs.
    pub fn new(family: RandomFamily, seed: u64) -> Self {
        Self { family, seed, costs: Costs::default() }
    }

    pub(super) fn check(&self, training: bool, checks: &mut Checks) {
        let shape = self.family.shape();
        shape.check(checks);
        self.costs.check(checks);
        let (nodes, edges) = shape.size();
        checks.size(training, nodes, edges);
    }

    pub(super) fn build(&self, training: bool) -> Instance {
        let mut rng = Rng::seed_from_u64(self.seed);
        let dag = self.family.shape().draw(&mut rng);
        let nodes: Vec<Node> = dag.layers().map(|(v, layer)| Node { layer, ..self.costs.draw(v, &mut rng) }).collect();
        let edges = dag.edges.iter().map(|&(u, v)| Edge { source: u.into(), target: v.into() }).collect();
        let mut instance = Instance { nodes, edges, ..Instance::default() };
        if training {
            let backward: Vec<_> = instance.nodes.iter().map(|node| Some(self.costs.backward(node))).collect();
            add_backward_pass(&mut instance, &backward);
        }
        instance
    }
}

impl From<RandomDag> for Workload {
    fn from(random: RandomDag) -> Self {
        Self::Random(random)
    }
}
