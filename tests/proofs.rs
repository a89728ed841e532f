//! Proofs that others can check, from the solver to the checker: generated problems and published workloads.

mod bench;
mod common;
mod workloads;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use bench::Bench;
use common::{InstanceOptions, config};
use dagsplit::conformance::strategies::problems;
use dagsplit::formats::{OutputFormat, ReadOptions, parse_instance, read_instance, write_instance};
use dagsplit::problem::{MemoryModel, Objective, Problem, ProblemSpec, Scope};
use dagsplit::proof::{Asked, Spread, Stability, Unproven, time};
use dagsplit::solve::{BruteForce, Certify, IdealDp, SearchContext, Solver, Status};
use dagsplit::{Instance, Solution};
use dagsplit_check::{Error, check};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a proof of this split says, where there is one.
fn prove(instance: &Instance, text: &str, spec: &ProblemSpec, split: &Solution) -> Result<String, Unproven> {
    let problem = Problem::new(instance, spec.clone()).unwrap();
    let asked = Asked { instance, text, transfer_scale: 1.0, problem: &problem };
    let cx = SearchContext::new().with_time_limit(Duration::from_secs(60));
    asked.prove(split, &cx).map(|proof| proof.text)
}

fn asked_of(spec: ProblemSpec, scope: Scope) -> ProblemSpec {
    let is_acyclic = scope == Scope::Acyclic;
    let objective =
        if is_acyclic && spec.objective == Objective::GPipe { spec.objective } else { Objective::Throughput };
    let replication = spec.replication.filter(|_| is_acyclic && objective == Objective::Throughput);
    ProblemSpec { scope, objective, memory: MemoryModel::Additive, replication, interconnect: None, ..spec }
}

/// A split that is not the best one, and so is none that the checker may call so: the first line's claim one unit up.
fn raised(proof: &str) -> String {
    let (before, after) = proof.split_once("\"claim\":").unwrap();
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap();
    let claim: i128 = after[..end].parse().unwrap();
    format!("{before}\"claim\":{}{}", claim + 1, &after[end..])
}

proptest! {
    #![proptest_config(config(150))]

    /// Where chains are few every optimum of acyclic splits has a proof, and one unit more has none.
    #[test]
    fn every_acyclic_optimum_is_certified((instance, spec) in problems(5, InstanceOptions::ALL)) {
        let text = write_instance(&instance, OutputFormat::Native).unwrap();
        let instance = parse_instance(&text, &ReadOptions::default()).unwrap();
        let spec = asked_of(spec, Scope::Acyclic);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let run = BruteForce.solve(&problem, &mut SearchContext::new()).unwrap();
        if let Some(split) = run.outcome.solution() {
            let proof = prove(&instance, &text, &spec, split);
            let proof = proof.unwrap_or_else(|unproven| panic!("{unproven}: {text}"));
            let accepted = check(&text, &proof, None).unwrap();
            let (claimed, objective) = (time(accepted.claim, accepted.digits), split.objective.unwrap());
            prop_assert!((claimed - objective).abs() <= 1e-9 * objective, "{claimed} for {objective}");
            let above = check(&text, &raised(&proof), None);
            prop_assert!(matches!(above, Err(Error::Refused { line: 2, .. })), "{above:?}");
        }
    }

    /// Branch and price proves what it claims, in any scope.
    #[test]
    fn most_other_optima_are_certified((instance, spec) in problems(5, InstanceOptions::ALL), convex: bool) {
        let text = write_instance(&instance, OutputFormat::Native).unwrap();
        let instance = parse_instance(&text, &ReadOptions::default()).unwrap();
        let spec = asked_of(spec, if convex { Scope::Convex } else { Scope::Arbitrary });
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let run = Certify.solve(&problem, &mut SearchContext::new()).unwrap();
        if let Some(split) = run.outcome.solution().filter(|_| run.outcome.status() == Status::Optimal)
            && let Ok(proof) = prove(&instance, &text, &spec, split)
        {
            prop_assert!(check(&text, &raised(&proof), None).is_err());
        }
    }
}

/// The workload with each time moved by a quarter of itself, up where `is_up` says so.
fn moved(instance: &Instance, mut is_up: impl FnMut() -> bool) -> Instance {
    let mut moved = instance.clone();
    for node in &mut moved.nodes {
        let times = node.accelerator_times.iter_mut().flatten().chain(&mut node.cpu_time);
        times.chain([&mut node.transfer_time]).for_each(|time| *time *= if is_up() { 1.25 } else { 0.75 });
    }
    moved
}

proptest! {
    #![proptest_config(config(60))]

    /// The regret of the best split is certified, and at no corner of the times is that further from the best one.
    #[test]
    fn no_times_within_the_spread_show_more_regret((instance, spec) in problems(5, InstanceOptions::ALL), corners: [u64; 4]) {
        let text = write_instance(&instance, OutputFormat::Native).unwrap();
        let instance = parse_instance(&text, &ReadOptions::default()).unwrap();
        let spec = ProblemSpec { replication: None, objective: Objective::Throughput, ..asked_of(spec, Scope::Acyclic) };
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let best = |problem: &Problem| BruteForce.solve(problem, &mut SearchContext::new()).unwrap().outcome;
        let outcome = best(&problem);
        let asked = Asked { instance: &instance, text: &text, transfer_scale: 1.0, problem: &problem };
        let pays = |kind: &dagsplit::cost::KindCost| kind.pieces.iter().map(|piece| [piece.comm_in, piece.comm_out]).collect::<Vec<_>>();
        let accelerators = &problem.costs.kinds[..spec.platform.accelerators.len()];
        let is_plain = accelerators.iter().all(|kind| matches!(pays(kind)[..], [[a, b]] if a == b && pays(kind) == pays(&accelerators[0])));
        if let Some(split) = outcome.solution() {
            let stability = Stability::new(&asked, split, Spread::Part(0.25));
            prop_assert_eq!(stability.is_ok(), is_plain);
            let Ok(stability) = stability else { return Ok(()) };
            let value = |problem: &Problem| best(problem).solution().unwrap().objective.unwrap();
            let bounds: Vec<f64> = stability.scenarios.iter().map(|scenario| value(&scenario.problem)).collect();
            let regret = stability.regret(&bounds);
            let unclaimed = Solution { objective: None, ..split.clone() };
            for mut corner in corners {
                let instance = moved(&instance, || { corner = corner.rotate_left(1); corner & 1 == 1 });
                let load = dagsplit::verify::check(&instance, &spec, &unclaimed).unwrap().objective();
                let other = value(&Problem::new(&instance, spec.clone()).unwrap());
                prop_assert!(load - other <= regret * (1.0 + 1e-9) + 1e-9 * other, "{load} and {other}: {regret}");
            }
            let proof = stability.prove(regret, &SearchContext::new());
            let proof = proof.unwrap_or_else(|unproven| panic!("{unproven}: {text}")).text;
            let accepted = check(&text, &proof, None).unwrap();
            prop_assert!(accepted.is_stability && (time(accepted.claim, accepted.digits) - regret).abs() <= 1e-8 * (1.0 + regret));
            // What happens at worst is no less.
            if regret > 1e-6 {
                let less = stability.prove(regret * (1.0 - 1e-6), &SearchContext::new());
                prop_assert!(matches!(less, Err(Unproven::NoReason(_))), "{less:?}");
            }
        }
    }
}

/// Chains of ideals do not show more than the optimum of a workload on accelerators alone, of these nodes and edges.
fn chains_show_no_more_than(
    optimum: f64,
    accelerators: usize,
    objective: Objective,
    nodes: &[Value],
    edges: &[(u64, u64)],
) {
    let edges: Vec<Value> = edges.iter().map(|(source, target)| json!({"source": source, "target": target})).collect();
    let platform = json!({"accelerators": [{"count": accelerators}], "cpus": 0});
    let text =
        json!({"schema": "dagsplit-instance/1", "platform": platform, "nodes": nodes, "edges": edges}).to_string();
    let instance = parse_instance(&text, &ReadOptions::default()).unwrap();
    let spec = ProblemSpec { objective, ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    let run = BruteForce.solve(&problem, &mut SearchContext::new()).unwrap();
    let split = run.outcome.solution().unwrap();
    assert_eq!(split.objective, Some(optimum));
    // Whichever reason proves the optimum, it is chains that have to be refused above it.
    let above = raised(&prove(&instance, &text, &spec, split).unwrap());
    let ideals = json!({"reason": "ideals", "weights": [1, 1]});
    let above = check(&text, &format!("{}\n{ideals}\n", above.lines().next().unwrap()), None);
    let why = "a chain of ideals has every load within the target";
    assert!(matches!(&above, Err(Error::Refused { line: 2, cause }) if cause == why), "{above:?}");
}

/// A chain that takes longer in one pass than another one to the same ideal, and less in the other pass, is part of the best
/// split: who leaves it out proves 23 where the optimum is 22.
#[test]
fn a_chain_may_be_better_in_one_pass_alone() {
    let passes = [(7, 9), (5, 1), (3, 4), (1, 8)];
    let node = |(v, time): (usize, i32), backward| {
        let id = if backward { 4 + v } else { v };
        json!({"id": id, "accelerator_times": [time], "color_class": v, "backward": backward})
    };
    let forward = passes.iter().enumerate().map(|(v, times)| node((v, times.0), false));
    let backward = passes.iter().enumerate().map(|(v, times)| node((v, times.1), true));
    let nodes: Vec<Value> = forward.chain(backward).collect();
    let edges = [(0, 1), (1, 2), (2, 3), (3, 7), (7, 6), (6, 5), (5, 4)];
    chains_show_no_more_than(22.0, 2, Objective::GPipe, &nodes, &edges);
}

/// Nodes of these times and transfer times.
fn timed<const N: usize>(times: [(i32, i32); N]) -> [Value; N] {
    std::array::from_fn(|v| json!({"id": v, "accelerator_times": [times[v].0], "transfer_time": times[v].1}))
}

/// Stages {0} and {1, 2} take 2 and 5. Node 1 fits into the first one, but its output then comes in at node 2, for more than it
/// takes: who leaves {0} out for {0, 1} proves more than 5.
#[test]
fn a_unit_whose_output_comes_in_does_not_pay_for_its_edge() {
    let nodes = timed([(2, 0), (1, 2), (4, 0)]);
    chains_show_no_more_than(5.0, 2, Objective::Throughput, &nodes, &[(0, 2), (1, 2)]);
}

/// Stages {0}, {1} and {2, 3} take 6 each. Node 2 takes no time and may follow 0 and 1, but brings what the other one sends in:
/// who has it join the second stage at once proves more than 6.
#[test]
fn a_unit_that_takes_no_time_may_still_bring_something_in() {
    let nodes = timed([(5, 1), (5, 1), (0, 0), (4, 0)]);
    chains_show_no_more_than(6.0, 3, Objective::Throughput, &nodes, &[(0, 2), (1, 2), (0, 3), (1, 3)]);
}

/// Workloads of Table 1 whose contiguous optimum is certified, without tolerance.
const CERTIFIED: [&str; 3] = ["layer/bert24_inference", "layer/bert24_training", "layer/resnet50_inference"];

#[test]
fn published_workloads_are_certified() {
    for name in CERTIFIED {
        let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let instance = read_instance(&path, &ReadOptions::default()).unwrap();
        let spec = ProblemSpec::of(&instance);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let run = IdealDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
        let proof = prove(&instance, &text, &spec, run.outcome.solution().unwrap());
        let proof = proof.unwrap_or_else(|unproven| panic!("{name}: {unproven}"));
        assert!(proof.len() < 5 << 20 && check(&text, &raised(&proof), None).is_err(), "{name}");
    }
}

fn dagsplit(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
    command.args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

#[test]
fn the_program_writes_what_the_checker_accepts() {
    let bench = Bench::new();
    let arguments = "solve diamond.json --json --quiet --output split.json --proof diamond.proof";
    let output = dagsplit(bench.directory.path(), arguments);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((record["status"].as_str(), record["certified"].as_bool()), (Some("certified"), Some(true)), "{record}");
    let (instance, proof, split) = (bench.read("diamond.json"), bench.read("diamond.proof"), bench.read("split.json"));
    let accepted = check(&instance, &proof, Some(&split)).unwrap();
    assert_eq!((accepted.claim, accepted.digits), (7, 0));
    let schema: Value = serde_json::from_str(include_str!("../docs/proof.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for line in proof.lines() {
        assert!(schema.is_valid(&serde_json::from_str(line).unwrap()), "{line}");
    }
}

#[test]
fn what_has_no_proof_says_so_and_writes_nothing() {
    let bench = Bench::new();
    for (options, cause) in [
        ("--objective step --microbatches 4", "objectives other than throughput"),
        ("--costs per-edge", "other cost models"),
        ("--server-size 1 --between-factor 2", "servers"),
        ("--method annealing --scope arbitrary", "no split was found that is known to be optimal"),
    ] {
        let arguments = format!("solve diamond.json --json --quiet --proof none.proof {options}");
        let output = dagsplit(bench.directory.path(), &arguments);
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), record["certified"].as_bool()),
            (Some(0), Some(false)),
            "{options}: {record}"
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not certified") && said.contains(cause), "{options}: {said}");
        assert!(!bench.path("none.proof").exists(), "{options}");
    }
}

/// A stage that one device runs is a split like others, but degrees make it another question.
#[test]
fn splits_of_degrees_are_not_certified_as_others() {
    let bench = Bench::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/instances/profiled/piper2021/bert32a100.json");
    let asked = "--accelerators 1 --cpus 0 --memory 80GiB --bandwidth 25GiB --microbatches 4 --certify --json --quiet";
    let output = dagsplit(bench.directory.path(), &format!("solve {file} {asked}"));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((record["status"].as_str(), record["certified"].as_bool()), (Some("optimal"), Some(false)), "{record}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("degrees of stages"), "{output:?}");
}
