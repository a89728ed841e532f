//! Running a program with a time limit.
//!
//! Input and output go through files, so that neither side waits for the other, and a program that leaves children
//! behind cannot keep the caller waiting.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::{Exited, Order, in_own_group, watch};

/// The most bytes that are read of an output.
const MAX_OUTPUT: u64 = 64 << 20;

/// How a program ended.
pub(super) enum Ended {
    /// With success.
    ByItself { output: String },
    /// With a failure or by a signal.
    Failed { errors: String },
    /// When its time was over.
    Killed,
    /// It printed more than anyone reads.
    Flooded,
}

/// A program that runs.
pub(super) struct Started {
    child: Child,
    stdout: File,
    stderr: File,
}

/// Whether the program can be started: starts it, and ends it at once.
pub(super) fn try_to_start(program: &str, arguments: &[String]) -> io::Result<()> {
    let mut command = command(program, arguments);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    watch(child, |_| Ok(Order::End)).map(|_| ())
}

/// Starts the program.
pub(super) fn start(
    program: &str,
    arguments: &[String],
    environment: &[(&'static str, String)],
    input: &str,
) -> io::Result<Started> {
    let mut stdin = tempfile::tempfile()?;
    stdin.write_all(input.as_bytes())?;
    stdin.rewind()?;
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = command(program, arguments);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    Ok(Started { child: command.spawn()?, stdout, stderr })
}

impl Started {
    /// Waits until the program ends, or its time `is_over` and it is ended.
    pub fn wait(self, is_over: impl Fn(Duration) -> bool) -> io::Result<(Exited, Ended)> {
        let Self { child, stdout, stderr } = self;
        let exited = watch(child, |elapsed| {
            let ends = is_over(elapsed) || is_flooded(&stdout)? || is_flooded(&stderr)?;
            Ok(if ends { Order::End } else { Order::GoOn })
        })?;
        let ended = match exited.status.success() {
            _ if is_flooded(&stdout)? || exited.was_ended && is_flooded(&stderr)? => Ended::Flooded,
            _ if exited.was_ended => Ended::Killed,
            true => Ended::ByItself { output: content(stdout)? },
            false => Ended::Failed { errors: content(stderr)? },
        };
        Ok((exited, ended))
    }
}

/// The program, in a group of its own with all that it starts.
fn command(program: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
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
