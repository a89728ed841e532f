//! Options of models that state shapes and no costs.

use std::ffi::OsStr;
use std::path::Path;

use crate::formats::{read_bytes, read_text};
use crate::generate::onnx::MAX_ONNX_BYTES;
use crate::generate::{Hardware, ModelFileOptions, read_fx_graph, read_onnx};
use crate::text;

use super::reading_args::{ReadingOptions, Workload};
use super::{Exit, Failure, OrFail, values};

/// What an ONNX model (`*.onnx`) or a graph drawn by torch.fx (`*.dot`) leaves open: costs are modelled.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "ONNX models (*.onnx) and graphs drawn by torch.fx (*.dot)")]
pub struct ModelArgs {
    #[command(flatten)]
    hardware: Hardware,

    /// Size of a dimension that the file leaves open, by its name or by value and axis (`image.0`); may be given several
    /// times.
    #[arg(long = "dimension", value_name = "NAME=SIZE", value_parser = values::dimension)]
    dimensions: Vec<(String, u64)>,
}

impl ModelArgs {
    /// Reads a model, or, by the options of `reading` alone, a workload in another format.
    pub fn read(&self, file: &Path, reading: &ReadingOptions) -> Result<Workload, Failure> {
        let options = || ModelFileOptions {
            hardware: self.hardware.clone(),
            dimensions: self.dimensions.iter().cloned().collect(),
            folder: file.parent().map(Path::to_path_buf),
            training: reading.training(),
        };
        let instance = match file.extension().and_then(OsStr::to_str) {
            Some("onnx") => read_onnx(&read_bytes(file, MAX_ONNX_BYTES).or_fail(Exit::BadInput)?, &options()),
            Some("dot") => read_fx_graph(&read_text(file).or_fail(Exit::BadInput)?, &options()),
            _ if self.are_given() => {
                let message = format!("{}: options of models do not apply to it", text::path(file));
                return Err(Failure::message(Exit::Usage, message));
            }
            _ => return reading.read(file),
        };
        let instance = instance.map_err(|problems| anyhow::anyhow!("{}: {problems}", text::path(file)));
        let mut instance = instance.or_fail(Exit::BadInput)?;
        if instance.metadata.name.is_none() {
            instance.metadata.name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        reading.on_its_platform(instance)
    }

    /// Whether any of them was given; one that says what holds without it does no harm.
    fn are_given(&self) -> bool {
        self.hardware != Hardware::default() || !self.dimensions.is_empty()
    }
}
