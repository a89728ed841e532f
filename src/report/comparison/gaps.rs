//! How far each run is from the optimum, or from the best bound where none is proven.

use std::collections::{HashMap, HashSet};

use super::classes::{classes, is_same_question};
use super::record::Record;
use crate::report::method::{Contradiction, MethodRecord, consistent, gap};
use crate::solve::Status;

/// What a gap is measured against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Its value.
    pub value: f64,
    /// Whether it is the proven optimum of the same scope; otherwise it is the best bound that holds for the scope.
    pub is_optimum: bool,
}

impl Reference {
    /// What it is called in tables.
    pub(super) fn name(self) -> &'static str {
        if self.is_optimum { "optimum" } else { "bound" }
    }
}

/// A run with its distance from what is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured<'a> {
    /// The run.
    pub record: &'a Record,
    /// What to call its workload: its name, or so much of its path that no other workload
    /// is called the same.
    pub workload: &'a str,
    /// What its gap is measured against; `None` where nothing is known.
    pub reference: Option<Reference>,
    /// (objective − reference) / objective.
    pub gap: Option<f64>,
    /// Whether a run in its scope, or in a wider one, has proven that there is no split.
    pub has_no_split: bool,
}

impl Measured<'_> {
    /// objective / reference, as papers print it; `None` where the gap is, and where the reference is 0 and the
    /// objective above.
    pub fn ratio(&self) -> Option<f64> {
        self.gap.map(|gap| 1.0 / (1.0 - gap)).filter(|ratio| ratio.is_finite())
    }
}

/// Each of `records` with its gap, measured against what all of them prove. O(n · k) for n records of k workloads with
/// one name.
pub fn measured(records: &[Record]) -> Vec<Measured<'_>> {
    let mut known: HashMap<*const Record, (Option<Reference>, bool)> = HashMap::new();
    for comparable in classes(records, |record| record, Record::is_comparable) {
        for question in classes(comparable.iter().copied(), |record| record, is_same_question) {
            let answer = (reference(&comparable, question[0]), has_no_split(&comparable, question[0]));
            known.extend(question.into_iter().map(|record| (std::ptr::from_ref(record), answer)));
        }
    }
    let mut files: HashMap<&str, HashSet<(&str, &str)>> = HashMap::new();
    for Record { file, trial, .. } in records {
        files.entry(&trial.instance.name).or_default().insert((&trial.instance.hash, file));
    }
    let measure = |record| {
        let (reference, has_no_split) = known[&std::ptr::from_ref::<Record>(record)];
        let gap = record.ending.objective.zip(reference).and_then(|(objective, known)| gap(objective, known.value));
        let workload = workload(&files[record.trial.instance.name.as_str()], record);
        Measured { record, workload, reference, gap, has_no_split }
    };
    records.iter().map(measure).collect()
}

/// What to call a workload, of whose name there are these hashes and files.
fn workload<'a>(files: &HashSet<(&str, &str)>, of: &'a Record) -> &'a str {
    let own = &of.trial.instance;
    let namesakes: Vec<&str> = files.iter().filter(|(hash, _)| *hash != own.hash).map(|(_, file)| *file).collect();
    let is_distinct = |end: &&str| namesakes.iter().all(|other| !other.ends_with(end));
    if namesakes.is_empty() { &own.name } else { ends(&of.file).find(is_distinct).unwrap_or(&of.file) }
}

/// The last part of a path, the last two, and so on.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices(std::path::MAIN_SEPARATOR).map(|(at, separator)| &path[at + separator.len()..])
}

fn reference(comparable: &[&Record], of: &Record) -> Option<Reference> {
    let scope = &of.trial.problem.scope;
    let proven = comparable.iter().filter(|r| r.ending.status.is_proven() && r.trial.problem.scope == *scope);
    let optimum = proven.filter_map(|record| record.ending.objective).min_by(f64::total_cmp);
    if let Some(value) = optimum {
        return Some(Reference { value, is_optimum: true });
    }
    let bound = covering(comparable, of).filter_map(|claim| claim.lower_bound).max_by(f64::total_cmp);
    // A bound below 0, as programs may claim, says no more than 0 does.
    bound.map(|value| Reference { value: value.max(0.0), is_optimum: false })
}

fn has_no_split(comparable: &[&Record], of: &Record) -> bool {
    covering(comparable, of).any(|claim| claim.status == Status::Infeasible)
}

/// What is claimed of every split that a run may find.
fn covering(comparable: &[&Record], of: &Record) -> impl Iterator<Item = MethodRecord> {
    let own = of.claim();
    comparable.iter().map(|record| record.claim()).filter(move |claim| claim.covers(&own))
}

/// The first two claims about one workload that cannot both be true. O(n + Σ k²) for n records, of which k are about
/// one workload and problem.
pub fn contradiction<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Contradiction> {
    let claims = |comparable: Vec<&Record>| comparable.into_iter().map(Record::claim).collect::<Vec<_>>();
    let classes = classes(records, |record| record, Record::is_comparable);
    classes.into_iter().find_map(|comparable| consistent(&claims(comparable)).err())
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;
    use crate::problem::Scope;

    fn proven(objective: f64, scope: Scope) -> Record {
        let mut record = record("dp", Some(objective));
        record.ending.status = Status::Optimal;
        record.ending.lower_bound = Some(objective);
        record.trial.problem.scope = scope;
        record
    }

    #[test]
    fn the_optimum_of_the_same_scope_comes_before_any_bound() {
        let records = [record("dpl", Some(10.0)), proven(8.0, Scope::Acyclic), proven(6.0, Scope::Arbitrary)];
        let gaps = measured(&records);
        assert_eq!(gaps[0].reference, Some(Reference { value: 8.0, is_optimum: true }));
        assert_eq!([gaps[0].gap, gaps[1].gap, gaps[2].gap], [Some(0.2), Some(0.0), Some(0.0)]);
        let mut certified = records;
        certified[1].ending.status = Status::Certified;
        assert_eq!(measured(&certified)[0].reference, Some(Reference { value: 8.0, is_optimum: true }));
    }

    #[test]
    fn an_optimum_of_wider_splits_is_a_bound_and_one_of_narrower_splits_is_none() {
        let wider = [record("dpl", Some(10.0)), proven(6.0, Scope::Arbitrary)];
        assert_eq!(measured(&wider)[0].reference, Some(Reference { value: 6.0, is_optimum: false }));
        let mut narrower = [record("annealing", Some(10.0)), proven(8.0, Scope::Acyclic)];
        narrower[0].trial.problem.scope = Scope::Arbitrary;
        assert_eq!((measured(&narrower)[0].reference, measured(&narrower)[0].gap), (None, None));
    }

    #[test]
    fn another_workload_proves_nothing() {
        let mut records = [record("dpl", Some(10.0)), proven(8.0, Scope::Acyclic)];
        records[1].trial.instance.hash = "other".into();
        records[0].file = "at/a/w.json".into();
        records[1].file = "at/b/w.json".into();
        let names: Vec<&str> = measured(&records).iter().map(|run| run.workload).collect();
        assert_eq!(names, ["a/w.json", "b/w.json"]);
        assert_eq!(measured(&records)[0].reference, None);
        assert_eq!(contradiction(&records), None);
    }

    #[test]
    fn a_split_below_a_proven_optimum_is_a_contradiction() {
        let records = [record("dpl", Some(7.0)), proven(8.0, Scope::Acyclic)];
        assert!(matches!(contradiction(&records), Some(Contradiction::BoundExceeded { .. })));
    }
}
