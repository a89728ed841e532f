//! `dagsplit draw`

use std::path::PathBuf;

use crate::formats::{is_topology_file, read_mapping, read_split, read_stages};
use crate::mapping::{Counted, MappingProblem, StageCost};
use crate::problem::{CostKind, Degrees, Problem, ProblemSpec, Solution};
use crate::report::DeviceRecord;
use crate::report::mapping::CopyRecord;
use crate::report::picture::{Detail, draw, draw_topology};
use crate::text;
use crate::verify::mapping::check;
use clap::ValueEnum;

use super::any_split::{self, AnySplit};
use super::mapping_args::LinkArgs;
use super::reading_args::{ReadingArgs, Workload};
use super::stage_memory_args::StageMemoryArgs;
use super::{Exit, Failure, OrFail, listed, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit draw bert.json --output bert.svg
  dagsplit draw bert.json --split split.json --detail stages --output split.svg
  dagsplit draw llama.json --split split.json --microbatches 512 --output stages.svg
  dagsplit draw dgx1.json --output dgx1.svg
  dagsplit draw dgx1.json --mapping mapping.json --stages stages.json --output mapping.svg";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    links: LinkArgs,

    /// For a topology: the mapping that gives the colours, as `dagsplit map --output` writes it.
    #[arg(long, value_name = "MAPPING", requires = "stages", conflicts_with_all = ["split", "detail"])]
    mapping: Option<PathBuf>,

    /// The stage graph that the mapping is of.
    #[arg(long, value_name = "STAGES", requires = "mapping")]
    stages: Option<PathBuf>,

    /// The split that gives the colours; any valid split will do, contiguous or not.
    #[arg(long, value_name = "SPLIT")]
    split: Option<PathBuf>,

    #[command(flatten)]
    colours: ColourArgs,

    /// The file to write [default: standard output].
    #[arg(long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// What a split's picture shows.
#[derive(Debug, clap::Args)]
pub struct ColourArgs {
    /// Bandwidth of the all-reduce ring of a split with replicas, in bytes per time unit of the file [default: the
    /// file's link bandwidth].
    #[arg(long, value_name = "BYTES", value_parser = values::bandwidth)]
    sync_bandwidth: Option<f64>,

    /// For a split whose stages have degrees: the microbatches of a batch that it was made for.
    #[arg(long, value_name = "N", value_parser = values::count::<usize>())]
    microbatches: Option<usize>,

    #[command(flatten)]
    stage_memory: StageMemoryArgs,

    /// How much to show [default: the finest that stays readable].
    #[arg(long, value_enum)]
    pub detail: Option<DetailArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DetailArg {
    /// One box per node.
    Nodes,
    /// Chains inside a device as one box.
    Chains,
    /// One box per device and pass, with loads and traffic.
    Stages,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let is_topology = self.mapping.is_some() || is_topology_file(self.reading.file());
        let picture = if is_topology { self.topology()? } else { self.workload()? };
        write_out(self.output.as_deref(), &picture)?;
        Ok(Exit::Done)
    }

    fn topology(&self) -> Result<String, Failure> {
        let topology = self.links.read(self.reading.file())?;
        let (Some(path), Some(stages)) = (&self.mapping, &self.stages) else {
            return Ok(draw_topology(&topology, &[]));
        };
        let claim = read_mapping(path).or_fail(Exit::BadInput)?;
        let stages = read_stages(stages).or_fail(Exit::BadInput)?;
        // What the claimed times count is not said, so they are not held against it.
        let claim = claim.without_times();
        let replicas = claim.replicas().min(topology.len() + 1);
        let problem = MappingProblem { stages, replicas, topology, cost: StageCost::additive(Counted::Both) };
        let verified = check(&problem, &claim).map_err(|violations| {
            let message = format!("{}: the mapping is invalid:{}", text::path(path), listed(&violations));
            Failure::message(Exit::InvalidSplit, message)
        })?;
        Ok(draw_topology(&problem.topology, &CopyRecord::all(&problem, &verified)))
    }

    fn workload(&self) -> Result<String, Failure> {
        self.links.refuse()?;
        let workload = self.reading.read()?;
        let read = |path: &PathBuf| {
            let split = read_split(path, &workload.instance).or_fail(Exit::BadInput)?;
            self.colours.verified(split, &text::path(path), &workload)
        };
        let split = self.split.as_ref().map(read).transpose()?;
        let asked = [
            (self.colours.sync_bandwidth.is_some(), "--sync-bandwidth"),
            (self.colours.microbatches.is_some(), "--microbatches"),
        ];
        if let (None, Some((_, option))) = (&split, asked.into_iter().find(|(is_asked, _)| *is_asked)) {
            return Err(Failure::message(Exit::Usage, format!("there is no split; leave {option} out")));
        }
        draw_workload(workload, split, self.colours.detail)
    }
}

impl ColourArgs {
    /// The split that gives the colours, verified; errors call it by `name`.
    pub fn verified(&self, split: Solution, name: &str, workload: &Workload) -> Result<AnySplit, Failure> {
        let Some(microbatches) = self.microbatches else {
            return any_split::verified(split, name, workload, CostKind::default(), self.sync_bandwidth);
        };
        if self.sync_bandwidth.is_some() {
            let wrong =
                "--sync-bandwidth: stages with degrees exchange what they do at the file's bandwidth; leave it out";
            return Err(Failure::message(Exit::Usage, wrong));
        }
        // Without replicas no bandwidth is needed, which a file without options may leave out.
        let data = split.devices.iter().all(|device| device.replicas == 1).then(|| vec![1]);
        let degrees = Degrees { data, memory: self.stage_memory.of_stages()?, ..Degrees::any(microbatches) };
        any_split::verified_with_degrees(split, name, workload, degrees)
    }
}

/// The picture of a workload, in the colours of a split where there is one.
pub fn draw_workload(
    workload: Workload,
    split: Option<AnySplit>,
    detail: Option<DetailArg>,
) -> Result<String, Failure> {
    let devices = split.as_ref().map(|split| DeviceRecord::all(&split.verified, &split.spec));
    let unsplit = ProblemSpec { platform: workload.platform, ..ProblemSpec::default() };
    let spec = split.map_or(unsplit, |split| split.spec);
    let problem = Problem::new(&workload.instance, spec).or_fail(Exit::Usage)?;
    let detail = detail.map(|detail| match detail {
        DetailArg::Nodes => Detail::Nodes,
        DetailArg::Chains => Detail::Chains,
        DetailArg::Stages => Detail::Stages,
    });
    Ok(draw(&workload.instance, &problem.graph, devices.as_deref(), detail).svg)
}
