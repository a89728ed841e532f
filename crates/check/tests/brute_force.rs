//! Proofs of generated workloads against all their splits: each true claim has a proof, and no false one is accepted.

mod common;

use common::python::python;
use common::tree::{Tree, ideals};
use common::{Case, Draw};
use dagsplit_check::{Error, check};

const NO_CHAIN: &str = "a chain of ideals has every load within the target";

fn is_refused(result: &Result<(), Error>, why: &str) -> bool {
    matches!(result, Err(Error::Refused { cause, .. }) if cause.contains(why))
}

#[test]
fn chains_of_ideals_prove_the_optimum_and_no_more() {
    let mut draw = Draw(1);
    let mut solvable = 0;
    for number in 0..400 {
        let objective = if number % 3 == 1 { "gpipe" } else { "throughput" };
        let case = Case::drawn(&mut draw, 5, "acyclic", number % 3 == 0).of_objective(objective);
        let Some((optimum, split)) = case.optimum() else {
            assert_eq!(case.check(1_000_000, &ideals(&case)), Ok(()), "{}", case.instance);
            continue;
        };
        solvable += 1;
        assert_eq!(case.check(optimum, &ideals(&case)), Ok(()), "{optimum}: {}", case.proof(optimum, &[]));
        let above = case.check(optimum + 1, &ideals(&case));
        assert!(is_refused(&above, NO_CHAIN), "{above:?} of {optimum} + 1: {}", case.instance);
        let proof = case.proof(optimum, &ideals(&case));
        assert!(check(&case.instance, &proof, Some(&split)).is_ok());
    }
    assert!(solvable > 200, "{solvable} workloads have a split");
}

#[test]
fn cases_of_profits_prove_nothing_above_the_optimum() {
    let mut draw = Draw(2);
    let mut tried = 0;
    for number in 0..60 {
        let scope = ["arbitrary", "convex"][number % 2];
        let case = Case::drawn(&mut draw, 3, scope, false);
        let Some((optimum, _)) = case.optimum() else { continue };
        tried += 1;
        let mut tree = Tree::new(&case, optimum);
        assert!(tree.refute(&[]), "no proof of {optimum}: {}", case.proof(optimum, &tree.lines));
        assert_eq!(case.check(optimum, &tree.lines), Ok(()), "{}", case.proof(optimum, &tree.lines));
        for dropped in 0..tree.lines.len() {
            let mut lines = tree.lines.clone();
            lines.remove(dropped);
            assert!(is_refused(&case.check(optimum, &lines), "no reason is given"));
        }
        tree.lines.reverse();
        assert_eq!(case.check(optimum, &tree.lines), Ok(()));
        let mut above = Tree::new(&case, optimum + 1);
        assert!(!above.refute(&[]), "{} of {optimum} + 1", case.proof(optimum + 1, &above.lines));
    }
    assert!(tried > 40, "{tried} workloads have a split");
}

#[test]
fn no_profits_and_no_crowd_prove_more_than_is_true() {
    let mut draw = Draw(3);
    let mut accepted = [0; 2];
    for number in 0..1500 {
        let scope = ["arbitrary", "convex", "acyclic"][number % 3];
        let objective = if number % 2 == 1 { "gpipe" } else { "throughput" };
        let case = Case::drawn(&mut draw, 4, scope, false).of_objective(objective);
        let Some((optimum, _)) = case.optimum() else { continue };
        let list = |draw: &mut Draw, count: usize, most: u64| {
            let numbers: Vec<String> = (0..count).map(|_| draw.below(most).to_string()).collect();
            format!("[{}]", numbers.join(","))
        };
        let earning = |draw: &mut Draw, pieces: usize| {
            let most = draw.below(12);
            let weights = if pieces == 1 { "[1]" } else { "[2,1]" };
            format!("{{\"weights\":{weights},\"price\":[{},{}],\"most\":{most}}}", draw.below(3), 1 + draw.below(20))
        };
        let kinds: Vec<String> = (0..case.counts.len()).map(|k| earning(&mut draw, case.pieces(k))).collect();
        let profits = format!(
            "{{\"reason\":\"profits\",\"profits\":{},\"kinds\":[{}]}}",
            list(&mut draw, case.nodes, 9),
            kinds.join(",")
        );
        let nodes: Vec<String> = (0..case.nodes).filter(|_| draw.is(70)).map(|v| v.to_string()).collect();
        let crowd = format!(
            "{{\"reason\":\"crowd\",\"nodes\":[{}],\"most\":{}}}",
            nodes.join(","),
            list(&mut draw, case.counts.len(), 2)
        );
        for (kind, line) in [profits, crowd].into_iter().enumerate() {
            for claim in [optimum / 3, optimum / 2, optimum] {
                accepted[kind] += usize::from(case.check(claim, std::slice::from_ref(&line)).is_ok());
            }
            let above = case.check(optimum + 1, &[line]);
            assert!(above.is_err(), "{above:?} of {optimum} + 1: {}", case.instance);
        }
    }
    assert!(accepted.iter().all(|&count| count > 20), "{accepted:?} true claims are accepted");
}

/// Each optimum of so many cases is certified, and nothing above it is; the checker in Python says the same.
fn certify(seed: u64, cases: usize) -> usize {
    let mut draw = Draw(seed);
    let (mut certified, mut proofs) = (0, Vec::new());
    for number in 0..cases {
        let scope = ["acyclic", "arbitrary", "convex"][number % 3];
        let objective = if number % 6 == 3 { "gpipe" } else { "throughput" };
        let most = if scope == "acyclic" { 5 } else { 3 };
        let case = Case::drawn(&mut draw, most, scope, number % 6 == 0).of_objective(objective);
        if let Some((optimum, split)) = case.optimum() {
            let mut tree = Tree::new(&case, optimum);
            let lines = match scope {
                "acyclic" => ideals(&case),
                _ if tree.refute(&[]) => tree.lines,
                _ => panic!("no proof of {optimum}: {}", case.first_line(optimum)),
            };
            let [proof, above] = [optimum, optimum + 1].map(|claim| case.proof(claim, &lines));
            assert!(check(&case.instance, &proof, Some(&split)).is_ok(), "{proof}\n{}", case.instance);
            assert!(check(&case.instance, &above, None).is_err(), "{above}\n{}", case.instance);
            proofs.extend([(case.instance.clone(), proof, true), (case.instance, above, false)]);
            certified += 1;
        }
        if proofs.len() >= 500 || number + 1 == cases {
            let pairs: Vec<[&str; 2]> = proofs.iter().map(|(instance, proof, _)| [&instance[..], proof]).collect();
            for (said, (instance, proof, expected)) in python(&pairs).into_iter().flatten().zip(&proofs) {
                assert_eq!(said, *expected, "the checker in Python, of {proof}\n{instance}");
            }
            proofs.clear();
        }
    }
    certified
}

#[test]
fn every_optimum_is_certified_by_both_checkers() {
    let certified = certify(6, 24);
    assert!(certified > 12, "{certified} of 24 cases have a split");
}

#[test]
#[ignore = "minutes; DAGSPLIT_CASES says how many other than 20,000"]
fn every_optimum_of_many_cases_is_certified_by_both_checkers() {
    let cases = std::env::var("DAGSPLIT_CASES").map_or(20_000, |cases| cases.parse().unwrap());
    println!("{} of {cases} cases have a split, and its optimum is certified", certify(7, cases));
}
