//! The suite itself: deliberately wrong partitioners are caught, for the right law, by a small instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dagsplit::conformance::{Law, Report, Suite};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::problem::{Chunks, Objective, Placement, Problem, ProblemSpec, Scope, Solution};
use dagsplit::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Program, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use dagsplit::solve::{BruteForce, ChunkSearch};

/// A solver that turns what exhaustive search says into something else.
struct Wrong<F> {
    guarantee: Guarantee,
    outcome: F,
}

impl<F: Fn(&Problem, &mut SearchContext) -> Outcome + Send + Sync> Solver for Wrong<F> {
    fn name(&self) -> &str {
        "wrong"
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        BruteForce.supports(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        Ok(Run { outcome: (self.outcome)(problem, cx), stats: Stats::default() })
    }

    /// Without the recomputation that would correct a wrong claim.
    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.search(problem, cx)
    }
}

/// The true outcome, without a limit.
fn truth(problem: &Problem) -> Outcome {
    BruteForce.solve(problem, &mut SearchContext::new()).unwrap().outcome
}

/// A best split, its objective changed by `change`; the truth where there is none.
fn claimed(problem: &Problem, change: fn(f64) -> f64) -> Outcome {
    match truth(problem) {
        Outcome::Optimal { solution, .. } => {
            let objective = solution.objective.map(change);
            Outcome::Feasible { solution: Solution { objective, ..solution }, bound: None }
        }
        other => other,
    }
}

/// A best split, changed by `change`; the truth where there is none.
fn changed(problem: &Problem, change: impl Fn(&mut Solution)) -> Outcome {
    match truth(problem) {
        Outcome::Optimal { mut solution, .. } => {
            change(&mut solution);
            Outcome::Feasible { solution, bound: None }
        }
        other => other,
    }
}

fn bound(problem: &Problem, value: f64) -> LowerBound {
    LowerBound { value, scope: problem.spec.scope.clone(), source: BoundSource::Refuted }
}

/// Quick to run: small problems alone, asked for contiguous throughput.
fn suite() -> Suite {
    Suite { cases: 60, larger: 6, requests: vec![ProblemSpec::default()], ..Suite::default() }
}

/// Runs the suite on the outcomes of `outcome`; they break `law` and no other, and an instance of at most `nodes` nodes
/// shows it.
#[track_caller]
fn breaks(law: Law, nodes: usize, outcome: impl Fn(&Problem, &mut SearchContext) -> Outcome + Send + Sync) {
    breaks_promise(law, nodes, Guarantee::Heuristic, &suite(), outcome);
}

#[track_caller]
fn breaks_promise(
    law: Law,
    nodes: usize,
    guarantee: Guarantee,
    suite: &Suite,
    outcome: impl Fn(&Problem, &mut SearchContext) -> Outcome + Send + Sync,
) {
    only(law, nodes, &suite.run(&Wrong { guarantee, outcome }));
}

#[track_caller]
fn only(law: Law, nodes: usize, report: &Report) {
    let broken: Vec<Law> = report.findings.iter().map(|finding| finding.law).collect();
    assert_eq!(broken, [law], "{report}");
    assert!(!report.passed);
    let finding = report.finding(law).unwrap();
    assert!(finding.nodes <= nodes, "{finding}\n{:?}", finding.case.instance);
}

#[test]
fn a_partitioner_that_tells_the_truth_passes() {
    let report =
        suite().run(&Wrong { guarantee: Guarantee::Exact, outcome: |problem: &Problem, _: &mut _| truth(problem) });
    assert!(report.passed, "{report}");
    assert_eq!(report.quality.gaps.map(|gaps| gaps.max), Some(0.0));
}

#[test]
fn a_node_on_two_devices_is_infeasible() {
    breaks(Law::Feasible, 1, |problem, _| {
        changed(problem, |split| {
            let again = split.devices[0].nodes[0];
            split.devices.last_mut().unwrap().nodes.push(again);
        })
    });
}

#[test]
fn a_split_that_is_not_contiguous_is_infeasible() {
    breaks(Law::Feasible, 3, |problem, _| {
        let mut free = problem.clone();
        free.spec.scope = Scope::Arbitrary;
        changed(&free, |_| ())
    });
}

#[test]
fn a_split_that_ignores_memory_is_infeasible() {
    breaks(Law::Feasible, 1, |problem, _| {
        let mut free = problem.clone();
        free.spec.platform.accelerators.iter_mut().for_each(|class| class.memory = None);
        changed(&free, |_| ())
    });
}

#[test]
fn a_claim_below_the_optimum_is_told_from_a_wrong_one() {
    breaks(Law::NotBelowOptimum, 1, |problem, _| claimed(problem, |value| value / 2.0));
    breaks(Law::Claim, 1, |problem, _| claimed(problem, |value| value + 1.0));
    breaks(Law::Claim, 1, |problem, _| changed(problem, |split| split.objective = None));
}

#[test]
fn a_bound_above_the_optimum_is_wrong() {
    breaks(Law::Bound, 1, |problem, _| match truth(problem) {
        Outcome::Optimal { solution, bound: true_bound } => {
            let wrong = bound(problem, true_bound.value + 0.5);
            Outcome::Feasible { solution, bound: Some(wrong) }
        }
        other => other,
    });
}

#[test]
fn a_false_optimum_is_found() {
    breaks(Law::Optimal, 2, |problem, _| {
        let mut one_device = problem.clone();
        one_device.spec.platform.accelerators.iter_mut().for_each(|class| class.count = class.count.min(1));
        one_device.spec.platform.cpus = usize::from(one_device.spec.platform.accelerators.iter().all(|c| c.count == 0));
        match truth(&one_device) {
            Outcome::Infeasible => truth(problem),
            other => other,
        }
    });
}

#[test]
fn an_optimum_that_its_bound_does_not_prove_is_found() {
    for value in [0.0, f64::INFINITY] {
        breaks(Law::Optimal, 1, move |problem, _| match truth(problem) {
            Outcome::Optimal { solution, .. } => Outcome::Optimal { solution, bound: bound(problem, value) },
            other => other,
        });
    }
}

#[test]
fn a_false_infeasible_is_found() {
    breaks(Law::Infeasible, 3, |problem, _| match truth(problem) {
        Outcome::Optimal { .. } if problem.node_count() > 2 => Outcome::Infeasible,
        other => other,
    });
}

#[test]
fn an_exact_method_that_gives_up_is_found() {
    let gives_up = |problem: &Problem, _: &mut SearchContext| changed(problem, |_| ());
    breaks_promise(Law::Proof, 1, Guarantee::Exact, &suite(), gives_up);
}

#[test]
fn different_answers_to_the_same_question_are_found() {
    let calls = AtomicUsize::new(0);
    breaks(Law::Deterministic, 1, |problem, _| {
        if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return truth(problem);
        }
        Outcome::Unknown { bound: None }
    });
}

#[test]
fn answers_that_depend_on_the_numbers_of_nodes_are_found() {
    let suite = Suite { promises_renumbering: true, ..suite() };
    breaks_promise(Law::Renumbering, 3, Guarantee::Heuristic, &suite, |problem, _| {
        if problem.ids.is_sorted_by(|a, b| a > b) { truth(problem) } else { Outcome::Unknown { bound: None } }
    });
}

#[test]
fn a_partitioner_that_ignores_its_limit_is_found() {
    let limit = Duration::from_millis(300);
    let suite = Suite { time_limit: limit, grace: limit, cases: 2, ..suite() };
    let slow = Wrong {
        guarantee: Guarantee::Heuristic,
        outcome: |problem: &Problem, _: &mut SearchContext| {
            std::thread::sleep(3 * limit);
            changed(problem, |_| ())
        },
    };
    assert!(suite.run(&slow).finding(Law::Limits).is_some());
}

#[test]
fn what_is_wrong_under_cancellation_is_found() {
    breaks(Law::Cancellation, 1, |problem, cx| match truth(problem) {
        Outcome::Optimal { .. } if cx.should_stop() => Outcome::Infeasible,
        other => other,
    });
}

#[test]
fn a_panic_is_found() {
    breaks(Law::Runs, 3, |problem, _| {
        assert!(problem.node_count() < 3, "too many nodes");
        truth(problem)
    });
}

#[test]
fn a_partitioner_that_takes_nothing_does_not_pass() {
    struct Refuses;
    impl Solver for Refuses {
        fn name(&self) -> &str {
            "refuses"
        }
        fn guarantee(&self) -> Guarantee {
            Guarantee::Heuristic
        }
        fn supports(&self, _: &Problem) -> Result<(), Unsupported> {
            Err(Unsupported { solver: "refuses".into(), reason: "it takes nothing".into() })
        }
        fn search(&self, _: &Problem, _: &mut SearchContext) -> Result<Run, SolveError> {
            unreachable!("nobody asks")
        }
    }
    let report = suite().run(&Refuses);
    assert!(!report.passed && report.findings.is_empty());
    assert_eq!(report.refusal.as_deref(), Some("it takes nothing"));
}

#[test]
fn the_instances_of_findings_are_files_that_break_the_law_again() {
    let wrong = |problem: &Problem, _: &mut SearchContext| claimed(problem, |value| value + 1.0);
    let mut report = suite().run(&Wrong { guarantee: Guarantee::Heuristic, outcome: wrong });
    let directory = tempfile::tempdir().unwrap();
    report.save(directory.path()).unwrap();
    let file = report.finding(Law::Claim).and_then(|finding| finding.file.clone()).unwrap();
    assert_eq!(file, directory.path().join("claim.json"));
    let instance = read_instance(&file, &ReadOptions::default()).unwrap();
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    let outcome = wrong(&problem, &mut SearchContext::new());
    assert!(dagsplit::verify::check(&instance, &problem.spec, outcome.solution().unwrap()).is_err());
}

#[test]
fn equal_seeds_give_equal_reports() {
    let run = |seed| {
        let wrong = |problem: &Problem, _: &mut SearchContext| claimed(problem, |value| value + 1.0);
        let report = Suite { seed, ..suite() }.run(&Wrong { guarantee: Guarantee::Heuristic, outcome: wrong });
        Report { seconds: 0.0, ..report }
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).families, run(8).families);
}

/// Runs the suite on a shell script.
#[cfg(unix)]
fn script(suite: &Suite, script: &str) -> Report {
    let program: &dyn Solver = &Program::new(&format!("sh -c {}", shlex::try_quote(script).unwrap())).unwrap();
    assert!(program.is_program());
    suite.run_until(&program, &Arc::new(AtomicBool::new(false)), |_| ())
}

#[cfg(unix)]
#[test]
fn programs_that_crash_or_print_garbage_are_found() {
    let suite = Suite { cases: 3, ..suite() };
    for garbage in
        ["echo hello", "true", "echo '{}'", "echo '{\"status\": \"optimal\", \"fpgas\": []}'", "head -c 9 /dev/zero"]
    {
        only(Law::Readable, 1, &script(&suite, garbage));
    }
    for crash in ["exit 3", "kill -SEGV $$"] {
        only(Law::Runs, 1, &script(&suite, &format!("echo '{{\"fpgas\": []}}'; echo help >&2; {crash}")));
    }
    let detail = |report: &Report| report.findings[0].detail.clone();
    assert!(detail(&script(&suite, "echo help >&2; exit 3")).contains("exit status: 3: help"));
    only(Law::Feasible, 1, &script(&suite, "echo '{\"fpgas\": [{\"nodes\": [123456]}]}'"));
    let unknown = script(&suite, "cat > /dev/null; echo '{\"status\": \"unknown\"}'");
    assert!(unknown.passed && unknown.quality.missed > 0, "{unknown}");
    only(Law::Bound, 1, &script(&suite, "echo '{\"status\": \"unknown\", \"lowerBound\": 1e9}'"));
    only(Law::Infeasible, 1, &script(&suite, "echo '{\"status\": \"infeasible\"}'"));
}

#[cfg(unix)]
#[test]
fn a_program_that_never_ends_is_killed_with_its_children() {
    let limit = Duration::from_millis(100);
    let suite = Suite { cases: 1, time_limit: limit, short_time_limit: limit, grace: limit, ..suite() };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("child");
    // Killed while it waits, the child never writes the file.
    let report = script(&suite, &format!("(sleep 1; touch {}) & sleep 60", file.display()));
    assert!(report.finding(Law::Limits).is_some_and(|finding| finding.detail.contains("it took")), "{report}");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn programs_are_told_what_is_asked() {
    let check = "test \"$DAGSPLIT_SCOPE $DAGSPLIT_OBJECTIVE $DAGSPLIT_COST $DAGSPLIT_SEED $DAGSPLIT_TIME_LIMIT\" \
                 = 'acyclic throughput additive 5 2.5' && echo '{\"status\": \"unknown\"}'";
    let suite = Suite { cases: 1, seed: 5, time_limit: Duration::from_millis(2500), ..suite() };
    let report = script(&suite, check);
    assert!(report.passed, "{report}");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let complaint = |line: &str| Program::new(line).unwrap().try_to_start().unwrap_err().to_string();
    assert!(complaint("no/such/program").contains("no/such/program") && complaint("").contains("needs a program"));
    assert_eq!(Program::new("\"open"), None);
}

/// Splits into chunks as the real search does, but over all devices but one.
struct FewerDevices;

impl Solver for FewerDevices {
    fn name(&self) -> &str {
        "fewer-devices"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn knows_chunks(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        ChunkSearch::default().supports(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let mut fewer = problem.clone();
        let count = &mut fewer.spec.platform.accelerators[0].count;
        *count = (*count - 1).max(1);
        ChunkSearch::default().search(&fewer, cx)
    }
}

#[test]
fn questions_of_chunks_have_a_reference_that_catches_wrong_optima() {
    let request = |chunks| ProblemSpec {
        objective: Objective::Step { microbatches: 4 },
        chunks: Some(chunks),
        ..ProblemSpec::default()
    };
    let chunks = [Chunks::new(2, Placement::Interleaved), Chunks::new(2, Placement::VShape)];
    let suite = Suite { requests: chunks.map(request).to_vec(), ..suite() };
    let report = suite.run(&ChunkSearch::default());
    assert!(report.passed && report.quality.optimal > 10, "{report}");
    let broken = suite.run(&FewerDevices);
    let finding = broken.finding(Law::Optimal).unwrap_or_else(|| panic!("{broken}"));
    assert!(finding.nodes <= 6, "{finding}");
}
