//! `dagsplit draw`

use std::path::PathBuf;

use clap::ValueEnum;
use dagsplit::instance::formats::read_split;
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::report::DeviceRecord;
use dagsplit::report::picture::{Detail, draw};
use dagsplit::verify;

use super::reading_args::{ReadingArgs, Workload};
use super::{Exit, Failure, OrFail, listed, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit draw bert.json --output bert.svg
  dagsplit draw bert.json --split split.json --detail stages --output split.svg";

/// Draw a workload as SVG, coloured by the devices of a split.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// The split that gives the colours; any valid split will do, contiguous or not.
    #[arg(long, value_name = "SPLIT")]
    split: Option<PathBuf>,

    /// How much to show [default: the finest that stays readable].
    #[arg(long, value_enum)]
    detail: Option<DetailArg>,

    /// The file to write [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DetailArg {
    /// One box per node.
    Nodes,
    /// Chains inside a device as one box.
    Chains,
    /// One box per device and pass, with loads and traffic.
    Stages,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let spec = ProblemSpec {
            platform: workload.platform.clone(),
            scope: Scope::Arbitrary,
            ..ProblemSpec::of(&workload.instance)
        };
        let devices = self.devices(&workload, &spec)?;
        let problem = Problem::new(&workload.instance, spec).or_fail(Exit::Usage)?;
        let detail = self.detail.map(|detail| match detail {
            DetailArg::Nodes => Detail::Nodes,
            DetailArg::Chains => Detail::Chains,
            DetailArg::Stages => Detail::Stages,
        });
        let picture = draw(&workload.instance, &problem.graph, devices.as_deref(), detail);
        write_out(self.output.as_deref(), &picture)?;
        Ok(Exit::Done)
    }

    fn devices(&self, workload: &Workload, spec: &ProblemSpec) -> Result<Option<Vec<DeviceRecord>>, Failure> {
        let Some(path) = &self.split else { return Ok(None) };
        let split = read_split(path, &workload.instance).or_fail(Exit::BadInput)?;
        let verified = verify::check(&workload.instance, spec, &split).map_err(|violations| {
            let message = format!("{}: the split is invalid:{}", path.display(), listed(&violations));
            Failure::message(Exit::InvalidSplit, message)
        })?;
        Ok(Some(DeviceRecord::all(&verified, spec)))
    }
}
