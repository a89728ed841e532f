//! Options of every verb that reads a workload.

use std::path::{Path, PathBuf};

use crate::formats::{Format, Pass, ReadOptions, parse_instance, read_instance, read_text};
use crate::graph::Graph;
use crate::instance::{Instance, Platform};
use crate::problem::{Problem, ProblemSpec};
use clap::ValueEnum;

use super::values::{self, Memory};
use super::{Exit, Failure, OrFail};

/// The workload to read, and the devices to split it over.
#[derive(Debug, clap::Args)]
pub struct ReadingArgs {
    /// The workload: dagsplit's, Tarnawski's or Piper's JSON, a PipeDream profile, a TensorFlow cost graph, or a HyperDAG
    /// file; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    options: ReadingOptions,
}

/// How to read a workload, and the devices to split it over.
#[derive(Debug, clap::Args)]
pub struct ReadingOptions {
    /// The file's format; told from its content when left out.
    #[arg(long, value_enum, help_heading = "Reading")]
    format: Option<FormatArg>,

    /// Multiply every transfer time. 1000 cures the unit slip of the published throughput layer graphs (seconds
    /// beside milliseconds).
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = values::number(0.0..=values::MOST), help_heading = "Reading")]
    transfer_scale: f64,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    pipedream: PipeDreamArgs,

    #[command(flatten)]
    piper: PiperArgs,
}

/// Devices that take the place of those that the file names.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Devices (default: those of the file)")]
pub struct PlatformArgs {
    /// How many accelerators there are. With several classes give a number for each: `4,2`.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = values::whole::<usize>(0..=values::COUNT))]
    accelerators: Option<Vec<usize>>,

    /// How many CPUs there are.
    #[arg(long, value_name = "L", value_parser = values::whole::<usize>(0..=values::COUNT))]
    cpus: Option<usize>,

    /// Memory of each accelerator, such as `16GiB`, `16GB`, `1.6e10` or `unlimited`; one for all classes, or one each.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = values::memory)]
    memory: Option<Vec<Memory>>,
}

/// What a PipeDream profile leaves open, and in part other files that name no devices.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "PipeDream profiles, cost graphs and HyperDAG files")]
struct PipeDreamArgs {
    /// Link bandwidth in bytes per second: turns activation sizes into transfer times [default: 10GB].
    ///
    /// Where degrees of stages are chosen it is that of each device, whatever the file [default: the file's]; in files
    /// without options transfers keep their times.
    #[arg(long, value_name = "BYTES/S", value_parser = values::bandwidth)]
    bandwidth: Option<f64>,

    /// How many times slower a CPU is than the profiled accelerator [default: 10].
    #[arg(long, value_name = "FACTOR", value_parser = values::number(1e-9..=values::MOST))]
    cpu_factor: Option<f64>,

    /// Build the forward and the backward pass.
    #[arg(long, conflicts_with = "inference")]
    training: bool,

    /// Build the forward pass alone (the default).
    #[arg(long)]
    inference: bool,

    /// Keep the `Input` sources and `__getitem__` sinks that PipeDream's own optimizer drops.
    #[arg(long)]
    keep_inputs: bool,
}

/// What a Piper file leaves open.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Piper files")]
struct PiperArgs {
    /// Which configuration of each node to take: `vanilla` or `activation recomp` [default: vanilla].
    #[arg(long, value_name = "NAME")]
    piper_configuration: Option<String>,

    /// How many microbatches a device keeps activations of [default: 1].
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(0..=values::COUNT))]
    piper_microbatches: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    Native,
    Tarnawski,
    Pipedream,
    Piper,
    CostGraph,
    #[value(name = "hyperdag")]
    HyperDag,
}

/// The files that a list names, one a line; `-` is standard input.
pub fn listed(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = read_text(list).or_fail(Exit::BadInput)?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(PathBuf::from).collect())
}

/// The graph of a workload, by the index of its nodes.
pub fn graph_of(instance: &Instance) -> Result<Graph, Failure> {
    Ok(Problem::new(instance, ProblemSpec::of(instance)).or_fail(Exit::Usage)?.graph)
}

/// A workload that was read, and the devices to split it over.
pub struct Workload {
    /// The workload as its file has it.
    pub instance: Instance,
    /// The file's devices, or those asked for in their place.
    pub platform: Platform,
}

impl ReadingArgs {
    /// The file to read.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads and validates the file.
    pub fn read(&self) -> Result<Workload, Failure> {
        self.options.read(&self.file)
    }

    /// How to read it.
    pub fn options(&self) -> &ReadingOptions {
        &self.options
    }
}

impl ReadingOptions {
    /// Reads and validates `file`.
    pub fn read(&self, file: &Path) -> Result<Workload, Failure> {
        self.on_its_platform(read_instance(file, &self.options()).or_fail(Exit::BadInput)?)
    }

    /// Reads and validates a workload from text.
    pub fn parse(&self, text: &str) -> Result<Workload, Failure> {
        self.on_its_platform(parse_instance(text, &self.options()).or_fail(Exit::BadInput)?)
    }

    /// By what transfer times are multiplied.
    pub fn transfer_scale(&self) -> f64 {
        self.transfer_scale
    }

    /// Whether the backward pass is asked for.
    pub fn training(&self) -> bool {
        self.pipedream.training
    }

    /// A workload that was read in another way, with the devices asked for.
    pub fn on_its_platform(&self, mut instance: Instance) -> Result<Workload, Failure> {
        let mut platform = self.platform.applied_to(&instance.platform)?;
        // The time unit of platforms is the millisecond.
        match (&mut instance.parallelism, self.pipedream.bandwidth) {
            (Some(stated), Some(bandwidth)) => stated.bandwidth = bandwidth * stated.time.seconds(),
            (None, Some(bandwidth)) => platform.bandwidth = Some(bandwidth / 1000.0),
            (_, None) => {}
        }
        Ok(Workload { instance, platform })
    }

    fn options(&self) -> ReadOptions {
        let mut options = ReadOptions { transfer_scale: self.transfer_scale, ..ReadOptions::default() };
        options.format = self.format.map(|format| match format {
            FormatArg::Native => Format::Native,
            FormatArg::Tarnawski => Format::Tarnawski,
            FormatArg::Pipedream => Format::PipeDream,
            FormatArg::Piper => Format::Piper,
            FormatArg::CostGraph => Format::CostGraph,
            FormatArg::HyperDag => Format::HyperDag,
        });
        let pipedream = &mut options.pipedream;
        pipedream.bandwidth = self.pipedream.bandwidth.unwrap_or(pipedream.bandwidth);
        pipedream.cpu_factor = self.pipedream.cpu_factor.unwrap_or(pipedream.cpu_factor);
        pipedream.pass = if self.pipedream.training { Pass::Training } else { Pass::Inference };
        pipedream.keep_inputs = self.pipedream.keep_inputs;
        if let Some(configuration) = &self.piper.piper_configuration {
            options.piper.configuration.clone_from(configuration);
        }
        options.piper.microbatches_in_flight =
            self.piper.piper_microbatches.unwrap_or(options.piper.microbatches_in_flight);
        options
    }
}

impl PlatformArgs {
    /// The platform with the devices asked for.
    pub fn applied_to(&self, platform: &Platform) -> Result<Platform, Failure> {
        let mut platform = platform.clone();
        let classes = platform.accelerators.len();
        let one_each = |option: &str, given: usize| {
            let message = format!("--{option} has {given} values, but the file has {classes} accelerator classes");
            Failure::message(Exit::Usage, message)
        };
        if let Some(counts) = &self.accelerators {
            if counts.len() != classes {
                return Err(one_each("accelerators", counts.len()));
            }
            platform.accelerators.iter_mut().zip(counts).for_each(|(class, &count)| class.count = count);
        }
        if let Some(memory) = &self.memory {
            if memory.len() != classes && memory.len() != 1 {
                return Err(one_each("memory", memory.len()));
            }
            let values = memory.iter().cycle();
            platform.accelerators.iter_mut().zip(values).for_each(|(class, memory)| class.memory = memory.0);
        }
        platform.cpus = self.cpus.unwrap_or(platform.cpus);
        Ok(platform)
    }
}
