//! Records that belong together: those of one question, and those of one task.

use std::collections::HashMap;

use super::record::Record;

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
