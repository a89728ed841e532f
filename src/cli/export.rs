//! `dagsplit export`

use std::path::PathBuf;

use crate::formats::read_split;
use crate::instance::Instance;
use crate::problem::Solution;
use crate::report::framework::{Framework, Launch, export};
use crate::text;
use crate::verify::Verified;

use super::problem_args::ProblemArgs;
use super::reading_args::{ReadingArgs, Workload};
use super::{Exit, Failure, OrFail, listed, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit export bert.json split.json --to pytorch-pipelining --output stages.json
  dagsplit export llama.json split.json --to vllm --layers model.layers

docs/your-model.md tells where each target applies.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// The split, in the published shape.
    #[arg(value_name = "SPLIT")]
    split: PathBuf,

    /// The file to write [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArgs,
}

/// What is written, and what the split was made for.
#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    /// The framework to write for.
    #[arg(long, value_enum)]
    to: Framework,

    /// The module list that holds the layers, such as `model.layers` [default: the longest one].
    #[arg(long, value_name = "LIST")]
    layers: Option<String>,

    #[command(flatten)]
    problem: ProblemArgs,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let split = read_split(&self.split, &workload.instance).or_fail(Exit::BadInput)?;
        let settings = self.target.settings(&workload, &split, &text::path(&self.split))?;
        write_out(self.output.as_deref(), &settings)?;
        Ok(Exit::Done)
    }
}

impl TargetArgs {
    /// The settings that make the framework run a split, which errors call by `name`.
    pub fn settings(&self, workload: &Workload, split: &Solution, name: &str) -> Result<String, Failure> {
        let spec = self.problem.spec(workload)?;
        spec.validate(&workload.instance).or_fail(Exit::Usage)?;
        let degrees = spec.degrees.as_ref();
        let launch = Launch {
            layers: self.layers.as_deref(),
            batch: degrees.map(|degrees| (degrees.microbatches, 1)),
            training: match degrees {
                Some(degrees) => degrees.memory.training,
                None => spec.chunks.and_then(|chunks| chunks.memory?.training),
            },
            zero: degrees.map_or(0, |degrees| degrees.memory.zero),
            placement: spec.chunks.map_or_else(Default::default, |chunks| chunks.placement),
            ..Launch::default()
        };
        let verified = self.problem.check(workload, &spec, split).map_err(|violations| {
            Failure::message(Exit::InvalidSplit, format!("{name}: the split is invalid:{}", listed(&violations)))
        })?;
        settings(self.to, &workload.instance, &verified, &launch, name)
    }
}

/// The settings that make the framework run a verified split, which errors call by `name`.
pub fn settings(
    to: Framework,
    instance: &Instance,
    verified: &Verified,
    launch: &Launch,
    name: &str,
) -> Result<String, Failure> {
    export(to, instance, verified, launch)
        .map_err(|problems| anyhow::anyhow!("{name}: this target cannot run the split: {problems}"))
        .or_fail(Exit::Usage)
}
