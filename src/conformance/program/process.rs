//! Running a program with a time limit.
//!
//! Input and output go through files, so that neither side waits for the other, and a program that leaves children
//! behind cannot keep the caller waiting.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::{Exited, Order, in_own_group, watch};

/// The most bytes that are read of an output.
const MAX_OUTPUT: u64 = 64 << 20;

/// How a program ended.
pub(super) enum Ended {
    /// With success.
    ByItself { output: String, elapsed: Duration },
    /// With a failure or by a signal.
    Failed { how: ExitStatus, errors: String },
    /// At the limit, or when the caller was stopped.
    Killed { elapsed: Duration },
    /// It printed more than anyone reads.
    Flooded,
}

/// Whether the program can be started: starts it, and ends it at once.
pub(super) fn try_to_start(words: &[String]) -> io::Result<()> {
    let child = command(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    watch(child, |_| Ok(Order::End)).map(|_| ())
}

/// Runs the program until it ends, `limit` is over, or `stop` is set.
pub(super) fn run(
    words: &[String],
    environment: &[(&'static str, String)],
    input: &str,
    limit: Duration,
    stop: &AtomicBool,
) -> io::Result<Ended> {
    let mut stdin = tempfile::tempfile()?;
    stdin.write_all(input.as_bytes())?;
    stdin.rewind()?;
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = command(words);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let exited = watch(command.spawn()?, |elapsed| {
        let is_over = elapsed > limit || stop.load(Ordering::Relaxed) || is_flooded(&stdout)? || is_flooded(&stderr)?;
        Ok(if is_over { Order::End } else { Order::GoOn })
    })?;
    let Exited { status: how, elapsed, was_ended, .. } = exited;
    Ok(match how.success() {
        _ if is_flooded(&stdout)? || was_ended && is_flooded(&stderr)? => Ended::Flooded,
        _ if was_ended => Ended::Killed { elapsed },
        true => Ended::ByItself { output: content(stdout)?, elapsed },
        false => Ended::Failed { how, errors: content(stderr)? },
    })
}

/// The program, in a group of its own with all that it starts.
fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    in_own_group(&mut command);
    command
}

fn is_flooded(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() > MAX_OUTPUT)
}

/// What was written to a file, up to the limit: what a program left running may go on writing. What is no text shows
/// as such.
fn content(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
