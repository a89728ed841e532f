//! The runs of each method.

use super::gaps::Measured;
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
