//! Plans that serve: against every split of small chains, each priced by hand, and against verifier and simulator.

use std::fs;

use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::mapping::{Device, Topology};
use dagsplit::plan::{Candidate, Joint, Plan, PlanError, PlanOptions, Service, plan};
use dagsplit::problem::{Degrees, InFlight, Problem, ProblemSpec, Scope, Solution, StageMemory};
use dagsplit::simulate::schedule::{GPipe, Inference};
use dagsplit::simulate::{Links, Options, Pipeline, simulate};
use dagsplit::solve::{SearchContext, Status};
use dagsplit::verify::{Violation, check};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::{folder, layers, pairs, run};

/// A layer: time, bytes of its output, of its parameters, of what it works with, and of a token.
type Layer = (u8, u8, u8, u8, u8);

/// Bytes that any link moves in a millisecond.
const BANDWIDTH: f64 = 4.0;

/// Layers in a row with options of serving at the tensor degrees 1 and 2, which share all but what they work with.
fn served(layers: &[Layer]) -> Instance {
    let option = |v: usize, degree: usize| {
        let (time, _, parameters, working, token) = layers[v];
        let of = |amount: u8| f64::from(amount) / degree as f64;
        NodeOption {
            node: v as u64,
            tensor_degree: degree,
            name: "vanilla".into(),
            time: of(time) + if degree > 1 { 0.5 } else { 0.0 },
            parameter_bytes: of(parameters),
            weight_bytes: of(parameters),
            working_bytes: working.into(),
            cache_bytes_per_token: of(token),
            ..NodeOption::default()
        }
    };
    let count = layers.len();
    let edge = |v: usize| EdgeBytes { source: v as u64 - 1, target: v as u64, bytes: f64::from(layers[v - 1].1) / 2.0 };
    Instance {
        platform: Platform::uniform(1, None, 0),
        nodes: (0..count as u64).map(Node::new).collect(),
        edges: (1..count as u64).map(|v| Edge { source: v - 1, target: v }).collect(),
        parallelism: Some(Parallelism {
            bandwidth: 1.0,
            options: (0..count).flat_map(|v| [option(v, 1), option(v, 2)]).collect(),
            edges: (1..count).map(edge).collect(),
            ..Parallelism::default()
        }),
        ..Instance::default()
    }
}

fn devices(count: usize, memory: u16) -> Topology {
    let device = |d: usize| Device { memory: Some(memory.into()), ..Device::new(format!("{d}")) };
    Topology::new("alike", "made up", (0..count).map(device).collect(), |_, _| BANDWIDTH)
}

/// What every split of the layers into successive stages is worth on so many devices, in which `asked` tokens fit, and its step: all
/// microbatches of the slowest stage, and one of the others.
fn all(layers: &[Layer], devices: usize, memory: u16, batch: usize, asked: usize) -> Vec<(Service, f64)> {
    let shapes = [1, 2].into_iter().flat_map(|degree| (1..=devices / degree).map(move |replicas| (degree, replicas)));
    let shapes = shapes.filter(|&(_, replicas)| batch.is_multiple_of(replicas));
    let worth = |(degree, replicas): (usize, usize)| {
        let cuts = 0..1_usize << (layers.len() - 1);
        let fits = cuts.filter(move |cuts| devices / degree / replicas > cuts.count_ones() as usize);
        let step = move |own: Service| {
            let slowest = 1e3 * replicas as f64 / own.throughput;
            (own, own.latency + (batch / replicas - 1) as f64 * slowest)
        };
        fits.filter_map(move |cuts| worth(layers, cuts, (degree, replicas), memory).map(step))
    };
    shapes.flat_map(worth).filter(|(service, _)| service.tokens.is_none_or(|tokens| tokens >= asked)).collect()
}

/// What one split is worth, cut behind the layers of `cuts`, if it fits.
fn worth(layers: &[Layer], cuts: usize, (degree, replicas): (usize, usize), memory: u16) -> Option<Service> {
    let (mut loads, mut latency, mut tokens) = (Vec::new(), 0.0, None);
    let mut first = 0;
    for last in (0..layers.len()).filter(|&v| v + 1 == layers.len() || cuts >> v & 1 == 1) {
        let own = &layers[first..=last];
        let sum = |part: fn(&Layer) -> u8| own.iter().map(|layer| f64::from(part(layer))).sum::<f64>() / degree as f64;
        let sent = |v: usize| f64::from(layers[v].1) / BANDWIDTH;
        let received = if first > 0 { sent(first - 1) } else { 0.0 };
        let handed_on = if last + 1 < layers.len() { sent(last) } else { 0.0 };
        let overhead = if degree > 1 { 0.5 * own.len() as f64 } else { 0.0 };
        let load = sum(|layer| layer.0) + overhead + received + handed_on;
        let working = own.iter().map(|layer| layer.3).max()?;
        let left = f64::from(memory) - sum(|layer| layer.2) - f64::from(working);
        if left < 0.0 {
            return None;
        }
        let of_token = sum(|layer| layer.4);
        if of_token > 0.0 {
            let fit = (left / of_token) as usize;
            tokens = Some(tokens.map_or(fit, |known: usize| known.min(fit)));
        }
        latency += load;
        loads.push(load);
        first = last + 1;
    }
    let slowest = loads.into_iter().fold(0.0, f64::max);
    let throughput = 1e3 * replicas as f64 / slowest;
    Some(Service { throughput, latency, tokens, tokens_in_all: tokens.map(|tokens| replicas * tokens) })
}

fn planned(instance: &Instance, topology: &Topology, degrees: &[usize], (batch, cache_tokens): (usize, usize)) -> Plan {
    let memory = StageMemory { cache_tokens, ..StageMemory::default() };
    let options = PlanOptions {
        batch: Some(batch),
        memory,
        schedules: vec![&Inference],
        tensor_degrees: degrees.to_vec(),
        ..PlanOptions::default()
    };
    plan(instance, topology, &options, &SearchContext::new()).unwrap()
}

/// The problem that verifier and simulator are asked about a candidate with so many tokens.
fn spec(candidate: &Candidate, devices: usize, memory: u16, cache_tokens: usize) -> ProblemSpec {
    let kept = StageMemory { in_flight: InFlight::Constant(1), cache_tokens, ..StageMemory::default() };
    let degrees = Degrees { memory: kept, ..Degrees::any(candidate.shape.replicas * candidate.stages()) };
    let platform = Platform::uniform(devices, Some(memory.into()), 0);
    ProblemSpec { platform, scope: Scope::Acyclic, degrees: Some(degrees), ..ProblemSpec::default() }
}

/// So many tokens fit, and not one more, as the verifier and the simulator say.
fn check_tokens(
    instance: &Instance,
    candidate: &Candidate,
    (devices, memory): (usize, u16),
) -> Result<(), TestCaseError> {
    let verified = &candidate.pipeline().unwrap().partition.verified;
    let split = Solution { objective: None, ..verified.to_solution() };
    let Some(tokens) = candidate.service().unwrap().tokens else { return Ok(()) };
    let fitting = spec(candidate, devices, memory, tokens);
    let verified = check(instance, &fitting, &split).map_err(|found| TestCaseError::fail(format!("{found:?}")))?;
    let simulated = |cache_tokens: usize| {
        let unlimited = ProblemSpec {
            platform: Platform::uniform(devices, None, 0),
            ..spec(candidate, devices, memory, cache_tokens)
        };
        let problem = Problem::new(instance, unlimited.clone()).unwrap();
        let verified = check(instance, &unlimited, &split).unwrap();
        let pipeline = Pipeline::of_degrees(&problem, &verified, Links::Blocking, true).unwrap();
        let peaks =
            simulate(&pipeline, &Inference, Options { microbatches: 3, recompute: false }).unwrap().memory().peak;
        peaks.into_iter().fold(0.0, f64::max)
    };
    let of_verifier = verified.devices().iter().map(|device| device.memory()).fold(0.0, f64::max);
    prop_assert_eq!(of_verifier, simulated(tokens));
    prop_assert!(simulated(tokens) <= f64::from(memory) && simulated(tokens + 1) > f64::from(memory));
    let one_more = check(instance, &spec(candidate, devices, memory, tokens + 1), &split).unwrap_err();
    let is_memory = |violation: &Violation| matches!(violation, Violation::MemoryExceeded { .. });
    prop_assert!(one_more.iter().all(is_memory), "{one_more:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_front_is_that_of_all_splits(
        layers in vec((1..9u8, 0..9u8, 0..20u8, 0..9u8, 0..4u8), 1..5), count in 1..6usize, memory in 20..90u16, batch in 1..7usize,
        asked in prop_oneof![Just(0), 1..20usize],
    ) {
        let (instance, topology) = (served(&layers), devices(count, memory));
        let asked = if layers.iter().any(|layer| layer.4 > 0) { asked } else { 0 };
        let (found, all) = (planned(&instance, &topology, &[1, 2], (batch, asked)), all(&layers, count, memory, batch, asked));
        let front: Vec<(&Candidate, Service)> =
            found.front().into_iter().map(|candidate| (candidate, candidate.service().unwrap())).collect();
        prop_assert_eq!(front.is_empty(), all.is_empty());
        prop_assert_eq!(found.status() == Status::Infeasible, all.is_empty());
        let worth: Vec<Service> = front.iter().map(|(_, service)| *service).collect();
        let tokens = |service: &Service| service.tokens_in_all.unwrap_or(usize::MAX);
        for (one, _) in &all {
            // Of what holds as many tokens, nothing has more a second, and nothing less latency.
            let full = |other: &Service| tokens(other) >= tokens(one) && other.throughput >= one.throughput * (1.0 - 1e-6);
            let quick = |other: &Service| tokens(other) >= tokens(one) && other.latency <= one.latency * (1.0 + 1e-6);
            prop_assert!(worth.iter().any(full), "{one:?}: {worth:?}");
            prop_assert!(worth.iter().any(quick), "{one:?}: {worth:?}");
        }
        for (candidate, service) in &front {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b;
            let same = |one: &Service| one.tokens == service.tokens && one.tokens_in_all == service.tokens_in_all
                && close(one.throughput, service.throughput) && close(one.latency, service.latency);
            prop_assert!(all.iter().any(|(one, _)| same(one)), "{service:?} is no split's");
            prop_assert!(front.iter().all(|(other, better)| std::ptr::eq(*other, *candidate) || !better.is_as_good_as(service)));
            prop_assert!(service.tokens.is_none_or(|tokens| tokens >= asked));
            check_tokens(&instance, candidate, (count, memory))?;
        }
        let best = found.best().and_then(Candidate::time);
        let shortest = all.iter().map(|(_, step)| *step).min_by(f64::total_cmp);
        prop_assert!(found.lower_bound().zip(shortest).is_none_or(|(bound, step)| bound <= step * (1.0 + 1e-9)));
        prop_assert!(best.zip(shortest).is_none_or(|(best, step)| best >= step * (1.0 - 1e-9)));
    }
}

/// Five layers, of which the last keeps most of the tokens: two stages are the fastest with three of them in the first one, and hold the
/// most with four.
#[test]
fn more_tokens_take_another_split() {
    let layers = [(4, 0, 1, 0, 1), (4, 0, 1, 0, 1), (4, 0, 1, 0, 1), (4, 0, 1, 0, 1), (8, 0, 1, 0, 6)];
    let instance = served(&layers);
    let of_two = |asked| {
        let found = planned(&instance, &devices(2, 62), &[1], (1, asked));
        let two = found.front().into_iter().filter(|candidate| candidate.stages() == 2);
        let worth = |candidate: &Candidate| candidate.service().map(|own| (own.throughput, own.tokens));
        let mut worth: Vec<_> = two.map(worth).collect();
        worth.sort_by(|a, b| b.partial_cmp(a).unwrap());
        worth
    };
    let (fast, roomy) = (Some((1e3 / 12.0, Some(8))), Some((1e3 / 16.0, Some(10))));
    assert_eq!((of_two(0), of_two(8), of_two(9)), (vec![fast, roomy], vec![fast, roomy], vec![roomy]));
    assert_eq!(planned(&instance, &devices(2, 62), &[1], (1, 11)).status(), Status::Infeasible);
}

/// Stages are split again for their places where that shortens the step, but not at the cost of what the front is of.
#[test]
fn splitting_again_leaves_the_front_what_it_is() {
    let times = [1.0, 5.0, 5.0];
    let node = |(id, &time): (usize, &f64)| Node {
        accelerator_times: vec![Some(time)],
        memory: 1.0,
        output_bytes: Some(if id == 1 { 3.0 * BANDWIDTH } else { 0.0 }),
        ..Node::new(id as u64)
    };
    let instance = Instance {
        platform: Platform::uniform(2, Some(2.0), 0),
        nodes: times.iter().enumerate().map(node).collect(),
        edges: (1..3).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    };
    let found = planned(&instance, &devices(2, 2), &[1], (8, 0));
    let latencies = found.front().into_iter().map(|candidate| candidate.pipeline().unwrap().service.unwrap().latency);
    let mut latencies: Vec<f64> = latencies.collect();
    latencies.sort_by(f64::total_cmp);
    // Stages begin with the second layer, or with the third: then the slowest takes 9 in place of 10, and a sample 6 more for the message.
    assert_eq!(latencies, [11.0, 17.0]);
}

#[test]
fn options_of_serving_have_one_pass() {
    let (instance, topology) = (served(&[(4, 0, 1, 0, 1); 3]), devices(2, 60));
    let refused = |options| plan(&instance, &topology, &options, &SearchContext::new()).err();
    let both = PlanOptions { schedules: vec![&Inference, &GPipe], ..PlanOptions::default() };
    assert!(matches!(refused(both), Some(PlanError::BackwardPass)));
    let memory = StageMemory { cache_tokens: 1, ..StageMemory::default() };
    let training =
        plan(&layers(4, 1.0, 1.0), &topology, &PlanOptions { memory, ..PlanOptions::default() }, &SearchContext::new());
    assert!(matches!(training.err(), Some(PlanError::NoCache)));
    let found = plan(&instance, &topology, &PlanOptions::default(), &SearchContext::new()).unwrap();
    assert!(found.candidates.iter().all(|candidate| candidate.schedule.name() == "inference"));
    // Three layers on each of two devices take four each for eight samples.
    assert_eq!(found.best().unwrap().time(), Some(4.0 * 12.0));
}

/// What the command line tells of tokens is what its own verifier and simulator say.
#[test]
fn a_served_model_is_planned_verified_and_simulated() {
    let folder = folder();
    let model = "--model llama3-8b --tensor-degrees 1,2 --serving --sequence 512 --accelerator h100 --precision fp16";
    run(folder.path(), &format!("generate llm {model} --accelerators 4 --cpus 0 --output llm.json"), 0);
    run(folder.path(), "generate topology nvswitch --nodes 1 --node-size 4 --server dgx-h100 --output server.json", 0);
    let record = |arguments: &str| serde_json::from_str::<Value>(&run(folder.path(), arguments, 0)).unwrap();
    let outputs = "--output split.json --html page.html --plot plans.svg";
    let asked = "plan llm.json server.json --batch 16 --cache-tokens 1900000 --memory 80GB";
    let planned = record(&format!("{asked} {outputs} --json"));
    assert_eq!(planned["cache_tokens"], 1_900_000);
    let best = &planned["candidates"][0];
    let (tokens, replicas) = (best["serving"]["tokens"].as_u64().unwrap(), best["replicas"].as_u64().unwrap());
    assert!(tokens >= 1_900_000 && best["serving"]["tokens_in_all"] == tokens * replicas, "{best}");
    let verify = |tokens: u64, code| {
        let asked = format!("--schedule inference --cache-tokens {tokens} --memory 80GB");
        run(folder.path(), &format!("verify llm.json split.json --microbatches 16 {asked}"), code)
    };
    verify(tokens, 0);
    let refused = verify(tokens + 1, 1);
    assert!(refused.contains("bytes but has 80000000000"), "{refused}");
    let microbatches = best["microbatches"].as_u64().unwrap();
    let simulate = format!(
        "simulate llm.json split.json --schedule inference --microbatches {microbatches} --cache-tokens 1900000"
    );
    let simulated = record(&format!("{simulate} --json"));
    let peaks = simulated["devices"].as_array().unwrap().iter().map(|device| device["peak_memory"].as_f64().unwrap());
    assert_eq!(best["peak_memory"].as_f64(), peaks.max_by(f64::total_cmp));
    let table = run(folder.path(), asked, 0);
    assert!(table.contains("No plan looked at is better than one of these") && table.contains("when full"), "{table}");
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains("What plans serve"));
    assert!(fs::read_to_string(folder.path().join("plans.svg")).unwrap().contains("Latency against throughput"));
    run(folder.path(), "plan layers.json pairs.json --batch 16 --cache-tokens 10", 2);
    run(folder.path(), "plan llm.json server.json --batch 16 --schedule inference,1f1b", 2);
}

#[test]
fn splitting_and_placing_together_is_a_choice() {
    let (instance, topology) = (layers(8, 1e5, 1e5), pairs(4, 1e5, None));
    let planned = |joint| {
        let options = PlanOptions {
            joint,
            chunks: vec![1],
            stages: vec![4],
            replicas: vec![1],
            recompute: vec![false],
            ..PlanOptions::default()
        };
        plan(&instance, &topology, &options, &SearchContext::new())
    };
    let bound = |joint| planned(joint).map(|found| (found.lower_bound(), found.bound_by())).unwrap();
    let (auto, always, never) = (bound(Joint::Auto), bound(Joint::Always), bound(Joint::Never));
    assert_eq!((auto, always.1), (always, Some("joint search")));
    assert!(never.0 < auto.0 && never.1 != auto.1, "{never:?} {auto:?}");

    let folder = folder();
    let many = write_instance(&layers(40, 1e5, 1e5), OutputFormat::Native).unwrap();
    fs::write(folder.path().join("many.json"), many).unwrap();
    let asked = "pairs.json --batch 8 --stages 2 --chunks 1 --recompute never --json";
    run(folder.path(), &format!("plan many.json {asked} --joint always"), 2);
    run(folder.path(), &format!("plan layers.json {asked} --joint always --links overlapped"), 2);
    run(folder.path(), &format!("plan layers.json {asked} --joint always --partitioner dp"), 2);
    let by = |arguments: &str| {
        let record: Value = serde_json::from_str(&run(folder.path(), &format!("plan {arguments}"), 0)).unwrap();
        (record["lower_bound_by"].clone(), record["candidates"][0]["lower_bound_by"].clone())
    };
    assert_ne!(by(&format!("layers.json {asked} --joint never")).0, "joint search");
    assert_ne!(by(&format!("many.json {asked}")).0, "joint search");
    assert_eq!(by(&format!("layers.json {asked} --joint always")), ("joint search".into(), "joint search".into()));
}
