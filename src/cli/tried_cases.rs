//! The cases of `conform` several at a time, in parts for several processes, kept as they are tried.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::conformance::{Law, Place, Session, TriedCase};
use crate::report::lines::{Line, Lines};

use super::series::{Shard, journal_failure, together};
use super::{Failure, values};

/// How cases are tried.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct CasesArgs {
    /// Keep what comes of each case, as soon as it is there, in a folder (schema `dagsplit-conformance-case/1`).
    /// Every process has a file of its own there, and no case is tried again that any of them holds of the same
    /// partitioner, question, laws, limits and version.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,

    /// How many cases are tried at a time; 0 is one for each core. Cases beside each other take longer.
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole::<usize>(0..=values::COUNT))]
    jobs: usize,

    /// Try one part of the cases, such as `2/8` (from 1), and report nothing: `slurm` is the part of a task of
    /// `sbatch --array`. The same command without it makes the report.
    #[arg(long, value_name = "PART/COUNT", requires = "results")]
    shard: Option<Shard>,
}

/// What came of a case, and what it is of.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CaseRecord {
    schema: String,
    /// Tells partitioner, question, laws, limits and version from others.
    asked: String,
    #[serde(flatten)]
    place: Place,
    tried: TriedCase,
}

impl Line for CaseRecord {
    const SCHEMA: &'static str = "dagsplit-conformance-case/1";

    fn schema(&self) -> &str {
        &self.schema
    }
}

impl CasesArgs {
    /// Whether only a part of the cases is tried.
    pub fn is_part(&self) -> bool {
        self.shard.is_some()
    }

    /// What comes of cases, in their order, as far as they were tried before `stop` was set or one broke the law of
    /// limits. `watch` is told of each that is done.
    ///
    /// # Errors
    /// Results cannot be read or written.
    pub fn try_all(
        &self,
        session: &Session<'_>,
        places: impl Iterator<Item = Place>,
        asked: &str,
        (stop, watch): (&AtomicBool, &(dyn Fn(Place) + Sync)),
    ) -> Result<Vec<(Place, TriedCase)>, Failure> {
        let own = places.enumerate().filter(|(number, _)| self.shard.is_none_or(|shard| shard.holds(*number)));
        let places: Vec<Place> = own.map(|(_, place)| place).collect();
        let kept = self.kept(asked)?;
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let worker = || {
            let mut made = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let Some(tried) = kept.tried(place, || session.try_case(place), stop)? else { break };
                is_over.fetch_or(tried.broke(Law::Limits), Ordering::Relaxed);
                made.push((place, tried));
                watch(place);
            }
            Ok(made)
        };
        let mut made = together(self.jobs().min(places.len()), worker)?;
        made.sort_by_key(|(place, _)| *place);
        Ok(made)
    }

    fn kept(&self, asked: &str) -> Result<Kept, Failure> {
        let lines = self.results.as_deref().map(Lines::<CaseRecord>::folder).transpose().map_err(journal_failure)?;
        let lines = lines.unwrap_or_default();
        let of_these = lines.records().iter().filter(|record| record.asked == asked);
        let known = of_these.map(|record| (record.place, record.tried.clone())).collect();
        Ok(Kept { asked: asked.into(), known, lines: Mutex::new(lines) })
    }

    fn jobs(&self) -> usize {
        if self.jobs > 0 { self.jobs } else { std::thread::available_parallelism().map_or(1, usize::from) }
    }
}

/// What is kept of the cases of one question.
struct Kept {
    asked: String,
    known: BTreeMap<Place, TriedCase>,
    lines: Mutex<Lines<CaseRecord>>,
}

impl Kept {
    /// What came of a case, or comes of it now, which is then kept; `None` once `stop` is set.
    fn tried(
        &self,
        place: Place,
        try_it: impl FnOnce() -> TriedCase,
        stop: &AtomicBool,
    ) -> Result<Option<TriedCase>, Failure> {
        if let Some(known) = self.known.get(&place) {
            return Ok(Some(known.clone()));
        }
        let tried = try_it();
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (schema, asked) = (CaseRecord::SCHEMA.into(), self.asked.clone());
        let record = CaseRecord { schema, asked, place, tried: tried.clone() };
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).add(record).map_err(journal_failure)?;
        Ok(Some(tried))
    }
}
