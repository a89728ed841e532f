//! Proofs that were changed are refused, or still proofs: both checkers say the same, and no claim above the optimum of the
//! question as it then stands is accepted.

mod common;

use std::collections::HashMap;

use common::python::python;
use common::tree::{Tree, ideals};
use common::{Case, Draw};
use dagsplit_check::{Error, check, hash};

/// The proof itself, then with each of its numbers one more and one less, and with lines dropped, doubled and swapped.
fn changed(proof: &str) -> Vec<String> {
    let mut all = vec![proof.to_owned()];
    let bytes = proof.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = at + bytes[at..].iter().take_while(|c| c.is_ascii_digit()).count();
        if let Ok(number) = proof[at..end].parse::<i128>() {
            for other in [number + 1, number - 1] {
                all.push(format!("{}{other}{}", &proof[..at], &proof[end..]));
            }
        }
        at = end.max(at + 1);
    }
    let lines: Vec<&str> = proof.lines().collect();
    for i in 0..lines.len() {
        let mut dropped = lines.clone();
        dropped.remove(i);
        let mut doubled = lines.clone();
        doubled.insert(i, lines[i]);
        let mut swapped = lines.clone();
        swapped.swap(i, (i + 1) % lines.len());
        all.extend([dropped, doubled, swapped].map(|lines| lines.join("\n")));
    }
    all
}

/// A case with the proof of its optimum, where one is found.
fn proven(draw: &mut Draw, number: usize) -> Option<(Case, i128, String)> {
    let scope = ["acyclic", "arbitrary", "convex"][number % 3];
    let objective = if number % 6 == 3 { "gpipe" } else { "throughput" };
    let most = if scope == "acyclic" { 4 } else { 3 };
    let case = Case::drawn(draw, most, scope, number.is_multiple_of(6)).of_objective(objective);
    let (optimum, _) = case.optimum()?;
    let mut tree = Tree::new(&case, optimum);
    let lines = match scope {
        "acyclic" => ideals(&case),
        _ if tree.refute(&[]) => tree.lines,
        _ => return None,
    };
    let proof = case.proof(optimum, &lines);
    check(&case.instance, &proof, None).ok()?;
    Some((case, optimum, proof))
}

/// How many changes of so many proofs are refused, and how many are still proofs.
fn hold_or_are_refused(seed: u64, proofs: usize) -> [usize; 2] {
    let mut draw = Draw(seed);
    let (mut number, mut found, mut counts) = (0, 0, [0, 0]);
    while found < proofs {
        let drawn = proven(&mut draw, number);
        number += 1;
        let Some((case, _, proof)) = drawn else { continue };
        found += 1;
        let others = changed(&proof);
        let accepted: Vec<bool> = others.iter().map(|other| check(&case.instance, other, None).is_ok()).collect();
        let pairs: Vec<[&str; 2]> = others.iter().map(|other| [case.instance.as_str(), other]).collect();
        if let Some(said) = python(&pairs) {
            for ((other, accepted), said) in others.iter().zip(&accepted).zip(said) {
                assert_eq!(*accepted, said, "{:?}: {}\n{other}", check(&case.instance, other, None), case.instance);
            }
        }
        let mut optima: HashMap<String, Option<(i128, String)>> = HashMap::new();
        for (other, is_accepted) in others.iter().zip(accepted) {
            counts[usize::from(is_accepted)] += 1;
            if let Some(first_line) = other.lines().next().filter(|_| is_accepted) {
                let (question, _) = first_line.split_once(",\"order\"").unwrap();
                let optimum = optima.entry(question.into()).or_insert_with(|| case.optimum_of(first_line)).as_ref();
                let claim = check(&case.instance, other, None).unwrap().claim;
                assert!(optimum.is_none_or(|(optimum, _)| claim <= *optimum), "{optimum:?} is best, of {other}");
            }
        }
    }
    counts
}

#[test]
fn a_changed_proof_is_refused_or_still_one() {
    let [refused, held] = hold_or_are_refused(4, 6);
    assert!(refused > 200 && held > 50, "{refused} are refused, {held} hold");
}

#[test]
#[ignore = "some minutes"]
fn many_changed_proofs_are_refused_or_still_ones() {
    let [refused, held] = hold_or_are_refused(5, 200);
    println!("{refused} changes are refused, {held} are proofs");
    assert!(refused > 8000 && held > 2000, "{refused} are refused, {held} hold");
}

/// Two nodes of 4 for two accelerators that hold one of them each, and one of 1 beside them: the optimum is 5, or 4 where the
/// CPU can run that.
const PAIR: &str = r#"{"schema": "dagsplit-instance/1", "platform": {"accelerators": [{"count": 2}], "cpus": 0}, "nodes": [
    {"id": 0, "accelerator_times": [4]}, {"id": 1, "accelerator_times": [4]}, {"id": 2, "accelerator_times": [1]}],
    "edges": [{"source": 0, "target": 1}]}"#;

fn of_pair(scope: &str, claim: i64, lines: &[&str]) -> Result<(), Error> {
    let first = format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"{scope}","accelerators":[{{"count":2,"load":[[1,1,1]]}}],"cpus":0,"digits":0,"order":[0,1,2],"claim":{claim}}}"#,
        hash(PAIR.as_bytes())
    );
    check(PAIR, &[&[first.as_str()], lines].concat().join("\n"), None).map(|_| ())
}

#[track_caller]
fn is_refused(result: Result<(), Error>, why: &str) {
    assert!(
        matches!(&result, Err(Error::Refused { cause, .. }) if cause.contains(why)),
        "{result:?}, expected `{why}`"
    );
}

/// What a solver with a mistake would write is refused, and what the same solver writes without it is accepted.
#[test]
fn proofs_of_mutated_solvers_are_refused() {
    let ideals = |weights: &str| format!(r#"{{"reason":"ideals","weights":{weights}}}"#);
    assert_eq!(of_pair("acyclic", 5, &[&ideals("[1,1]")]), Ok(()));
    is_refused(of_pair("acyclic", 6, &[&ideals("[1,1]")]), "a chain of ideals has every load within the target");
    // Work is measured by the slower kind's weights alone: a kind without devices bounds nothing.
    assert_eq!(of_pair("acyclic", 5, &[&ideals("[1,9]")]), Ok(()));
    is_refused(of_pair("acyclic", 6, &[&ideals("[1,9]")]), "a chain of ideals has every load within the target");

    let crowd = |nodes: &str, most: &str| format!(r#"{{"reason":"crowd","nodes":{nodes},"most":{most}}}"#);
    assert_eq!(of_pair("arbitrary", 5, &[&crowd("[0,1,2]", "[1,0]")]), Ok(()));
    is_refused(of_pair("arbitrary", 5, &[&crowd("[0,1]", "[1,0]")]), "the devices can hold 2 of these 2 units");
    is_refused(of_pair("arbitrary", 6, &[&crowd("[0,1,2]", "[1,0]")]), "a device of kind 0 may hold the units [0, 2]");
    is_refused(of_pair("arbitrary", 5, &[&crowd("[0,1,2]", "[0,0]")]), "a device of kind 0 may hold the units [0]");

    let work = r#"{"reason":"work","weights":[1,1]}"#;
    assert_eq!(of_pair("arbitrary", 5, &[work]), Ok(()));
    is_refused(of_pair("arbitrary", 6, &[work]), "the work does not exceed what devices can do");
}

/// The same for profits: nodes 0 and 1 earn 2 each, node 2 earns 1, and no device within 4 earns more than 2.
#[test]
fn profits_of_mutated_solvers_are_refused() {
    let line = |under: &str, profits: &str, weights: &str, price: &str, most: u32| {
        format!(
            r#"{{"reason":"profits"{under},"profits":{profits},"kinds":[{{"weights":{weights},"price":{price},"most":{most}}},{{"weights":[1],"price":[0,1],"most":0}}]}}"#
        )
    };
    let good = line("", "[2,2,1]", "[1]", "[1,2]", 2);
    for scope in ["arbitrary", "convex", "acyclic"] {
        assert_eq!(of_pair(scope, 5, &[&good]), Ok(()));
        is_refused(of_pair(scope, 6, &[&good]), "kind 0: a set earns 3, more than 2");
    }
    let refused = |line: String, why: &str| is_refused(of_pair("arbitrary", 5, &[&line]), why);
    refused(line("", "[2,2,0]", "[1]", "[1,2]", 2), "the profits 4 do not exceed what the devices hold, 4");
    refused(line("", "[2,2,1]", "[1]", "[1,2]", 1), "kind 0: a set earns 2, more than 1");
    refused(line("", "[2,2,1]", "[0]", "[1,2]", 2), "kind 0: a set earns 5, more than 2");
    refused(line("", "[2,2,1]", "[1,1]", "[1,2]", 2), "there have to be 1 weights");
    refused(line("", "[2,2,1]", "[1]", "[-1,2]", 2), "is out of range");
    // Any price is right, for it bounds only what the fronts need to keep.
    for price in ["[0,1]", "[1,3]", "[1,1]", "[7,1]"] {
        assert_eq!(of_pair("arbitrary", 5, &[&line("", "[2,2,1]", "[1]", price, 2)]), Ok(()));
        is_refused(
            of_pair("arbitrary", 6, &[&line("", "[2,2,1]", "[1]", price, 2)]),
            "kind 0: a set earns 3, more than 2",
        );
    }
    // A case that is left out, and one that is taken for its opposite.
    let together = line(r#","under":[["together",0,1]]"#, "[2,2,1]", "[1]", "[1,2]", 2);
    let apart = line(r#","under":[["apart",0,1]]"#, "[2,2,1]", "[1]", "[1,2]", 2);
    assert_eq!(of_pair("arbitrary", 5, &[&together, &apart]), Ok(()));
    is_refused(of_pair("arbitrary", 5, &[&together]), "no reason is given for the case");
    is_refused(of_pair("arbitrary", 5, &[&apart, &apart]), "no reason is given for the case");
    let other = line(r#","under":[["apart",0,2]]"#, "[2,2,1]", "[1]", "[1,2]", 2);
    is_refused(of_pair("arbitrary", 5, &[&together, &other]), "no reason is given for the case");
}
