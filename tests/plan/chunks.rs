//! Several chunks of a pipeline on each device, from the command line to what other verbs say of them.

use std::fs;

use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::instance::{Edge, Instance};
use dagsplit::plan::{PlanError, PlanOptions, plan};
use dagsplit::simulate::schedule::Interleaved;
use dagsplit::solve::SearchContext;
use serde_json::Value;

use super::{folder, layers, pairs, planned, run};

/// Devices that share each layer hold several chunks of a pipeline, down and round again or down and up.
#[test]
fn a_language_model_is_planned_in_chunks_verified_simulated_and_exported() {
    let folder = folder();
    let generate = "generate llm --model llama3-8b --layers 16 --tensor-degrees 1,2 --accelerator h100 --precision fp16 \
                    --accelerators 8 --cpus 0 --output llm.json";
    run(folder.path(), generate, 0);
    run(folder.path(), "generate topology nvswitch --nodes 1 --server dgx-h100 --output server.json", 0);
    let training = "--optimizer adam --precision bf16 --zero 1";
    let shape = "--tensor-degrees 2 --stages 2 --replicas 2";
    let outputs =
        "--output split.json --output-stages stages.json --output-mapping mapping.json --output-topology groups.json";
    for (schedule, placement) in [("interleaved", "interleaved"), ("zb-v", "v-shape")] {
        let asked = format!("plan llm.json server.json --batch 32 {training} {shape} --schedule {schedule} --chunks 2");
        let plan: Value = serde_json::from_str(&run(folder.path(), &format!("{asked} {outputs} --json"), 0)).unwrap();
        let best = &plan["candidates"][0];
        assert_eq!((&best["chunks"], &best["schedule"]), (&2.into(), &schedule.into()));
        assert!(plan["gap"].as_f64().unwrap() < 0.05, "{schedule}: {}", plan["gap"]);
        let degrees = format!(
            "--objective step --microbatches 32 --chunks 2 --placement {placement} --tensor-degrees 2 --data-degrees 2 {training}"
        );
        let verified = run(folder.path(), &format!("verify llm.json split.json {degrees} --memory 80GB --json"), 0);
        let verified: Value = serde_json::from_str(&verified).unwrap();
        let bytes = |devices: &Value, field: &str| {
            devices.as_array().unwrap().iter().map(|device| device[field].as_f64().unwrap()).fold(0.0, f64::max)
        };
        let peak = bytes(&verified["devices"], "memory");
        assert!((best["peak_memory"].as_f64().unwrap() - peak).abs() <= 1e-9 * peak, "{schedule}: {peak} of {best}");
        let simulate =
            format!("simulate stages.json groups.json mapping.json --schedule {schedule} --microbatches 16 --json");
        let simulated: Value = serde_json::from_str(&run(folder.path(), &simulate, 0)).unwrap();
        assert_eq!(plan["objective"], simulated["makespan"]);
        assert_eq!(best["peak_memory"].as_f64().unwrap(), bytes(&simulated["devices"], "peak_memory"));
        // The schedule of a split's chunks is told by where they lie.
        let of_split = format!("simulate llm.json split.json --microbatches 16 {training} --json");
        let simulated: Value = serde_json::from_str(&run(folder.path(), &of_split, 0)).unwrap();
        assert_eq!(simulated["schedule"], schedule);
        let settings =
            |to: &str, code| run(folder.path(), &format!("export llm.json split.json {degrees} --to {to}"), code);
        match placement {
            "interleaved" => {
                let layout = settings("megatron", 0);
                assert!(layout.contains("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"), "{layout}");
                assert_eq!(layout.matches('|').count(), 3, "{layout}");
            }
            _ => assert!(settings("megatron", 2).is_empty()),
        }
    }
}

/// The bubble of 1F1B is p − 1 microbatches' time, and a v-th part of that with v chunks on each device.
#[test]
fn chunks_part_the_bubble_and_are_written_and_simulated() {
    let instance = layers(16, 0.0, 0.0);
    let options = PlanOptions { batch: Some(8), stages: vec![4], recompute: vec![false], ..PlanOptions::default() };
    let plan = planned(&instance, &pairs(4, 1e6, None), &options);
    let time = |chunks| plan.candidates.iter().find(|c| c.chunks == chunks).unwrap().time();
    // Four layers of 3 on each device, eight microbatches and three others' turns.
    assert_eq!([1, 2, 4].map(time), [96.0 + 36.0, 96.0 + 18.0, 96.0 + 9.0].map(Some));
    // One stage on each device waits for the others' forward passes, and they for its backward passes; of several chunks the first
    // may take next to nothing.
    let bound = |chunks| plan.candidates.iter().find(|c| c.chunks == chunks).unwrap().bound;
    assert!(
        (bound(1) - 48.0 / (1.0 - 0.875_f64.powi(4))).abs() < 1e-6 && (bound(2) - 96.0).abs() < 1e-6,
        "{}",
        bound(1)
    );
    let (best, bound) = (plan.best().unwrap(), plan.lower_bound().unwrap());
    assert!((best.chunks, best.schedule.name()) == (4, "interleaved") && (bound - 96.0).abs() < 1e-6, "{bound}");

    let folder = folder();
    let light = write_instance(&layers(8, 1e3, 3e5), OutputFormat::Native).unwrap();
    fs::write(folder.path().join("light.json"), light).unwrap();
    let outputs = "--output split.json --output-stages stages.json --output-mapping mapping.json";
    let asked = "plan light.json pairs.json --batch 8 --stages 4 --replicas 1 --recompute never";
    let table = run(folder.path(), &format!("{asked} {outputs}"), 0);
    assert!(
        table.contains("interleaved, 2 chunks") && table.contains("under interleaved of 2 chunks is the best"),
        "{table}"
    );
    let planned: Value = serde_json::from_str(&run(folder.path(), &format!("{asked} --json"), 0)).unwrap();
    let of_chunks =
        |chunks: u64| planned["candidates"].as_array().unwrap().iter().find(|c| c["chunks"] == chunks).cloned();
    // Eight layers make four chunks on two devices at most.
    assert_eq!((&of_chunks(2).unwrap()["status"], &of_chunks(4).unwrap()["stages"]), (&"best".into(), &2.into()));
    assert_eq!((&of_chunks(2).unwrap()["stages"], &of_chunks(1).unwrap()["schedule"]), (&4.into(), &"1f1b".into()));
    let chunks = "--objective step --microbatches 8 --chunks 2";
    run(folder.path(), &format!("verify light.json split.json --accelerators 4 {chunks} --schedule interleaved"), 0);
    let simulate = "simulate stages.json pairs.json mapping.json --schedule interleaved --microbatches 8 --json";
    let simulated: Value = serde_json::from_str(&run(folder.path(), simulate, 0)).unwrap();
    assert_eq!(planned["objective"], simulated["makespan"]);
    for (narrowed, count) in
        [("--chunks 1", 1), ("--chunks 2", 1), ("--schedule interleaved", 2), ("--schedule gpipe,zb-h1", 2)]
    {
        let planned: Value =
            serde_json::from_str(&run(folder.path(), &format!("{asked} {narrowed} --json"), 0)).unwrap();
        assert_eq!(planned["candidates"].as_array().unwrap().len(), count, "{narrowed}");
    }
}

#[test]
fn chunks_are_for_chains_of_layers_alone() {
    let chain = layers(8, 1.0, 1.0);
    let topology = pairs(4, 1e6, None);
    let with = |instance: &Instance, options: PlanOptions| plan(instance, &topology, &options, &SearchContext::new());
    let mut skips = chain.clone();
    skips.edges.push(Edge { source: 0, target: 2 });
    let asked = || PlanOptions { chunks: vec![2], ..PlanOptions::default() };
    let refused = |instance: &Instance, options| matches!(with(instance, options), Err(PlanError::NoChunks(_)));
    assert!(refused(&skips, asked()) && !refused(&chain, asked()));
    assert!(refused(&skips, PlanOptions { schedules: vec![&Interleaved], ..PlanOptions::default() }));
    assert!(refused(&chain, PlanOptions { partitioner: Some("dp".into()), ..asked() }));
    assert!(refused(&chain, PlanOptions { together: vec![vec![0, 1]], ..asked() }));
    let plan = with(&skips, PlanOptions::default()).unwrap();
    assert!(plan.candidates.iter().all(|candidate| candidate.chunks == 1));
}
