//! Proofs of stability against workloads whose times have moved, and all splits of these.

mod common;

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

/// The workload in which what a device pays for is longer by half, and all else shorter.
fn scenario(case: &Case, (kind, nodes): &(usize, Vec<u64>)) -> String {
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
        time * if is_longer { 1.5 } else { 0.5 }
    })
}

fn proof(case: &Case, devices: &[(usize, Vec<u64>)], claim: i128) -> String {
    let devices_json: Vec<Value> = devices.iter().map(|(kind, nodes)| json!({"kind": kind, "nodes": nodes})).collect();
    let first = case.first_line(claim);
    let first =
        format!("{},\"stability\":{}}}", &first[..first.len() - 1], json!({"spread": 0.5, "devices": devices_json}));
    let weights = case.for_kinds(0);
    let line = |d: usize| format!("{{\"reason\":\"ideals\",\"device\":{d},\"weights\":{weights}}}");
    std::iter::once(first).chain((0..devices.len()).map(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_largest_regret_is_proven_and_no_less() {
    let mut draw = Draw(11);
    let (mut proven, mut above_zero) = (0, 0);
    for _ in 0..250 {
        let case = Case::drawn(&mut draw, 4, "acyclic", false);
        let Some((_, split)) = case.optimum() else { continue };
        let devices = devices_of(&case, &split);
        if (0..case.counts.len()).any(|kind| case.pieces(kind) > 1) {
            let refused = check(&case.instance, &proof(&case, &devices, 0), None);
            assert!(
                matches!(&refused, Err(Error::Refused { line: 1, cause }) if cause.contains("pay the same")),
                "{refused:?}"
            );
            continue;
        }
        let regret = |instance: &str| {
            let first_line = case.first_line(0);
            let best = case.optimum_on(instance).unwrap();
            split_value(instance, &first_line, &split).unwrap() - best
        };
        let largest = devices.iter().map(|device| regret(&scenario(&case, device))).max().unwrap();
        for _ in 0..4 {
            let corner = with_times(&case.instance, |_, _, time| time * if draw.is(50) { 1.5 } else { 0.5 });
            assert!(regret(&corner) <= largest, "{corner} of {}, {split}", case.instance);
        }
        let accepted = check(&case.instance, &proof(&case, &devices, largest), None);
        assert!(accepted.as_ref().is_ok_and(|accepted| accepted.is_stability), "{accepted:?}");
        let below = check(&case.instance, &proof(&case, &devices, largest - 1), None);
        let why = "a chain of ideals has every load within the target";
        assert!(matches!(&below, Err(Error::Refused { line: 2.., cause }) if cause.contains(why)), "{below:?}");
        proven += 1;
        above_zero += usize::from(largest > 0);
    }
    assert!(proven > 60 && above_zero > 30, "{proven} and {above_zero}");
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
    let lines = [r#"{"reason":"crowd","device":0,"nodes":[0],"most":[0,0]}"#];
    // The second node's device takes 2 where the best split takes that, too.
    let second = r#"{"reason":"crowd","device":1,"nodes":[1],"most":[0,0]}"#;
    assert!(check(&instance, &proof(apart.clone(), 0, &[lines[0], second]), None).is_ok());
    let lacking = check(&instance, &proof(apart, 0, &lines), None);
    assert!(matches!(lacking, Err(Error::Refused { .. })), "{lacking:?}");
    // Together they take 6 where 4 is possible.
    let together = json!([{"kind": 0, "nodes": [0, 1]}]);
    assert!(check(&instance, &proof(together.clone(), 2, &lines), None).is_ok());
    assert!(matches!(check(&instance, &proof(together, 1, &lines), None), Err(Error::Refused { line: 2, .. })));
}

#[test]
fn lines_name_a_device_where_there_are_some() {
    let mut draw = Draw(5);
    let case = Case::drawn(&mut draw, 3, "acyclic", false);
    let line = format!("{{\"reason\":\"ideals\",\"device\":0,\"weights\":{}}}", case.for_kinds(0));
    let named = case.check(1, &[line]);
    assert!(
        matches!(&named, Err(Error::Unreadable { cause, .. }) if cause.contains("names one of the devices")),
        "{named:?}"
    );
}
