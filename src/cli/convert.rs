//! `dagsplit convert`

use std::path::PathBuf;

use clap::ValueEnum;
use dagsplit::instance::Instance;
use dagsplit::instance::formats::{OutputFormat, write_instance};

use super::reading_args::ReadingArgs;
use super::{Exit, Failure, OrFail, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit convert gnmt.txt --training --accelerators 16 --to native --output gnmt.json
  dagsplit convert bert.json --to dot | dot -Tsvg > bert.svg";

/// Translate a workload to another format.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// The format to write.
    #[arg(long, value_enum)]
    to: FormatArg,

    /// The file to write [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
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
        let workload = self.reading.read()?;
        let instance = Instance { platform: workload.platform, ..workload.instance };
        let format = match self.to {
            FormatArg::Native => OutputFormat::Native,
            FormatArg::Tarnawski => OutputFormat::Tarnawski,
            FormatArg::Dot => OutputFormat::Dot,
            FormatArg::Metis => OutputFormat::Metis,
            FormatArg::Scotch => OutputFormat::Scotch,
        };
        let text = write_instance(&instance, format).or_fail(Exit::Usage)?;
        write_out(self.output.as_deref(), &text)?;
        Ok(Exit::Done)
    }
}
