//! `dagsplit formulate`

use std::path::PathBuf;

use crate::solve::ip::IntegerProgram;
use crate::solve::{SearchContext, SolveError};
use crate::text;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingArgs;
use super::{Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  dagsplit formulate bert.json --scope convex --out bert.mps
  gurobi_cl ResultFile=bert.sol bert.mps
  dagsplit import-solution bert.json bert.sol --scope convex --output split.json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    problem: ProblemArgs,

    /// The file to write; `.mps` or `.lp` says in which format.
    #[arg(long, visible_alias = "output", value_name = "MODEL")]
    out: PathBuf,

    /// Write the strengthened program in place of the published one.
    #[arg(long)]
    strong: bool,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let ending = self.out.extension().and_then(|ending| ending.to_str());
        if !matches!(ending, Some("mps" | "lp")) {
            let cure = "the file's name has to end in .mps or .lp, which says in which format to write";
            return Err(Failure::message(Exit::Usage, format!("{}: {cure}", text::path(&self.out))));
        }
        let workload = self.reading.read()?;
        let spec = self.problem.spec(&workload)?;
        let problem = self.problem.problem(&workload, spec)?;
        let program = if self.strong { IntegerProgram::strong() } else { IntegerProgram::published() };
        program.write(&problem, &self.out, &mut SearchContext::new()).map_err(|error| {
            let exit = if matches!(error, SolveError::Unsupported(_)) { Exit::Usage } else { Exit::Output };
            Failure::new(exit, error.into())
        })?;
        Ok(Exit::Done)
    }
}
