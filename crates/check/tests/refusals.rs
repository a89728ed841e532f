//! What is refused is refused for the reason expected, and what cannot be read is told from it.

mod common;

use common::python::python;
use dagsplit_check::{Error, check, hash};

/// Two chained nodes and one beside them, for two accelerators of 10 bytes and a CPU: 4 is optimal.
const INSTANCE: &str = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0}, "nodes": [
    {"id": 5, "accelerator_times": [3], "cpu_time": 9, "memory": 4, "transfer_time": 1},
    {"id": 6, "accelerator_times": [3], "cpu_time": 9, "memory": 4},
    {"id": 7, "accelerator_times": [1], "cpu_time": 4, "memory": 4}],
    "edges": [{"source": 5, "target": 6}]}"#;

const IDEALS: &str = r#"{"reason":"ideals","weights":[1,1]}"#;
const FREE: &str = r#"{"weights":[1],"price":[0,1],"most":0}"#;

fn statement(claim: i64, scope: &str) -> String {
    format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"{scope}","accelerators":[{{"count":2,"memory":10,"load":[[1,1,1]]}}],"cpus":1,"digits":0,"order":[0,1,2],"claim":{claim}}}"#,
        hash(INSTANCE.as_bytes())
    )
}

fn proof(claim: i64, scope: &str, lines: &[&str]) -> String {
    [&[statement(claim, scope).as_str()], lines].concat().join("\n")
}

#[track_caller]
fn refused(proof: &str, at: usize, why: &str) {
    match check(INSTANCE, proof, None) {
        Err(Error::Refused { line, cause }) if line == at && cause.contains(why) => {}
        other => panic!("{other:?}, expected `{why}` at line {at}"),
    }
}

#[track_caller]
fn unreadable(proof: &str, why: &str) {
    match check(INSTANCE, proof, None) {
        Err(Error::Unreadable(cause)) if cause.contains(why) => {}
        other => panic!("{other:?}, expected `{why}`"),
    }
}

#[test]
fn what_holds_is_accepted() {
    assert!(check(INSTANCE, &proof(4, "acyclic", &[IDEALS]), None).is_ok());
    // A device that holds the first node takes 3 and sends its output, or takes 6.
    let cut = r#"{"reason":"crowd","nodes":[0],"most":[0,0]}"#;
    assert!(check(INSTANCE, &proof(4, "arbitrary", &[cut]), None).is_ok());
}

/// Each of two nodes fits on a device of its own, with a load of 5.
#[test]
fn an_edge_from_a_node_to_itself_proves_nothing() {
    let instance = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0}, "nodes": [
        {"id": 0, "accelerator_times": [5], "cpu_time": 5}, {"id": 1, "accelerator_times": [5], "cpu_time": 5}],
        "edges": [{"source": 0, "target": 0}, {"source": 1, "target": 0}]}"#;
    let statement = format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"convex","accelerators":[{{"count":2,"load":[[1,1,1]]}}],"cpus":0,"digits":0,"order":[1,0],"claim":10}}"#,
        hash(instance.as_bytes())
    );
    let profits = format!(r#"{{"reason":"profits","profits":[1,0],"kinds":[{FREE},{FREE}]}}"#);
    match check(instance, &[statement, profits].join("\n"), None) {
        Err(Error::Refused { line: 2, cause }) if cause.contains("a set earns 1, more than 0") => {}
        other => panic!("{other:?}"),
    }
    let null = INSTANCE.replace(r#""dagsplit-instance/1""#, "null");
    assert!(matches!(check(&null, "", None), Err(Error::Unreadable(_))));
}

#[test]
fn reasons_that_do_not_hold_are_refused_for_what_is_wrong_with_them() {
    refused(&proof(5, "acyclic", &[IDEALS]), 2, "a chain of ideals has every load within the target");
    refused(&proof(4, "convex", &[IDEALS]), 2, "chains of ideals are the acyclic splits alone");
    refused(&proof(4, "acyclic", &[r#"{"reason":"ideals","weights":[1]}"#]), 2, "there have to be 2 weights");
    refused(&proof(4, "arbitrary", &[r#"{"reason":"work","weights":[1,1]}"#]), 2, "the work does not exceed");
    // All work is 21 by these weights, and so is what the devices do within 3.
    let work = r#"{"reason":"work","weights":[3,1]}"#;
    assert!(check(INSTANCE, &proof(3, "arbitrary", &[work]), None).is_ok());
    refused(&proof(4, "arbitrary", &[work]), 2, "the work does not exceed");
    let crowd = |nodes: &str, most: &str| format!(r#"{{"reason":"crowd","nodes":{nodes},"most":{most}}}"#);
    refused(&proof(5, "arbitrary", &[&crowd("[0]", "[0,0]")]), 2, "a device of kind 0 may hold the units [0]");
    refused(&proof(4, "arbitrary", &[&crowd("[0,1]", "[1,0]")]), 2, "the devices can hold 2 of these 2 units");
    refused(&proof(4, "arbitrary", &[&crowd("[0,0]", "[0,0]")]), 2, "a unit counts twice");
    let profits =
        |profits: &str, kind: &str| format!(r#"{{"reason":"profits","profits":{profits},"kinds":[{kind},{FREE}]}}"#);
    refused(&proof(5, "arbitrary", &[&profits("[1,0,0]", FREE)]), 2, "kind 0: a set earns 1, more than 0");
    refused(
        &proof(4, "arbitrary", &[&profits("[0,0,0]", FREE)]),
        2,
        "the profits 0 do not exceed what the devices hold, 0",
    );
    let twice = FREE.replace("[1]", "[1,0]");
    refused(&proof(4, "arbitrary", &[&profits("[1,0,0]", &twice)]), 2, "there have to be 1 weights");
    let short = proof(4, "arbitrary", &[&profits("[1,0,0]", FREE)]).replace("[0,1,2]", "[0,1]");
    refused(&short, 2, "the order of the first line lacks a node");
}

/// One accelerator holds two of the nodes' 4 bytes each, and not all three.
#[test]
fn profits_know_what_fits() {
    let alone = |bytes: &str, most: &str| {
        let kinds = [FREE.replace("[1]", "[0]").replace("\"most\":0", most), FREE.to_owned()].join(",");
        let line = format!(r#"{{"reason":"profits","profits":[1,1,1],"kinds":[{kinds}]}}"#);
        let all = proof(100, "arbitrary", &[&line]).replace("\"count\":2,\"memory\":10", bytes);
        all.replace("\"cpus\":1", "\"cpus\":0")
    };
    let of_ten = |most: &str| alone("\"count\":1,\"memory\":10", most);
    assert!(check(INSTANCE, &of_ten("\"most\":2"), None).is_ok());
    refused(&of_ten("\"most\":1"), 2, "kind 0: a set earns 2, more than 1");
    refused(&alone("\"count\":1,\"memory\":12", "\"most\":2"), 2, "kind 0: a set earns 3, more than 2");
    refused(&alone("\"count\":1", "\"most\":2"), 2, "kind 0: a set earns 3, more than 2");
}

/// What earns more in less time is no better where it takes more bytes: the last two nodes fit together, the first two and the
/// outer ones do not.
#[test]
fn profits_keep_what_takes_fewer_bytes() {
    let other = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0}, "nodes": [
        {"id": 5, "accelerator_times": [1], "memory": 8}, {"id": 6, "accelerator_times": [2], "memory": 4},
        {"id": 7, "accelerator_times": [1], "memory": 6}], "edges": []}"#;
    let kind = FREE.replace("\"most\":0", "\"most\":3");
    let line = format!(r#"{{"reason":"profits","profits":[3,2,2],"kinds":[{kind},{FREE}]}}"#);
    let text = proof(100, "arbitrary", &[&line]).replace("\"cpus\":1", "\"cpus\":0");
    let said = check(other, &text.replace(&hash(INSTANCE.as_bytes()), &hash(other.as_bytes())), None).unwrap_err();
    let said = said.to_string();
    assert!(said.contains("a set earns 4, more than 3"), "{said}");
}

#[test]
fn a_proof_about_something_else_is_refused() {
    let good = proof(4, "acyclic", &[IDEALS]);
    refused(&good.replace(&hash(INSTANCE.as_bytes()), "0000000000000000"), 1, "it is about an instance of hash");
    refused(
        &good
            .replace("\"memory\":10,\"load\"", "\"memory\":10.5,\"load\"")
            .replace("[{\"count\"", "[{\"count\":1,\"load\":[[1,1,1]]},{\"count\""),
        1,
        "1 classes",
    );
    refused(&proof(4, "acyclic", &[]), 1, "no reason is given");
    refused(
        &proof(4, "acyclic", &[&IDEALS.replace("{\"reason\"", "{\"under\":[[\"on\",0,0]],\"reason\"")]),
        2,
        "no reason is given for the case",
    );
}

#[test]
fn what_is_no_proof_is_unreadable() {
    let good = proof(4, "acyclic", &[IDEALS]);
    unreadable("", "the file is empty");
    unreadable("no JSON", "expected");
    unreadable(&good.replace("proof/1", "proof/2"), "\"dagsplit-proof/2\" is not dagsplit-proof/1");
    unreadable(&good.replace("\"cpus\"", "\"cpu\""), "unknown field `cpu`");
    unreadable(&good.replace("throughput", "latency"), "unknown variant `latency`, expected `throughput` or `gpipe`");
    let replicas = "\"objective\":\"gpipe\",\"replication\":{\"most\":2,\"bandwidth\":1,\"synchronisation\":\"added\"}";
    unreadable(&good.replace("\"objective\":\"throughput\"", replicas), "the objective gpipe knows no replicas");
    unreadable(&good.replace("\"claim\":4", "\"claim\":4.5"), "line 1: expected `,` or `}`");
    unreadable(&good.replace("\"cpus\":1", "\"cpus\":1.5"), "floating point `1.5`, expected u32");
    unreadable(&good.replace("\"claim\":4", "\"claim\":4,\"claim\":3"), "duplicate field `claim`");
    unreadable(&good.replace("\"count\":2", "\"count\":2,\"count\":3"), "duplicate field `count`");
    unreadable(&good.replace("[1,1]", "[1,1],\"weights\":[1,1]"), "duplicate field `weights`");
    unreadable(&good.replace("[1,1]", "[1,1],\"nodes\":[0]"), "each with its own fields");
    unreadable(&good.replace("[1,1]", "[1,1],\"node\":[0]"), "unknown field `node`");
    unreadable(&good.replace("ideals", "idols"), "\"idols\" is none of work, crowd, ideals, profits");
    unreadable(&proof(4, "acyclic", &[r#"{"reason":"crowd","nodes":[3],"most":[0,0]}"#]), "there is no node 3");
    unreadable(
        &proof(4, "acyclic", &[r#"{"reason":"work","weights":[1,1],"under":[["near",0,1]]}"#]),
        "no decision \"near\"",
    );
    unreadable(
        &proof(4, "acyclic", &[r#"{"reason":"work","weights":[1,1],"under":[["apart",1,1]]}"#]),
        "a pair is of two units",
    );
}

/// What has fields is an object wherever it stands, and no array of the fields' values in their order.
#[test]
fn arrays_are_no_objects() {
    let good = proof(4, "acyclic", &[IDEALS]);
    let with = |field: &str| good.replace("\"cpus\":1", &format!("\"cpus\":1,{field}"));
    let earning = format!(r#"{{"reason":"profits","profits":[1,1,1],"kinds":[{FREE},[[1],[0,1],0]]}}"#);
    let cases = [
        (format!(r#"["{}",0]"#, dagsplit_check::FORMAT), r#"line 1: ["dagsplit-proof/1",0]"#),
        (good.replace(r#"{"count":2,"memory":10,"load":[[1,1,1]]}"#, "[2,10,[[1,1,1]]]"), "line 1: [2,10,[[1,1,1]]]"),
        (with(r#""replication":[1,1,"added"]"#), r#"line 1: [1,1,"added"]"#),
        (with(r#""stability":["measured",[]]"#), r#"line 1: ["measured",[]]"#),
        (with(r#""stability":{"spread":0,"devices":[[0,[0,1,2]]]}"#), "line 1: [0,[0,1,2]]"),
        (good.replace(IDEALS, r#"["ideals",null,null,[1,1]]"#), r#"line 2: ["ideals",null,null,[1,1]]"#),
        (proof(4, "arbitrary", &[&earning]), "line 2: [[1],[0,1],0]"),
    ];
    for (proof, what) in &cases {
        unreadable(proof, &format!("{what} is no object"));
    }
    let proofs = cases.each_ref().map(|(proof, _)| [INSTANCE, proof]);
    assert!(python(&proofs).is_none_or(|accepted| accepted == [false; 7]));
}

#[test]
fn splits_are_held_against_the_claim() {
    let good = proof(4, "acyclic", &[IDEALS]);
    let best = r#"{"fpgas": [{"nodes": [5]}, {"nodes": [6]}], "cpus": [{"nodes": [7]}]}"#;
    assert!(check(INSTANCE, &good, Some(best)).is_ok());
    let said = |split: &str| check(INSTANCE, &good, Some(split)).unwrap_err().to_string();
    let cases = [
        (r#"{"fpgas": [{"nodes": [5, 7]}, {"nodes": [6]}]}"#, "the split has a load of 5, above the claim 4"),
        (r#"{"fpgas": [{"nodes": [5, 6, 7]}]}"#, "device 0: its memory is exceeded"),
        (r#"{"fpgas": [{"nodes": [5]}, {"nodes": [6]}]}"#, "node 7 is on no device"),
        (r#"{"fpgas": [{"nodes": [5, 6]}, {"nodes": [6, 7]}]}"#, "node 6 is on two devices"),
        (r#"{"fpgas": [{"nodes": [5]}, {"nodes": [6]}, {"nodes": [7]}]}"#, "it takes 3 devices of kind 0"),
        (r#"{"fpgas": [{"nodes": [5], "replicas": 2}], "cpus": [{"nodes": [6, 7]}]}"#, "a set has 2 replicas"),
        (r#"{"fpgas": [{"nodes": [5, 6, 8]}], "cpus": [{"nodes": [7]}]}"#, "there is no node 8"),
    ];
    for (split, why) in cases {
        assert!(said(split).contains(why), "{}, expected `{why}`", said(split));
    }
}

fn good_claim(claim: &str) -> String {
    proof(4, "acyclic", &[IDEALS]).replace("\"claim\":4", &format!("\"claim\":{claim}"))
}

/// Numbers that no sum can hold, and times that are no whole number of units, are refused and never rounded.
#[test]
fn nothing_is_rounded() {
    let fine = INSTANCE.replace("[1], \"cpu_time\": 4", "[1.25], \"cpu_time\": 4");
    let of = |digits: &str| {
        proof(4, "acyclic", &[IDEALS])
            .replace(&hash(INSTANCE.as_bytes()), &hash(fine.as_bytes()))
            .replace("\"digits\":0", &format!("\"digits\":{digits}"))
    };
    let said = |digits: &str| check(&fine, &of(digits), None).map_err(|error| error.to_string());
    assert!(said("1").unwrap_err().contains("a number has more than 1 decimals"));
    assert!(said("2").is_ok());
    assert!(said("36").unwrap_err().contains("too large"));
    assert!(said("2147483647").unwrap_err().contains("at most 36 decimals"));
    let beyond = good_claim(&i128::MIN.to_string());
    unreadable(&beyond, "is below 2^120");
}

/// What `ideals` says of a workload of two nodes, the second one a leaf of the first that takes no time, on two accelerators.
fn of_a_leaf(bytes: u64, parameters: u64, memory: u64, replication: &str, claim: i64) -> Result<(), String> {
    let leaf =
        format!(r#"{{"id":1,"accelerator_times":[0],"cpu_time":0,"memory":{bytes},"parameter_bytes":{parameters}}}"#);
    let instance = format!(
        r#"{{"schema":"dagsplit-instance/1","platform":{{"accelerators":[{{"count":3}}],"cpus":0}},"nodes":[{{"id":0,"accelerator_times":[4],"cpu_time":9,"memory":8}},{leaf}],"edges":[{{"source":0,"target":1}}]}}"#
    );
    let first = format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"acyclic","accelerators":[{{"count":3,"memory":{memory},"load":[[1,1,1]]}}],"cpus":0,"replication":{replication},"digits":0,"claim":{claim}}}"#,
        hash(instance.as_bytes())
    );
    check(&instance, &format!("{first}\n{IDEALS}\n"), None).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_leaf_that_takes_room_or_synchronisation_is_not_free() {
    let too_much = "a chain of ideals has every load within the target";
    let two = r#"{"most":2,"bandwidth":1,"synchronisation":"added"}"#;
    for (bytes, parameters, memory, replication, optimum) in
        [(0, 0, 10, "null", 4), (8, 0, 16, "null", 4), (8, 0, 10, "null", 4), (0, 9, 10, two, 2)]
    {
        let of = |claim| of_a_leaf(bytes, parameters, memory, replication, claim);
        assert_eq!(of(optimum), Ok(()), "{bytes} bytes, {parameters} parameter bytes");
        let above = of(optimum + 1);
        assert!(above.as_ref().is_err_and(|cause| cause.contains(too_much)), "{bytes} and {parameters}: {above:?}");
    }
}

/// Of a chain of 8 nodes half on each accelerator is optimal. As many constants beside them would make millions of ideals.
#[test]
fn constants_are_with_their_only_readers() {
    let node = |id: usize, time: usize| {
        format!(r#"{{"id":{id},"accelerator_times":[{time}],"cpu_time":{time},"transfer_time":1}}"#)
    };
    let edge = |a: usize, b: usize| format!(r#"{{"source":{a},"target":{b}}}"#);
    let nodes: Vec<String> = (0..30).map(|v| node(v, if v < 8 { 3 } else { 0 })).collect();
    let chain = (1..8).map(|v| edge(v - 1, v));
    let edges: Vec<String> = chain.chain((8..30).map(|v| edge(v, v % 8))).collect();
    let instance = format!(
        r#"{{"schema":"dagsplit-instance/1","platform":{{"accelerators":[{{"count":2}}],"cpus":0}},"nodes":[{}],"edges":[{}]}}"#,
        nodes.join(","),
        edges.join(",")
    );
    let first = |claim: u32| {
        format!(
            r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"acyclic","accelerators":[{{"count":2,"load":[[1,1,1]]}}],"cpus":0,"digits":0,"claim":{claim}}}"#,
            hash(instance.as_bytes())
        )
    };
    let of = |claim| check(&instance, &format!("{}\n{IDEALS}\n", first(claim)), None);
    assert!(of(13).is_ok());
    let above = of(14);
    let why = "a chain of ideals has every load within the target";
    assert!(matches!(&above, Err(Error::Refused { line: 2, cause }) if cause == why), "{above:?}");
}

/// Stages {x} and {a, b} take 3 and 5. With a the first one takes no more than 4, and b takes 4, but then has to send 5 back.
#[test]
fn a_unit_that_is_sent_gradients_does_not_pay_for_its_edge() {
    let instance = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0}, "nodes": [
        {"id": 0, "accelerator_times": [3]},
        {"id": 1, "accelerator_times": [1], "color_class": 1},
        {"id": 2, "accelerator_times": [4], "color_class": 2},
        {"id": 3, "accelerator_times": [0], "color_class": 2, "backward": true, "transfer_time": 5},
        {"id": 4, "accelerator_times": [0], "color_class": 1, "backward": true}],
        "edges": [{"source": 0, "target": 1}, {"source": 1, "target": 2}, {"source": 3, "target": 4}]}"#;
    let proof = |claim: i64| {
        let statement = format!(
            r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"acyclic","accelerators":[{{"count":2,"load":[[1,0,1]]}}],"cpus":0,"digits":0,"claim":{claim}}}"#,
            hash(instance.as_bytes())
        );
        format!("{statement}\n{IDEALS}")
    };
    let of = |claim| check(instance, &proof(claim), None);
    assert!(of(5).is_ok());
    assert!(matches!(of(6), Err(Error::Refused { line: 2, .. })), "{:?}", of(6));
    let proofs = [5, 6].map(proof);
    let said = python(&proofs.each_ref().map(|proof| [instance, proof]));
    assert!(said.is_none_or(|said| said == [true, false]));
}

/// Under GPipe a chain with a smaller load in one pass may have a larger one in the other. The best split costs 22.
#[test]
fn a_chain_may_be_better_in_one_pass_alone() {
    let (forward, backward) = ([7, 5, 3, 1], [9, 1, 4, 8]);
    let node = |v: usize, time: i32, is_backward: bool| {
        let id = if is_backward { 4 + v } else { v };
        format!(r#"{{"id":{id},"accelerator_times":[{time}],"color_class":{v},"backward":{is_backward}}}"#)
    };
    let nodes = (0..4).map(|v| node(v, forward[v], false)).chain((0..4).map(|v| node(v, backward[v], true)));
    let edges = [(0, 1), (1, 2), (2, 3), (3, 7), (7, 6), (6, 5), (5, 4)];
    let edges = edges.map(|(source, target)| format!(r#"{{"source":{source},"target":{target}}}"#));
    let instance = format!(
        r#"{{"schema":"dagsplit-instance/1","platform":{{"accelerators":[{{"count":2}}],"cpus":0}},"nodes":[{}],"edges":[{}]}}"#,
        nodes.collect::<Vec<_>>().join(","),
        edges.join(",")
    );
    let proof = |claim: i32| {
        let first = format!(
            r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"gpipe","scope":"acyclic","accelerators":[{{"count":2,"load":[[1,1,1]]}}],"cpus":0,"digits":0,"claim":{claim}}}"#,
            hash(instance.as_bytes())
        );
        [&first, IDEALS].join("\n")
    };
    assert!(check(&instance, &proof(22), None).is_ok());
    match check(&instance, &proof(23), None) {
        Err(Error::Refused { line: 2, cause }) if cause.contains("a chain of ideals has every load") => {}
        other => panic!("{other:?}"),
    }
}

/// Whether chains of ideals show that `claim` is least of a chain of two nodes of time 1, whose cut costs 5, on two devices.
fn of_two_nodes(node: &str, device: &str, line: &str, claim: i32) -> Result<dagsplit_check::Accepted, Error> {
    let instance = format!(
        r#"{{"schema":"dagsplit-instance/1","platform":{{"accelerators":[{{"count":2}}],"cpus":0}},"nodes":[
            {{"id":0,"accelerator_times":[1],"transfer_time":5,"memory":600000000}},{{"id":1,{node}}}],"edges":[{{"source":0,"target":1}}]}}"#
    );
    let first = format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"acyclic","accelerators":[{{"count":2,{device}"load":[[1,1,1]]}}],"cpus":0,"digits":0,{line}"claim":{claim}}}"#,
        hash(instance.as_bytes())
    );
    check(&instance, &[&first, IDEALS].join("\n"), None)
}

#[test]
fn a_billionth_more_than_a_device_has_fits() {
    let of = |memory: u32, claim| {
        let node = format!(r#""accelerator_times":[1],"memory":{memory}"#);
        of_two_nodes(&node, "\"memory\":1000000000,", "", claim)
    };
    // Together they take 2, and 6 apart.
    assert!(of(400_000_001, 2).is_ok() && matches!(of(400_000_001, 3), Err(Error::Refused { line: 2, .. })));
    assert!(of(400_000_002, 6).is_ok() && matches!(of(400_000_002, 7), Err(Error::Refused { line: 2, .. })));
}

#[test]
fn a_load_that_replicas_share_is_below_the_next_whole_number() {
    // Both devices share 5, which is 2.5 for each.
    let ring = r#""replication":{"most":2,"bandwidth":1,"synchronisation":"added"},"#;
    let of = |claim| of_two_nodes(r#""accelerator_times":[4],"memory":0"#, "", ring, claim);
    assert!(of(2).is_ok());
    assert!(matches!(of(3), Err(Error::Refused { line: 2, .. })));
}

#[test]
fn a_proof_of_stability_knows_all_classes() {
    let two = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 1}, {"count": 1}], "cpus": 0},
        "nodes": [{"id": 5, "accelerator_times": [3, 2]}], "edges": []}"#;
    let stability = r#"},"stability":{"spread":0.5,"devices":[{"kind":0,"nodes":[0]}]}}"#;
    let first = statement(4, "acyclic").replace(&hash(INSTANCE.as_bytes()), &hash(two.as_bytes()));
    let first = first.replace(r#"{"count":2,"memory":10,"load":[[1,1,1]]}"#, "");
    let said = check(two, &format!("{}{}", &first[..first.len() - 1], &stability[1..]), None);
    let why = "the instance has 2 classes of accelerators";
    assert!(matches!(&said, Err(Error::Refused { line: 1, cause }) if cause == why), "{said:?}");
}

#[test]
fn a_split_of_stability_is_one_that_is_asked_for() {
    let of = |devices: &str, line: &str| {
        let stability = format!(r#","stability":{{"spread":0.5,"devices":[{devices}]}}}}"#);
        let first = statement(-100, "acyclic");
        let proof = format!("{}{stability}\n{line}", &first[..first.len() - 1]);
        assert!(python(&[[INSTANCE, &proof]]).is_none_or(|accepted| accepted == [false]), "{proof}");
        check(INSTANCE, &proof, None)
    };
    let [all, other] = [r#"{"kind":0,"nodes":[0,1]}"#, r#"{"kind":1,"nodes":[2]}"#];
    for (devices, why) in [
        ("", "node 5 is on no device"),
        (all, "node 7 is on no device"),
        (&format!(r#"{all},{{"kind":1,"nodes":[2,0]}}"#), "node 5 is on two devices"),
        (&format!(r#"{all},{{"kind":1,"nodes":[2,3]}}"#), "there is no node at 3"),
        (&format!(r#"{all},{{"kind":2,"nodes":[2]}}"#), "there is no such kind"),
        (&format!("{all},{other},{other}"), "node 7 is on two devices"),
        (&format!(r#"{all},{other},{{"kind":1,"nodes":[]}}"#), "it takes 2 devices of kind 1"),
    ] {
        let said = of(devices, "");
        assert!(matches!(&said, Err(Error::Refused { line: 1, cause }) if cause.contains(why)), "{devices}: {said:?}");
    }
    for device in [2, 7] {
        let said = of(&format!("{all},{other}"), &format!(r#"{{"reason":"work","device":{device},"weights":[1,1]}}"#));
        assert!(matches!(&said, Err(Error::Unreadable(cause)) if cause.contains("one of the devices")), "{said:?}");
    }
}
