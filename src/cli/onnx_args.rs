//! Options of ONNX models.

use std::path::Path;

use crate::formats::read_bytes;
use crate::generate::onnx::MAX_ONNX_BYTES;
use crate::generate::{Hardware, OnnxOptions, read_onnx};
use crate::text;

use super::reading_args::{ReadingOptions, Workload};
use super::{Exit, Failure, OrFail, values};

/// What an ONNX model (`*.onnx`) leaves open: costs are modelled.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "ONNX models (*.onnx)")]
pub struct OnnxArgs {
    #[command(flatten)]
    hardware: Hardware,

    /// Size of a dimension that the file only names; may be given several times.
    #[arg(long = "dimension", value_name = "NAME=SIZE", value_parser = values::dimension)]
    dimensions: Vec<(String, u64)>,
}

impl OnnxArgs {
    /// Reads a model, or, by the options of `reading` alone, a workload in another format.
    pub fn read(&self, file: &Path, reading: &ReadingOptions) -> Result<Workload, Failure> {
        if file.extension().is_none_or(|extension| extension != "onnx") {
            if self.are_given() {
                let message = format!("{}: options of ONNX models do not apply to it", text::path(file));
                return Err(Failure::message(Exit::Usage, message));
            }
            return reading.read(file);
        }
        let bytes = read_bytes(file, MAX_ONNX_BYTES).or_fail(Exit::BadInput)?;
        let options = OnnxOptions {
            hardware: self.hardware.clone(),
            dimensions: self.dimensions.iter().cloned().collect(),
            training: reading.training(),
        };
        let instance = read_onnx(&bytes, &options)
            .map_err(|problems| anyhow::anyhow!("{}: {problems}", text::path(file)))
            .or_fail(Exit::BadInput)?;
        reading.on_its_platform(instance)
    }

    /// Whether any of them was given; one that says what holds without it does no harm.
    fn are_given(&self) -> bool {
        self.hardware != Hardware::default() || !self.dimensions.is_empty()
    }
}
