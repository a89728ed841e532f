//! Files that tables are written to.

use std::path::PathBuf;

use crate::report::export::{csv::csv, json::json, latex::latex, markdown::markdown};
use crate::report::sheet::Sheet;
use serde::Serialize;

use super::{Exit, Failure, OrFail, write_out};

/// Files to write beside the table on standard output.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct ExportArgs {
    /// Write everything that is known of each run.
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,

    /// Write the table for programs: all digits, times in seconds, sizes in bytes, gaps as plain ratios.
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,

    /// Write the table in Markdown.
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,

    /// Write the table in LaTeX, for the package booktabs.
    #[arg(long, value_name = "FILE")]
    export_latex: Option<PathBuf>,
}

impl ExportArgs {
    /// Writes the files asked for: `records` as JSON, `data` as CSV, `table` for people.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, records: &impl Serialize, data: &Sheet, table: &Sheet) -> Result<(), Failure> {
        if let Some(path) = &self.export_json {
            write_out(Some(path), &json(records).or_fail(Exit::Bug)?)?;
        }
        if let Some(path) = &self.export_csv {
            write_out(Some(path), &csv(data))?;
        }
        if let Some(path) = &self.export_markdown {
            write_out(Some(path), &markdown(table))?;
        }
        if let Some(path) = &self.export_latex {
            write_out(Some(path), &latex(table))?;
        }
        Ok(())
    }
}
