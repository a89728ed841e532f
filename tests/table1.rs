//! The published workloads at hand: contiguous optima of Tarnawski et al. 2020, Table 1, and PipeDream's profiles.

mod common;
mod workloads;

use std::path::Path;
use std::time::Duration;

use common::proves;
use dagsplit::formats::{PipeDreamOptions, ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::IdealDp;
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;

/// Time per sample of the contiguous optimum as printed, in ms.
const TABLE_1: [(&str, &str); 16] = [
    ("operator/bert_l-3_inference", "27.92"),
    ("operator/bert_l-6_inference", "29.58"),
    ("operator/bert_l-12_inference", "147.48"),
    ("operator/resnet50_inference", "124.35"),
    ("operator/bert_l-3_training", "65.30"),
    ("operator/bert_l-6_training", "72.86"),
    ("operator/bert_l-12_training", "438.00"),
    ("operator/resnet50_training", "255.19"),
    ("layer/bert24_inference", "17.79"),
    ("layer/resnet50_inference", "33.77"),
    ("layer/inceptionv3_inference", "51.55"),
    ("layer/gnmt_inference", "32.91"),
    ("layer/bert24_training", "41.75"),
    ("layer/resnet50_training", "78.63"),
    ("layer/inceptionv3_training", "122.76"),
    ("layer/gnmt_training", "107.00"),
];

/// More than any of these takes, so that a test that would run for hours fails.
const LIMIT: Duration = Duration::from_secs(120);

/// The proven and verified optimum.
fn optimum(name: &str, instance: &Instance, spec: ProblemSpec) -> f64 {
    let problem = Problem::new(instance, spec.clone()).unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let mut cx = SearchContext::new().with_time_limit(LIMIT);
    let outcome = IdealDp::default().solve(&problem, &mut cx).unwrap_or_else(|error| panic!("{name}: {error}")).outcome;
    let Outcome::Optimal { solution, bound } = outcome else { panic!("{name} is not proven optimal: {outcome:?}") };
    let verified =
        verify::check(instance, &spec, &solution).unwrap_or_else(|violations| panic!("{name}: {violations:?}"));
    assert!(solution.objective.is_some_and(|value| proves(bound.value, value)), "{name}: {bound:?}");
    verified.objective()
}

fn read(path: &Path, options: &ReadOptions) -> Instance {
    read_instance(path, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn contiguous_optima_agree_to_every_printed_digit() {
    for (name, printed) in TABLE_1 {
        let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) else { continue };
        let instance = read(&path, &ReadOptions::default());
        let found = optimum(name, &instance, ProblemSpec::of(&instance));
        assert_eq!(format!("{found:.2}"), printed, "{name}");
    }
}

/// NASNet-A is left out: its fronts outgrow the default limit of labels, so it ends with a bound below its split.
#[test]
fn pipedream_profiles_are_solved_to_optimality() {
    for name in ["densenet121", "gnmt", "inception_v3", "resnet50", "vgg16"] {
        let Some(path) = workloads::find(&format!("pipedream2019/{name}.txt")) else { continue };
        for accelerators in [6, 16] {
            let pipedream = PipeDreamOptions { accelerators, ..PipeDreamOptions::default() };
            let instance = read(&path, &ReadOptions { pipedream, ..ReadOptions::default() });
            optimum(&format!("{name} on {accelerators}"), &instance, ProblemSpec::of(&instance));
        }
    }
}
