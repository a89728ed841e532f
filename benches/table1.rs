//! The published workloads at hand, each from process start to verified split: Tarnawski et al. 2020, Table 1, and
//! PipeDream's profiles over 6 and 16 accelerators. `cargo bench --bench table1` prints it as Markdown.

mod support;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use support::figures::{count, head, megabytes, or_dash, row, seconds, status, times_as_fast};
use support::limits::Limits;
use support::measure::{Measurement, Method, Source, Task, is_child};
use support::published::{PROFILE_ACCELERATORS, PROFILES, THROUGHPUT};
use support::{machine, workloads};

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    limits: Limits,
}

/// A workload with what is published of it.
struct Case {
    name: String,
    source: Source,
    accelerators: Option<usize>,
    published: Option<f64>,
}

fn main() -> Result<()> {
    if is_child()? {
        return Ok(());
    }
    let args = Args::parse();
    if !args.limits.is_asked("table1") {
        return Ok(());
    }
    println!("{}; one thread, a time limit of {} s.\n", machine::describe(), args.limits.seconds(SECONDS));
    let titles = ["workload", "published", "objective", "outcome", "ideals", "seconds", "MB", "with 2 threads"];
    println!("{}", head(&titles, 1));
    for case in cases() {
        let task = case.task(args.limits.seconds(SECONDS));
        let single = task.measure()?;
        println!("{}", case.row(&single, task.speedup(&single)?));
        case.check(&single)?;
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let table = THROUGHPUT.iter().filter_map(|&(name, [_, published])| {
        let source = Source::File(workloads::find(&format!("tarnawski2020/throughput/{name}.json"))?);
        Some(Case { name: name.to_owned(), source, accelerators: None, published: Some(published) })
    });
    let profiles =
        PROFILES.iter().filter_map(|name| Some((name, workloads::find(&format!("pipedream2019/{name}.txt"))?)));
    table.chain(profiles.flat_map(|(name, path)| profile_cases(name, path))).collect()
}

/// A profile for each number of accelerators, as it was published and as PipeDream's optimizer takes it.
fn profile_cases(name: &str, path: PathBuf) -> impl Iterator<Item = Case> {
    let sources = [(" with inputs", Source::WholeProfile(path.clone())), ("", Source::File(path))];
    let case = move |(note, source): (&str, Source)| {
        PROFILE_ACCELERATORS.map(|accelerators| Case {
            name: format!("{name}{note}, k = {accelerators}"),
            source: source.clone(),
            accelerators: Some(accelerators),
            published: None,
        })
    };
    sources.into_iter().flat_map(case)
}

impl Case {
    fn task(&self, time_limit: f64) -> Task {
        Task {
            source: self.source.clone(),
            method: Method::Dp,
            accelerators: self.accelerators,
            threads: 1,
            time_limit,
        }
    }

    fn row(&self, single: &Measurement, speedup: Option<f64>) -> String {
        row(&[
            self.name.clone(),
            or_dash(self.published.map(|value| format!("{value:.2}"))),
            or_dash(single.objective.map(|value| format!("{value:.4}"))),
            status(single),
            or_dash(single.stat("ideals").map(count)),
            seconds(single.wall_seconds),
            or_dash(single.peak_bytes.map(megabytes)),
            times_as_fast(speedup),
        ])
    }

    /// An optimum that disagrees with the published one is a fault in one of the two.
    fn check(&self, measured: &Measurement) -> Result<()> {
        if let (Some(published), Some(objective), true) = (self.published, measured.objective, measured.is_proven()) {
            // Published values have two decimals, rounded or cut.
            anyhow::ensure!(
                (objective - published).abs() <= 0.01,
                "{}: the proven optimum {objective} is not the published {published}",
                self.name
            );
        }
        Ok(())
    }
}
