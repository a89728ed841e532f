//! Splits from outside: experts' files, and graph partitioners that are programs of their own.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::solve_and_verify;
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::solve::Partitioner;
use dagsplit::solve::{Expert, ExternalPartitioner};
use dagsplit::solve::{Outcome, SearchContext, Solver};

/// A chain of four nodes of time 1, 2, 3, 4, one byte and transfer time 1 each; 2 and 4 share a colour class if so
/// wished. CPUs take ten times as long.
fn chain(shared: bool, platform: Platform) -> Instance {
    let node = |id: u64| Node {
        accelerator_times: vec![Some(id as f64)],
        cpu_time: Some(10.0 * id as f64),
        memory: 1.0,
        transfer_time: 1.0,
        color_class: (shared && id.is_multiple_of(2)).then_some(7),
        ..Node::new(id)
    };
    Instance {
        platform,
        nodes: (1..=4).map(node).collect(),
        edges: (1..4).map(|id| Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    }
}

fn spec(instance: &Instance, scope: Scope) -> ProblemSpec {
    ProblemSpec { scope, ..ProblemSpec::of(instance) }
}

/// The message with which `solver` refuses to answer.
fn complaint(solver: &dyn Solver, instance: &Instance, scope: Scope) -> String {
    let problem = Problem::new(instance, spec(instance, scope)).unwrap();
    solver.solve(&problem, &mut SearchContext::new()).expect_err("it should complain").to_string()
}

/// An expert with this split in a file, which lives as long as the folder.
fn expert(split: &str) -> (tempfile::TempDir, Expert) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("split.json");
    fs::write(&file, split).unwrap();
    (folder, Expert { file: Some(file) })
}

#[test]
fn an_expert_s_split_is_worth_what_it_costs() {
    let instance = chain(false, Platform::uniform(2, Some(3.0), 1));
    let (_folder, good) = expert(r#"{"cpus": [{"nodes": [1]}], "fpgas": [{"nodes": [2, 3]}, {"nodes": [4]}]}"#);
    // The CPU takes 10; {2, 3} receives and sends, 5 + 2; {4} receives, 4 + 1.
    assert_eq!(solve_and_verify(&good, &instance, &spec(&instance, Scope::Acyclic)), Some(10.0));
    let (_folder, mixed) = expert(r#"{"fpgas": [{"nodes": [1, 3]}, {"nodes": [2, 4]}]}"#);
    assert_eq!(solve_and_verify(&mixed, &instance, &spec(&instance, Scope::Arbitrary)), Some(8.0 + 1.0));
}

#[test]
fn backward_nodes_join_their_class() {
    let mut instance = chain(false, Platform::uniform(2, None, 0));
    for (id, forward) in [(5, 4), (6, 1)] {
        instance.nodes[forward - 1].color_class = Some(forward as u64);
        let node = Node {
            backward: true,
            color_class: Some(forward as u64),
            accelerator_times: vec![Some(1.0)],
            ..Node::new(id)
        };
        instance.nodes.push(node);
    }
    instance.edges.extend([Edge { source: 4, target: 5 }, Edge { source: 5, target: 6 }]);
    let (_folder, split) = expert(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3, 4]}]}"#);
    // {1, 2, 6} computes 4 and sends 1; {3, 4, 5} computes 8 and receives 1.
    assert_eq!(solve_and_verify(&split, &instance, &spec(&instance, Scope::Acyclic)), Some(9.0));
}

#[test]
fn what_keeps_an_expert_s_split_from_counting_is_said() {
    let tight = chain(false, Platform::uniform(2, Some(2.0), 0));
    let complain = |split: &str, scope: Scope| {
        let (_folder, expert) = expert(split);
        complaint(&expert, &tight, scope)
    };
    let says = |split: &str, what: &str| {
        let message = complain(split, Scope::Acyclic);
        assert!(message.contains("split.json") && message.contains(what), "{message}");
    };
    says(r#"{"fpgas": [{"nodes": [1, 2, 3]}, {"nodes": [4]}]}"#, "accelerator 1 needs 3 B of its 2 B");
    says(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}]}"#, "node 4 is on no device");
    says(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3, 4, 2]}]}"#, "node 2 is listed twice");
    says(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3, 9]}]}"#, "the graph has no node 9");
    says(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}, {"nodes": [4]}]}"#, "more devices of a kind than there are");
    says(r#"{"cpus": [{"nodes": [1, 2]}], "fpgas": [{"nodes": [3, 4]}]}"#, "more devices of a kind than there are");
    says(r#"{"fpgas": [{"nodes": [1, 2], "replicas": 2}, {"nodes": [3, 4]}]}"#, "replicas");
    says(r#"{"fpgas": [{"nodes": [1, 3]}, {"nodes": [2, 4]}]}"#, "not in the scope `acyclic`");
    says("{}", "this is no split");
    let message = complain(r#"{"fpgas": [{"nodes": [1, 3]}, {"nodes": [2, 4]}]}"#, Scope::Convex);
    assert!(message.contains("not in the scope `convex`"), "{message}");
    let (_folder, parting) = expert(r#"{"fpgas": [{"nodes": [1, 2]}, {"nodes": [3, 4]}]}"#);
    let shared = chain(true, Platform::uniform(2, None, 0));
    assert!(complaint(&parting, &shared, Scope::Arbitrary).contains("it parts a colour class"));
    let mut unable = chain(false, Platform::uniform(2, None, 0));
    unable.nodes[2] = Node { accelerator_times: vec![None], ..unable.nodes[2].clone() };
    unable.platform.cpus = 1;
    assert!(complaint(&parting, &unable, Scope::Arbitrary).contains("device 2 cannot run node 3"));
    assert!(complaint(&Expert::default(), &tight, Scope::Acyclic).contains("expert:file=PATH"));
    let missing = Expert { file: Some("/nowhere/split.json".into()) };
    assert!(complaint(&missing, &tight, Scope::Acyclic).contains("/nowhere/split.json"));
}

/// One script at a time: a file that another thread's child still holds open cannot be run.
static SCRIPTS: Mutex<()> = Mutex::new(());

/// Makes a program of the shell script `body`, and gives it to `work`.
fn with_script<T>(body: &str, work: impl FnOnce(PathBuf) -> T) -> T {
    let _guard = SCRIPTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    make_executable(&program);
    work(program)
}

#[cfg(unix)]
fn make_executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

fn partitioner(partitioner: Partitioner, program: PathBuf) -> ExternalPartitioner {
    ExternalPartitioner { program: Some(program), ..ExternalPartitioner::new(partitioner) }
}

/// Cuts the vertices, in their order, into parts of equal number, in each program's own way.
const CUTS: [(Partitioner, &str); 3] = [
    (
        Partitioner::Scotch,
        r#"test "$1" = -b0.05 || exit 9
n=$(sed -n 2p "$3" | cut -d' ' -f1); i=$n
{ echo "$n"; while [ "$i" -gt 0 ]; do i=$((i - 1)); echo "$i	$((i * $2 / n))"; done; } > "$4""#,
    ),
    (
        Partitioner::Metis,
        r#"test "$1" = -ufactor=30 || exit 9
n=$(grep -v '^%' "$3" | head -n 1 | cut -d' ' -f1); i=0
while [ "$i" -lt "$n" ]; do echo "$((i * $4 / n))"; i=$((i + 1)); done > "$3.part.$4""#,
    ),
    (
        Partitioner::Kahip,
        r#"for a in "$@"; do case "$a" in --k=*) k=${a#*=};; --output_filename=*) o=${a#*=};; esac; done
n=$(grep -v '^%' "$1" | head -n 1 | cut -d' ' -f1); i=0
while [ "$i" -lt "$n" ]; do echo "$((i * k / n))"; i=$((i + 1)); done > "$o""#,
    ),
];

#[cfg(unix)]
#[test]
fn parts_become_accelerators_and_classes_stay_whole() {
    for (kind, body) in CUTS {
        with_script(body, |program| {
            let solver = partitioner(kind, program);
            let plain = chain(false, Platform::uniform(2, None, 0));
            // {1, 2} sends, 3 + 1; {3, 4} receives, 7 + 1.
            assert_eq!(solve_and_verify(&solver, &plain, &spec(&plain, Scope::Arbitrary)), Some(8.0));
            // Of the classes {1}, {2, 4}, {3} the last is alone; the others compute 7, send 1 and receive 1.
            let shared = chain(true, Platform::uniform(2, None, 0));
            assert_eq!(solve_and_verify(&solver, &shared, &spec(&shared, Scope::Arbitrary)), Some(9.0));
            // What no accelerator can run goes to the CPU.
            let mut unable = chain(false, Platform::uniform(2, None, 1));
            unable.nodes[1].accelerator_times = vec![None];
            assert_eq!(solve_and_verify(&solver, &unable, &spec(&unable, Scope::Arbitrary)), Some(20.0));
            // A part that does not fit is no answer.
            let tight = chain(false, Platform::uniform(2, Some(1.0), 1));
            assert_eq!(solve_and_verify(&solver, &tight, &spec(&tight, Scope::Arbitrary)), None);
        });
    }
}

#[test]
fn one_accelerator_needs_no_program() {
    let instance = chain(false, Platform::uniform(1, None, 0));
    let solver = partitioner(Partitioner::Metis, "/nowhere/gpmetis".into());
    assert_eq!(solve_and_verify(&solver, &instance, &spec(&instance, Scope::Arbitrary)), Some(10.0));
}

#[test]
fn a_missing_program_comes_with_its_cure() {
    let instance = chain(false, Platform::uniform(2, None, 0));
    for (kind, cure) in [
        (Partitioner::Scotch, "apt install scotch), or say where it is: scotch:program=PATH"),
        (Partitioner::Metis, "apt install metis), or say where it is: metis:program=PATH"),
        (Partitioner::Kahip, "kahip:program=PATH"),
    ] {
        let message = complaint(&partitioner(kind, "/nowhere/program".into()), &instance, Scope::Arbitrary);
        assert!(message.starts_with("there is no program /nowhere/program; ") && message.ends_with(cure), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn failures_and_garbage_are_told_apart() {
    let instance = chain(false, Platform::uniform(2, None, 0));
    let complain = |body: &str| {
        with_script(body, |program| complaint(&partitioner(Partitioner::Scotch, program), &instance, Scope::Arbitrary))
    };
    let message = complain("echo no licence >&2; exit 3");
    assert!(message.contains("failed") && message.contains('3') && message.contains("no licence"), "{message}");
    let message = complain("yes '' | head -n 100000; echo no licence; exit 3");
    assert!(message.ends_with(": no licence"), "{message}");
    let says = |body: &str, what: &str| {
        let message = complain(body);
        assert!(message.contains("gave no partition") && message.contains(what), "{message}");
    };
    says("true", "its answer");
    says("truncate -s 1G $4", "holds 1073741824 bytes; at most 536870912 are read");
    says("echo 'four parts' > $4", "something else than numbers");
    says("printf '4\n0 0\n1 0\n2 1\n' > $4", "vertex 3 is in none of 2 parts");
    says("printf '4\n0 0\n1 0\n2 1\n3 2\n' > $4", "vertex 3 is in none of 2 parts");
    says("printf '4\n0 0\n9 0\n' > $4", "there is no vertex 9");
}

#[cfg(unix)]
#[test]
fn a_program_ends_with_the_time() {
    let instance = chain(false, Platform::uniform(2, None, 0));
    let problem = Problem::new(&instance, spec(&instance, Scope::Arbitrary)).unwrap();
    with_script("exec sleep 60", |program| {
        let begun = Instant::now();
        let mut cx = SearchContext::new().with_time_limit(Duration::from_millis(100));
        let run = partitioner(Partitioner::Kahip, program).solve(&problem, &mut cx).unwrap();
        assert!(matches!(run.outcome, Outcome::Unknown { bound: Some(_) }), "{:?}", run.outcome);
        assert!(begun.elapsed() < Duration::from_secs(30));
    });
}

#[test]
fn what_cannot_be_partitioned_is_refused() {
    let mut instance = chain(false, Platform::uniform(2, None, 0));
    let solver = ExternalPartitioner::new(Partitioner::Scotch);
    assert!(complaint(&solver, &instance, Scope::Convex).contains("ask for the scope `arbitrary`"));
    instance.platform.accelerators.push(instance.platform.accelerators[0].clone());
    instance.nodes.iter_mut().for_each(|node| node.accelerator_times.push(Some(1.0)));
    assert!(complaint(&solver, &instance, Scope::Arbitrary).contains("accelerators of one class"));
}

/// The programs themselves, where they are installed.
#[test]
fn installed_programs_split_a_training_graph() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances");
    let options = dagsplit::formats::ReadOptions::default();
    let instance = dagsplit::formats::read_instance(&folder.join("resnet50_training.json"), &options).unwrap();
    for (kind, names) in [
        (Partitioner::Scotch, &["scotch_gpart", "gpart"][..]),
        (Partitioner::Metis, &["gpmetis"]),
        (Partitioner::Kahip, &["kaffpa"]),
    ] {
        if !names.iter().any(|name| is_installed(name)) {
            // Standard error itself is not captured by the harness, as `eprintln!` would be.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {} is not installed", names[0]);
            continue;
        }
        let mut spec = spec(&instance, Scope::Arbitrary);
        spec.platform.accelerators[0].memory = None;
        let value = |spec: &ProblemSpec| solve_and_verify(&ExternalPartitioner::new(kind), &instance, spec).unwrap();
        let several = value(&spec);
        assert_eq!(several, value(&spec), "{kind:?}");
        spec.platform.accelerators[0].count = 1;
        assert!(several < value(&spec), "{kind:?}: {several}");
    }
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
