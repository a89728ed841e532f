//! `dagsplit solve`

use std::path::PathBuf;

use crate::formats::write_split;
use crate::report::table;
use crate::solve::Status;

use super::question::{Answer, Question, Watch};
use super::reading_args::ReadingArgs;
use super::{Exit, Failure, print, print_json, progress, started, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit solve bert.json
  dagsplit solve bert.json --accelerators 4 --memory 16GiB --json
  dagsplit solve bert.json --method dp,dpl              # compare methods
  dagsplit solve bert.json --scope acyclic,arbitrary    # what contiguity costs, with proofs
  dagsplit solve bert.json --objective latency          # one sample, no pipeline
  dagsplit solve gnmt.txt --training --bandwidth 10GB --time-limit 60 --output split.json

`dagsplit methods` lists the methods. Ctrl-C stops the search: the best split so far is still \
verified, printed and written.";

/// Find the best split of a workload, with a proof of how good it is.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    question: Question,

    /// Print one JSON object (schema `dagsplit-run/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the split to this file, in the published shape; the best of the first scope, where several are compared.
    #[arg(long, value_name = "SPLIT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let cancelled = progress::interrupt_flag()?;
        let watched = |context| progress::with_progress_line(context, self.quiet);
        let watch = Watch { cancelled: &cancelled, watched: &watched };
        let Answer { record, verified } = self.question.answer(&workload, started(), watch)?;
        if let (Some(path), Some(verified)) = (&self.output, &verified) {
            write_out(Some(path), &write_split(&workload.instance, &verified.to_solution()))?;
        }
        if self.json {
            print_json(&record)?
        } else {
            print(&table::run(&record))?
        }
        Ok(match record.status {
            Status::Infeasible => Exit::Infeasible,
            Status::Unknown => Exit::NothingFound,
            _ => Exit::Done,
        })
    }
}
