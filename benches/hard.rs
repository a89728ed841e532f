//! Graphs on which a gap is left: by the ideal DP alone and by the portfolio, with limits, in servers and over many devices, and by
//! size, in one run. `cargo bench --bench hard` prints the table as Markdown and writes it to `docs/hard.md`.

mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Parser;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::internals::report::method::gap;
use dagsplit::problem::{Objective, Problem, ProblemSpec, Scope};
use dagsplit::registry;
use dagsplit::verify;
use support::figures::{head, or_dash, row, seconds};
use support::hard::{self, Question};
use support::limits::Searching;
use support::{machine, workloads};

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

/// The part of them that a solve has where many graphs are compared.
const PART_FOR_GROWTH: f64 = 1.0 / 6.0;

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
    objective: Option<f64>,
    bound: Option<f64>,
    seconds: f64,
    split_by: String,
    bound_by: String,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("hard") {
        return Ok(());
    }
    let tables = [args.graphs()?, args.questions()?, args.growth()?];
    if args.only.is_none() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hard.md");
        std::fs::write(page, args.page(&tables)?)?;
    }
    Ok(())
}

impl Args {
    fn asks(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Graphs on which single methods leave a gap.
    fn graphs(&self) -> Result<String> {
        let mut table =
            Table::new(&["graph", "nodes", "before: `dp` alone", "portfolio", "bound", "split by", "bound by"]);
        for path in workloads::all("hard2026", "json") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if self.asks(&name) {
                let instance = read_instance(&path, &ReadOptions::default())?;
                let spec = ProblemSpec::of(&instance);
                let question = Question { name, instance, spec };
                let alone = self.solve(&question, Some("dp"), 1.0)?;
                let together = self.solve(&question, Some("portfolio"), 1.0)?;
                table.add(&question, &[vec![alone.cell()], together.cells()].concat());
            }
        }
        Ok(table.text)
    }

    /// Workloads with limits, in servers, and over many devices.
    fn questions(&self) -> Result<String> {
        let mut table =
            Table::new(&["question", "nodes", "before: `dp` alone", "default method", "bound", "split by", "bound by"]);
        for question in hard::questions()?.iter().filter(|question| self.asks(&question.name)) {
            let solved = self.solve(question, None, 1.0)?;
            table.add(question, &[vec![or_dash(self.before(question)?)], solved.cells()].concat());
        }
        Ok(table.text)
    }

    /// What the ideal DP alone does on a question that it takes.
    fn before(&self, question: &Question) -> Result<Option<String>> {
        let is_taken = question.spec.scope == Scope::Acyclic && question.spec.objective == Objective::Throughput;
        is_taken.then(|| Ok(self.solve(question, Some("dp"), 1.0)?.cell())).transpose()
    }

    /// How the gap grows with the size of random graphs and the number of devices.
    fn growth(&self) -> Result<String> {
        let devices = hard::DEVICES.map(|devices| format!("k = {devices}"));
        let mut table = Table::new(&[&["family", "nodes"], devices.each_ref().map(String::as_str).as_slice()].concat());
        for (name, questions) in hard::random().iter().filter(|(name, _)| self.asks(name)) {
            let gap = |question: &Question| Ok(self.solve(question, None, PART_FOR_GROWTH)?.gap());
            let gaps: Vec<String> = questions.iter().map(gap).collect::<Result<_>>()?;
            let nodes = questions.first().map_or(0, |question| question.instance.nodes.len());
            table.push(&[vec![name.clone(), nodes.to_string()], gaps].concat());
        }
        Ok(table.text)
    }

    /// Solves it by a method of this name, else by what is the default, in a part of the seconds.
    fn solve(&self, question: &Question, method: Option<&str>, part: f64) -> Result<Solved> {
        let problem = Problem::new(&question.instance, question.spec.clone())?;
        let solver = match method {
            Some(method) => registry::solver(method)?,
            None => registry::automatic(&problem).map_err(|error| anyhow!("{}: {error:?}", question.name))?,
        };
        let mut context = self.search.context(SECONDS).with_time_limit(self.seconds(part));
        let start = Instant::now();
        let run = solver.solve(&problem, &mut context)?;
        let seconds = start.elapsed().as_secs_f64();
        let split = run.outcome.solution();
        let verified = split.map(|split| verify::check(&question.instance, &problem.spec, split)).transpose();
        let verified =
            verified.map_err(|violations| anyhow!("{}: the split is wrong: {violations:?}", question.name))?;
        Ok(Solved {
            objective: verified.map(|split| split.objective()),
            bound: run.outcome.bound().map(|bound| bound.value),
            seconds,
            split_by: run.stats.solution_by.unwrap_or(solver.name()).to_owned(),
            bound_by: run.stats.bound_by.unwrap_or(solver.name()).to_owned(),
        })
    }

    fn seconds(&self, part: f64) -> Duration {
        Duration::from_secs_f64(part * self.search.limits.seconds(SECONDS))
    }

    fn page(&self, [graphs, questions, growth]: &[String; 3]) -> Result<String> {
        let mut text = String::new();
        writeln!(text, "# Hard graphs\n")?;
        writeln!(text, "Made by `cargo bench --bench hard` on {}; do not edit.\n", machine::describe())?;
        writeln!(
            text,
            "All with {} thread(s) and {} s for each graph and method. A cell holds the verified value, the gap and the \
             seconds; before the portfolio `dp` alone was the default for successive ideals. The last columns are the bound, and \
             which search found the split and which raised the bound last.\n",
            self.search.threads,
            self.search.limits.seconds(SECONDS)
        )?;
        writeln!(
            text,
            "## Where single methods leave a gap\n\nGraphs of today, with modelled costs, and random ones: splits into \
             successive ideals.\n\n{graphs}\n"
        )?;
        writeln!(
            text,
            "## Limits, servers and many devices\n\nProfiles of PipeDream, a published graph and generated ones. *So many times \
             the memory* is what all accelerators have together.\n\n{questions}\n"
        )?;
        writeln!(
            text,
            "## How the gap grows\n\nThe gap that {} s leave on one random graph of each family and size.\n\n{growth}\n",
            self.seconds(PART_FOR_GROWTH).as_secs_f64()
        )?;
        writeln!(text, "{WHAT_REMAINS}")?;
        Ok(text)
    }
}

/// A table on its way, shown while it grows.
struct Table {
    text: String,
}

impl Table {
    fn new(titles: &[&str]) -> Self {
        let text = head(titles, 1);
        println!("{text}");
        Self { text }
    }

    fn add(&mut self, question: &Question, cells: &[String]) {
        let first = vec![question.name.clone(), question.instance.nodes.len().to_string()];
        self.push(&[first, cells.to_vec()].concat());
    }

    fn push(&mut self, cells: &[String]) {
        let line = row(cells);
        println!("{line}");
        self.text += &format!("\n{line}");
    }
}

/// What the tables cannot say by themselves.
const WHAT_REMAINS: &str = "\
## What remains open, and why

- *Branches that are alike* (experts, heads, unrolled steps, cells): positions tell ideals apart by how much work is in them, which leaves
  a stage free to begin at another ideal of the same work than that at which the one before it ended, and marked units tell these apart. Over
  many devices marks are too many states together, and of interchangeable branches each needs one.
- *Memory beside many alike branches* (tables of embeddings): positions know no memory, and the bound that does covers by fractions of sets.
- *Wide graphs*: the automaton of frontiers has too many states, and so have the steps along which positions are counted; the bound is that of
  convex covers, or what the plain program refutes.
- *Servers of many ideals*: the plain program settles them where ideals are few and links between servers slow. Where most ideals may
  lie between servers, as on networks that hardly move data, it looks at many servers, and the rest is left to the ideal DP.
- *Scarce memory without contiguity*: devices together have room, single ones do not. Sets are priced by load and memory
  along a line, but fractions of sets of much and of little memory average out, and only a tree tells them apart. On graphs of
  several hundred nodes over few devices that has hundreds of leaves, of half a second each.
- *Latency of wide graphs*: flows bound the latency where all ideals and all subgraphs after them can be listed. The cells of
  NASNet have too many; fractions of blocks bound it there, which may end earlier than any split, and no branches are tried.
  InceptionV3 is proven without the classifier on its side, which no list holds beside the rest; that is what its gap is.";

impl Solved {
    fn gap(&self) -> String {
        let gap = self.objective.zip(self.bound).and_then(|(value, bound)| gap(value, bound));
        or_dash(gap.map(|gap| if gap == 0.0 { "proven".to_owned() } else { format!("{:.2} %", 100.0 * gap) }))
    }

    fn cell(&self) -> String {
        let value = or_dash(self.objective.map(|value| format!("{value:.4}")));
        format!("{value}, {}, {} s", self.gap(), seconds(self.seconds))
    }

    fn cells(&self) -> Vec<String> {
        let bound = or_dash(self.bound.map(|bound| format!("{bound:.4}")));
        vec![self.cell(), bound, self.split_by.clone(), self.bound_by.clone()]
    }
}
