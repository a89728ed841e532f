//! Proofs of generated workloads against all their splits: each true claim has a proof, and no false one is accepted.

mod common;

use common::{Case, Draw};
use dagsplit_check::{Error, check};

const NO_CHAIN: &str = "a chain of ideals has every load within the target";

fn ideals(case: &Case) -> Vec<String> {
    vec![format!("{{\"reason\":\"ideals\",\"weights\":{}}}", case.for_kinds(1))]
}

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

/// One line for each case that the tree of decisions comes to, where that proves the claim.
struct Tree<'a> {
    case: &'a Case,
    claim: i128,
    lines: Vec<String>,
}

impl Tree<'_> {
    /// Refutes the case of these decisions, by itself or by deciding more; whether that was possible.
    fn refute(&mut self, under: &[String]) -> bool {
        let kinds = self.case.counts.len();
        let simple = self.candidates(under).into_iter().find(|line| {
            // By itself a line proves its case where there is no other one.
            let bare = [line.clone()];
            match self.case.check(self.claim, &bare) {
                Ok(()) => true,
                Err(Error::Refused { cause, .. }) => cause.starts_with("no reason is given for the case"),
                Err(_) => false,
            }
        });
        if let Some(line) = simple {
            self.lines.push(line);
            return true;
        }
        let nodes = self.case.nodes;
        let on = (0..nodes)
            .flat_map(|v| (0..kinds).map(move |k| (format!("[\"on\",{v},{k}]"), format!("[\"not_on\",{v},{k}]"))));
        let pairs = (0..nodes).flat_map(|u| {
            (u + 1..nodes).map(move |v| (format!("[\"together\",{u},{v}]"), format!("[\"apart\",{u},{v}]")))
        });
        let open = on.chain(pairs).find(|(yes, no)| !under.contains(yes) && !under.contains(no));
        let Some((yes, no)) = open else { return false };
        [yes, no].into_iter().all(|side| self.refute(&[under, &[side]].concat()))
    }

    /// Profits of one node that nothing can hold; of one node of each part of a kind of device.
    fn candidates(&self, under: &[String]) -> Vec<String> {
        let nodes = self.case.nodes;
        let mut profits: Vec<(Vec<u8>, Option<usize>)> =
            (0..nodes).map(|v| ((0..nodes).map(|w| u8::from(v == w)).collect(), None)).collect();
        let together = |u: usize, v: usize| under.contains(&format!("[\"together\",{u},{v}]"));
        for kind in 0..self.case.counts.len() {
            let is_first =
                |v: usize| under.contains(&format!("[\"on\",{v},{kind}]")) && !(0..v).any(|u| together(u, v));
            profits.push(((0..nodes).map(|v| u8::from(is_first(v))).collect(), Some(kind)));
        }
        let mut lines = Vec::new();
        for (profits, holder) in profits {
            // One piece of the load, or memory, at a time.
            for choice in 0..3 {
                let earning = |k: &usize| {
                    let (pieces, is_limited) = self.case.limits(*k);
                    let used = if choice < pieces { choice } else { pieces * usize::from(is_limited) };
                    let weights: Vec<String> = (0..=pieces).map(|i| usize::from(i == used).to_string()).collect();
                    let most = u8::from(holder == Some(*k));
                    format!("{{\"weights\":[{}],\"price\":[0,1],\"most\":{most}}}", weights.join(","))
                };
                let kinds: Vec<String> = (0..self.case.counts.len()).map(|k| earning(&k)).collect();
                let profits: Vec<String> = profits.iter().map(u8::to_string).collect();
                lines.push(format!(
                    "{{\"reason\":\"profits\",\"under\":[{}],\"profits\":[{}],\"kinds\":[{}]}}",
                    under.join(","),
                    profits.join(","),
                    kinds.join(",")
                ));
            }
        }
        lines
    }
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
        let mut tree = Tree { case: &case, claim: optimum, lines: Vec::new() };
        assert!(tree.refute(&[]), "no proof of {optimum}: {}", case.proof(optimum, &tree.lines));
        assert_eq!(case.check(optimum, &tree.lines), Ok(()), "{}", case.proof(optimum, &tree.lines));
        for dropped in 0..tree.lines.len() {
            let mut lines = tree.lines.clone();
            lines.remove(dropped);
            assert!(is_refused(&case.check(optimum, &lines), "no reason is given"));
        }
        tree.lines.reverse();
        assert_eq!(case.check(optimum, &tree.lines), Ok(()));
        let mut above = Tree { case: &case, claim: optimum + 1, lines: Vec::new() };
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

/// The proof with each of its numbers one more and one less, and with lines dropped, doubled and swapped.
fn changed(proof: &str) -> Vec<String> {
    let mut all = Vec::new();
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

/// A proof whose numbers were changed speaks of another question, or claims more or less. Where the question is the same, no
/// claim above the optimum is accepted.
#[test]
fn a_changed_proof_is_refused_or_still_one() {
    let mut draw = Draw(4);
    let (mut refused, mut held) = (0, 0);
    for _ in 0..40 {
        let case = Case::drawn(&mut draw, 4, "acyclic", false);
        let Some((optimum, split)) = case.optimum() else { continue };
        let proof = case.proof(optimum, &ideals(&case));
        let (first, _) = proof.split_once('\n').unwrap();
        let (question, _) = first.split_once("\"order\"").unwrap();
        for other in changed(&proof) {
            match check(&case.instance, &other, Some(&split)) {
                Ok(accepted) => {
                    held += 1;
                    let is_same = other.starts_with(question);
                    assert!(!is_same || accepted.claim == optimum, "{accepted} by {other}");
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 300 && held > 100, "{refused} refused, {held} held");
}

/// The checker in Python says the same of true and of false claims.
#[test]
fn the_checker_in_python_agrees() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check.py");
    let python = |arguments: &[&str]| std::process::Command::new("python3").args(arguments).output();
    if !python(&["--version"]).is_ok_and(|output| output.status.success()) {
        eprintln!("not looked at: there is no Python");
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut draw = Draw(5);
    for number in 0..12 {
        let case = Case::drawn(&mut draw, 4, ["acyclic", "arbitrary", "convex"][number % 3], number % 6 == 0);
        let Some((optimum, _)) = case.optimum() else { continue };
        let mut tree = Tree { case: &case, claim: optimum, lines: Vec::new() };
        let lines = match number % 3 {
            0 => ideals(&case),
            _ if case.nodes < 4 && tree.refute(&[]) => tree.lines,
            _ => vec![format!("{{\"reason\":\"crowd\",\"nodes\":[0],\"most\":{}}}", case.for_kinds(0))],
        };
        for claim in [optimum, optimum + 1] {
            let (instance, proof) = (folder.join("python.json"), folder.join("python.proof"));
            std::fs::write(&instance, &case.instance).unwrap();
            std::fs::write(&proof, case.proof(claim, &lines)).unwrap();
            let output = python(&[script, instance.to_str().unwrap(), proof.to_str().unwrap()]).unwrap();
            let expected = if case.check(claim, &lines).is_ok() { 0 } else { 1 };
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{said}: {}", case.proof(claim, &lines));
        }
    }
}
