//! What other methods make of stages with degrees: against all plans, and on layers whose even split is known.

use assert_cmd::Command;
use dagsplit::conformance::Suite;
use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::problem::{Degrees, Objective, Problem, ProblemSpec, Scope};
use dagsplit::registry::{self, Method};
use dagsplit::solve::{DegreeDp, Outcome, SearchContext, Solver, Status};
use proptest::prelude::*;
use serde_json::Value;

use super::layers::piper;
use super::{brute_force, layers, sample, spec, verified};

/// Those that answer, beside `degrees`, in the order of the table.
const TAKERS: [&str; 10] = [
    "dpl",
    "dp:positions",
    "brute-force",
    "greedy",
    "pipedream",
    "uniform",
    "single-device",
    "parmesan",
    "rannc",
    "slicegraph",
];

fn answer(name: &str, problem: &Problem) -> Outcome {
    let solver = registry::solver(name).expect("a method");
    solver.solve(problem, &mut SearchContext::new()).expect("supported").outcome
}

/// Each answer against all plans: valid, never better, and bounded by nothing above the optimum.
#[track_caller]
fn none_is_better(seed: u64) {
    let (instance, spec) = sample::problem(seed);
    let optimum = brute_force::optimum(&instance, &spec);
    let problem = Problem::new(&instance, spec.clone()).expect("valid");
    let is_chain = instance.edges.len() + 1 == instance.nodes.len()
        && instance.edges.iter().all(|edge| edge.source + 1 == edge.target);
    for name in TAKERS.into_iter().chain(["cluster:k=2+degrees", "uniform+refine"]) {
        // A generation is enough to be wrong.
        let outcome =
            answer(if name == "slicegraph" { "slicegraph:generations=1,population=4" } else { name }, &problem);
        let objective = outcome.solution().map(|split| verified(&instance, &spec, split).objective());
        match (objective, optimum) {
            (Some(objective), Some(optimum)) => {
                assert!(objective >= optimum * (1.0 - 1e-9), "seed {seed}, {name}: {objective}, but {optimum}");
                let is_best = objective <= optimum * (1.0 + 1e-9);
                let has_to_be =
                    name == "brute-force" || name == "dpl" && is_chain || outcome.status() == Status::Optimal;
                assert!(is_best || !has_to_be, "seed {seed}, {name}: {objective}, but {optimum}");
            }
            (Some(objective), None) => panic!("seed {seed}, {name}: {objective}, but there is no plan"),
            (None, Some(_)) => assert!(
                outcome.status() == Status::Unknown && name != "brute-force" && !(name == "dpl" && is_chain),
                "seed {seed}, {name}: {outcome:?}"
            ),
            (None, None) => {
                assert!(name != "brute-force" || outcome == Outcome::Infeasible, "seed {seed}: {outcome:?}")
            }
        }
        if let (Some(bound), Some(optimum)) = (outcome.bound(), optimum) {
            assert!(bound.value <= optimum * (1.0 + 1e-9), "seed {seed}, {name}: bound {}, but {optimum}", bound.value);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_method_is_better_than_all_plans(seed in any::<u64>()) {
        none_is_better(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "takes minutes"]
    fn no_method_is_better_than_all_plans_on_many_cases(seed in any::<u64>()) {
        none_is_better(seed);
    }
}

/// Equal layers in a chain, which take 3 and keep a byte for each microbatch in flight, or 4 and keep nothing; two devices that
/// share a layer take half as long, keep half each, and exchange so many bytes where it is cut.
fn equal_layers(count: u64, devices: usize, memory: Option<f64>, exchanged: f64) -> Instance {
    let option = |node: u64, tensor_degree: usize, name: &str, time: f64, kept: f64| NodeOption {
        node,
        tensor_degree,
        name: name.into(),
        time: time / tensor_degree as f64,
        memory_per_microbatch: kept / tensor_degree as f64,
        sync_in: if tensor_degree > 1 && node > 0 { [(node - 1, exchanged)].into() } else { Default::default() },
        ..NodeOption::default()
    };
    let both = |v, t| [option(v, t, "vanilla", 3.0, 1.0), option(v, t, "recompute", 4.0, 0.0)];
    let edges: Vec<Edge> = (1..count).map(|v| Edge { source: v - 1, target: v }).collect();
    Instance {
        platform: Platform::uniform(devices, memory, 0),
        nodes: (0..count).map(Node::new).collect(),
        parallelism: Some(Parallelism {
            bandwidth: 1.0,
            options: (0..count).flat_map(|v| [1, 2].into_iter().flat_map(move |t| both(v, t))).collect(),
            edges: edges.iter().map(|e| EdgeBytes { source: e.source, target: e.target, bytes: 0.0 }).collect(),
            ..Parallelism::default()
        }),
        edges,
        ..Instance::default()
    }
}

fn asked(instance: &Instance, degrees: Degrees, objective: Objective) -> Problem {
    let spec = ProblemSpec { degrees: Some(degrees), objective, ..ProblemSpec::of(instance) };
    Problem::new(instance, spec).expect("valid")
}

/// Megatron's split: as many layers on each stage, in as many stages as there are devices for the degrees, and layers recomputed
/// where 1F1B keeps too much: of two layers both on the first of four devices with three bytes each, and one on the next two.
#[test]
fn uniform_finds_the_even_split_and_recomputes_by_place() {
    let instance = equal_layers(8, 4, Some(3.0), 0.0);
    let degrees = Degrees { tensor: Some(vec![1]), data: Some(vec![1]), ..Degrees::any(64) };
    for (objective, value) in [(Objective::Throughput, 8.0), (Objective::Step { microbatches: 64 }, 28.0 + 63.0 * 8.0)]
    {
        let problem = asked(&instance, degrees.clone(), objective);
        let outcome = answer("uniform", &problem);
        let split = outcome.solution().expect("a split");
        assert_eq!(verified(&instance, &problem.spec, split).objective(), value);
        let nodes: Vec<&[u64]> = split.devices.iter().map(|stage| &stage.nodes[..]).collect();
        assert_eq!(nodes, [[0, 1], [2, 3], [4, 5], [6, 7]]);
        let recomputed = split.devices.iter().map(|d| d.options.iter().filter(|name| *name == "recompute").count());
        assert_eq!(recomputed.collect::<Vec<_>>(), [2, 1, 1, 0]);
        assert_eq!(outcome.bound().map(|bound| bound.value < value), Some(true));
    }
}

/// Where two devices share each layer, two stages have fewer microbatches in flight than four, and nothing is recomputed; four are
/// better if such devices exchange much. Without a limit one stage is as good as any.
#[test]
fn the_best_pair_of_degrees_counts() {
    for (exchanged, memory, degrees) in [(0.0, Some(4.0), vec![(2, 1); 2]), (9.0, Some(3.0), vec![(1, 1); 4])] {
        let instance = equal_layers(8, 4, memory, exchanged);
        let problem = asked(&instance, Degrees { data: Some(vec![1]), ..Degrees::any(64) }, Objective::Throughput);
        for name in ["uniform", "pipedream"] {
            let outcome = answer(name, &problem);
            let split = outcome.solution().expect("a split");
            let found: Vec<_> = split.devices.iter().map(|stage| (stage.tensor_degree, stage.replicas)).collect();
            assert_eq!(found, degrees, "{name}");
            let best = DegreeDp::default().solve(&problem, &mut SearchContext::new()).expect("supported").outcome;
            let optimum = best.solution().and_then(|split| split.objective).expect("a split");
            let objective = verified(&instance, &problem.spec, split).objective();
            assert!(objective >= optimum, "{name}: {objective}, {optimum}");
        }
    }
    let instance = equal_layers(8, 4, None, 1.0);
    let problem = asked(&instance, Degrees::any(64), Objective::Throughput);
    let outcome = answer("single-device", &problem);
    let split = outcome.solution().expect("a split");
    assert_eq!((split.devices[0].replicas * split.devices[0].tensor_degree, split.objective), (4, Some(6.0)));
    assert_eq!(outcome.status(), Status::Optimal);
}

fn takers() -> impl Iterator<Item = &'static Method> {
    registry::methods().iter().filter(|method| TAKERS.contains(&method.name))
}

#[test]
fn methods_answer_or_refuse_by_name() {
    let instance = layers(1);
    let problem = Problem::new(&instance, spec(&instance, 4, 4)).expect("valid");
    let mut answered = Vec::new();
    for method in registry::methods().iter().filter(|method| !method.needs_more() && method.name != "degrees") {
        match method.solver().solve(&problem, &mut SearchContext::new()) {
            Ok(_) => answered.push(method.name),
            Err(refusal) => {
                let refusal = refusal.to_string();
                assert!(refusal.contains(method.name), "{refusal}");
                let says_why = refusal.contains("use degrees") && refusal.contains("the microbatches ask for");
                assert!(says_why == method.exact, "{refusal}");
            }
        }
    }
    assert_eq!(answered, TAKERS);
    assert_eq!(registry::automatic(&problem).expect("a method").name(), "degrees");
    let program = registry::solver("exec:true").expect("a program").takes(&problem).expect_err("a program").to_string();
    assert!(program.contains("chooses no degrees of stages"), "{program}");
    let without = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    assert!(DegreeDp::default().supports(&without).is_err());
    let wide = ProblemSpec { scope: Scope::Arbitrary, ..spec(&instance, 4, 4) };
    let wide = Problem::new(&instance, wide).expect("valid");
    for method in takers() {
        let refusal = method.solver().takes(&wide).expect_err(method.name).to_string();
        assert!(refusal.contains("ask for the scope `acyclic`"), "{refusal}");
    }
}

/// All plans of ten layers on many devices are more than anyone looks at.
#[test]
fn too_many_plans_are_refused() {
    let instance = equal_layers(10, 64, None, 0.0);
    let problem = asked(&instance, Degrees::any(64), Objective::Throughput);
    let refusal = registry::solver("brute-force").expect("a method").takes(&problem).expect_err("too many").to_string();
    assert!(refusal.contains("splits; ask for fewer devices, or use degrees"), "{refusal}");
}

#[test]
fn methods_obey_the_laws_of_stages_with_degrees() {
    for name in ["dpl", "brute-force", "uniform", "pipedream", "parmesan"] {
        let requests = [Objective::Throughput, Objective::Step { microbatches: 4 }].map(|objective| ProblemSpec {
            objective,
            degrees: Some(Degrees::any(4)),
            ..ProblemSpec::default()
        });
        let suite = Suite { cases: 28, requests: requests.into(), ..Suite::default() };
        suite.check(registry::solver(name).expect("a method").as_ref());
    }
}

/// What `compare`, `solve` and `draw` show of an answer: degrees, options and memory by part.
#[test]
fn answers_are_compared_shown_and_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("layers.json"), piper(8)).expect("written");
    let run = |words: &str, code: i32| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.args(words.split_whitespace()).current_dir(folder.path());
        let output = command.assert().code(code).get_output().clone();
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
    };
    let asked = "--accelerators 16 --cpus 0 --memory 8GiB --bandwidth 25GiB --microbatches 64";
    let table =
        run(&format!("compare layers.json {asked} --methods degrees,uniform,dp --export-json runs.json --seeds 0"), 0);
    assert!(table.contains("dp does not take this problem: it chooses no degrees"), "{table}");
    let runs = std::fs::read_to_string(folder.path().join("runs.json")).expect("written");
    let runs: Vec<Value> = serde_json::from_str(&runs).expect("JSON");
    let value = |run: &Value| run["objective"].as_f64();
    assert_eq!(runs.iter().map(|run| &run["status"]).collect::<Vec<_>>(), ["optimal", "feasible", "unsupported"]);
    assert!(value(&runs[1]) >= value(&runs[0]) && value(&runs[0]) > Some(0.0), "{runs:?}");
    let shown = run(&format!("solve layers.json {asked} --method uniform --output split.json"), 0);
    for word in ["tensor", "data", "in flight", "vanilla", "memory of", "activations", "other"] {
        assert!(shown.contains(word), "no `{word}` in {shown}");
    }
    let drawn = run("draw layers.json --split split.json --cpus 0 --memory 8GiB --microbatches 64 --detail stages", 0);
    for word in ["tensor 1, data 16", "10 vanilla", "in flight, activations "] {
        assert!(drawn.contains(word), "no `{word}` in {drawn}");
    }
    // A split by hand is worth what equal degrees make of it.
    run("solve layers.json --accelerators 3 --cpus 0 --memory unlimited --method dpl --output plain.json", 0);
    let by_hand = run(&format!("solve layers.json {asked} --method expert:file=plain.json --json"), 0);
    let by_hand: Value = serde_json::from_str(&by_hand).expect("JSON");
    assert_eq!(
        (by_hand["devices"].as_array().map(Vec::len), by_hand["devices"][2]["data_degree"].as_u64()),
        (Some(3), Some(4))
    );
    let missing = run(&format!("solve layers.json {asked} --method expert:file=none.json"), 2);
    assert!(missing.contains("none.json"), "{missing}");
    let refusal = run("draw layers.json --split split.json --cpus 0 --memory 8GiB --microbatches 63", 1);
    assert!(refusal.contains("the split is invalid") && refusal.contains("63 microbatches"), "{refusal}");
    assert!(run("draw layers.json --split split.json --cpus 0 --memory 8GiB", 1).contains("which are not asked for"));
}
