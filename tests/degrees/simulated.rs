//! Pipelines of equal degrees, which can be simulated: the verifier says what the simulation comes to.

use assert_cmd::Command;
use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::problem::{
    Degrees, DeviceAssignment, DeviceKind, InFlight, Objective, Problem, ProblemSpec, Solution, StageMemory,
};
use dagsplit::simulate::schedule::{Asynchronous, GPipe, Inference, OneForwardOneBackward, Schedule, ZbH1, ZbH2};
use dagsplit::simulate::{Links, Options, Pipeline, Simulation, simulate};
use dagsplit::verify::{self, Verified};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// A node for each stage: its forward time, the bytes of its activations, and those that last.
pub type Row = (u8, u8, u8);

/// What the verifier makes of a stage for each row, on so many replicas each, for a batch of so many microbatches.
fn checked(
    rows: &[Row],
    backward: f64,
    replicas: &[usize],
    microbatches: usize,
    in_flight: InFlight,
) -> (Problem, Verified) {
    let count = rows.len() as u64;
    let option = |(node, &(forward, kept, lasting)): (u64, &Row)| NodeOption {
        node,
        tensor_degree: 1,
        name: "vanilla".into(),
        time: f64::from(forward) * (1.0 + backward),
        memory_per_microbatch: kept.into(),
        memory: lasting.into(),
        // Versions are of parameters; they are not to be synchronised where a time is compared.
        parameter_bytes: if in_flight == InFlight::Asynchronous { lasting.into() } else { 0.0 },
        ..NodeOption::default()
    };
    let parallelism = Parallelism {
        bandwidth: 1.0,
        options: (0..).zip(rows).map(option).collect(),
        edges: (1..count).map(|v| EdgeBytes { source: v - 1, target: v, bytes: 0.0 }).collect(),
        ..Parallelism::default()
    };
    let instance = Instance {
        platform: Platform::uniform(replicas.iter().sum(), None, 0),
        nodes: (0..count).map(Node::new).collect(),
        edges: (1..count).map(|v| Edge { source: v - 1, target: v }).collect(),
        parallelism: Some(parallelism),
        ..Instance::default()
    };
    let memory = StageMemory { in_flight, ..StageMemory::default() };
    let objective = match in_flight {
        InFlight::Asynchronous => Objective::Throughput,
        _ => Objective::Step { microbatches },
    };
    let degrees = Some(Degrees { memory, ..Degrees::any(microbatches) });
    let spec = ProblemSpec { objective, degrees, ..ProblemSpec::of(&instance) };
    let stage = |node: u64| DeviceAssignment {
        replicas: replicas[node as usize],
        options: vec!["vanilla".into()],
        ..DeviceAssignment::new(DeviceKind::Accelerator(0), vec![node])
    };
    let split = Solution { devices: (0..count).map(stage).collect(), objective: None };
    let verified = verify::check(&instance, &spec, &split).expect("valid");
    (Problem::new(&instance, spec).expect("valid"), verified)
}

/// What the verifier makes of a stage for each row on `replicas`, and their simulation.
fn both(
    rows: &[Row],
    backward: f64,
    (replicas, microbatches): (usize, usize),
    (in_flight, schedule): (InFlight, &dyn Schedule),
) -> (Verified, Simulation) {
    let (problem, verified) = checked(rows, backward, &vec![replicas; rows.len()], replicas * microbatches, in_flight);
    let pipeline =
        Pipeline::of_degrees(&problem, &verified, Links::Blocking, !schedule.has_backward()).expect("equal degrees");
    let simulation = simulate(&pipeline, schedule, Options { microbatches, recompute: false }).expect("simulated");
    (verified, simulation)
}

pub const SCHEDULES: [(InFlight, &dyn Schedule); 6] = [
    (InFlight::GPipe, &GPipe),
    (InFlight::OneForwardOneBackward, &OneForwardOneBackward),
    (InFlight::Asynchronous, &Asynchronous),
    (InFlight::ZbH1, &ZbH1),
    (InFlight::ZbH2, &ZbH2),
    (InFlight::Constant(1), &Inference),
];

/// Verifier and simulator see the same bytes in stages of options, on so many replicas of each.
pub fn peaks_agree(rows: &[Row], backward: u8, replicas: usize, microbatches: usize) {
    // A batch of a throughput has a part for each replica of each stage.
    let has_parts = |in_flight| in_flight != InFlight::Asynchronous || rows.len() <= microbatches;
    for (in_flight, schedule) in SCHEDULES.into_iter().filter(|&(in_flight, _)| has_parts(in_flight)) {
        let (verified, simulation) = both(rows, backward.into(), (replicas, microbatches), (in_flight, schedule));
        let memory = simulation.memory();
        for (i, stage) in verified.devices().iter().enumerate() {
            for copy in i * replicas..(i + 1) * replicas {
                assert_eq!(stage.in_flight(), Some(memory.in_flight[copy]), "{}", schedule.name());
                assert_eq!(stage.memory(), memory.peak[copy], "{}", schedule.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_step_takes_as_long_as_simulated(
        rows in vec((1..9u8, 0..1u8, 0..1u8), 1..7), backward in 1..4u8, replicas in 1..4usize,
        microbatches in 1..15usize,
    ) {
        let setting = (replicas, microbatches);
        let (verified, simulation) = both(&rows, backward.into(), setting, SCHEDULES[0]);
        let (step, makespan) = (verified.objective(), simulation.makespan());
        prop_assert!((step - makespan).abs() <= 1e-9 * makespan, "{step}, {makespan}");
        let (_, simulation) = both(&rows, backward.into(), setting, SCHEDULES[1]);
        prop_assert!(simulation.makespan() <= step * (1.0 + 1e-9));
    }

    /// A stage takes microbatches in turn on its replicas, each as soon as it has one and the stage before is done with
    /// it.
    #[test]
    fn unequal_degrees_take_at_most_a_microbatch_more(rows in vec((1..30u8, 0..4usize), 1..6)) {
        const BATCH: usize = 12;
        let replicas: Vec<usize> = rows.iter().map(|&(_, i)| [1, 2, 3, 6][i]).collect();
        let mut ready = [0.0_f64; BATCH];
        for (&(time, _), &replicas) in rows.iter().zip(&replicas) {
            for k in 0..BATCH {
                let replica = if k >= replicas { ready[k - replicas] } else { 0.0 };
                ready[k] = ready[k].max(replica) + f64::from(time);
            }
        }
        let makespan = ready[BATCH - 1];
        let rows: Vec<Row> = rows.into_iter().map(|(time, _)| (time, 0, 0)).collect();
        let step = checked(&rows, 0.0, &replicas, BATCH, InFlight::GPipe).1.objective();
        let slowest = rows.iter().map(|row| f64::from(row.0)).fold(0.0, f64::max);
        let rounding = 1e-9 * makespan;
        prop_assert!(step <= makespan + rounding && makespan < step + slowest - rounding, "{makespan}, {step}");
    }
}

/// As a user does it: the simulation's peaks are the verifier's bytes, and stages of unequal degrees are no pipelines.
#[test]
fn splits_with_degrees_are_simulated_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |words: &str, code: i32| -> String {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        let output = command.args(words.split_whitespace()).current_dir(folder.path()).assert().code(code);
        let output = output.get_output();
        String::from_utf8([&output.stdout[..], &output.stderr[..]].concat()).expect("text")
    };
    let training = "--optimizer adam --precision bf16 --zero 1";
    run(
        "generate llm --model llama3-8b --granularity layer --tensor-degrees 1,2 --precision fp16 --accelerator h100 --accelerators 16 --cpus 0 --output llama.json",
        0,
    );
    let solve = |data: &str, output: &str| {
        run(
            &format!(
                "solve llama.json --objective step --microbatches 64 --data-degrees {data} {training} --output {output}"
            ),
            0,
        )
    };
    solve("4", "even.json");
    let json = |words: &str| serde_json::from_str::<Value>(&run(words, 0)).expect("JSON");
    let verified = json(&format!(
        "verify llama.json even.json --objective step --microbatches 64 --data-degrees 4 {training} --json"
    ));
    let simulated = json(&format!("simulate llama.json even.json --microbatches 16 {training} --json"));
    let copies = simulated["devices"].as_array().expect("devices");
    let stages = verified["devices"].as_array().expect("devices");
    assert_eq!(copies.len(), 4 * stages.len());
    for (copy, stage) in copies.iter().zip(stages.iter().flat_map(|stage| [stage; 4])) {
        assert_eq!(copy["peak_memory"], stage["memory"]);
    }
    assert_eq!(simulated["schedule"], "1f1b");
    for (extra, said) in
        [("--recompute", "the options of nodes say"), ("--sync-bandwidth 5", "at the file's bandwidth")]
    {
        assert!(run(&format!("simulate llama.json even.json {extra}"), 2).contains(said));
    }
    let mut split: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("even.json")).expect("written"))
            .expect("JSON");
    let stages = split["fpgas"].as_array_mut().expect("stages");
    assert!(stages.len() > 1, "one stage has one degree");
    stages[0]["replicas"] = 2.into();
    std::fs::write(folder.path().join("uneven.json"), split.to_string()).expect("written");
    let refused = run(&format!("simulate llama.json uneven.json --microbatches 16 --memory unlimited {training}"), 2);
    assert!(refused.contains("data degrees 2 and 4"), "{refused}");
}
