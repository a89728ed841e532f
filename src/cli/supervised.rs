//! One `dagsplit solve` in a process of its own: whatever happens to it is a result.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dagsplit::report::comparison::{Answer, Ending, Status};

/// How often the process is looked at.
const PAUSE: Duration = Duration::from_millis(5);

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

/// How a process went.
struct Exited {
    status: ExitStatus,
    peak_bytes: Option<u64>,
    interrupted: bool,
    killed: bool,
}

/// Runs `program` with `arguments`, which have to ask for `--json`.
pub fn run(program: &Path, arguments: &[String], supervision: &Supervision<'_>) -> Ending {
    let started = Instant::now();
    let ending = answer_of(program, arguments, supervision).unwrap_or_else(|error| {
        Ending::without_result(Status::Crashed, format!("{}: it cannot be run: {error}", program.display()))
    });
    Ending { process_seconds: started.elapsed().as_secs_f64(), ..ending }
}

fn answer_of(program: &Path, arguments: &[String], supervision: &Supervision<'_>) -> std::io::Result<Ending> {
    // Files take any amount of output, where a pipe that nobody reads would block the process.
    let (mut answer, mut words) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(answer.try_clone()?).stderr(words.try_clone()?);
    // Ctrl-C reaches the group of the terminal; the process is to get it from us, once.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let exited = watch(command.spawn()?, supervision)?;
    let ending = judge(&exited, parsed(&mut answer), || last_words(&mut words));
    Ok(Ending { peak_bytes: exited.peak_bytes, ..ending })
}

fn watch(mut child: Child, supervision: &Supervision<'_>) -> std::io::Result<Exited> {
    let mut deadline = supervision.patience.and_then(|patience| Instant::now().checked_add(patience));
    let (mut interrupted, mut killed, mut peak) = (false, false, None);
    while !system::has_exited(&mut child)? {
        peak = system::peak_bytes(&child).or(peak);
        if !interrupted && supervision.interrupted.load(Ordering::Relaxed) {
            interrupted = true;
            system::ask_to_stop(&mut child)?;
            deadline = Some(Instant::now() + FAREWELL);
        }
        if !killed && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            killed = true;
            system::kill(&mut child)?;
        }
        std::thread::sleep(PAUSE);
    }
    let (status, reported) = system::reap(&mut child)?;
    Ok(Exited { status, peak_bytes: peak.or(reported), interrupted, killed })
}

fn judge(exited: &Exited, answer: Result<Answer, String>, last_words: impl FnOnce() -> String) -> Ending {
    let code = exited.status.code();
    match answer {
        Ok(answer) if exited.interrupted => Ending { status: Status::Interrupted, ..answer.into_ending() },
        Ok(answer) if matches!(code, Some(0 | 4 | 5)) => answer.into_ending(),
        _ if exited.interrupted => Ending::without_result(Status::Interrupted, "it was interrupted".into()),
        _ if exited.killed => Ending::without_result(Status::Killed, "it went on after its time limit".into()),
        Err(error) if code == Some(0) => Ending::without_result(Status::Crashed, format!("no result: {error}")),
        _ => {
            let status = if code == Some(2) { Status::Unsupported } else { Status::Crashed };
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
    let read = file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).and_then(|_| file.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    if read.is_err() || words.is_empty() { "it said nothing".into() } else { words.join(" ") }
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::process::{Child, ExitStatus};

    use nix::errno::Errno;
    use nix::sys::signal::{self, Signal, killpg};
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    use nix::unistd::Pid;
    use wait4::Wait4;

    /// Looks without reaping, so that the process' figures can still be asked for and its id is still its own.
    pub fn has_exited(child: &mut Child) -> io::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(pid(child)), flags) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    pub fn ask_to_stop(child: &mut Child) -> io::Result<()> {
        Ok(signal::kill(pid(child), Signal::SIGINT)?)
    }

    /// Ends the process and all that it started.
    pub fn kill(child: &mut Child) -> io::Result<()> {
        Ok(killpg(pid(child), Signal::SIGKILL)?)
    }

    /// The most memory that the process has held so far, where the system tells it of a process that runs. What
    /// [`reap`] tells counts on Linux what this process held when it began the other one, too.
    pub fn peak_bytes(child: &Child) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }

    pub fn reap(child: &mut Child) -> io::Result<(ExitStatus, Option<u64>)> {
        let used = child.wait4()?;
        Ok((used.status, Some(used.rusage.maxrss)))
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_raw(child.id().cast_signed())
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::process::{Child, ExitStatus};

    pub fn has_exited(child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    /// There is no gentle way that every such system knows.
    pub fn ask_to_stop(child: &mut Child) -> io::Result<()> {
        child.kill()
    }

    pub fn kill(child: &mut Child) -> io::Result<()> {
        child.kill()
    }

    pub fn peak_bytes(_: &Child) -> Option<u64> {
        None
    }

    pub fn reap(child: &mut Child) -> io::Result<(ExitStatus, Option<u64>)> {
        Ok((child.wait()?, None))
    }
}
