//! Methods beside each other: the record of each run, the file that keeps the records, their gaps and
//! what these come to, and tables of it.

mod changes;
mod classes;
mod curves;
mod gaps;
mod groups;
mod journal;
mod prices;
mod record;
mod sheet;
mod summary;
mod tables;

pub use changes::{Change, Loss, changes};
pub use curves::{Curve, Performance, gaps_over_time, profiles};
pub use gaps::{Measured, Reference, contradiction, measured};
pub use journal::Journal;
pub use record::{Answer, COMPARE_SCHEMA, Ending, Limits, Machine, Record, Trial, Versions};

pub use crate::solve::Status;
pub use classes::{classes, is_same_question};
pub use groups::{Group, distinct, groups, methods, scopes};
pub use prices::{Price, prices};
pub use summary::{Summary, summaries};
pub use tables::{Table, table};

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::problem::ProblemSpec;
    use crate::registry;
    use crate::report::InstanceRecord;

    /// A record of `method` on a workload called `w`; an objective makes it feasible, none a crash.
    pub fn record(method: &str, objective: Option<f64>) -> Record {
        let instance = InstanceRecord { name: "w".into(), hash: "00ff".into(), nodes: 4, edges: 4 };
        let status = if objective.is_some() { Status::Feasible } else { Status::Crashed };
        Record {
            schema: COMPARE_SCHEMA.into(),
            file: "w.json".into(),
            trial: Trial {
                instance,
                problem: ProblemSpec::default(),
                costs: None,
                method: method.into(),
                seed: 0,
                limits: Limits { time_limit: Some(60.0), gap: 0.0, threads: 1, memory_limit: None, certify: false },
            },
            steps: registry::settings(method).unwrap(),
            ending: Ending {
                status,
                objective,
                lower_bound: None,
                seconds: objective.map(|_| 0.5),
                process_seconds: 0.75,
                cpu_seconds: Some(0.5),
                peak_bytes: Some(1 << 20),
                verified: objective.is_some(),
                message: objective.is_none().then(|| "signal 6".into()),
                stats: Default::default(),
                devices: Vec::new(),
                trace: Default::default(),
                plan: None,
            },
            command: vec!["dagsplit".into(), "solve".into(), "w.json".into()],
            machine: Machine { cpu: "a processor".into(), cores: 2, system: "linux".into() },
            versions: Versions { dagsplit: "0.1.0".into(), highs: None, program: None },
        }
    }
}
