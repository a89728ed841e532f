//! Interconnects made to order: those of Liu et al. (2024, appendix D-B), fat trees, NVSwitch servers, and clusters of
//! hosts of any kind.
//!
//! ```
//! use dagsplit::generate::topology::{Hierarchical, TopologyRecipe, generate};
//!
//! let topology = generate(&TopologyRecipe::new(Hierarchical::default()))?;
//! assert_eq!(topology.len(), 16);
//! assert!(topology.bandwidth(0, 1) > 9.0 * topology.bandwidth(0, 15));
//! # Ok::<(), dagsplit::generate::GenerateError>(())
//! ```

mod blocks;
mod dgx1;
mod fat_tree;
mod grid;
mod hierarchical;
mod hosts;
mod nvswitch;
mod uniform;

pub use blocks::{RandomBlk1, RandomBlk2};
pub use dgx1::Dgx1;
pub use fat_tree::FatTree;
pub use grid::{GridShape, Mesh, Torus, bandwidth_of_hops};
pub use hierarchical::Hierarchical;
pub use hosts::{Host, Network, join};
pub use nvswitch::{Nvswitch, Server};
pub use uniform::UniformDist;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde::Serialize;

use super::GenerateError;
use super::checks::Checks;
use super::command_line::command_line;
use crate::mapping::{Channel, Device, Rate, Topology};

/// A generator whose numbers are the same on every platform and in every version.
type Rng = Xoshiro256PlusPlus;

/// A family of interconnects with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
pub enum TopologyFamily {
    /// Equal nodes joined by one network.
    Hierarchical(Hierarchical),
    /// DGX-1 servers joined by one network.
    Dgx1(Dgx1),
    /// A mesh of any dimension.
    Mesh(Mesh),
    /// A torus of any dimension.
    Torus(Torus),
    /// Nodes of random size and bandwidth.
    #[serde(rename = "random-blk-1")]
    RandomBlk1(RandomBlk1),
    /// Nodes of random size with random bandwidths inside and distances between.
    #[serde(rename = "random-blk-2")]
    RandomBlk2(RandomBlk2),
    /// A random bandwidth for every pair.
    UniformDist(UniformDist),
    /// A three-level fat tree.
    FatTree(FatTree),
    /// Servers with NVSwitch, joined by InfiniBand.
    Nvswitch(Nvswitch),
}

impl TopologyFamily {
    fn layout(&self) -> &dyn Layout {
        match self {
            Self::Hierarchical(layout) => layout,
            Self::Dgx1(layout) => layout,
            Self::Mesh(layout) => layout,
            Self::Torus(layout) => layout,
            Self::RandomBlk1(layout) => layout,
            Self::RandomBlk2(layout) => layout,
            Self::UniformDist(layout) => layout,
            Self::FatTree(layout) => layout,
            Self::Nvswitch(layout) => layout,
        }
    }
}

macro_rules! from_layouts {
    ($($layout:ident),*) => {
        $(impl From<$layout> for TopologyFamily {
            fn from(layout: $layout) -> Self {
                Self::$layout(layout)
            }
        })*
    };
}

from_layouts!(Hierarchical, Dgx1, Mesh, Torus, RandomBlk1, RandomBlk2, UniformDist, FatTree, Nvswitch);

/// What a family must tell and do.
trait Layout {
    /// A name that tells its size, such as `mesh-8x8`.
    fn name(&self) -> String;
    /// Checks the parameters, but not the number of devices.
    fn check(&self, checks: &mut Checks);
    /// The number of devices; saturates.
    fn devices(&self) -> usize;
    /// What device `d` is called; its number alone where the place of a device depends on the seed.
    fn device_name(&self, d: usize) -> String {
        format!("gpu{d}")
    }
    /// Memory of each device in bytes, where the family knows it.
    fn memory(&self) -> Option<f64> {
        None
    }
    /// What devices share.
    fn channels(&self) -> Vec<Channel> {
        Vec::new()
    }
    /// Draws the bandwidths in bytes per millisecond, and the latencies in milliseconds.
    fn draw(&self, rng: &mut Rng) -> Links;
}

/// The links of every ordered pair of devices.
struct Links {
    bandwidth: Box<dyn Fn(usize, usize) -> f64>,
    latency: Box<dyn Fn(usize, usize) -> f64>,
}

impl Links {
    fn new(bandwidth: impl Fn(usize, usize) -> f64 + 'static) -> Self {
        Self { bandwidth: Box::new(bandwidth), latency: Box::new(|_, _| 0.0) }
    }
}

/// Everything that determines a generated topology.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopologyRecipe {
    /// The interconnect.
    #[serde(flatten)]
    pub family: TopologyFamily,
    /// Seed of everything random; left out of the command line of a family that draws nothing.
    pub seed: Option<u64>,
    /// Memory of each device in bytes; `None` is that of the family's devices, or no limit.
    pub memory: Option<f64>,
}

impl TopologyRecipe {
    /// The interconnect of `family` with seed 0, where it draws anything.
    pub fn new(family: impl Into<TopologyFamily>) -> Self {
        Self::seeded(family, 0)
    }

    /// The interconnect that `seed` gives.
    pub fn seeded(family: impl Into<TopologyFamily>, seed: u64) -> Self {
        let family = family.into();
        let random = matches!(
            family,
            TopologyFamily::RandomBlk1(_) | TopologyFamily::RandomBlk2(_) | TopologyFamily::UniformDist(_)
        );
        Self { family, seed: random.then_some(seed), memory: None }
    }

    /// The command line that generates this topology, without its output file; it names every option.
    pub fn command_line(&self) -> String {
        command_line("dagsplit generate topology", self)
    }
}

/// Makes the topology of a recipe, in milliseconds and bytes. Equal recipes give equal topologies. O(devices²).
///
/// # Errors
/// [`GenerateError`] names every option that makes no sense.
pub fn generate(recipe: &TopologyRecipe) -> Result<Topology, GenerateError> {
    let layout = recipe.family.layout();
    let mut checks = Checks::default();
    layout.check(&mut checks);
    if layout.devices() > Topology::MAX_DEVICES {
        checks.problem("size", format!("more than {} devices are too many", Topology::MAX_DEVICES), "ask for fewer");
    }
    if let Some(memory) = recipe.memory {
        checks.positive("memory", memory);
    }
    checks.into_result()?;
    let memory = recipe.memory.or(layout.memory());
    let device = |d| Device { memory, ..Device::new(layout.device_name(d)) };
    let devices: Vec<Device> = (0..layout.devices()).map(device).collect();
    let name = layout.name() + &recipe.seed.map_or_else(String::new, |seed| format!("-seed{seed}"));
    let links = layout.draw(&mut Rng::seed_from_u64(recipe.seed.unwrap_or_default()));
    let mut topology = Topology::new(name, recipe.command_line(), devices, links.bandwidth).with_latency(links.latency);
    topology.channels = layout.channels();
    Ok(topology)
}

/// In each of `nodes` of `size` devices, `count` channels of this kind and bandwidth that the devices share evenly, neighbours
/// the same one.
fn channels_of_nodes((nodes, size): (usize, usize), count: usize, kind: &str, bandwidth: Rate) -> Vec<Channel> {
    let channel = |i: usize| {
        let (node, channel) = (i / count, i % count);
        let inside = node * size..(node + 1) * size;
        Channel {
            name: format!("node{node}/{kind}{channel}"),
            devices: inside.clone().filter(|device| device % size * count / size == channel).collect(),
            inside: inside.collect(),
            bandwidth: bandwidth.bytes_per_ms(),
        }
    };
    (0..nodes * count).map(channel).collect()
}

/// The name of device `d` where each node has `size` of them.
fn name_in_node(d: usize, size: usize) -> String {
    format!("node{}/gpu{}", d / size, d % size)
}
