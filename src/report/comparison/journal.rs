//! Records of comparisons that are found again.

use std::collections::HashMap;
use std::path::Path;

use super::record::{COMPARE_SCHEMA, Record, Trial, Versions};
use crate::report::lines::{JournalError, Line, Lines, records};
use crate::solve::Status;

impl Line for Record {
    const SCHEMA: &'static str = COMPARE_SCHEMA;

    fn schema(&self) -> &str {
        &self.schema
    }
}

/// Records by what they are of.
#[derive(Debug, Default)]
pub struct Journal {
    lines: Lines<Record>,
    /// Where the records of a workload, method and seed are.
    places: HashMap<(String, String, u64), Vec<usize>>,
}

impl From<Lines<Record>> for Journal {
    fn from(lines: Lines<Record>) -> Self {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, record) in lines.records().iter().enumerate() {
            places.entry(key(&record.trial)).or_default().push(place);
        }
        Self { lines, places }
    }
}

impl Journal {
    /// The runs in a file or folder of results.
    ///
    /// # Errors
    /// It cannot be read, holds something else, or has one run by several versions.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let journal = Self::from(Lines::from(records(path)?));
        let is_by_another = |run: &Record| journal.ended(&run.trial).any(|other| other.versions != run.versions);
        if journal.runs().any(is_by_another) { Err(JournalError::Versions(path.into())) } else { Ok(journal) }
    }

    /// The last record of an equal trial that went to its end by these versions; where there is none, that by others if
    /// `any_version`. One that Ctrl-C ended is to be run again. O(records of the workload, method and seed).
    pub fn find(&self, trial: &Trial, versions: &Versions, any_version: bool) -> Option<&Record> {
        let by_these = self.ended(trial).find(|record| record.versions == *versions);
        by_these.or_else(|| self.last(trial).filter(|_| any_version))
    }

    /// The last record of an equal trial that went to its end, by whatever version.
    pub fn last(&self, trial: &Trial) -> Option<&Record> {
        self.ended(trial).next()
    }

    /// The last record of each trial that went to its end.
    pub fn runs(&self) -> impl Iterator<Item = &Record> {
        let is_last = |record: &&Record| self.last(&record.trial).is_some_and(|last| std::ptr::eq(last, *record));
        self.lines.records().iter().filter(is_last)
    }

    /// The records of an equal trial that went to its end, from the last one on.
    fn ended(&self, trial: &Trial) -> impl Iterator<Item = &Record> {
        let places = self.places.get(&key(trial)).map(Vec::as_slice).unwrap_or_default();
        let records = places.iter().rev().map(|&place| &self.lines.records()[place]);
        records.filter(|record| record.trial.equals(trial) && record.ending.status != Status::Interrupted)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), JournalError> {
        let key = key(&record.trial);
        self.lines.add(record)?;
        self.places.entry(key).or_default().push(self.lines.records().len() - 1);
        Ok(())
    }
}

fn key(trial: &Trial) -> (String, String, u64) {
    (trial.instance.hash.clone(), trial.method.clone(), trial.seed)
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    #[test]
    fn records_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut journal = Journal::from(Lines::create(&path).unwrap());
        let (mut first, second) = (record("dp", Some(0.1 + 0.2)), record("dpl", None));
        first.ending.status = Status::Interrupted;
        journal.add(first.clone()).unwrap();
        journal.add(second.clone()).unwrap();
        assert!(matches!(Lines::<Record>::create(&path), Err(JournalError::Exists(_))));

        let mut resumed = Journal::from(Lines::resume(&path).unwrap());
        assert_eq!(resumed.find(&second.trial, &second.versions, false), Some(&second));
        assert_eq!(resumed.find(&first.trial, &first.versions, true), None, "an interrupted run is run again");
        first.ending.status = Status::Feasible;
        resumed.add(first.clone()).unwrap();
        let mut resumed = Journal::from(Lines::resume(&path).unwrap());
        assert_eq!(resumed.find(&first.trial, &first.versions, false), Some(&first));
        let other = Trial { seed: 1, ..first.trial.clone() };
        assert_eq!(resumed.find(&other, &first.versions, true), None);
        let other = Versions { dagsplit: "0.0.9".into(), ..first.versions.clone() };
        assert_eq!(resumed.find(&first.trial, &other, false), None);
        assert_eq!(resumed.find(&first.trial, &other, true), Some(&first));
        let costly = Trial { costs: Some("per-edge".into()), ..first.trial.clone() };
        assert_eq!(resumed.find(&costly, &first.versions, true), None);
        // The version asked for comes before what was written last.
        let mut other_first = first.clone();
        other_first.versions = other;
        resumed.add(other_first).unwrap();
        assert_eq!(resumed.find(&first.trial, &first.versions, true), Some(&first));
        assert!(matches!(Journal::read(&path), Err(JournalError::Versions(_))));
    }

    #[test]
    fn a_run_is_the_last_record_that_was_not_interrupted() {
        let of = |status: Status, objective: f64| {
            let mut record = record("dp", Some(objective));
            record.ending.status = status;
            record
        };
        let (first, last) = (of(Status::Feasible, 9.0), of(Status::Optimal, 7.0));
        let interrupted = of(Status::Interrupted, 12.0);
        for orders in [[&first, &interrupted, &last], [&interrupted, &first, &last], [&first, &last, &interrupted]] {
            let folder = tempfile::tempdir().unwrap();
            for record in orders {
                // Each writer has a file of its own, the names of which are in any order; here they are one's.
                Lines::resume(&folder.path().join("runs.jsonl")).unwrap().add(record.clone()).unwrap();
            }
            let journal = Journal::read(folder.path()).unwrap();
            assert_eq!(journal.runs().collect::<Vec<_>>(), [&last]);
            assert_eq!(journal.last(&first.trial), Some(&last));
        }
        assert_eq!(Journal::from(Lines::from(vec![interrupted])).runs().count(), 0);
    }
}
