//! `dagsplit generate`

use std::path::PathBuf;

use crate::formats::{OutputFormat, write_instance};
use crate::generate::{
    Architecture, Chain, Costs, Dnn, ErdosRenyi, Hardware, Inception, Layered, Llm, Model, Nasnet, RandomDag,
    RandomFamily, Recipe, Resnet, SemanticFpn, SeriesParallel, Swin, Transformer, Workload, generate,
};
use clap::Subcommand;

use super::generate_topology;
use super::values::{self, Memory};
use super::{Exit, Failure, OrFail, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit generate transformer --layers 24 --hidden 1024 --heads 16 --feed-forward 4096 --output bert-large.json
  dagsplit generate resnet --depth 50 --training --accelerator a100 --output resnet50.json
  dagsplit generate llm --model llama3-70b --tensor-degrees 1,2,4,8 --accelerator h100 --precision fp16 \
      --accelerators 64 --cpus 0 --output llama.json
  dagsplit generate dnn --nodes 10000 --seed 7 --output random.json
  dagsplit generate topology dgx1 --nodes 4 --output dgx1.json

`dagsplit generate FAMILY --help` lists the options of a family. Equal command lines give equal files.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    family: Family,
}

/// A file that was made.
pub struct Made {
    /// What it holds.
    pub text: String,
    /// Where it goes; `None` is standard output.
    pub output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Family {
    /// A transformer: BERT-style encoder or GPT-style decoder, operator by operator.
    Transformer(ModelArgs<Transformer>),
    /// A residual network.
    Resnet(ModelArgs<Resnet>),
    /// InceptionV3.
    Inception(ModelArgs<Inception>),
    /// NASNet-A.
    Nasnet(ModelArgs<Nasnet>),
    /// A Swin transformer.
    Swin(ModelArgs<Swin>),
    /// SemanticFPN: segmentation by a feature pyramid on ResNet-50.
    SemanticFpn(ModelArgs<SemanticFpn>),
    /// A language model of today (Llama, Mixtral, DeepSeek, Jamba), with the options that tensor parallelism gives.
    Llm(ModelArgs<Llm>),
    /// One path.
    Chain(RandomArgs<Chain>),
    /// A two-terminal series-parallel graph.
    SeriesParallel(RandomArgs<SeriesParallel>),
    /// Layers of equal width with edges between neighbours, and skips.
    Layered(RandomArgs<Layered>),
    /// Cells of parallel branches, as in deep networks.
    Dnn(RandomArgs<Dnn>),
    /// Each pair of nodes joined independently.
    ErdosRenyi(RandomArgs<ErdosRenyi>),
    /// Devices and the bandwidths between them.
    Topology(generate_topology::Args),
}

#[derive(Debug, clap::Args)]
#[command(mut_args(values::with_range))]
struct ModelArgs<N: clap::Args> {
    #[command(flatten, next_help_heading = "Network")]
    network: N,

    #[command(flatten, next_help_heading = "Modelled devices")]
    hardware: Hardware,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
#[command(mut_args(values::with_range))]
struct RandomArgs<F: clap::Args> {
    #[command(flatten, next_help_heading = "Graph")]
    family: F,

    #[command(flatten, next_help_heading = "Costs")]
    costs: Costs,

    /// Seed of everything random.
    #[arg(long, default_value_t = 0, value_parser = values::whole::<u64>(0..=u64::MAX))]
    seed: u64,

    #[command(flatten)]
    common: CommonArgs,
}

/// What every family takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Workload")]
struct CommonArgs {
    /// Add the backward pass.
    #[arg(long)]
    training: bool,

    /// How many accelerators the platform has.
    #[arg(long, value_name = "K", default_value_t = 6)]
    accelerators: usize,

    /// How many CPUs the platform has.
    #[arg(long, value_name = "L", default_value_t = 1)]
    cpus: usize,

    /// Memory of each accelerator, such as `16GiB` [default: that of the modelled accelerator, or no limit].
    #[arg(long, value_name = "BYTES", value_parser = values::memory)]
    memory: Option<Memory>,

    /// The file to write, in dagsplit's own format [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let Made { text, output } = self.made()?;
        write_out(output.as_deref(), &text)?;
        Ok(Exit::Done)
    }

    /// Makes the file, and says where it goes.
    pub fn made(self) -> Result<Made, Failure> {
        match self.family {
            Family::Transformer(args) => args.made(Architecture::Transformer),
            Family::Resnet(args) => args.made(Architecture::Resnet),
            Family::Inception(args) => args.made(Architecture::Inception),
            Family::Nasnet(args) => args.made(Architecture::Nasnet),
            Family::Swin(args) => args.made(Architecture::Swin),
            Family::SemanticFpn(args) => args.made(Architecture::SemanticFpn),
            Family::Llm(args) => args.made(Architecture::Llm),
            Family::Chain(args) => args.made(RandomFamily::Chain),
            Family::SeriesParallel(args) => args.made(RandomFamily::SeriesParallel),
            Family::Layered(args) => args.made(RandomFamily::Layered),
            Family::Dnn(args) => args.made(RandomFamily::Dnn),
            Family::ErdosRenyi(args) => args.made(RandomFamily::ErdosRenyi),
            Family::Topology(args) => args.made(),
        }
    }
}

impl CommonArgs {
    fn made(self, workload: Workload) -> Result<Made, Failure> {
        let recipe = Recipe {
            workload,
            training: self.training,
            accelerators: self.accelerators,
            cpus: self.cpus,
            memory: self.memory.and_then(|memory| memory.0),
        };
        let instance = generate(&recipe).or_fail(Exit::Usage)?;
        let text = write_instance(&instance, OutputFormat::Native).or_fail(Exit::Bug)?;
        Ok(Made { text, output: self.output })
    }
}

impl<N: clap::Args> ModelArgs<N> {
    fn made(self, architecture: fn(N) -> Architecture) -> Result<Made, Failure> {
        let model = Model { architecture: architecture(self.network), hardware: self.hardware };
        self.common.made(Workload::Model(model))
    }
}

impl<F: clap::Args> RandomArgs<F> {
    fn made(self, family: fn(F) -> RandomFamily) -> Result<Made, Failure> {
        let random = RandomDag { family: family(self.family), seed: self.seed, costs: self.costs };
        self.common.made(Workload::Random(random))
    }
}
