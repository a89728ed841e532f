//! Runs that belong together: those of one method, and those of one task.

use std::collections::HashMap;

use super::gaps::Measured;
use super::record::Record;
use crate::solve::Status;

/// The runs of one method in one scope.
#[derive(Debug, Clone)]
pub struct Group<'a, 'r> {
    /// The method's spec string.
    pub method: &'r str,
    /// Which splits count.
    pub scope: &'static str,
    /// Its runs, without those that the method does not take.
    pub runs: Vec<&'a Measured<'r>>,
}

/// The methods in each scope, in the order of their first runs. A workload that a method does not take counts neither
/// for nor against it.
pub fn groups<'a, 'r>(runs: &'a [Measured<'r>]) -> Vec<Group<'a, 'r>> {
    let mut groups: Vec<Group<'a, 'r>> = Vec::new();
    for run in runs.iter().filter(|run| run.record.ending.status != Status::Unsupported) {
        let (method, scope) = (run.record.trial.method.as_str(), run.record.trial.problem.scope.name());
        match groups.iter_mut().find(|group| (group.method, group.scope) == (method, scope)) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { method, scope, runs: vec![run] }),
        }
    }
    groups
}

/// Items that are equal in a sense, in the order of the first of each. Only those of one workload are looked at. O(n
/// · k) for k classes of a workload.
pub fn classes<'a, T>(
    items: impl IntoIterator<Item = &'a T>,
    record: impl Fn(&'a T) -> &'a Record,
    is_equal: impl Fn(&Record, &Record) -> bool,
) -> Vec<Vec<&'a T>> {
    let mut classes: Vec<Vec<&T>> = Vec::new();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for item in items {
        let of_workload = places.entry(record(item).trial.instance.hash.as_str()).or_default();
        let known = of_workload.iter().find(|&&place| is_equal(record(classes[place][0]), record(item)));
        match known {
            Some(&place) => classes[place].push(item),
            None => {
                of_workload.push(classes.len());
                classes.push(vec![item]);
            }
        }
    }
    classes
}

/// Whether both were asked for the same split: workload, problem, costs.
pub fn is_same_question(a: &Record, b: &Record) -> bool {
    a.is_comparable(b) && a.trial.problem.scope == b.trial.problem.scope
}

/// Whether both were asked for the same split with the same seed: they differ in the method alone.
pub fn is_same_task(a: &Record, b: &Record) -> bool {
    a.trial.seed == b.trial.seed && is_same_question(a, b)
}

/// The methods, in the order of their first runs.
pub fn methods<'r>(runs: &[Measured<'r>]) -> Vec<&'r str> {
    distinct(runs.iter().map(|run| run.record.trial.method.as_str()))
}

/// The scopes, in the order of their first runs.
pub fn scopes(runs: &[Measured<'_>]) -> Vec<&'static str> {
    distinct(runs.iter().map(|run| run.record.trial.problem.scope.name()))
}

/// Texts without those that were there before.
pub fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}
