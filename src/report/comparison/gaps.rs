//! How far each run is from the optimum, or from the best bound where none is proven.

use super::record::Record;
use crate::report::method::{Contradiction, MethodRecord, consistent, gap};

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
}

impl Measured<'_> {
    /// objective / reference, as papers print it; `None` where the gap is, and where the reference is 0 and the
    /// objective above.
    pub fn ratio(&self) -> Option<f64> {
        self.gap.map(|gap| 1.0 / (1.0 - gap)).filter(|ratio| ratio.is_finite())
    }
}

/// Each of `records` with its gap, measured against what all of them prove. O(n²) for n records.
pub fn measured(records: &[Record]) -> Vec<Measured<'_>> {
    let measure = |record| {
        let reference = reference(records, record);
        let gap = record.ending.objective.zip(reference).and_then(|(objective, known)| gap(objective, known.value));
        Measured { record, workload: workload(records, record), reference, gap }
    };
    records.iter().map(measure).collect()
}

fn workload<'a>(records: &[Record], of: &'a Record) -> &'a str {
    let own = &of.trial.instance;
    let is_namesake = |other: &&Record| other.trial.instance.name == own.name && other.trial.instance.hash != own.hash;
    let namesakes: Vec<&Record> = records.iter().filter(is_namesake).collect();
    let is_distinct = |end: &&str| namesakes.iter().all(|other| !other.file.ends_with(end));
    if namesakes.is_empty() { &own.name } else { ends(&of.file).find(is_distinct).unwrap_or(&of.file) }
}

/// The last part of a path, the last two, and so on.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices(std::path::MAIN_SEPARATOR).map(|(at, separator)| &path[at + separator.len()..])
}

fn reference(records: &[Record], of: &Record) -> Option<Reference> {
    let comparable: Vec<&Record> = records.iter().filter(|other| other.is_comparable(of)).collect();
    let scope = &of.trial.problem.scope;
    let proven = comparable.iter().filter(|r| r.ending.status.is_proven() && r.trial.problem.scope == *scope);
    let optimum = proven.filter_map(|record| record.ending.objective).min_by(f64::total_cmp);
    if let Some(value) = optimum {
        return Some(Reference { value, is_optimum: true });
    }
    let claim = of.claim();
    let covering = comparable.iter().filter(|record| record.claim().covers(&claim));
    let bound = covering.filter_map(|record| record.ending.lower_bound).max_by(f64::total_cmp);
    bound.map(|value| Reference { value, is_optimum: false })
}

/// The first two claims about one workload that cannot both be true.
pub fn contradiction(records: &[Record]) -> Option<Contradiction> {
    records.iter().find_map(|record| {
        let comparable = records.iter().filter(|other| other.is_comparable(record));
        let claims: Vec<MethodRecord> = comparable.map(Record::claim).collect();
        consistent(&claims).err()
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;
    use crate::problem::Scope;
    use crate::solve::Status;

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
