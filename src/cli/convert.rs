//! `dagsplit convert`

use std::path::PathBuf;

use crate::formats::{OutputFormat, write_instance};
use crate::instance::Instance;
use clap::ValueEnum;

use super::model_args::ModelArgs;
use super::reading_args::ReadingArgs;
use super::{Exit, Failure, OrFail, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit convert gnmt.txt --training --accelerators 16 --to native --output gnmt.json
  dagsplit convert bert.json --to dot | dot -Tsvg > bert.svg
  dagsplit convert bert.onnx --dimension batch=8 --accelerator a100 --precision fp16 --to native --output bert.json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    model: ModelArgs,

    /// The format to write.
    #[arg(long, value_enum)]
    to: FormatArg,

    /// The file to write [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FormatArg {
    /// dagsplit's own JSON, which holds everything.
    Native,
    /// The JSON of Tarnawski et al. 2020.
    Tarnawski,
    /// Graphviz.
    Dot,
    /// METIS graph file, for undirected partitioners.
    Metis,
    /// Scotch source graph, for undirected partitioners.
    Scotch,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.model.read(self.reading.file(), self.reading.options())?;
        let instance = Instance { platform: workload.platform, ..workload.instance };
        let written = write_instance(&instance, self.to.into()).or_fail(Exit::Usage)?;
        write_out(self.output.as_deref(), &written)?;
        Ok(Exit::Done)
    }
}

impl From<FormatArg> for OutputFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Native => Self::Native,
            FormatArg::Tarnawski => Self::Tarnawski,
            FormatArg::Dot => Self::Dot,
            FormatArg::Metis => Self::Metis,
            FormatArg::Scotch => Self::Scotch,
        }
    }
}
