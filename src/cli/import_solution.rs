//! `dagsplit import-solution`

use std::path::PathBuf;

use crate::formats::{read_text, write_split};
use crate::solve::ip::read_solution;
use crate::text;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingArgs;
use super::{Exit, Failure, OrFail, verify, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit formulate bert.json --scope arbitrary --out bert.lp
  cbc bert.lp solve solution bert.sol
  dagsplit import-solution bert.json bert.sol --scope arbitrary --output split.json

The problem's options have to be those that `formulate` was given.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// The solution file of HiGHS, Gurobi, CPLEX, SCIP or CBC.
    #[arg(value_name = "SOLUTION")]
    solution: PathBuf,

    #[command(flatten)]
    problem: ProblemArgs,

    /// Print one JSON object (schema `dagsplit-verify/1`) in place of the table.
    #[arg(long)]
    json: bool,

    /// Write the split to this file, in the published shape, if it is valid.
    #[arg(long, value_name = "SPLIT")]
    output: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let spec = self.problem.spec(&workload)?;
        let problem = self.problem.problem(&workload, spec.clone())?;
        let solution = read_text(&self.solution).or_fail(Exit::BadInput)?;
        let split = read_solution(&problem, &solution)
            .map_err(|error| Failure::message(Exit::BadInput, format!("{}: {error}", text::path(&self.solution))))?;
        let exit = verify::judge(self.problem.check(&workload, &spec, &split), &spec, self.json)?;
        if exit == Exit::Done
            && let Some(path) = &self.output
        {
            write_out(Some(path), &write_split(&workload.instance, &split))?;
        }
        Ok(exit)
    }
}
