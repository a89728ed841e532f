//! Proofs of stability against workloads whose times have moved, and all splits of these.

mod common;

use common::python::causes;
use common::{Case, Draw};
use dagsplit_check::{Error, check, hash, split_value};
use serde_json::{Value, json};

/// The workload with each time moved: `moved` is given the node's position, the kind (`None` of a transfer) and the time.
fn with_times(instance: &str, mut moved: impl FnMut(usize, Option<usize>, f64) -> f64) -> String {
    let mut file: Value = serde_json::from_str(instance).unwrap();
    for (v, node) in file["nodes"].as_array_mut().unwrap().iter_mut().enumerate() {
        // Two decimals are exact: times have one, and move by halves.
        let mut apply = |value: &mut Value, kind| {
            if let Some(time) = value.as_f64() {
                *value = json!((moved(v, kind, time) * 100.0).round() / 100.0);
            }
        };
        let times = node["accelerator_times"].as_array_mut().unwrap();
        let cpu = times.len();
        times.iter_mut().enumerate().for_each(|(k, time)| apply(time, Some(k)));
        apply(&mut node["cpu_time"], Some(cpu));
        apply(&mut node["transfer_time"], None);
    }
    file.to_string()
}

/// The devices of a split, each as its kind and the positions of its nodes.
fn devices_of(case: &Case, split: &str) -> Vec<(usize, Vec<u64>)> {
    let split: Value = serde_json::from_str(split).unwrap();
    let device = |device: &Value, kind: Option<u64>| {
        let kind = kind.unwrap_or_else(|| device["class"].as_u64().unwrap()) as usize;
        let nodes = device["nodes"].as_array().unwrap();
        (kind, nodes.iter().map(|id| (id.as_u64().unwrap() - 1) / 7).collect())
    };
    let cpu = Some(case.counts.len() as u64 - 1);
    let accelerators = split["fpgas"].as_array().unwrap().iter().map(|one| device(one, None));
    let cpus = split["cpus"].as_array().unwrap().iter().map(|one| device(one, cpu));
    accelerators.chain(cpus).filter(|(_, nodes): &(usize, Vec<u64>)| !nodes.is_empty()).collect()
}

/// The workload in which what a device pays for is longer by a part of itself, and all else shorter.
fn scenario(case: &Case, spread: f64, (kind, nodes): &(usize, Vec<u64>)) -> String {
    let file: Value = serde_json::from_str(&case.instance).unwrap();
    let is_in = |id: &Value| nodes.contains(&((id.as_u64().unwrap() - 1) / 7));
    let edges = file["edges"].as_array().unwrap();
    let is_cut = |v: usize| {
        let own = edges.iter().filter(|edge| edge["source"] == json!(7 * v + 1));
        own.into_iter().any(|edge| is_in(&edge["source"]) != is_in(&edge["target"]))
    };
    with_times(&case.instance, |v, of, time| {
        let is_longer = match of {
            Some(own) => own == *kind && nodes.contains(&(v as u64)),
            None => *kind + 1 < case.counts.len() && is_cut(v),
        };
        time * if is_longer { 1.0 + spread } else { 1.0 - spread }
    })
}

fn proof(case: &Case, spread: f64, devices: &[(usize, Vec<u64>)], claim: i128) -> String {
    let devices_json: Vec<Value> = devices.iter().map(|(kind, nodes)| json!({"kind": kind, "nodes": nodes})).collect();
    let first = case.first_line(claim);
    let first =
        format!("{},\"stability\":{}}}", &first[..first.len() - 1], json!({"spread": spread, "devices": devices_json}));
    let weights = case.for_kinds(0);
    let line = |d: usize| format!("{{\"reason\":\"ideals\",\"device\":{d},\"weights\":{weights}}}");
    std::iter::once(first).chain((0..devices.len()).map(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_largest_regret_is_proven_and_no_less() {
    let mut draw = Draw(11);
    let (mut proven, mut above_zero, mut moved) = (0, 0, 0);
    // Instances, proofs, and what the checker says, for the other checker.
    let mut said: Vec<(String, String, Option<&str>)> = Vec::new();
    let why = "a chain of ideals has every load within the target";
    for _ in 0..250 {
        let case = Case::drawn(&mut draw, 4, "acyclic", false);
        let Some((_, split)) = case.optimum() else { continue };
        let devices = devices_of(&case, &split);
        if (0..case.counts.len()).any(|kind| case.pieces(kind) > 1) {
            let proof = proof(&case, 0.5, &devices, 0);
            let refused = check(&case.instance, &proof, None);
            assert!(
                matches!(&refused, Err(Error::Refused { line: 1, cause }) if cause.contains("pay the same")),
                "{refused:?}"
            );
            said.push((case.instance, proof, Some("pay the same")));
            continue;
        }
        let regret = |instance: &str| {
            let first_line = case.first_line(0);
            let best = case.optimum_on(instance).unwrap();
            split_value(instance, &first_line, &split).unwrap() - best
        };
        let most = |spread| devices.iter().map(|device| regret(&scenario(&case, spread, device))).max().unwrap();
        let largest = most(0.5);
        for _ in 0..4 {
            let corner = with_times(&case.instance, |_, _, time| time * if draw.is(50) { 1.5 } else { 0.5 });
            assert!(regret(&corner) <= largest, "{corner} of {}, {split}", case.instance);
        }
        // The bound, one that is a unit too low, and the bound where times move by one tenth more.
        let is_more = most(0.6) > largest;
        for (spread, claim, refused) in [(0.5, largest, false), (0.5, largest - 1, true), (0.6, largest, is_more)] {
            let proof = proof(&case, spread, &devices, claim);
            match check(&case.instance, &proof, None) {
                Ok(accepted) if !refused => assert!(accepted.is_stability),
                Err(Error::Refused { line: 2.., cause }) if refused && cause.contains(why) => {}
                other => panic!("{other:?} of {claim} at {spread}: {}", case.instance),
            }
            said.push((case.instance.clone(), proof, refused.then_some(why)));
        }
        moved += usize::from(is_more);
        proven += 1;
        above_zero += usize::from(largest > 0);
    }
    assert!(proven > 60 && above_zero > 30 && moved > 30, "{proven}, {above_zero} and {moved}");
    let pairs: Vec<[&str; 2]> = said.iter().map(|(instance, proof, _)| [&instance[..], proof]).collect();
    for (cause, (instance, proof, expected)) in causes(&pairs).into_iter().flatten().zip(&said) {
        let is_as_expected =
            expected.map_or(cause.is_empty(), |why| cause.starts_with("Refused") && cause.contains(why));
        assert!(is_as_expected, "the checker in Python says {cause:?}, not {expected:?}, of {proof}\n{instance}");
    }
}

/// Two nodes for two accelerators: of 3 and 2, measured within 1 and 0. Apart they take 4 at most, and no split takes less.
#[test]
fn measured_times_move_by_their_spread() {
    let node = |id: u64, time: u64, spread: u64| json!({"id": id, "accelerator_times": [time], "time_spread": spread, "transfer_time": 1});
    let instance = json!({"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0},
        "nodes": [node(0, 3, 1), node(1, 2, 0)], "edges": []})
    .to_string();
    let proof = |devices: Value, claim: i64, lines: &[&str]| {
        let first = json!({"format": "dagsplit-proof/1", "instance": hash(instance.as_bytes()), "objective": "throughput",
            "scope": "acyclic", "accelerators": [{"count": 2, "load": [[1, 1, 1]]}], "cpus": 0, "digits": 0,
            "claim": claim, "stability": {"spread": "measured", "devices": devices}});
        [&[first.to_string().as_str()], lines].concat().join("\n")
    };
    let apart = json!([{"kind": 0, "nodes": [0]}, {"kind": 0, "nodes": [1]}]);
    let together = json!([{"kind": 0, "nodes": [0, 1]}]);
    let first = r#"{"reason":"crowd","device":0,"nodes":[0],"most":[0,0]}"#;
    // The second node's device takes 2 where the best split takes that, too.
    let second = r#"{"reason":"crowd","device":1,"nodes":[1],"most":[0,0]}"#;
    let proofs = [
        (proof(apart.clone(), 0, &[first, second]), None),
        (proof(apart, 0, &[first]), Some("")),
        // Together they take 6 where 4 is possible.
        (proof(together.clone(), 2, &[first]), None),
        (proof(together, 1, &[first]), Some("may hold the units")),
    ];
    for (proof, refused) in &proofs {
        let said = check(&instance, proof, None);
        let is_refused = |why| matches!(&said, Err(Error::Refused { cause, .. }) if cause.contains(why));
        assert!(refused.map_or(said.is_ok(), is_refused), "{said:?}");
    }
    let pairs = proofs.each_ref().map(|(proof, _)| [&instance[..], proof]);
    for (cause, (_, refused)) in causes(&pairs).into_iter().flatten().zip(&proofs) {
        let is_refused = |why| cause.starts_with("Refused") && cause.contains(why);
        assert!(refused.map_or(cause.is_empty(), is_refused), "the checker in Python says {cause}");
    }
}

#[test]
fn lines_name_a_device_where_there_are_some() {
    let mut draw = Draw(5);
    let case = Case::drawn(&mut draw, 3, "acyclic", false);
    let line = format!("{{\"reason\":\"ideals\",\"device\":0,\"weights\":{}}}", case.for_kinds(0));
    let named = case.check(1, &[line]);
    assert!(matches!(&named, Err(Error::Unreadable(cause)) if cause.contains("names one of the devices")), "{named:?}");
}
