//! Records of comparisons that are found again.

use std::collections::HashMap;

use super::record::{COMPARE_SCHEMA, Record, Trial, Versions};
use crate::report::lines::{JournalError, Line, Lines};
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
    /// The last record of an equal trial that went to its end by these versions; where there is none, that by others if
    /// `any_version`. One that Ctrl-C ended is to be run again. O(records of the workload, method and seed).
    pub fn find(&self, trial: &Trial, versions: &Versions, any_version: bool) -> Option<&Record> {
        let places = self.places.get(&key(trial)).map(Vec::as_slice).unwrap_or_default();
        let mut ended = places
            .iter()
            .rev()
            .map(|&place| &self.lines.records()[place])
            .filter(|record| record.trial.equals(trial) && record.ending.status != Status::Interrupted);
        let by_these = ended.clone().find(|record| record.versions == *versions);
        by_these.or_else(|| ended.find(|_| any_version))
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
    }
}
