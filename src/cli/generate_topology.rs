//! `dagsplit generate topology`

use std::path::PathBuf;

use crate::formats::write_topology;
use crate::generate::topology::{
    Dgx1, FatTree, Hierarchical, Mesh, Nvswitch, RandomBlk1, RandomBlk2, TopologyFamily, TopologyRecipe, Torus,
    UniformDist, generate,
};
use crate::mapping::Topology;
use clap::Subcommand;

use super::generate::Made;
use super::hosts_args::HostsArgs;
use super::values::{self, Memory};
use super::{Exit, Failure, OrFail};

const EXAMPLES: &str = "\
Examples:
  dagsplit generate topology hierarchical --nodes 2 --node-size 8 --inside 11GiB --between 1.1GiB
  dagsplit generate topology torus --shape 8x8x8 --output torus.json
  dagsplit generate topology uniform-dist --devices 64 --seed 7 --output random.json
  dagsplit generate topology hosts dgx-a100:count=4 v100.txt:speed=0.4,memory=16GiB --between 12.5GB

Bandwidths are bytes per second in one direction; GiB is 2^30 bytes, GB is 10^9.";

/// Make an interconnect: devices and the bandwidth of every pair of them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    family: Family,
}

#[derive(Debug, Subcommand)]
enum Family {
    /// Equal nodes, one bandwidth inside them and one between.
    Hierarchical(FamilyArgs<Hierarchical>),
    /// DGX-1 servers: eight V100 in a hybrid cube mesh of NVLinks.
    Dgx1(FamilyArgs<Dgx1>),
    /// A mesh; bandwidth falls with the hops.
    Mesh(FamilyArgs<Mesh>),
    /// A torus; bandwidth falls with the hops.
    Torus(FamilyArgs<Torus>),
    /// Nodes of random size, a random bandwidth inside each.
    #[command(name = "random-blk-1")]
    RandomBlk1(SeededArgs<RandomBlk1>),
    /// Nodes of random size, random bandwidths inside, distances between.
    #[command(name = "random-blk-2")]
    RandomBlk2(SeededArgs<RandomBlk2>),
    /// A random bandwidth for every pair.
    UniformDist(SeededArgs<UniformDist>),
    /// A three-level fat tree of switches.
    FatTree(FamilyArgs<FatTree>),
    /// NVSwitch servers (A100 or H100) joined by InfiniBand.
    Nvswitch(FamilyArgs<Nvswitch>),
    /// Hosts of any kind, each a file or a preset, joined by one network.
    Hosts(HostsArgs),
}

#[derive(Debug, clap::Args)]
#[command(mut_args(values::with_range))]
struct FamilyArgs<F: clap::Args> {
    #[command(flatten, next_help_heading = "Interconnect")]
    family: F,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
#[command(mut_args(values::with_range))]
struct SeededArgs<F: clap::Args> {
    #[command(flatten, next_help_heading = "Interconnect")]
    family: F,

    /// Seed of everything random.
    #[arg(long, default_value_t = 0, value_parser = values::whole::<u64>(0..=u64::MAX))]
    seed: u64,

    #[command(flatten)]
    common: CommonArgs,
}

/// What every family takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Topology")]
pub struct CommonArgs {
    /// Memory of each device, such as `16GiB` [default: no limit; 80GB with NVSwitch; with hosts what each states].
    #[arg(long, value_name = "BYTES", value_parser = values::memory)]
    pub memory: Option<Memory>,

    /// The file to write, in dagsplit's own format [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Args {
    /// Makes the file, and says where it goes.
    pub fn made(self) -> Result<Made, Failure> {
        match self.family {
            Family::Hierarchical(args) => args.made(),
            Family::Dgx1(args) => args.made(),
            Family::Mesh(args) => args.made(),
            Family::Torus(args) => args.made(),
            Family::RandomBlk1(args) => args.made(),
            Family::RandomBlk2(args) => args.made(),
            Family::UniformDist(args) => args.made(),
            Family::FatTree(args) => args.made(),
            Family::Nvswitch(args) => args.made(),
            Family::Hosts(args) => args.made(),
        }
    }
}

impl<F: clap::Args + Into<TopologyFamily>> FamilyArgs<F> {
    fn made(self) -> Result<Made, Failure> {
        self.common.made(TopologyRecipe::new(self.family))
    }
}

impl<F: clap::Args + Into<TopologyFamily>> SeededArgs<F> {
    fn made(self) -> Result<Made, Failure> {
        self.common.made(TopologyRecipe::seeded(self.family, self.seed))
    }
}

impl CommonArgs {
    fn made(self, recipe: TopologyRecipe) -> Result<Made, Failure> {
        let recipe = TopologyRecipe { memory: self.memory.and_then(|memory| memory.0), ..recipe };
        let topology = generate(&recipe).or_fail(Exit::Usage)?;
        Ok(self.written(&topology))
    }

    /// The file of this topology.
    pub fn written(self, topology: &Topology) -> Made {
        Made { text: write_topology(topology), output: self.output }
    }
}
