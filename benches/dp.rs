//! The ideal DP from problem to proof: on generated and modelled graphs, on the published workloads at hand, and
//! beside the DP as published, where that one finishes.

mod reference;
mod support;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::generate::{Inception, Recipe, Resnet, Transformer};
use dagsplit::instance::Instance;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::IdealDp;
use dagsplit::solve::{Outcome, Run, SearchContext, Solver};
use support::family::{Family, made};
use support::workloads;

const SIZES: [usize; 5] = [100, 300, 1_000, 3_000, 10_000];

/// Graphs not proven in this time are left to `growth`, which shows how far they come.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Ideals beyond which the published DP is left out: its time grows with their square.
const MAX_IDEALS: usize = 4_000;

/// How often each of two rivals runs, by turns; the fastest run of each counts.
const ROUNDS: usize = 5;

fn problem(instance: &Instance) -> Problem {
    Problem::new(instance, ProblemSpec::of(instance)).expect("the workload is valid")
}

fn solve(problem: &Problem, context: SearchContext) -> Run {
    let mut context = context;
    IdealDp::default().solve(problem, &mut context).expect("the scope is supported")
}

/// The optimum, where it is proven in time.
fn optimum(problem: &Problem) -> Option<f64> {
    match solve(problem, SearchContext::new().with_time_limit(TIME_LIMIT)).outcome {
        Outcome::Optimal { solution, .. } => solution.objective,
        _ => None,
    }
}

fn published_optimum(problem: &Problem) -> Option<f64> {
    let reduced = Reduced::contracted_only(problem);
    reference::optimum(&reduced, &reference::Ideals::new(&reduced, MAX_IDEALS)?)
}

/// Measures the DP on `instance`, with the published DP beside it where that one finishes.
fn compare(c: &mut Criterion, group: &str, name: &str, instance: &Instance) {
    let problem = problem(instance);
    let Some(objective) = optimum(&problem) else {
        println!("{group}/{name}: not proven in {} s, left out", TIME_LIMIT.as_secs());
        return;
    };
    let mut group = c.benchmark_group(group);
    group.sample_size(10);
    group.bench_function(BenchmarkId::new("dagsplit", name), |b| b.iter(|| solve(&problem, SearchContext::new())));
    let Some(published) = published_optimum(&problem) else { return };
    let difference = (objective - published).abs();
    assert!(difference <= 1e-9 * published, "{name}: {objective} against the published DP's {published}");
    group.bench_function(BenchmarkId::new("published", name), |b| b.iter(|| published_optimum(&problem)));
    print_ratio(name, &problem);
}

/// Runs both by turns, so that whatever else the machine does hits both.
fn print_ratio(name: &str, problem: &Problem) {
    let mut best = [f64::INFINITY; 2];
    let time = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    for _ in 0..ROUNDS {
        best[0] = best[0].min(time(&|| drop(solve(problem, SearchContext::new()))));
        best[1] = best[1].min(time(&|| assert!(published_optimum(problem).is_some())));
    }
    let [ours, theirs] = best;
    println!("{name}: dagsplit {:.2} ms, published {:.2} ms: {:.1} times", ours * 1e3, theirs * 1e3, theirs / ours);
}

fn generated(c: &mut Criterion) {
    for family in Family::ALL {
        for size in SIZES.into_iter().filter(|&size| family.has(size)) {
            compare(c, &format!("dp/{}", family.name()), &size.to_string(), &family.instance(size));
        }
    }
}

fn modelled(c: &mut Criterion) {
    let networks = [
        ("resnet50", Recipe::new(Resnet::default())),
        ("resnet152", Recipe::new(Resnet { depth: 152, ..Resnet::default() })),
        ("inception_v3", Recipe::new(Inception::default())),
        ("bert12", Recipe::new(Transformer::bert_base())),
        ("gpt2_medium", Recipe::new(Transformer::gpt2_medium())),
    ];
    for (name, recipe) in networks {
        compare(c, "dp/modelled", name, &made(&recipe));
        compare(c, "dp/modelled", &format!("{name}_training"), &made(&Recipe { training: true, ..recipe }));
    }
}

fn published(c: &mut Criterion) {
    for path in workloads::all("tarnawski2020/throughput", "json") {
        let instance = read_instance(&path, &ReadOptions::default()).expect("the published workloads are valid");
        let level = path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default();
        compare(c, "dp/published", &format!("{}/{}", level.display(), stem.display()), &instance);
    }
}

criterion_group!(benches, generated, modelled, published);
criterion_main!(benches);
