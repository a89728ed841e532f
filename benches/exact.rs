//! Splits without contiguity by the published integer program, the strengthened one and branch and price, in one run: how
//! far each is from a proof over time. `cargo bench --bench exact` prints the table as Markdown and writes it with a plot
//! to `docs/`.

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Result, anyhow};
use clap::Parser;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::internals::report::method::gap;
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::registry;
use dagsplit::verify;
use support::chart::{Chart, Series};
use support::figures::{head, or_dash, row, seconds};
use support::limits::Searching;
use support::published::THROUGHPUT;
use support::{machine, workloads};

const METHODS: [&str; 3] = ["ip:published", "ip:strong", "certify"];

/// The least gap that the plot tells from a proof.
const LEAST_GAP: f64 = 1e-4;

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
struct Trace {
    objective: Option<f64>,
    gap: Option<f64>,
    seconds: f64,
    /// Seconds and the gap from then on, ascending.
    gaps: Vec<(f64, f64)>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("exact") {
        return Ok(());
    }
    let wanted = |name: &str| args.only.as_ref().is_none_or(|only| name.contains(only));
    let mut rows = Vec::new();
    for (name, [published, _]) in THROUGHPUT.iter().filter(|(name, _)| wanted(name)) {
        if let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) {
            let traces = METHODS.iter().map(|method| args.measure(&path, method)).collect::<Result<Vec<_>>>()?;
            println!("{}", line(name, *published, &traces));
            rows.push((*name, *published, traces));
        }
    }
    if args.only.is_none() && !rows.is_empty() {
        args.draw(&rows)?;
        std::fs::write(in_repository("docs/exact.md"), args.page(&rows)?)?;
    }
    Ok(())
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Args {
    fn measure(&self, path: &Path, method: &str) -> Result<Trace> {
        let instance = read_instance(path, &ReadOptions::default())?;
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec)?;
        let gaps = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&gaps);
        let start = Instant::now();
        let mut context = self.search.context(SECONDS).with_report(move |progress| {
            let known = progress.incumbent.zip(progress.bound).and_then(|(value, bound)| gap(value, bound));
            if let (Some(gap), Ok(mut seen)) = (known, seen.lock()) {
                seen.push((start.elapsed().as_secs_f64(), gap));
            }
        });
        let run = registry::solver(method)?.solve(&problem, &mut context)?;
        drop(context);
        let seconds = start.elapsed().as_secs_f64();
        let verified = run.outcome.solution().map(|split| verify::check(&instance, &problem.spec, split)).transpose();
        let verified = verified.map_err(|violations| anyhow!("{method}: the split is wrong: {violations:?}"))?;
        let objective = verified.map(|split| split.objective());
        let bound = run.outcome.bound().map(|bound| bound.value);
        let last = objective.zip(bound).and_then(|(objective, bound)| gap(objective, bound));
        let mut gaps = gaps.lock().map_err(|_| anyhow!("a report failed"))?.clone();
        gaps.extend(last.map(|gap| (seconds, gap)));
        Ok(Trace { objective, gap: last, seconds, gaps })
    }

    /// Draws the mean gap of each method over the workloads against time.
    fn draw(&self, rows: &[(&str, f64, Vec<Trace>)]) -> Result<()> {
        let steps = 60;
        let first = 0.1f64;
        let last = self.search.limits.seconds(SECONDS);
        let time = |i: usize| first * (last / first).powf(i as f64 / steps as f64);
        let mean = |method: usize, at: f64| {
            let gaps = rows.iter().map(|(_, _, traces)| traces[method].gap_at(at));
            100.0 * (gaps.sum::<f64>() / rows.len() as f64).max(LEAST_GAP)
        };
        let series = |(m, method): (usize, &&str)| Series {
            name: (*method).to_owned(),
            points: (0..=steps).map(|i| (time(i), mean(m, time(i)), i % 10 == 0)).collect(),
        };
        let series: Vec<Series> = METHODS.iter().enumerate().map(series).collect();
        let title = format!("Mean gap over {} workloads, splits without contiguity", rows.len());
        let chart = Chart { title: &title, x: "seconds", y: "mean gap, percent", series: &series };
        chart.draw(&in_repository("docs/figures/exact-gap.svg"))
    }

    fn page(&self, rows: &[(&str, f64, Vec<Trace>)]) -> Result<String> {
        let mut text = String::new();
        writeln!(text, "# Exact methods side by side\n")?;
        writeln!(text, "Made by `cargo bench --bench exact` on {}; do not edit.\n", machine::describe())?;
        writeln!(
            text,
            "Splits without contiguity of Tarnawski et al. 2020, Table 1, with {} thread(s) and {} s for each workload and \
             method: the integer program as published, the strengthened one (both by HiGHS), and branch and price. Each \
             cell holds the verified value, the gap proven and the seconds it took. The published value is the best that \
             a commercial solver found in up to 20 minutes on four cores.\n",
            self.search.threads,
            self.search.limits.seconds(SECONDS)
        )?;
        writeln!(text, "{}", head(&["workload", "published", METHODS[0], METHODS[1], METHODS[2]], 1))?;
        rows.iter().try_for_each(|(name, published, traces)| writeln!(text, "{}", line(name, *published, traces)))?;
        writeln!(text, "\n![Mean gap against time](figures/exact-gap.svg)\n")?;
        writeln!(text, "A method without a split counts as a gap of 100 %, a proof as {} %.", 100.0 * LEAST_GAP)?;
        Ok(text)
    }
}

impl Trace {
    /// The gap known at a time; 1 where there is none.
    fn gap_at(&self, time: f64) -> f64 {
        self.gaps.iter().take_while(|&&(at, _)| at <= time).map(|&(_, gap)| gap).fold(1.0, f64::min)
    }

    fn cell(&self) -> String {
        let value = or_dash(self.objective.map(|value| format!("{value:.4}")));
        let gap =
            or_dash(self.gap.map(|gap| if gap == 0.0 { "proven".to_owned() } else { format!("{:.3}%", 100.0 * gap) }));
        format!("{value}, {gap}, {} s", seconds(self.seconds))
    }
}

fn line(name: &str, published: f64, traces: &[Trace]) -> String {
    let mut cells = vec![name.to_owned(), format!("{published:.2}")];
    cells.extend(traces.iter().map(Trace::cell));
    row(&cells)
}
