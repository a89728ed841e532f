//! How time and memory grow with the graph, as figures and a table in `docs/`.
//!
//! `cargo bench --bench growth` measures each solve in a process of its own, one after another. Time is from the
//! instance in memory to the split; memory is the peak of the process, the instance included.

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Parser;
use support::chart::{Chart, Series};
use support::family::Family;
use support::figures::{count, head, megabytes, or_dash, row, seconds, status, times_as_fast};
use support::limits::Limits;
use support::machine;
use support::measure::{Measurement, Method, Source, Task, is_child};

const DP_SIZES: [usize; 7] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];
const DPL_SIZES: [usize; 6] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/// The orders that linearized DP tries by default, and one alone.
const ORDERS: [usize; 2] = [16, 1];

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    limits: Limits,
    /// Nodes of the largest graphs.
    #[arg(long, default_value_t = usize::MAX)]
    max_nodes: usize,
}

/// The measurements of one family by one method, by size.
struct Line {
    family: Family,
    method: Method,
    points: Vec<Point>,
}

/// A measurement with one thread, and how many times as fast two are where that was measured.
struct Point {
    single: Measurement,
    speedup: Option<f64>,
}

fn main() -> Result<()> {
    if is_child()? {
        return Ok(());
    }
    let args = Args::parse();
    if !args.limits.is_asked("growth") {
        return Ok(());
    }
    let dp = args.lines(Method::Dp, &DP_SIZES)?;
    let dpl: Vec<Vec<Line>> =
        ORDERS.iter().map(|&orders| args.lines(Method::Dpl(orders), &DPL_SIZES)).collect::<Result<_>>()?;
    let networks = args.networks()?;
    draw("dp", "Ideal DP", "filled: proven optimal, hollow: not", &dp)?;
    draw("dpl", "Linearized DP", "16 orders", &dpl[0])?;
    let text = page(&args, &dp, &dpl, &networks)?;
    std::fs::write(in_repository("docs/benchmarks.md"), text)?;
    Ok(())
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Args {
    fn measure(&self, source: Source, method: Method) -> Result<Point> {
        let task = Task { source, method, accelerators: None, threads: 1, time_limit: self.limits.seconds(SECONDS) };
        let single = task.measure()?;
        let peak = or_dash(single.peak_bytes.map(megabytes));
        println!("{:?} {method:?}: {}, {} s, {peak} MB", task.source, status(&single), seconds(single.solve_seconds));
        let speedup = if method == Method::Dp { task.speedup(&single)? } else { None };
        Ok(Point { single, speedup })
    }

    /// All families in all sizes.
    fn lines(&self, method: Method, sizes: &[usize]) -> Result<Vec<Line>> {
        let line = |family: Family| {
            let wanted = sizes.iter().filter(|&&size| size <= self.max_nodes && family.has(size));
            let points = wanted.map(|&size| self.measure(Source::Generated(family, size), method));
            Ok(Line { family, method, points: points.collect::<Result<_>>()? })
        };
        Family::ALL.into_iter().map(line).collect()
    }

    /// The ideal DP on each workload of the repository.
    fn networks(&self) -> Result<Vec<(String, Point)>> {
        let files = std::fs::read_dir(in_repository("instances"))?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_workload =
            |path: &PathBuf| path.extension().is_some_and(|e| e == "json") && !path.ends_with("ledger.json");
        let mut files: Vec<PathBuf> = files.filter(is_workload).collect();
        files.sort();
        let measured = files.into_iter().map(|path| {
            let name = path.file_stem().unwrap_or_default().display().to_string();
            Ok((name, self.measure(Source::File(path), Method::Dp)?))
        });
        measured.collect()
    }
}

/// Draws time and memory of the lines against nodes.
fn draw(file: &str, method: &str, note: &str, lines: &[Line]) -> Result<()> {
    let directory = in_repository("docs/figures");
    std::fs::create_dir_all(&directory)?;
    let chart = |what: &str, unit: &str, y: &dyn Fn(&Measurement) -> Option<f64>| {
        let point = |m: &Measurement| Some((m.nodes as f64, y(m)?, m.is_proven() || file == "dpl"));
        let line = |line: &Line| Series {
            name: line.family.name().to_owned(),
            points: line.points.iter().map(|at| &at.single).filter_map(point).collect(),
        };
        let series: Vec<Series> = lines.iter().map(line).filter(|series| !series.points.is_empty()).collect();
        if series.is_empty() {
            return Ok(());
        }
        let title = format!("{method}: {what} by graph size ({note})");
        let chart = Chart { title: &title, x: "nodes", y: &format!("{what}, {unit}"), series: &series };
        chart.draw(&directory.join(format!("growth-{file}-{what}.svg")))
    };
    chart("time", "seconds", &|m| Some(m.solve_seconds))?;
    chart("memory", "megabytes", &|m| m.peak_bytes.map(|bytes| bytes as f64 / 1e6))
}

/// The page with all tables and figures.
fn page(args: &Args, dp: &[Line], dpl: &[Vec<Line>], networks: &[(String, Point)]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "# Benchmarks\n")?;
    writeln!(text, "Made by `cargo bench --bench growth` on {}; do not edit.\n", machine::describe())?;
    writeln!(
        text,
        "Each run is a process of its own on one thread, with six accelerators and one CPU, and is stopped after {} s. \
         Time is from the instance in memory to the split, memory is the peak of the process. Each split passed the \
         verifier. *Cells* are generated graphs that branch as deep networks do, with random costs; *transformer* is \
         BERT-base and *NASNet* NASNet-A mobile with more or fewer layers and modelled costs. Two threads are compared \
         with one where that takes over a second, by the fastest of three runs with either.\n",
        args.limits.seconds(SECONDS)
    )?;
    writeln!(text, "## Ideal DP\n\n![Time of the ideal DP](figures/growth-dp-time.svg)\n")?;
    writeln!(text, "![Memory of the ideal DP](figures/growth-dp-memory.svg)\n")?;
    writeln!(text, "{}", dp_head("graph"))?;
    for line in dp {
        line.points.iter().try_for_each(|point| writeln!(text, "{}", dp_row(line.family.name(), point)))?;
    }
    if !networks.is_empty() {
        writeln!(text, "\nThe workloads of the repository:\n")?;
        writeln!(text, "{}", dp_head("workload"))?;
        networks.iter().try_for_each(|(name, point)| writeln!(text, "{}", dp_row(name, point)))?;
    }
    writeln!(text, "\n## Linearized DP\n\n![Time of linearized DP](figures/growth-dpl-time.svg)\n")?;
    writeln!(text, "![Memory of linearized DP](figures/growth-dpl-memory.svg)\n")?;
    writeln!(text, "{}", head(&["graph", "orders", "nodes", "objective", "seconds", "MB"], 1))?;
    for line in dpl.iter().flatten() {
        line.points.iter().try_for_each(|point| writeln!(text, "{}", dpl_row(line, &point.single)))?;
    }
    Ok(text)
}

fn dp_head(subject: &str) -> String {
    head(&[subject, "nodes", "ideals", "states", "outcome", "seconds", "MB", "with 2 threads"], 1)
}

fn dp_row(name: &str, Point { single: m, speedup }: &Point) -> String {
    row(&[
        name.to_owned(),
        m.nodes.to_string(),
        or_dash(m.stat("ideals").map(count)),
        or_dash(m.stat("states").map(count)),
        status(m),
        seconds(m.solve_seconds),
        or_dash(m.peak_bytes.map(megabytes)),
        times_as_fast(*speedup),
    ])
}

fn dpl_row(line: &Line, m: &Measurement) -> String {
    let orders = if let Method::Dpl(orders) = line.method { orders } else { 0 };
    row(&[
        line.family.name().to_owned(),
        orders.to_string(),
        m.nodes.to_string(),
        or_dash(m.objective.map(|value| format!("{value:.3}"))),
        seconds(m.solve_seconds),
        or_dash(m.peak_bytes.map(megabytes)),
    ])
}
