//! The baseline columns of Tarnawski et al. 2020, Table 1, on the published workloads at hand.

mod common;
mod workloads;

use common::solve_and_verify;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::NodeSet;
use dagsplit::problem::{DeviceKind, Problem, ProblemSpec, Scope};
use dagsplit::registry;
use dagsplit::solve::{Branchings, Expert, PipeDream};

/// PipeDream's column, in ms, and how far from it ours may be, relative to it, beyond the rounding of the print.
///
/// On ResNet50 inference the path that is left has an optimum of 39.398, and none of its intervals has a load that would
/// be printed as 39.38 ([`no_split_of_the_path_is_printed_as_published`]): a digit of 39.398 seems to be lost. GNMT leaves
/// no path, and its value depends on the order that is split.
const PIPEDREAM: [(&str, f64, f64); 8] = [
    ("layer/bert24_inference", 17.79, 0.0),
    ("layer/resnet50_inference", 39.38, 5e-4),
    ("layer/inceptionv3_inference", 60.42, 0.0),
    ("layer/gnmt_inference", 33.03, 0.0),
    ("layer/bert24_training", 41.75, 0.0),
    ("layer/resnet50_training", 83.67, 0.0),
    ("layer/inceptionv3_training", 128.32, 0.0),
    ("layer/gnmt_training", 107.35, 5e-3),
];

/// Half of the last digit printed.
const ROUNDING: f64 = 0.005 + 1e-9;

/// The expert's column, with the split file of each; training graphs without one of their own take that of inference.
const EXPERT: [(&str, &str, &str); 8] = [
    ("layer/bert24_inference", "bert24_inference", "20.08"),
    ("layer/resnet50_inference", "resnet50_inference", "43.92"),
    ("layer/inceptionv3_inference", "inceptionv3_inference", "102.48"),
    ("layer/gnmt_inference", "gnmt_inference", "46.21"),
    ("layer/bert24_training", "bert24_training", "49.40"),
    ("layer/resnet50_training", "resnet50_inference", "112.11"),
    ("layer/inceptionv3_training", "inceptionv3_inference", "213.65"),
    ("layer/gnmt_training", "gnmt_training", "137.15"),
];

/// The column of local search, and how many times its ten restarts are made here.
const LOCAL_SEARCH: [(&str, f64, u64); 16] = [
    ("operator/bert_l-3_inference", 24.32, 6),
    ("operator/bert_l-6_inference", 42.52, 4),
    ("operator/bert_l-12_inference", 257.38, 1),
    ("operator/resnet50_inference", 250.08, 2),
    ("operator/bert_l-3_training", 66.17, 4),
    ("operator/bert_l-6_training", 94.86, 2),
    ("operator/bert_l-12_training", 737.99, 1),
    ("operator/resnet50_training", 530.95, 2),
    ("layer/bert24_inference", 17.80, 10),
    ("layer/resnet50_inference", 35.63, 20),
    ("layer/inceptionv3_inference", 54.03, 4),
    ("layer/gnmt_inference", 31.75, 10),
    ("layer/bert24_training", 39.93, 10),
    ("layer/resnet50_training", 81.32, 20),
    ("layer/inceptionv3_training", 122.80, 4),
    ("layer/gnmt_training", 91.52, 10),
];

fn workload(name: &str) -> Option<Instance> {
    let path = workloads::find(&format!("tarnawski2020/throughput/{name}.json"))?;
    Some(read_instance(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}")))
}

fn printed(value: Option<f64>) -> String {
    value.map_or("nothing".into(), |value| format!("{value:.2}"))
}

#[test]
fn pipedream_finds_what_is_published() {
    for (name, published, tolerance) in PIPEDREAM {
        let Some(instance) = workload(name) else { continue };
        let found = solve_and_verify(&PipeDream::default(), &instance, &ProblemSpec::of(&instance));
        let deviation = (found.unwrap_or_else(|| panic!("{name}: no split")) - published).abs();
        assert!(deviation <= ROUNDING + tolerance * published, "{name}: {found:?}, published as {published}");
    }
}

#[test]
fn experts_splits_are_worth_what_is_published() {
    for (name, split, published) in EXPERT {
        let Some(instance) = workload(name) else { continue };
        let Some(file) = workloads::find(&format!("tarnawski2020/expert/{split}_expert.json")) else { continue };
        let found = solve_and_verify(&Expert { file: Some(file) }, &instance, &ProblemSpec::of(&instance));
        assert_eq!(printed(found), published, "{name}");
    }
}

/// The published figure lies between the best of all restarts and the worst single one.
#[test]
fn local_search_spreads_around_what_is_published() {
    for (name, published, repeats) in LOCAL_SEARCH {
        let Some(instance) = workload(name) else { continue };
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        let find = |restarts: usize, seed: u64| {
            let search = registry::solver(&format!("local-search:restarts={restarts},seed={seed}")).unwrap();
            solve_and_verify(&*search, &instance, &spec).unwrap_or_else(|| panic!("{name}: no split"))
        };
        let best = (0..repeats).map(|i| find(10, 1000 * i)).fold(f64::MAX, f64::min);
        let worst = (0..10 * repeats.min(4)).map(|i| find(1, i)).fold(0.0, f64::max);
        assert!(best <= published + ROUNDING && published <= worst + ROUNDING, "{name}: {best} to {worst}");
    }
}

/// The published program contracts ResNet50 to the same path: all biconnected components are the same in any order.
#[test]
fn no_split_of_the_path_is_printed_as_published() {
    let Some(instance) = workload("layer/resnet50_inference") else { return };
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("a published workload");
    let path = Reduced::contracted_only(&problem.clustered(&Branchings::default().of(&problem)));
    assert_eq!(path.unit_count(), 40);
    assert!((1..40).all(|u| path.order.successors(u - 1).contains(&(u as u32))), "it is one path");
    let mut loads = Vec::new();
    for (from, to) in (0..40).flat_map(|from| (from + 1..=40).map(move |to| (from, to))) {
        let nodes = NodeSet::from_nodes(problem.node_count(), path.lift(from..to));
        loads.extend(problem.costs.load(&nodes, DeviceKind::Accelerator(0)));
    }
    let near: Vec<f64> = loads.into_iter().filter(|load| (39.0..39.45).contains(load)).collect();
    assert!(matches!(near[..], [load] if (load - 39.398).abs() < 1e-3), "{near:?}");
}
