//! What many runs come to, held against an oracle in Python over generated records; two results against each other.

use std::process::Command;

use dagsplit::internals::report::comparison::{
    Curve, Loss, Measured, Performance, Record, changes, gaps_over_time, measured, prices, profiles, summaries,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

const METHODS: [&str; 3] = ["dp", "dpl", "annealing"];
const SCOPES: [&str; 2] = ["acyclic", "arbitrary"];
const FACTORS: [f64; 5] = [1.0, 1.1, 1.5, 2.0, 100.0];
const MOMENTS: [f64; 5] = [0.0, 0.5, 1.0, 3.0, 1000.0];

/// What a method makes of a workload: how far above the optimum its split is, how far below it its bound, and its
/// seconds.
type Made = (Option<u32>, Option<u32>, u32);

/// A workload: its optima, and for each scope and seed what each method makes of it.
type Workload = ((u32, u32), Vec<Vec<[Made; METHODS.len()]>>);

fn workloads() -> impl Strategy<Value = Vec<Workload>> {
    let made = (option::weighted(0.8, 0u32..6), option::weighted(0.7, 0u32..4), 0u32..40);
    let runs = (1usize..4).prop_flat_map(move |seeds| {
        let of_seed = [made.clone(), made.clone(), made.clone()];
        vec(vec(vec(of_seed, seeds), SCOPES.len()), 1..5)
    });
    (runs, vec((4u32..9, 0u32..4), 4)).prop_map(|(runs, optima)| optima.into_iter().zip(runs).collect())
}

/// The runs of workloads as the oracle reads them.
fn runs(workloads: &[Workload]) -> Vec<Value> {
    let mut runs = Vec::new();
    for (w, ((arbitrary, more), of_scopes)) in workloads.iter().enumerate() {
        for ((scope, optimum), of_seeds) in SCOPES.iter().zip([arbitrary + more, *arbitrary]).zip(of_scopes) {
            for (seed, made) in of_seeds.iter().enumerate() {
                for (method, &(above, below, time)) in METHODS.iter().zip(made) {
                    let objective = above.map(|above| f64::from(optimum + above));
                    let bound = below.map(|below| f64::from(optimum - below));
                    let is_proven = objective.is_some() && objective == bound;
                    let status = if is_proven {
                        "optimal"
                    } else if objective.is_some() {
                        "feasible"
                    } else {
                        "unknown"
                    };
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
fn oracle(runs: &[Value], groups: &[(String, &str)]) -> Value {
    let mut input = tempfile::tempfile().unwrap();
    let asked = json!({"runs": runs, "groups": groups, "factors": FACTORS, "moments": MOMENTS});
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

/// The value of a step function.
fn at(curve: &Curve<'_>, x: f64) -> Option<f64> {
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
        let groups: Vec<(String, &str)> = summaries.iter().map(|s| (s.method.clone(), s.scope)).collect();
        prop_assert_eq!(groups.len(), METHODS.len() * SCOPES.len());
        let told = oracle(&runs, &groups);
        let progress = gaps_over_time(&measured);
        let shares = [Performance::Objective, Performance::ProofTime].map(|kind| profiles(&measured, kind));
        for (place, (summary, told)) in summaries.iter().zip(told["groups"].as_array().unwrap()).enumerate() {
            let ours = serde_json::to_value(summary).unwrap();
            for (name, theirs) in told["summary"].as_object().unwrap() {
                prop_assert!(agree(&ours[name], theirs), "{} of {:?}: {} {}", name, groups[place], ours[name], theirs);
            }
            for (kind, shares) in ["objective", "proof"].iter().zip(&shares) {
                for (i, factor) in FACTORS.iter().enumerate() {
                    let (ours, theirs) = (at(&shares[place], *factor), &told[kind][i]);
                    prop_assert!(agree(&json!(ours), theirs), "{} {} {:?} {}", kind, factor, ours, theirs);
                }
            }
            for (i, moment) in MOMENTS.iter().enumerate() {
                let theirs = &told["progress"][i];
                let ours = at(&progress[place], *moment).or(theirs.as_f64().map(|_| 1.0));
                prop_assert!(agree(&json!(ours), theirs), "after {} s {:?} {}", moment, ours, theirs);
            }
        }
        for (price, theirs) in prices(&measured).iter().zip(told["prices"].as_array().unwrap()) {
            prop_assert!(agree(&json!(price.at_least), &theirs[0]), "{:?} {}", price, theirs);
            prop_assert!(agree(&json!(price.at_most), &theirs[1]), "{:?} {}", price, theirs);
        }
    }

    #[test]
    fn what_one_result_loses_the_other_one_has(workloads in workloads(), others in workloads(), factor in 1.0..3.0f64) {
        let [one, other] = [workloads, others].map(|workloads| {
            runs(&workloads).iter().map(record).collect::<Vec<Record>>()
        });
        let runs = [measured(&one), measured(&other)];
        let (forth, back) = (changes(&runs[0], &other, factor), changes(&runs[1], &one, factor));
        prop_assert_eq!(forth.len(), back.len());
        for change in &forth {
            let same = |run: &&Record| run.trial.equals(&change.now.record.trial);
            prop_assert_eq!(Some(change.before), other.iter().find(same));
            let reverse = back.iter().find(|back| back.before.trial.equals(&change.before.trial)).unwrap();
            prop_assert_eq!((&change.worse, &change.better), (&reverse.better, &reverse.worse));
            let (before, now) = (&change.before.ending, &change.now.record.ending);
            prop_assert_eq!(change.worse.contains(&Loss::Split), before.objective.is_some() && now.objective.is_none());
            prop_assert_eq!(change.worse.contains(&Loss::Proof), before.status.is_proven() && !now.status.is_proven());
            let is_higher = now.objective.zip(before.objective).is_some_and(|(now, before)| now > before);
            prop_assert_eq!(change.worse.contains(&Loss::Objective), is_higher);
            let is_longer = now.seconds.unwrap().max(0.1) > factor * before.seconds.unwrap().max(0.1);
            let are_proven = before.status.is_proven() && now.status.is_proven();
            prop_assert_eq!(change.worse.contains(&Loss::Time), are_proven && is_longer);
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
    let losses = |now: &[Record]| -> Vec<Loss> {
        let runs: Vec<Measured<'_>> = measured(now);
        changes(&runs, &before, 2.0)[0].worse.clone()
    };
    assert_eq!(losses(&now), [Loss::Time]);
    now[0].machine.cores += 1;
    assert_eq!(losses(&now), []);
}
