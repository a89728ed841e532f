//! `dagsplit compare`

use std::path::{Path, PathBuf};

use crate::formats::read_text;
use crate::proof::Asked;
use crate::registry;
use crate::report::comparison::{
    Change, Ending, Journal, Measured, Record, Status, Table, changes, classes, contradiction, is_same_question,
    measured, table,
};
use crate::report::page;
use crate::report::table::sheet;
use crate::text;

use super::plot_args::PlotArgs;
use super::problem_args::ProblemArgs;
use super::reading_args::{ReadingOptions, listed};
use super::runs_args::RunsArgs;
use super::series::journal_failure;
use super::task::{Question, Task};
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail, note, print, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit compare bert.json gnmt.json --methods dp,dpl
  dagsplit compare bert.json --methods dp,certify,annealing:patience=50 --scope acyclic,arbitrary
  dagsplit compare bert.json --methods dpl --proof bert.proof    # a bound that others proved
  dagsplit compare bert.json --methods 'portfolio,exec:python3 split.py'    # a program of your own
  dagsplit compare *.json --methods dp,dpl --time-limit 60 --results runs.jsonl --resume --plot gaps.svg
  dagsplit compare *.json --methods dp,dpl --seeds 0..9 --jobs 4 --results runs/    # docs/sweeps.md
  dagsplit compare *.json --methods dp,dpl --results new/ --against old/    # exit code 1 where it is worse
  dagsplit compare *.json --methods dp,dpl --table methods --export-latex t.tex --plot profile=p.pdf --plot-width 84

Each method runs in a process of its own: one that dies, or does not stop, is a row of the table. Its split is \
checked by the independent verifier in that process, as `dagsplit solve` does. Ctrl-C keeps what is done.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The workloads, in any format that `solve` reads.
    #[arg(value_name = "FILE", required_unless_present = "workloads_from")]
    files: Vec<PathBuf>,

    /// Take further workloads from a list: a file name a line; `-` is standard input.
    #[arg(long, value_name = "LIST")]
    workloads_from: Option<PathBuf>,

    /// Tell of workloads that cannot be read, and go on with the others.
    #[arg(long)]
    skip_bad: bool,

    /// The methods, as spec strings separated by commas (`dp,annealing:patience=50,seed=2`); `dagsplit methods` lists
    /// them. A method runs in those of the scopes that it takes.
    #[arg(long, value_name = "SPEC,...", help_heading = "Search")]
    methods: String,

    #[command(flatten)]
    reading: Verbatim<ReadingOptions>,

    #[command(flatten)]
    problem: Verbatim<ProblemArgs>,

    #[command(flatten)]
    runs: RunsArgs,

    /// Run each method with each of these seeds, such as `0..9` (ten of them) or `1,2,5`.
    #[arg(long, value_name = "SEEDS", value_parser = values::seeds, conflicts_with = "seed", help_heading = "Search")]
    seeds: Option<values::Seeds>,

    /// Measure gaps against the bound of this proof (`dagsplit-proof/1`), too, whoever wrote it, once the checker has
    /// accepted it. It counts for the workload and question that it is about; may be given several times.
    #[arg(long = "proof", value_name = "PROOF", help_heading = "Search")]
    proofs: Vec<PathBuf>,

    /// Compare with these results of the same runs, of another version or machine: a file or folder of `--results`.
    /// Where a run has lost its split or proof, has a worse split or is slower, the exit code is 1.
    #[arg(long, value_name = "FILE|FOLDER", required_if_eq("table", "changes"), help_heading = "Output")]
    against: Option<PathBuf>,

    /// A run is slower than before where its proof took more than so many times as long. Below 0.1 s all times are
    /// equal.
    #[arg(long, value_name = "FACTOR", default_value = "1.5", requires = "against",
          value_parser = values::number(1.0..=1e6), help_heading = "Output")]
    slower_by: f64,

    /// Which table is shown, and written by the options `--export-...`.
    #[arg(long, value_enum, default_value = "runs", help_heading = "Output")]
    table: Table,

    #[command(flatten)]
    plots: PlotArgs,

    /// Write a page to look at: methods, runs to sort and filter with all that is kept of each, and the plot. One file,
    /// which loads nothing.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        // What is wrong with it is told before anything runs, and new results are not among it.
        let before = self.against.as_deref().map(Journal::read).transpose().map_err(journal_failure)?;
        let Some(made) = self.runs.series.make(self.tasks()?)? else { return Ok(Exit::Done) };
        let records: Vec<Record> = made.records.into_iter().flatten().collect();
        self.report(&records, &before.unwrap_or_default(), made.is_interrupted)
    }

    fn tasks(&self) -> Result<Vec<Task>, Failure> {
        let methods = registry::split_list(&self.methods);
        let one_seed = [self.runs.search.seed];
        let question = Question {
            reading: &self.reading,
            problem: &self.problem,
            search: &self.runs.search,
            seeds: self.seeds.as_ref().map_or(&one_seed, |seeds| &seeds.0),
            certify: self.runs.certify,
        };
        let mut tasks = Vec::new();
        for file in self.files()? {
            match question.tasks(&file, &methods) {
                Err(failure) if self.skip_bad && failure.exit == Exit::BadInput => {
                    note(&format!("left out: {failure}"));
                }
                of_file => tasks.extend(of_file?),
            }
        }
        Ok(tasks)
    }

    /// The workloads of the command line, then those of the list.
    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let listed = self.workloads_from.as_deref().map(listed).transpose()?;
        Ok(self.files.iter().cloned().chain(listed.into_iter().flatten()).collect())
    }

    /// The bounds of the given proofs, as records that only bounds are known of.
    fn references(&self, records: &[Record]) -> Result<Vec<Record>, Failure> {
        let asked = classes(records, |record| record, Record::is_comparable);
        let mut references: Vec<Record> = Vec::new();
        for path in &self.proofs {
            let proof = read_text(path).or_fail(Exit::BadInput)?;
            let before = references.len();
            for runs in &asked {
                references.extend(self.reference(runs[0], &proof, path)?);
            }
            if references.len() == before && !records.is_empty() && !self.runs.series.is_part() {
                let cause = format!("{}: the proof is about none of these runs", text::path(path));
                return Err(Failure::message(Exit::BadInput, cause));
            }
        }
        Ok(references)
    }

    /// What a proof shows of the question of a run, where it is about that.
    fn reference(&self, run: &Record, proof: &str, path: &Path) -> Result<Option<Record>, Failure> {
        let file = Path::new(&run.file);
        let content = read_text(file).or_fail(Exit::BadInput)?;
        let workload = self.reading.options.read(file)?;
        let problem = self.problem.options.problem(&workload, run.trial.problem.clone())?;
        if self.problem.options.other_costs().is_some() {
            return Ok(None);
        }
        let transfer_scale = self.reading.options.transfer_scale();
        let asked = Asked { instance: &workload.instance, text: &content, transfer_scale, problem: &problem };
        let bound = asked.bound(proof).map_err(|error| anyhow::anyhow!("{}: {error}", text::path(path)));
        let Some((bound, scope)) = bound.or_fail(Exit::InvalidSplit)? else { return Ok(None) };
        let mut reference = run.clone();
        reference.trial.method = format!("proof:{}", path.display());
        reference.trial.problem.scope = scope;
        let ending = Ending::without_result(Status::Unknown, "a proof of a bound".into());
        reference.ending = Ending { lower_bound: Some(bound), ..ending };
        Ok(Some(reference))
    }

    fn report(&self, records: &[Record], before: &Journal, is_interrupted: bool) -> Result<Exit, Failure> {
        let known: Vec<Record> = records.iter().cloned().chain(self.references(records)?).collect();
        let mut runs = measured(&known);
        runs.truncate(records.len());
        let changes = changes(&runs, before, self.slower_by);
        let is_worse = changes.iter().any(|change| !change.worse.is_empty());
        self.show(records, &runs, &changes)?;
        let exit = if is_worse { Exit::InvalidSplit } else { exit(&runs) };
        let all = known.iter().chain(changes.iter().map(|change| change.before));
        match (contradiction(all), &self.against) {
            (Some(contradiction), _) => Err(Failure::new(Exit::Bug, contradiction.into())),
            _ if is_interrupted => Ok(Exit::NothingFound),
            _ if self.runs.series.is_part() => Ok(Exit::Done),
            (None, Some(path)) if changes.is_empty() => {
                Err(Failure::message(Exit::BadInput, format!("{}: it has none of these runs", text::path(path))))
            }
            _ => Ok(exit),
        }
    }

    /// The tables and figures that were asked for.
    fn show(&self, records: &[Record], runs: &[Measured<'_>], changes: &[Change<'_, '_>]) -> Result<(), Failure> {
        let shown = table(runs, changes, self.table);
        print(&sheet(&shown))?;
        if self.against.is_some() && self.table != Table::Changes {
            print(&format!("\n{}", sheet(&table(runs, changes, Table::Changes))))?;
        }
        self.runs.export.write(&records, &shown, &shown)?;
        if let Some(path) = &self.html {
            write_out(Some(path), &page::comparison(runs).or_fail(Exit::Bug)?)?;
        }
        self.plots.write(runs)
    }
}

/// As for `solve`: done where each workload has a split in each scope, infeasible where none of them can have one.
fn exit(runs: &[Measured<'_>]) -> Exit {
    let questions = classes(runs, |run| run.record, is_same_question);
    let each = |holds: fn(&&Measured<'_>) -> bool| questions.iter().all(|runs| runs.iter().any(holds));
    if runs.is_empty() {
        Exit::NothingFound
    } else if each(|run| run.record.ending.objective.is_some()) {
        Exit::Done
    } else if each(|run| run.has_no_split) {
        Exit::Infeasible
    } else {
        Exit::NothingFound
    }
}
