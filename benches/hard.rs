//! Graphs on which single methods leave a gap: the ideal DP alone, branch and price of convex splits alone, and the portfolio,
//! in one run. `cargo bench --bench hard` prints the table as Markdown and writes it to `docs/hard.md`.

mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow};
use clap::Parser;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::internals::report::method::gap;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::registry;
use dagsplit::verify;
use support::figures::{head, or_dash, row, seconds};
use support::limits::Searching;
use support::{machine, workloads};

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    search: Searching,
    /// Only workloads whose name holds this; then no file is written.
    #[arg(long)]
    only: Option<String>,
}

/// What one method did on one workload.
struct Solved {
    nodes: usize,
    objective: Option<f64>,
    bound: Option<f64>,
    seconds: f64,
    split_by: Option<&'static str>,
    bound_by: Option<&'static str>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("hard") {
        return Ok(());
    }
    let title = head(&["graph", "nodes", "`dp` alone", "portfolio", "bound", "split by", "bound by"], 1);
    println!("{title}");
    let mut rows = title;
    for path in workloads::all("hard2026", "json") {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if args.only.as_ref().is_none_or(|only| name.contains(only)) {
            let line = line(&name, &args.solve(&path, "dp")?, &args.solve(&path, "portfolio")?);
            println!("{line}");
            write!(rows, "\n{line}")?;
        }
    }
    if args.only.is_none() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hard.md");
        std::fs::write(page, args.page(&rows)?)?;
    }
    Ok(())
}

impl Args {
    fn solve(&self, path: &Path, method: &str) -> Result<Solved> {
        let instance = read_instance(path, &ReadOptions::default())?;
        let problem = Problem::new(&instance, ProblemSpec::of(&instance))?;
        let start = Instant::now();
        let run = registry::solver(method)?.solve(&problem, &mut self.search.context(SECONDS))?;
        let seconds = start.elapsed().as_secs_f64();
        let verified = run.outcome.solution().map(|split| verify::check(&instance, &problem.spec, split)).transpose();
        let verified = verified.map_err(|violations| anyhow!("{method}: the split is wrong: {violations:?}"))?;
        Ok(Solved {
            nodes: instance.nodes.len(),
            objective: verified.map(|split| split.objective()),
            bound: run.outcome.bound().map(|bound| bound.value),
            seconds,
            split_by: run.stats.solution_by,
            bound_by: run.stats.bound_by,
        })
    }

    fn page(&self, rows: &str) -> Result<String> {
        let mut text = String::new();
        writeln!(text, "# Hard graphs\n")?;
        writeln!(text, "Made by `cargo bench --bench hard` on {}; do not edit.\n", machine::describe())?;
        writeln!(
            text,
            "Graphs of today, with modelled costs, and random ones, on which single methods leave a gap: splits into successive \
             ideals with {} thread(s) and {} s for each graph and method. A cell holds the verified value, the gap and the \
             seconds; the last columns are the portfolio's bound, and which of its searches found the split and raised the \
             bound last.\n",
            self.search.threads,
            self.search.limits.seconds(SECONDS)
        )?;
        writeln!(text, "{rows}")?;
        Ok(text)
    }
}

impl Solved {
    fn cell(&self) -> String {
        let value = or_dash(self.objective.map(|value| format!("{value:.4}")));
        let gap = self.objective.zip(self.bound).and_then(|(value, bound)| gap(value, bound));
        let gap = gap.map(|gap| if gap == 0.0 { "proven".to_owned() } else { format!("{:.2} %", 100.0 * gap) });
        format!("{value}, {}, {} s", or_dash(gap), seconds(self.seconds))
    }
}

fn line(name: &str, alone: &Solved, together: &Solved) -> String {
    let bound = or_dash(together.bound.map(|bound| format!("{bound:.4}")));
    let by = |who: Option<&str>| who.unwrap_or("dp").to_owned();
    let cells = [alone.cell(), together.cell(), bound, by(together.split_by), by(together.bound_by)];
    row(&[vec![name.to_owned(), together.nodes.to_string()], cells.to_vec()].concat())
}
