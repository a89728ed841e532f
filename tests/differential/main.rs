//! Every method against the true optimum in exact rationals, on small problems whose numbers lie far apart.
//!
//! Cases are numbered, and a number alone makes its case again: `DIFFERENTIAL_CASE=17 cargo test --test differential`
//! judges that case by all methods. The large sets are ignored; they take `DIFFERENTIAL_CASES` cases from
//! `DIFFERENTIAL_FIRST` on, with all cores: `cargo test --release --test differential -- --ignored --nocapture`.

mod exact;
mod generator;
mod judge;
mod oracle;
mod program;
mod shrink;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use dagsplit::formats::{OutputFormat, write_instance};
use generator::{Case, Magnitudes, case, case_of};
use judge::{EXACT, Failure, OTHERS, PROGRAMS, Tally, judge};

/// How many failures of one kind are shown for a method.
const SHOWN: usize = 3;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Which methods a case is judged by. Exhaustive search stands in for `certify`, which takes long, in every second of each
/// kind of numbers; heuristics take every fourth, integer programs a few of those whose numbers lie near each other:
/// HiGHS' tolerances are parts of the largest.
fn methods(number: u64) -> Vec<&'static str> {
    let (turn, magnitudes) = (number / Magnitudes::ALL.len() as u64, Magnitudes::of(number));
    let mut methods = EXACT.to_vec();
    if turn % 2 == 1 {
        methods.retain(|&method| method != "certify");
        methods.push("brute-force");
    }
    if turn % 4 == 0 {
        methods.extend(OTHERS);
    }
    let is_near = matches!(magnitudes, Magnitudes::Whole | Magnitudes::Decimal | Magnitudes::NearTie);
    if turn % 32 == 0 && is_near {
        methods.extend(PROGRAMS);
    }
    methods
}

/// Judges these methods on a case of this number.
type Judge<'a> = dyn Fn(&Case, &[&'static str], u64, &mut Tally) -> Vec<Failure> + Sync + 'a;

/// Judges cases by their numbers, on all cores, and fails with the first of those that something is wrong about.
fn campaign(numbers: Range<u64>, make: fn(u64) -> Case, methods: fn(u64) -> Vec<&'static str>, judge: &Judge) {
    let (next, found) = (AtomicU64::new(numbers.start), Mutex::new((Tally::default(), Vec::new())));
    // Threads of our own: a thread of a pool that waits for a solver's pool would take up further cases on its stack.
    let work = || {
        let (mut tally, mut failed) = (Tally::default(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            let failures = judge(&make(number), &methods(number), number, &mut tally);
            failed.extend(failures.into_iter().map(|failure| (number, failure)));
        }
        let mut found = found.lock().unwrap();
        found.0.add(tally);
        found.1.extend(failed);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (tally, mut failed) = found.into_inner().unwrap();
    println!("{}", tally.show());
    failed.sort_by_key(|(number, _)| *number);
    let mut alike: BTreeMap<_, Vec<_>> = BTreeMap::new();
    failed.iter().for_each(|(number, failure)| {
        alike.entry((failure.method, failure.wrong)).or_default().push((*number, failure))
    });
    for ((method, wrong), failures) in &alike {
        println!("{method} {wrong:?}: {:?}", failures.iter().map(|(number, _)| number).collect::<Vec<_>>());
    }
    for (number, failure) in alike.values().flat_map(|failures| failures.iter().take(SHOWN)) {
        show(*number, make(*number), failure, judge);
    }
    assert!(failed.is_empty(), "{} answers are wrong", failed.len());
}

/// Prints the smallest case that is found to have the same fault.
fn show(number: u64, case: Case, failure: &Failure, judge: &Judge) {
    let again = |case: &Case| {
        let failures = judge(case, &[failure.method], number, &mut Tally::default());
        failures.into_iter().find(|again| again.wrong == failure.wrong)
    };
    let small = shrink::shrink(case, |case| again(case).is_some());
    let Failure { method, wrong, message } = again(&small).unwrap_or_else(|| failure.clone());
    let json = write_instance(&small.instance, OutputFormat::Native).unwrap();
    println!("case {number}, {:?}: {method} {wrong:?}: {message}\n{:?}\n{json}", Magnitudes::of(number), small.spec);
}

/// What `dagsplit solve` says of the cases that can be asked for on its command line.
fn program(numbers: Range<u64>) {
    let folder = tempfile::tempdir().unwrap();
    campaign(numbers, case, |_| vec![program::SOLVE], &|case, _, number, tally| {
        if !program::takes(case) {
            return Vec::new();
        }
        let answer = program::judge(case, folder.path(), number, tally);
        let failure = answer.err().map(|(wrong, message)| Failure { method: program::SOLVE, wrong, message });
        failure.into_iter().collect()
    });
}

/// The numbers of a large set.
fn large(default: u64) -> Range<u64> {
    let first = from_environment("DIFFERENTIAL_FIRST", 1_000_000);
    first..first + from_environment("DIFFERENTIAL_CASES", default)
}

#[test]
fn the_oracle_and_exhaustive_search_agree_on_whole_numbers() {
    let whole = |number| case_of(number, Magnitudes::Whole);
    campaign(0..400, whole, |_| vec!["brute-force"], &judge);
}

#[test]
fn every_method_is_right_whatever_the_magnitudes() {
    match from_environment("DIFFERENTIAL_CASE", u64::MAX) {
        u64::MAX => campaign(0..400, case, methods, &judge),
        one => campaign(one..one + 1, case, |_| [EXACT, OTHERS, PROGRAMS].concat(), &judge),
    }
}

#[test]
fn the_program_is_right_whatever_the_magnitudes() {
    program(0..200);
}

#[test]
#[ignore = "200,000 cases take half an hour of processor time; run it in release"]
fn every_method_is_right_on_many_cases() {
    campaign(large(200_000), case, methods, &judge);
}

#[test]
#[ignore = "50,000 processes take a quarter of an hour; run it in release"]
fn the_program_is_right_on_many_cases() {
    program(large(50_000));
}
