//! `dagsplit convert`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::formats::{OutputFormat, read_bytes, read_text, write_instance};
use crate::generate::onnx::MAX_ONNX_BYTES;
use crate::generate::{Hardware, ModelFileOptions, read_fx_graph, read_onnx};
use crate::instance::Instance;
use crate::text;
use clap::ValueEnum;

use super::reading_args::{ReadingArgs, Workload};
use super::{Exit, Failure, OrFail, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit convert gnmt.txt --training --accelerators 16 --to native --output gnmt.json
  dagsplit convert bert.json --to dot | dot -Tsvg > bert.svg
  dagsplit convert bert.onnx --dimension batch=8 --accelerator a100 --precision fp16 --to native --output bert.json";

/// Translate a workload to another format.
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

/// What an ONNX model (`*.onnx`) or a graph drawn by torch.fx (`*.dot`) leaves open: costs are modelled.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "ONNX models (*.onnx) and graphs drawn by torch.fx (*.dot)")]
struct ModelArgs {
    #[command(flatten)]
    hardware: Hardware,

    /// Size of a dimension that the file leaves open, by its name or by value and axis (`image.0`); may be given several
    /// times.
    #[arg(long = "dimension", value_name = "NAME=SIZE", value_parser = values::dimension)]
    dimensions: Vec<(String, u64)>,
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

impl ModelArgs {
    /// Whether any of them was given; one that says what holds without it does no harm.
    fn are_given(&self) -> bool {
        self.hardware != Hardware::default() || !self.dimensions.is_empty()
    }
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.workload()?;
        let instance = Instance { platform: workload.platform, ..workload.instance };
        let format = match self.to {
            FormatArg::Native => OutputFormat::Native,
            FormatArg::Tarnawski => OutputFormat::Tarnawski,
            FormatArg::Dot => OutputFormat::Dot,
            FormatArg::Metis => OutputFormat::Metis,
            FormatArg::Scotch => OutputFormat::Scotch,
        };
        let written = write_instance(&instance, format).or_fail(Exit::Usage)?;
        write_out(self.output.as_deref(), &written)?;
        Ok(Exit::Done)
    }

    fn workload(&self) -> Result<Workload, Failure> {
        let file = self.reading.file();
        let instance = match file.extension().and_then(OsStr::to_str) {
            Some("onnx") => {
                let bytes = read_bytes(file, MAX_ONNX_BYTES).or_fail(Exit::BadInput)?;
                read_onnx(&bytes, &self.model_options())
            }
            Some("dot") => read_fx_graph(&read_text(file).or_fail(Exit::BadInput)?, &self.model_options()),
            _ if self.model.are_given() => {
                let message = format!("{}: options of models do not apply to it", text::path(file));
                return Err(Failure::message(Exit::Usage, message));
            }
            _ => return self.reading.read(),
        };
        let instance = instance.map_err(|problems| anyhow::anyhow!("{}: {problems}", text::path(file)));
        let mut instance = instance.or_fail(Exit::BadInput)?;
        if instance.metadata.name.is_none() {
            instance.metadata.name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        self.reading.on_its_platform(instance)
    }

    fn model_options(&self) -> ModelFileOptions {
        ModelFileOptions {
            hardware: self.model.hardware.clone(),
            dimensions: self.model.dimensions.iter().cloned().collect(),
            folder: self.reading.file().parent().map(Path::to_path_buf),
            training: self.reading.training(),
        }
    }
}
