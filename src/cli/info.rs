//! `dagsplit info`

use crate::problem::{Problem, ProblemSpec};
use crate::report::facts::Facts;

use super::reading_args::{ReadingArgs, Workload};
use super::{Exit, Failure, OrFail, print, print_json};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  dagsplit info bert.json --accelerators 4")]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// Print one JSON object (schema `dagsplit-info/1`) in place of the text.
    #[arg(long)]
    json: bool,
}

/// What can be told of a workload.
pub fn facts(workload: &Workload) -> Result<Facts, Failure> {
    let spec = ProblemSpec { platform: workload.platform.clone(), ..ProblemSpec::of(&workload.instance) };
    let problem = Problem::new(&workload.instance, spec).or_fail(Exit::Usage)?;
    Ok(Facts::new(&workload.instance, &problem))
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let facts = facts(&self.reading.read()?)?;
        if self.json {
            print_json(&facts)?
        } else {
            print(&facts.text())?
        }
        Ok(Exit::Done)
    }
}
