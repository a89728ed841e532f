//! `dagsplit ledger`

use std::path::{Path, PathBuf};

use crate::proof::ledger::{Addition, Entry, Held, Ledger, LedgerError};
use crate::proof::time;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::report::table;
use serde_json::Value;

use super::{Exit, Failure, note, print, print_json};

const EXAMPLES: &str = "\
Examples:
  dagsplit ledger                                # in a clone, where instances/ledger.json is
  dagsplit ledger --check
  dagsplit ledger add bert.json bert.proof split.json --by 'A. Author, dagsplit 0.1'";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The ledger's file; splits and proofs are in the folder `ledger` beside it.
    #[arg(long, value_name = "LEDGER", default_value = "instances/ledger.json", global = true)]
    ledger: PathBuf,

    /// Check every proof and split again.
    #[arg(long)]
    check: bool,

    /// Print the ledger as JSON (schema `dagsplit-ledger/1`) in place of the table.
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Add(AddArgs),
}

/// Take in a bound with its proof, and a split, where they are better than what is known.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The workload: the very file that the proof is about.
    #[arg(value_name = "FILE")]
    workload: PathBuf,

    /// The proof (`dagsplit-proof/1`).
    #[arg(value_name = "PROOF")]
    proof: PathBuf,

    /// A split in the published shape, for the proof's question.
    #[arg(value_name = "SPLIT")]
    split: Option<PathBuf>,

    /// Who found them, and with what.
    #[arg(long, value_name = "NAME")]
    by: String,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let mut ledger = Ledger::read(&self.ledger).map_err(failure)?;
        if let Some(Action::Add(add)) = &self.action {
            return add.run(&mut ledger, &self.ledger);
        }
        let folder = self.ledger.parent().unwrap_or(Path::new(""));
        if self.json {
            print_json(&ledger)?;
        } else {
            print(&table::sheet(&sheet(&ledger, folder)))?;
        }
        let faults: Vec<_> = if self.check { ledger.faults(folder).collect() } else { Vec::new() };
        for (entry, cause) in &faults {
            note(&format!("{}: {cause}", entry.workload.display()));
        }
        Ok(if faults.is_empty() { Exit::Done } else { Exit::InvalidSplit })
    }
}

impl AddArgs {
    fn run(&self, ledger: &mut Ledger, path: &Path) -> Result<Exit, Failure> {
        let split = self.split.as_deref();
        let addition = Addition { workload: &self.workload, proof: &self.proof, split, by: &self.by };
        let better = ledger.add(path, addition).map_err(failure)?;
        let what: Vec<&str> = [(better.bound, "bound"), (better.split, "split")]
            .into_iter()
            .filter_map(|(is_better, what)| is_better.then_some(what))
            .collect();
        print(&format!("added       a better {}\n", what.join(" and a better ")))?;
        Ok(Exit::Done)
    }
}

fn failure(error: LedgerError) -> Failure {
    let exit = match &error {
        LedgerError::Checked(dagsplit_check::Error::Refused { .. })
        | LedgerError::NoBound
        | LedgerError::NoBetter { .. } => Exit::InvalidSplit,
        LedgerError::Write { .. } => Exit::Output,
        _ => Exit::BadInput,
    };
    Failure::new(exit, error.into())
}

/// One row per entry of a ledger in this folder.
fn sheet(ledger: &Ledger, folder: &Path) -> Sheet {
    let columns = [
        Column::words("workload"),
        Column::words("objective"),
        Column::words("splits"),
        Column::words("devices"),
        Column::figures("best split"),
        Column::figures("best bound"),
        Column::words("status"),
        Column::figures("proof [bytes]"),
        Column::words("bound by"),
    ];
    Sheet {
        caption: String::new(),
        columns: columns.into(),
        rows: ledger.entries.iter().map(|entry| row(entry, folder)).collect(),
        notes: Vec::new(),
    }
}

fn row(entry: &Entry, folder: &Path) -> Vec<Cell> {
    let asked = |name| entry.question.get(name).unwrap_or(&Value::Null);
    let word = |name| asked(name).as_str().unwrap_or_default();
    let shown = |held: &Held| {
        let digits = asked("digits").as_u64().unwrap_or_default() as u32;
        time(held.value, digits)
    };
    let classes = asked("accelerators").as_array().into_iter().flatten();
    let counts: Vec<String> = classes.map(|class| class["count"].to_string()).collect();
    let bytes = std::fs::metadata(folder.join(&entry.bound.file)).ok().map(|file| file.len() as f64);
    vec![
        entry.workload.display().to_string().into(),
        word("objective").into(),
        word("scope").into(),
        format!("{}, {} CPU", counts.join(" + "), asked("cpus")).into(),
        Cell::of(Cell::Number, entry.split.as_ref().map(shown)),
        Cell::Number(shown(&entry.bound)),
        if entry.is_closed() { "certified" } else { "open" }.into(),
        Cell::of(Cell::Number, bytes),
        entry.bound.by.as_str().into(),
    ]
}
