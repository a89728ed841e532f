//! What came of the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::families::LARGE;
use super::judge::Judged;
use super::partitioner::Case;
use super::quality::{Quality, Tally};
use super::{Breach, Law};
use crate::formats::{OutputFormat, write_atomically, write_instance};
use crate::instance::{Instance, Metadata};

/// Version of [`Report`]: it changes when a field changes its meaning or goes.
pub const SCHEMA: &str = "dagsplit-conformance/1";

/// How often a law was looked at, and broken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LawReport {
    /// The law.
    pub law: Law,
    /// What it asks.
    pub statement: &'static str,
    /// Cases in which there was something to look at.
    pub checked: usize,
    /// Cases that broke it.
    pub broken: usize,
}

/// How good the answers to a family are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyReport {
    /// The family; `large` are the graphs of some hundred nodes.
    pub family: &'static str,
    /// How good the answers are.
    #[serde(flatten)]
    pub quality: Quality,
}

/// A broken law with a small case that breaks it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The law.
    pub law: Law,
    /// What happened.
    pub detail: String,
    /// The family that the case was drawn from, before it was made small.
    pub family: &'static str,
    /// The scope asked for.
    pub scope: &'static str,
    /// The objective asked for.
    pub objective: &'static str,
    /// How many nodes the case has.
    pub nodes: usize,
    /// How many edges it has.
    pub edges: usize,
    /// The file that holds the instance, once it is [saved](Report::save).
    pub file: Option<PathBuf>,
    /// A command line that tries the case again, where there is one.
    pub again: Option<String>,
    /// The case.
    #[serde(skip)]
    pub case: Case,
}

impl Finding {
    pub(super) fn new(breach: Breach, family: &'static str, case: Case) -> Self {
        Self {
            law: breach.law,
            detail: breach.detail,
            family,
            scope: case.spec.scope.name(),
            objective: case.spec.objective.name(),
            nodes: case.instance.nodes.len(),
            edges: case.instance.edges.len(),
            file: None,
            again: None,
            case,
        }
    }

    /// The instance, with what it is for.
    fn named_instance(&self) -> Instance {
        let Self { law, scope, objective, case, .. } = self;
        let name = Some(format!("breaks {law}"));
        let source = Some(format!("dagsplit conform, objective {objective}, {scope} splits"));
        Instance { metadata: Metadata { name, source, ..Metadata::default() }, ..case.instance.clone() }
    }
}

/// What came of the suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `dagsplit-conformance/1`
    pub schema: &'static str,
    /// The partitioner's name.
    pub partitioner: String,
    /// Whether it took some case and broke no law.
    pub passed: bool,
    /// The seed that the cases were drawn with.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// Cases that the partitioner did not take.
    pub refused: usize,
    /// Why it did not take the first of them.
    pub refusal: Option<String>,
    /// How good the answers are.
    pub quality: Quality,
    /// The same for each family.
    pub families: Vec<FamilyReport>,
    /// The laws that the partitioner was held to.
    pub laws: Vec<LawReport>,
    /// The laws that it broke.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The finding about `law`, if it was broken.
    pub fn finding(&self, law: Law) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.law == law)
    }

    /// Writes the instance of each finding to `LAW.json` in `directory`, in dagsplit's own format. The findings then name
    /// their files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&mut self, directory: &Path) -> io::Result<()> {
        if !self.findings.is_empty() {
            std::fs::create_dir_all(directory)?;
        }
        for finding in &mut self.findings {
            let text = write_instance(&finding.named_instance(), OutputFormat::Native).map_err(io::Error::other)?;
            let path = directory.join(format!("{}.json", finding.law));
            write_atomically(&path, text.as_bytes())?;
            finding.file = Some(path);
        }
        Ok(())
    }
}

/// Cases as they are judged.
pub(super) struct Collector {
    partitioner: String,
    seed: u64,
    laws: BTreeMap<Law, (usize, usize)>,
    families: Vec<(&'static str, Tally)>,
    overall: Tally,
    refused: usize,
    refusal: Option<String>,
    findings: Vec<Finding>,
}

impl Collector {
    pub fn new(partitioner: &str, seed: u64, laws: &BTreeSet<Law>) -> Self {
        Self {
            partitioner: partitioner.into(),
            seed,
            laws: laws.iter().map(|&law| (law, (0, 0))).collect(),
            families: Vec::new(),
            overall: Tally::default(),
            refused: 0,
            refusal: None,
            findings: Vec::new(),
        }
    }

    /// Counts a case.
    pub fn add(&mut self, family: &'static str, judged: &Judged) {
        self.overall.add(judged);
        match self.families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, tally)) => tally.add(judged),
            None => {
                let mut tally = Tally::default();
                tally.add(judged);
                self.families.push((family, tally));
            }
        }
        let broken: BTreeSet<Law> = judged.breaches.iter().map(|breach| breach.law).collect();
        for (law, (looked_at, breaches)) in &mut self.laws {
            *looked_at += usize::from(judged.checked.contains(law));
            *breaches += usize::from(broken.contains(law));
        }
    }

    /// Counts a case that the partitioner does not take.
    pub fn refuse(&mut self, reason: &str) {
        self.refused += 1;
        self.refusal.get_or_insert_with(|| reason.to_owned());
    }

    pub fn has_found(&self, law: Law) -> bool {
        self.findings.iter().any(|finding| finding.law == law)
    }

    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub fn report(mut self, elapsed: Duration) -> Report {
        self.families.sort_by_key(|(family, _)| *family == LARGE);
        let quality = self.overall.quality();
        let families = self.families.iter().map(|(family, tally)| FamilyReport { family, quality: tally.quality() });
        let laws = self.laws.iter().map(|(&law, &(checked, broken))| {
            let statement = law.statement();
            LawReport { law, statement, checked, broken }
        });
        Report {
            schema: SCHEMA,
            passed: quality.cases > 0 && self.findings.is_empty(),
            seed: self.seed,
            seconds: elapsed.as_secs_f64(),
            refused: self.refused,
            families: families.collect(),
            laws: laws.collect(),
            partitioner: self.partitioner,
            refusal: self.refusal,
            quality,
            findings: self.findings,
        }
    }
}
