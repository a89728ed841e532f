//! Nodes that are kept on one device: by every method, to the verifier's satisfaction, and on the command line.

mod bench;
mod common;

use assert_cmd::Command;
use bench::Bench;
use common::{InstanceOptions, config, near, problems, solve_and_verify};
use dagsplit::conformance::strategies::{latency_problems, step_problems, together};
use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Problem, ProblemSpec, Scope, Solution};
use dagsplit::registry;
use dagsplit::solve::{BruteForce, Guarantee};
use dagsplit::verify::{self, Violation};
use proptest::prelude::*;

const OPTIONS: InstanceOptions = InstanceOptions { max_accelerators: 2, max_cpus: 1, ..InstanceOptions::ALL };

proptest! {
    #![proptest_config(config(100))]

    /// What is least of all splits that keep them together is what brute force finds, whose oracle is the verifier.
    #[test]
    fn every_method_keeps_them_together((instance, spec) in prop_oneof![
        together(problems(4, OPTIONS)),
        together(step_problems(4, OPTIONS)),
        together(latency_problems(4, 2, OPTIONS)),
    ]) {
        let least = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        for method in registry::methods().iter().filter(|method| !method.needs_more()) {
            let solver = method.solver();
            if solver.takes(&problem).is_err() {
                continue;
            }
            let found = solve_and_verify(solver.as_ref(), &instance, &spec);
            if solver.guarantee() == Guarantee::Exact {
                prop_assert!(near(found, least), "{}: {found:?} against {least:?}", method.name);
            }
        }
    }
}

/// Nodes `a.0`, `a.1`, `b.0/x`, `b.0/y` and `c` of one unit of time each, one after another, for two devices.
fn chain() -> Instance {
    let node = |(id, name): (u64, &str)| Node {
        name: Some(name.to_owned()),
        accelerator_times: vec![Some(1.0)],
        ..Node::new(id)
    };
    Instance {
        platform: Platform::uniform(2, None, 0),
        nodes: (0..).zip(["a.0", "a.1", "b.0/x", "b.0/y", "c"]).map(node).collect(),
        edges: (1..5).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

#[test]
fn parted_nodes_are_a_violation() {
    let instance = chain();
    let device = |nodes: &[u64]| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes.to_vec());
    let split = Solution { devices: vec![device(&[0, 1, 2]), device(&[3, 4])], objective: None };
    let of = |together| ProblemSpec { together, scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
    assert!(verify::check(&instance, &of(vec![vec![0, 1], vec![3, 4]]), &split).is_ok());
    let found = verify::check(&instance, &of(vec![vec![0, 1], vec![1, 3, 4], vec![2, 4]]), &split).unwrap_err();
    let parted = |first, second| Violation::Parted { first, second };
    assert_eq!(found, [parted((1, 0), (3, 1)), parted((2, 0), (4, 1))]);
    let message = Problem::new(&instance, of(vec![vec![0, 5]])).err().unwrap().to_string();
    assert!(message.contains("there is no node of index 5; give indices below 5"), "{message}");
}

#[test]
fn no_kind_of_device_for_all_of_them_is_refused() {
    let mut instance = chain();
    instance.platform.cpus = 1;
    (instance.nodes[0].cpu_time, instance.nodes[0].accelerator_times) = (Some(1.0), vec![None]);
    instance.nodes[1].cpu_time = None;
    let spec = ProblemSpec { together: vec![vec![0, 1]], ..ProblemSpec::of(&instance) };
    let message = Problem::new(&instance, spec).err().unwrap().to_string();
    assert!(message.contains("no kind of device can run all of them (0, 1)"), "{message}");
}

/// The exit code of a command line, and what it said on both outputs.
fn run(bench: &Bench, words: &str) -> (i32, String) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
    let output = command.current_dir(bench.directory.path()).args(words.split_whitespace()).output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    (output.status.code().unwrap(), said)
}

#[test]
fn patterns_are_of_names_and_modules() {
    let bench = Bench::new();
    bench.file("chain.json", &write_instance(&chain(), OutputFormat::Native).unwrap());
    // Five nodes of a chain: three and two of them, or four and one.
    for (options, least) in [
        ("", "3"),
        ("--together b.0", "3"),
        ("--together a.1,b.0/x --together b.0/?,c", "4"),
        ("--together a*,b --scope arbitrary", "4"),
        ("--together a.1,b", "4"),
        ("--together *", "5"),
    ] {
        let (code, said) = run(&bench, &format!("solve chain.json --json --quiet {options}"));
        let record: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, record["objective"].to_string()), (0, format!("{least}.0")), "{options}: {said}");
    }
    let (code, said) = run(&bench, "solve chain.json --together d,a --together b.0/z");
    assert!(code == 2 && said.contains("no node has a name like `d`") && said.contains("`b.0/z`"), "{code}: {said}");
    let (code, said) = run(&bench, "solve chain.json --quiet --certify --together c,b");
    assert!(code == 0 && said.contains("not certified") && said.contains("nodes kept together"), "{code}: {said}");
    assert_eq!(run(&bench, "solve chain.json --quiet --output split.json").0, 0);
    assert!(!bench.read("split.json").contains("[0,1,2,3,4]"));
    let (code, said) = run(&bench, "verify chain.json split.json --together *");
    assert!(code == 1 && said.contains("are to be kept together but are on devices"), "{code}: {said}");
}
