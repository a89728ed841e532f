//! Running a program with a time limit.
//!
//! Input and output go through files, so that neither side waits for the other, and a program that leaves children
//! behind cannot keep the caller waiting.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are read of an output.
const MAX_OUTPUT: u64 = 64 << 20;

/// How long the first sleep between two looks at the program is, and the longest.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(10));

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
    kill(&mut command(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
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
    let started = Instant::now();
    let mut child = command.spawn()?;
    let mut sleep = SLEEPS.0;
    loop {
        if let Some(how) = child.try_wait()? {
            let elapsed = started.elapsed();
            return Ok(match how.success() {
                _ if is_flooded(&stdout)? => Ended::Flooded,
                true => Ended::ByItself { output: content(stdout)?, elapsed },
                false => Ended::Failed { how, errors: content(stderr)? },
            });
        }
        let elapsed = started.elapsed();
        if elapsed > limit || stop.load(Ordering::Relaxed) {
            kill(&mut child)?;
            return Ok(Ended::Killed { elapsed });
        }
        if is_flooded(&stdout)? || is_flooded(&stderr)? {
            kill(&mut child)?;
            return Ok(Ended::Flooded);
        }
        thread::sleep(sleep);
        sleep = (2 * sleep).min(SLEEPS.1);
    }
}

/// The program, in a group of its own with all that it starts.
fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Ends the program and all that it started.
fn kill(child: &mut Child) -> io::Result<()> {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        use nix::sys::signal::{Signal, killpg};
        // A group that is gone needs no signal.
        let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
    }
    child.kill()?;
    child.wait().map(|_| ())
}

fn is_flooded(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() > MAX_OUTPUT)
}

/// What was written to a file; what is no text shows as such.
fn content(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
