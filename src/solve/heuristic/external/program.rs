//! Running a graph partitioner: its files, its options, its answer.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ExternalPartitioner;
use crate::formats::undirected::Undirected;
use crate::formats::{metis, read_text, scotch};
use crate::process::{Exited, Order, in_own_group, watch};
use crate::solve::SearchContext;

/// A family of programs with the same graph files and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// Scotch's `gpart` (Pellegrini and Roman 1996), which Debian calls `scotch_gpart`.
    Scotch,
    /// METIS' `gpmetis` (Karypis and Kumar 1998).
    Metis,
    /// KaHIP's `kaffpa` (Sanders and Schulz 2011).
    Kahip,
}

/// Why a program gave no partition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It is not there.
    #[error("there is no program {}; {cure}", tried.join(" or "))]
    Missing {
        /// The names looked for.
        tried: Vec<String>,
        /// Where to get it, and how to say where it is.
        cure: String,
    },
    /// It ended with an error.
    #[error("{program} failed ({status}): {message}")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status.
        status: String,
        /// The end of what it said.
        message: String,
    },
    /// Its answer is no partition of the graph.
    #[error("{program} gave no partition: {reason}")]
    Garbage {
        /// The program.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// The system could not run it, or could not write or read its files.
    #[error("{program} could not be run: {reason}")]
    System {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
}

impl Partitioner {
    /// The name it is asked for by.
    pub fn name(self) -> &'static str {
        match self {
            Partitioner::Scotch => "scotch",
            Partitioner::Metis => "metis",
            Partitioner::Kahip => "kahip",
        }
    }

    /// The imbalance that the program allows by itself.
    pub fn imbalance(self) -> f64 {
        match self {
            Partitioner::Scotch => 0.05,
            Partitioner::Metis | Partitioner::Kahip => 0.03,
        }
    }

    /// The names that the program is installed under.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Partitioner::Scotch => &["scotch_gpart", "gpart"],
            Partitioner::Metis => &["gpmetis"],
            Partitioner::Kahip => &["kaffpa"],
        }
    }

    fn cure(self) -> String {
        let source = match self {
            Partitioner::Scotch => "install Scotch (Debian: apt install scotch)",
            Partitioner::Metis => "install METIS (Debian: apt install metis)",
            Partitioner::Kahip => "install KaHIP (github.com/KaHIP/KaHIP)",
        };
        format!("{source}, or say where it is: {}:program=PATH", self.name())
    }

    fn write(self, graph: &Undirected) -> String {
        match self {
            Partitioner::Scotch => scotch::write(graph),
            Partitioner::Metis | Partitioner::Kahip => metis::write(graph),
        }
    }

    /// Sets the options for `count` parts of the graph at `graph`; returns where the answer will be.
    fn prepare(self, command: &mut Command, graph: &Path, count: usize, imbalance: f64, seed: u64) -> PathBuf {
        let answer = graph.with_extension(format!("graph.part.{count}"));
        // All of them take 32-bit seeds.
        let seed = seed % (1 << 31);
        match self {
            Partitioner::Scotch => {
                command.arg(format!("-b{imbalance}")).arg(count.to_string()).arg(graph).arg(&answer);
            }
            Partitioner::Metis => {
                let per_mille = (1000.0 * imbalance).round().max(1.0);
                command.arg(format!("-ufactor={per_mille}")).arg(format!("-seed={seed}"));
                // It names its answer after the graph.
                command.arg(graph).arg(count.to_string());
            }
            Partitioner::Kahip => {
                command.arg(graph).arg(format!("--k={count}")).arg(format!("--seed={seed}"));
                command.arg(format!("--imbalance={}", 100.0 * imbalance)).arg("--preconfiguration=eco");
                command.arg(format!("--output_filename={}", answer.display()));
            }
        }
        answer
    }

    /// The part of each of `n` vertices, of `count` parts, in the answer of such a program. O(length).
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub fn parse(self, text: &str, n: usize, count: usize) -> Result<Vec<usize>, String> {
        let numbers: Result<Vec<usize>, _> = text.split_whitespace().map(str::parse).collect();
        let numbers = numbers.map_err(|_| "it holds something else than numbers")?;
        let mut parts = vec![None; n];
        match self {
            Partitioner::Scotch => {
                // The number of vertices, then pairs of a vertex and its part, in any order.
                for pair in numbers.get(1..).unwrap_or_default().chunks_exact(2) {
                    *parts.get_mut(pair[0]).ok_or(format!("there is no vertex {}", pair[0]))? = Some(pair[1]);
                }
            }
            Partitioner::Metis | Partitioner::Kahip => {
                parts.iter_mut().zip(&numbers).for_each(|(part, &number)| *part = Some(number));
            }
        }
        let part = |(v, part): (usize, Option<usize>)| {
            part.filter(|&part| part < count).ok_or(format!("vertex {v} is in none of {count} parts"))
        };
        parts.into_iter().enumerate().map(part).collect()
    }
}

/// The part of each vertex of `graph`, of `count` parts; `None` where the time is up before.
///
/// # Errors
/// [`ProgramError`] says what went wrong and what helps.
pub(super) fn partition(
    external: &ExternalPartitioner,
    graph: &Undirected,
    count: usize,
    cx: &SearchContext,
) -> Result<Option<Vec<usize>>, ProgramError> {
    let partitioner = external.partitioner;
    let names: Vec<PathBuf> = match &external.program {
        Some(program) => vec![program.clone()],
        None => partitioner.programs().iter().map(PathBuf::from).collect(),
    };
    let system = |program: &Path| {
        let program = program.display().to_string();
        move |error: io::Error| ProgramError::System { program, reason: error.to_string() }
    };
    let folder = tempfile::tempdir().map_err(system(&names[0]))?;
    let (input, log) = (folder.path().join("split.graph"), folder.path().join("log"));
    fs::write(&input, partitioner.write(graph)).map_err(system(&names[0]))?;
    for program in &names {
        let mut command = Command::new(program);
        let answer = partitioner.prepare(&mut command, &input, count, external.imbalance, cx.seed);
        // What it prints goes to a file: a pipe would fill up while nobody reads it.
        let log_file = File::create(&log).map_err(system(program))?;
        command.stdin(Stdio::null()).stdout(log_file.try_clone().map_err(system(program))?).stderr(log_file);
        let child = match in_own_group(&mut command).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            spawned => spawned.map_err(system(program))?,
        };
        let order = |_| Ok(if cx.should_stop() { Order::End } else { Order::GoOn });
        let Exited { status, was_ended, .. } = watch(child, order).map_err(system(program))?;
        if was_ended {
            return Ok(None);
        }
        let name = program.display().to_string();
        if !status.success() {
            let message = tail(&log).unwrap_or_default();
            return Err(ProgramError::Failed { program: name, status: status.to_string(), message });
        }
        let garbage = |reason| ProgramError::Garbage { program: name.clone(), reason };
        let text = read_text(&answer).map_err(|error| garbage(format!("its answer: {error}")))?;
        return partitioner.parse(&text, graph.weights.len(), count).map(Some).map_err(garbage);
    }
    let tried = names.iter().map(|name| name.display().to_string()).collect();
    Err(ProgramError::Missing { tried, cure: partitioner.cure() })
}

/// The last lines of what a program said, of which there may be any amount.
fn tail(log: &Path) -> io::Result<String> {
    const LINES: usize = 3;
    const BYTES: u64 = 4096;
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(BYTES)))?;
    let mut said = Vec::new();
    file.take(BYTES).read_to_end(&mut said)?;
    let text = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(LINES)..].join("; "))
}
