//! What many runs come to, held against an oracle in Python over generated records; two results against each other.

use std::process::Command;

use dagsplit::internals::report::comparison::{
    Curve, Journal, Loss, Measured, Performance, Record, Status, Summary, changes, gaps_over_time, measured, prices,
    profiles, summaries,
};
use dagsplit::internals::report::lines::Lines;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const METHODS: [&str; 3] = ["dp", "dpl", "annealing"];
const SCOPES: [&str; 2] = ["acyclic", "arbitrary"];
const FACTORS: [f64; 5] = [1.0, 1.1, 1.5, 2.0, 100.0];
const MOMENTS: [f64; 5] = [0.0, 0.5, 1.0, 3.0, 1000.0];

/// What a method makes of a workload: how far above the optimum its split is, how far below it its bound, its
/// seconds, and how it ended where it did so otherwise.
type Made = (Option<u32>, Option<u32>, u32, Option<&'static str>);

/// A workload: its optima, how many of the scopes have no split, and for each scope and seed what each method makes
/// of it.
type Workload = ((u32, u32, usize), Vec<Vec<[Made; METHODS.len()]>>);

fn workloads() -> impl Strategy<Value = Vec<Workload>> {
    let otherwise = option::weighted(0.2, select(&["unsupported", "crashed", "interrupted"][..]));
    let made = (option::weighted(0.8, 0u32..6), option::weighted(0.7, 0u32..4), 0u32..40, otherwise);
    let runs = (1usize..4).prop_flat_map(move |seeds| {
        let of_seed = [made.clone(), made.clone(), made.clone()];
        vec(vec(vec(of_seed, seeds), SCOPES.len()), 1..5)
    });
    let without_split = prop_oneof![4 => Just(0), 1 => 1..=SCOPES.len()];
    (runs, vec((0u32..9, 0u32..4, without_split), 4)).prop_map(|(runs, optima)| optima.into_iter().zip(runs).collect())
}

/// The runs of workloads as the oracle reads them.
fn runs(workloads: &[Workload]) -> Vec<Value> {
    let mut runs = Vec::new();
    for (w, ((arbitrary, more, without_split), of_scopes)) in workloads.iter().enumerate() {
        let optima = [arbitrary + more, *arbitrary];
        for (width, ((scope, optimum), of_seeds)) in SCOPES.iter().zip(optima).zip(of_scopes).enumerate() {
            for (seed, made) in of_seeds.iter().enumerate() {
                for (method, &(above, below, time, otherwise)) in METHODS.iter().zip(made) {
                    let is_possible = width >= *without_split && !matches!(otherwise, Some("unsupported" | "crashed"));
                    let objective = above.filter(|_| is_possible).map(|above| f64::from(optimum + above));
                    // It may be below 0.
                    let bound = below.filter(|_| is_possible).map(|below| f64::from(optimum) - f64::from(below));
                    let status = otherwise.unwrap_or(match (objective, above) {
                        (Some(_), _) if objective == bound => "optimal",
                        (Some(_), _) => "feasible",
                        (None, Some(_)) => "infeasible",
                        (None, None) => "unknown",
                    });
                    let seconds = f64::from(time) / 8.0;
                    // Its first split was worse and came earlier.
                    let trace: Vec<(f64, f64)> =
                        objective.iter().flat_map(|&best| [(seconds / 2.0, best + 2.0), (seconds, best)]).collect();
                    runs.push(json!({
                        "workload": format!("w{w}"), "method": method, "scope": scope, "seed": seed, "status": status,
                        "objective": objective, "bound": bound, "seconds": seconds, "trace": trace,
                    }));
                }
            }
        }
    }
    runs
}

fn record(run: &Value) -> Record {
    let trace: Vec<Value> = run["trace"].as_array().unwrap()[..]
        .iter()
        .map(|told| json!({"seconds": told[0], "incumbent": told[1], "bound": null}))
        .collect();
    let record = json!({
        "schema": "dagsplit-compare/1", "file": "w.json",
        "instance": {"name": run["workload"], "hash": run["workload"], "nodes": 4, "edges": 4},
        "problem": problem(run["scope"].as_str().unwrap()), "method": run["method"], "seed": run["seed"],
        "limits": {"time_limit": 60.0, "gap": 0.0, "threads": 1}, "steps": [], "status": run["status"],
        "objective": run["objective"], "lower_bound": run["bound"], "seconds": run["seconds"], "process_seconds": 50.0,
        "peak_bytes": null, "verified": true, "message": null, "trace": trace, "command": [],
        "machine": {"cpu": "a processor", "cores": 2, "system": "linux"},
        "versions": {"dagsplit": "0.1.0", "highs": null},
    });
    serde_json::from_value(record).unwrap()
}

fn problem(scope: &str) -> Value {
    let mut problem = serde_json::to_value(dagsplit::problem::ProblemSpec::default()).unwrap();
    problem["scope"] = scope.into();
    problem
}

/// What the oracle says of runs.
fn oracle(runs: &[Value]) -> Value {
    let mut input = tempfile::tempfile().unwrap();
    let asked = json!({"runs": runs, "factors": FACTORS, "moments": MOMENTS});
    serde_json::to_writer(&mut input, &asked).unwrap();
    std::io::Seek::rewind(&mut input).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/statistics/oracle.py");
    let output = Command::new("python3").arg(script).stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether two values are the same but for the rounding of sums.
fn agree(ours: &Value, theirs: &Value) -> bool {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The value of a group's step function.
fn at(curves: &[Curve<'_>], summary: &Summary, x: f64) -> Option<f64> {
    let curve = curves.iter().find(|curve| (curve.method, curve.scope) == (&summary.method, summary.scope))?;
    curve.steps.iter().rev().find(|step| step.0 <= x * (1.0 + 1e-9)).map(|step| step.1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn statistics_and_curves_are_those_of_the_oracle(workloads in workloads()) {
        let runs = runs(&workloads);
        let records: Vec<Record> = runs.iter().map(record).collect();
        let measured = measured(&records);
        let summaries = summaries(&measured);
        let told = oracle(&runs);
        let groups = told["groups"].as_array().unwrap();
        prop_assert_eq!(summaries.len(), groups.len());
        let progress = gaps_over_time(&measured);
        let shares = [Performance::Objective, Performance::ProofTime].map(|kind| profiles(&measured, kind));
        for (summary, told) in summaries.iter().zip(groups) {
            let ours = serde_json::to_value(summary).unwrap();
            prop_assert_eq!(&json!([summary.method, summary.scope]), &told["group"]);
            for (name, theirs) in told["summary"].as_object().unwrap() {
                prop_assert!(agree(&ours[name], theirs), "{} of {}: {} {}", name, told["group"], ours[name], theirs);
            }
            for (kind, shares) in ["objective", "proof"].iter().zip(&shares) {
                for (i, factor) in FACTORS.iter().enumerate() {
                    let (ours, theirs) = (at(shares, summary, *factor), &told[kind][i]);
                    prop_assert!(agree(&json!(ours), theirs), "{} {} {:?} {}", kind, factor, ours, theirs);
                }
            }
            for (i, moment) in MOMENTS.iter().enumerate() {
                let theirs = &told["progress"][i];
                let ours = at(&progress, summary, *moment);
                prop_assert!(agree(&json!(ours), theirs), "after {} s {:?} {}", moment, ours, theirs);
            }
        }
        let (prices, theirs) = (prices(&measured), told["prices"].as_array().unwrap());
        prop_assert_eq!(prices.len(), theirs.len());
        for (price, theirs) in prices.iter().zip(theirs) {
            prop_assert!(agree(&json!(price.at_least), &theirs[0]), "{:?} {}", price, theirs);
            prop_assert!(agree(&json!(price.at_most), &theirs[1]), "{:?} {}", price, theirs);
        }
    }

    #[test]
    fn what_one_result_loses_the_other_one_has(workloads in workloads(), others in workloads(), factor in 1.0..3.0f64) {
        let [one, other] = [workloads, others].map(|workloads| {
            Journal::from(Lines::from(runs(&workloads).iter().map(record).collect::<Vec<Record>>()))
        });
        // Interrupted runs are none of another version's.
        let records = [&one, &other].map(|journal| journal.runs().cloned().collect::<Vec<Record>>());
        let runs = [measured(&records[0]), measured(&records[1])];
        let (forth, back) = (changes(&runs[0], &other, factor), changes(&runs[1], &one, factor));
        prop_assert_eq!(forth.len(), back.len());
        for change in &forth {
            let same = |run: &&Record| run.trial.equals(&change.now.record.trial);
            prop_assert_eq!(Some(change.before), other.runs().find(same));
            let reverse = back.iter().find(|back| back.before.trial.equals(&change.before.trial)).unwrap();
            prop_assert_eq!((&change.worse, &change.better), (&reverse.better, &reverse.worse));
            let (before, now) = (&change.before.ending, &change.now.record.ending);
            prop_assert_eq!(change.worse.contains(&Loss::Split), before.objective.is_some() && now.objective.is_none());
            let are_proven = [before, now].map(|run| run.status.is_proven() || run.status == Status::Infeasible);
            prop_assert_eq!(change.worse.contains(&Loss::Proof), are_proven == [true, false]);
            let is_higher = now.objective.zip(before.objective).is_some_and(|(now, before)| now > before);
            prop_assert_eq!(change.worse.contains(&Loss::Objective), is_higher);
            let is_longer = now.seconds.unwrap().max(0.1) > factor * before.seconds.unwrap().max(0.1);
            prop_assert_eq!(change.worse.contains(&Loss::Time), are_proven == [true, true] && is_longer);
        }
    }
}

#[test]
fn times_of_other_machines_are_not_compared() {
    let run = |seconds: f64| {
        json!({"workload": "w", "method": "dp", "scope": "acyclic", "seed": 0, "status": "optimal", "objective": 7.0,
               "bound": 7.0, "seconds": seconds, "trace": []})
    };
    let (before, mut now) = ([record(&run(1.0))], [record(&run(9.0))]);
    let before = Journal::from(Lines::from(before.to_vec()));
    let losses = |now: &[Record]| -> Vec<Loss> {
        let runs: Vec<Measured<'_>> = measured(now);
        changes(&runs, &before, 2.0)[0].worse.clone()
    };
    assert_eq!(losses(&now), [Loss::Time]);
    now[0].machine.cores += 1;
    assert_eq!(losses(&now), []);
}
