//! One `dagsplit solve` in a process of its own: whatever happens to it is a result.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::{Exited, Order, in_own_group, watch};
use crate::report::comparison::{Answer, Ending, Status};
use crate::solve::PROGRAM_PEAK_BYTES;
use crate::text;

/// How long a process may take to stop after Ctrl-C before it is ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// How much is kept of what a process says on standard error, in bytes.
const LAST_WORDS: u64 = 600;

/// A longer answer is no result of ours.
const LONGEST_ANSWER: u64 = 1 << 28;

/// When a process is ended from outside.
pub struct Supervision<'a> {
    /// The time it has; `None` is without limit.
    pub patience: Option<Duration>,
    /// Set by Ctrl-C: the process is asked to stop, and gives its best split.
    pub interrupted: &'a AtomicBool,
}

/// Runs `program` with `arguments`, which have to ask for `--json`.
pub fn run(program: &Path, arguments: &[String], supervision: &Supervision<'_>) -> Ending {
    let started = Instant::now();
    let ending = answer_of(program, arguments, supervision).unwrap_or_else(|error| {
        Ending::without_result(Status::Crashed, format!("{}: it cannot be run: {error}", text::path(program)))
    });
    Ending { process_seconds: started.elapsed().as_secs_f64(), ..ending }
}

fn answer_of(program: &Path, arguments: &[String], supervision: &Supervision<'_>) -> std::io::Result<Ending> {
    // Files take any amount of output, where a pipe that nobody reads would block the process.
    let (mut answer, mut words) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(answer.try_clone()?).stderr(words.try_clone()?);
    // The process is to get Ctrl-C from us, once.
    let (exited, interrupted) = watched(in_own_group(&mut command).spawn()?, supervision)?;
    let ending = judge(&exited, interrupted, parsed(&mut answer), || last_words(&mut words));
    // A program that it ran counts, too.
    let of_program = ending.stats.get(PROGRAM_PEAK_BYTES).map(|&bytes| bytes as u64);
    Ok(Ending { peak_bytes: exited.peak_bytes.max(of_program), cpu_seconds: exited.cpu_seconds, ..ending })
}

/// Waits for the end of `child`, and whether Ctrl-C came before.
fn watched(child: Child, supervision: &Supervision<'_>) -> std::io::Result<(Exited, bool)> {
    let mut patience = supervision.patience;
    let mut interrupted = false;
    let exited = watch(child, |elapsed| {
        if !interrupted && supervision.interrupted.load(Ordering::Relaxed) {
            interrupted = true;
            patience = Some(elapsed + FAREWELL);
            return Ok(Order::Stop);
        }
        Ok(if patience.is_some_and(|patience| elapsed >= patience) { Order::End } else { Order::GoOn })
    })?;
    Ok((exited, interrupted))
}

fn judge(
    exited: &Exited,
    interrupted: bool,
    answer: Result<Answer, String>,
    last_words: impl FnOnce() -> String,
) -> Ending {
    let code = exited.status.code();
    match answer {
        Ok(answer) if interrupted => Ending { status: Status::Interrupted, ..answer.into_ending() },
        Ok(answer) if matches!(code, Some(0 | 4 | 5)) => answer.into_ending(),
        _ if interrupted => Ending::without_result(Status::Interrupted, "it was interrupted".into()),
        _ if exited.was_ended => Ending::without_result(Status::Killed, "it went on after its time limit".into()),
        Err(error) if code == Some(0) => Ending::without_result(Status::Crashed, format!("no result: {error}")),
        _ => {
            let status = super::exit::status(code);
            Ending::without_result(status, format!("{}: {}", exited.status, last_words()))
        }
    }
}

fn parsed(file: &mut File) -> Result<Answer, String> {
    file.rewind().map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(LONGEST_ANSWER).read_to_string(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The end of what a process said, in one line.
fn last_words(file: &mut File) -> String {
    let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut bytes = Vec::new();
    let start = file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)));
    let read = start.and_then(|_| file.take(LAST_WORDS).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    if read.is_err() || words.is_empty() { "it said nothing".into() } else { words.join(" ") }
}
