//! Every method against the true optimum in exact rationals, on small problems whose numbers lie far apart.
//!
//! Cases are numbered, and a number alone makes its case again: `DIFFERENTIAL_CASE=17 cargo test --test differential`
//! judges that case by all methods. The large sets are ignored; they take `DIFFERENTIAL_CASES` cases from
//! `DIFFERENTIAL_FIRST` on, with all cores.

mod exact;
mod generator;
mod judge;
mod oracle;
mod shrink;

use std::sync::Mutex;

use dagsplit::instance::formats::{OutputFormat, write_instance};
use generator::{Case, Magnitudes, case, case_of};
use judge::{EXACT, Failure, HEURISTIC, PROGRAMS, Tally, judge};
use rayon::prelude::*;

/// How many failures are shown at most.
const SHOWN: usize = 20;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Which methods a case is judged by: heuristics for every fourth, integer programs for every 64th.
fn methods(number: u64) -> Vec<&'static str> {
    let mut methods = EXACT.to_vec();
    if number % 4 == 0 {
        methods.extend(HEURISTIC);
    }
    if number % 64 < 6 {
        methods.extend(PROGRAMS);
    }
    methods
}

/// Judges cases by their numbers and fails with the first of those that some method is wrong about.
fn campaign(numbers: impl IntoParallelIterator<Item = u64>, make: fn(u64) -> Case, methods: fn(u64) -> Vec<&'static str>) {
    let failed = Mutex::new(Vec::new());
    let tally = numbers
        .into_par_iter()
        .fold(Tally::default, |mut tally, number| {
            let case = make(number);
            for failure in judge(&case, &methods(number), number, &mut tally) {
                failed.lock().unwrap().push((number, failure));
            }
            tally
        })
        .reduce(Tally::default, Tally::plus);
    println!("{}", tally.show());
    let mut failed = failed.into_inner().unwrap();
    failed.sort_by_key(|(number, _)| *number);
    for (number, failure) in failed.iter().take(SHOWN) {
        let is_same = |again: &Failure| again.wrong == failure.wrong;
        let fails = |case: &Case| judge(case, &[failure.method], *number, &mut Tally::default()).iter().any(is_same);
        let small = shrink::shrink(make(*number), fails);
        let again = judge(&small, &[failure.method], *number, &mut Tally::default());
        show(*number, &small, again.iter().find(|again| is_same(again)).unwrap_or(failure));
    }
    assert!(failed.is_empty(), "{} answers are wrong", failed.len());
}

fn show(number: u64, case: &Case, Failure { method, wrong, message }: &Failure) {
    let json = write_instance(&case.instance, OutputFormat::Native).unwrap();
    println!("case {number}, {:?}: {method} {wrong:?}: {message}\n{:?}\n{json}", Magnitudes::of(number), case.spec);
}

#[test]
fn the_oracle_and_exhaustive_search_agree_on_whole_numbers() {
    campaign(0..1500, |number| case_of(number, Magnitudes::Whole), |_| vec!["brute-force"]);
}

#[test]
fn every_method_is_right_whatever_the_magnitudes() {
    let first = from_environment("DIFFERENTIAL_CASE", u64::MAX);
    if first != u64::MAX {
        let all = |_| [EXACT, HEURISTIC, PROGRAMS].concat();
        return campaign(first..=first, case, all);
    }
    campaign(0..1500, case, methods);
}

#[test]
#[ignore = "takes a quarter of an hour; run it in release"]
fn every_method_is_right_on_many_cases() {
    let first = from_environment("DIFFERENTIAL_FIRST", 1_000_000);
    campaign(first..first + from_environment("DIFFERENTIAL_CASES", 200_000), case, methods);
}
