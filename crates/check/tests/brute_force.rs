//! Proofs of generated workloads against all their splits: each true claim has a proof, and no false one is accepted.

mod common;

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
        let case = Case::drawn(&mut draw, 5, "acyclic", number % 3 == 0);
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
        let case = Case::drawn(&mut draw, 4, scope, false);
        let Some((optimum, _)) = case.optimum() else { continue };
        let list = |draw: &mut Draw, count: usize, most: u64| {
            let numbers: Vec<String> = (0..count).map(|_| draw.below(most).to_string()).collect();
            format!("[{}]", numbers.join(","))
        };
        let earning = |draw: &mut Draw, pieces: usize| {
            let most = draw.below(12);
            let weights = if pieces == 1 { "[1,0]" } else { "[2,1,0]" };
            format!("{{\"weights\":{weights},\"price\":[{},{}],\"most\":{most}}}", draw.below(3), 1 + draw.below(20))
        };
        let kinds: Vec<String> = (0..case.counts.len()).map(|k| earning(&mut draw, case.limits(k).0)).collect();
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
