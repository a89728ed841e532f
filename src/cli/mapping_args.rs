//! Options of every verb that reads stages and a topology.

use std::path::{Path, PathBuf};

use crate::formats::{
    LinkBandwidths, TopologyFormat, TopologyOptions, is_stage_file, is_topology_file, read_stages, read_topology,
    topology_format,
};
use crate::mapping::{Counted, Rate, StageCost, StageGraph, Topology};
use crate::problem::{CostKind, Problem, ProblemSpec};
use crate::text;

use super::any_split::{self, AnySplit};
use super::reading_args::{ReadingOptions, Workload};
use super::{Exit, Failure, OrFail};

/// The stages to place.
#[derive(Debug, clap::Args)]
pub struct StageArgs {
    /// A stage graph, or a workload with --split.
    #[arg(value_name = "STAGES", index = 1)]
    stages: PathBuf,

    /// The split that makes the stages of a workload: one for each of its devices.
    #[arg(long, value_name = "SPLIT")]
    split: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadingOptions,
}

/// The topology to place them on.
#[derive(Debug, clap::Args)]
pub struct TopologyArgs {
    /// The topology: dagsplit's JSON, a CSV matrix, or what `nvidia-smi topo -m` or p2pBandwidthLatencyTest prints.
    #[arg(value_name = "TOPOLOGY", index = 2)]
    topology: PathBuf,

    #[command(flatten)]
    links: LinkArgs,
}

/// What `nvidia-smi topo -m` leaves open.
#[derive(Debug, clap::Args)]
pub struct LinkArgs {
    /// The bandwidth of a kind of link of `nvidia-smi topo -m`, in bytes per second: NV (of one NVLink), PIX, PXB, PHB,
    /// NODE, SYS, or NIC (of one network card). Several are separated by commas.
    #[arg(long, value_name = "KIND=RATE", value_delimiter = ',', value_parser = link, help_heading = "Reading")]
    link: Vec<(&'static str, Rate)>,
}

fn link(text: &str) -> Result<(&'static str, Rate), String> {
    let (kind, rate) = text.split_once('=').ok_or("give a kind of link and its rate, such as `NV=21.4GiB`")?;
    let kinds = LinkBandwidths::KINDS;
    let kind =
        kinds.into_iter().find(|known| *known == kind).ok_or_else(|| format!("name one of {}", kinds.join(", ")))?;
    Ok((kind, rate.parse()?))
}

impl LinkArgs {
    /// Reads and validates the topology at `path`; rates of links for a file that states its own are refused.
    pub fn read(&self, path: &Path) -> Result<Topology, Failure> {
        let format = topology_format(path).filter(|_| !self.link.is_empty());
        if format.is_some_and(|format| format != TopologyFormat::NvidiaSmi) {
            let cause = "it is no text of `nvidia-smi topo -m`, so it states the rates of its links; leave --link out";
            return Err(Failure::message(Exit::Usage, format!("{}: {cause}", text::path(path))));
        }
        read_topology(path, &self.options()).or_fail(Exit::BadInput)
    }

    /// Refuses rates of links where there is no topology.
    pub fn refuse(&self) -> Result<(), Failure> {
        self.refuse_without("there is no topology")
    }

    /// Refuses rates of links for this reason.
    fn refuse_without(&self, cause: &str) -> Result<(), Failure> {
        match self.link.is_empty() {
            true => Ok(()),
            false => Err(Failure::message(Exit::Usage, format!("{cause}; leave --link out"))),
        }
    }

    /// Reads and validates the topologies at these paths; rates of links are for those that state none.
    pub fn read_all(&self, paths: &[&Path]) -> Result<Vec<Topology>, Failure> {
        let read = |path: &&Path| read_topology(path, &self.options()).or_fail(Exit::BadInput);
        let topologies = paths.iter().map(read).collect::<Result<_, _>>()?;
        let is_text = |path: &&Path| topology_format(path) == Some(TopologyFormat::NvidiaSmi);
        if !paths.iter().any(is_text) {
            self.refuse_without("no host is a text of `nvidia-smi topo -m`")?;
        }
        Ok(topologies)
    }

    fn options(&self) -> TopologyOptions {
        let mut options = TopologyOptions::default();
        for (kind, rate) in &self.link {
            if let Some(bandwidth) = options.links.of_kind(kind) {
                *bandwidth = *rate;
            }
        }
        options
    }
}

/// Refuses a topology in the place of stages or of a workload.
pub fn refuse_topology(path: &Path) -> Result<(), Failure> {
    match is_topology_file(path) {
        true => Err(Failure::message(
            Exit::Usage,
            format!(
                "{}: it is a topology; name the stages or the workload first, and the topology second",
                text::path(path)
            ),
        )),
        false => Ok(()),
    }
}

impl TopologyArgs {
    /// Reads and validates the topology.
    pub fn read(&self) -> Result<Topology, Failure> {
        self.links.read(&self.topology)
    }

    /// The file to read.
    pub fn file(&self) -> &Path {
        &self.topology
    }

    /// What the file leaves open.
    pub fn links(&self) -> &LinkArgs {
        &self.links
    }
}

impl StageArgs {
    /// Reads the stage graph, or makes it of a workload and its split, and what a copy's time is.
    pub fn read(&self) -> Result<(StageGraph, StageCost), Failure> {
        refuse_topology(&self.stages)?;
        match (&self.split, is_stage_file(&self.stages)) {
            (None, true) => {
                Ok((read_stages(&self.stages).or_fail(Exit::BadInput)?, StageCost::additive(Counted::Both)))
            }
            (Some(_), true) => Err(Failure::message(
                Exit::Usage,
                format!("{}: it is a stage graph, which has no split; leave --split out", text::path(&self.stages)),
            )),
            (Some(split), false) => self.of_split(split),
            (None, false) => Err(self.no_stages()),
        }
    }

    /// Why there are no stages: the file is a workload, whose split is not named, or cannot be read, or is something else.
    fn no_stages(&self) -> Failure {
        let is_workload = match self.reading.read(&self.stages) {
            Ok(_) => true,
            Err(failure) => failure.exit == Exit::Usage,
        };
        let cause = "it is no stage graph (schema dagsplit-stages/1)";
        match read_stages(&self.stages) {
            Err(error) if !is_workload => Failure::new(Exit::BadInput, error.into()),
            _ => Failure::message(
                Exit::Usage,
                format!("{}: {cause}; for a workload, name its split with --split", text::path(&self.stages)),
            ),
        }
    }

    fn of_split(&self, path: &Path) -> Result<(StageGraph, StageCost), Failure> {
        let workload = self.reading.read(&self.stages)?;
        // What the replicas of the split would all-reduce at matters to no stage.
        let split = any_split::read(path, &workload, CostKind::default(), Some(1.0))?;
        if split.spec.chunks.is_some() {
            let cause = "a split with several chunks on a device cannot be mapped; solve without --chunks";
            return Err(Failure::message(Exit::BadInput, format!("{}: {cause}", path.display())));
        }
        stages_of(workload, split)
    }
}

/// The stages that a split makes of a workload, and what a copy's time is.
pub fn stages_of(workload: Workload, split: AnySplit) -> Result<(StageGraph, StageCost), Failure> {
    let AnySplit { verified, spec } = split;
    let split = verified.to_solution();
    let spec = ProblemSpec { platform: any_split::with_devices(workload.platform, &split), ..spec };
    let problem = Problem::new(&workload.instance, spec).or_fail(Exit::BadInput)?;
    let stages = StageGraph::of(&workload.instance, &problem, &split).or_fail(Exit::BadInput)?;
    Ok((stages, StageCost::of(&problem, Counted::Both).or_fail(Exit::BadInput)?))
}
