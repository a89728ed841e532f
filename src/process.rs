//! Programs that run beside this one: watched, asked to stop, and ended with all that they started, at the latest when
//! this one ends, however it does.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How long the first sleep between two looks at a program is, and the longest.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(5));

/// What a program that is watched is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Go on.
    GoOn,
    /// Stop by itself, as on Ctrl-C, where the system knows such a way.
    Stop,
    /// End at once, with all in its group.
    End,
}

/// How a program that was watched ended.
#[derive(Debug, Clone, Copy)]
pub struct Exited {
    /// Its exit status.
    pub status: ExitStatus,
    /// The most memory that it held, in bytes, where the system tells it.
    pub peak_bytes: Option<u64>,
    /// Its time on processors in seconds, with that of all that it waited for, where the system tells it.
    pub cpu_seconds: Option<f64>,
    /// How long it was watched.
    pub elapsed: Duration,
    /// Whether it was [ended](Order::End).
    pub was_ended: bool,
}

/// Puts the program that `command` starts in a group of its own, with all that it starts: then it can be ended as a
/// whole, and does not get the terminal's Ctrl-C.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

/// Watches `child` until it has ended. At each look `order` says what it is to do, by the time since the first one; once
/// it is to end, nothing more is asked.
///
/// On Unix a guard of its own ends the program, with its group where it leads one, when this program ends before, be it by
/// SIGKILL: a shell that waits for the end of a pipe.
///
/// # Errors
/// The system cannot tell how the program is, or `order` fails. The program is ended then.
pub fn watch(mut child: Child, order: impl FnMut(Duration) -> io::Result<Order>) -> io::Result<Exited> {
    // The guard is called off before the program is reaped, while its id is nobody else's.
    let guard = system::Guard::new(&child);
    let exited = follow(&mut child, order, guard);
    if exited.is_err() {
        // What went wrong first is told; the program may have ended, so that there is nothing left to end.
        let _ = system::end(&mut child);
        let _ = system::reap(&mut child);
    }
    exited
}

fn follow(
    child: &mut Child,
    mut order: impl FnMut(Duration) -> io::Result<Order>,
    guard: Option<system::Guard>,
) -> io::Result<Exited> {
    let started = Instant::now();
    let (mut was_ended, mut peak, mut sleep) = (false, None, SLEEPS.0);
    while !system::has_exited(child)? {
        peak = system::peak_bytes(child).or(peak);
        if !was_ended {
            match order(started.elapsed())? {
                Order::GoOn => {}
                Order::Stop => system::ask_to_stop(child)?,
                Order::End => {
                    was_ended = true;
                    system::end(child)?;
                }
            }
        }
        thread::sleep(sleep);
        sleep = (2 * sleep).min(SLEEPS.1);
    }
    let elapsed = started.elapsed();
    drop(guard);
    let (status, used) = system::reap(child)?;
    let (cpu_seconds, reported) = used.unzip();
    Ok(Exited { status, peak_bytes: peak.or(reported), cpu_seconds, elapsed, was_ended })
}

#[cfg(unix)]
mod system {
    use std::io::{self, Write};
    use std::process::{Child, Command, ExitStatus, Stdio};

    use nix::errno::Errno;
    use nix::sys::signal::{self, Signal, killpg};
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    use nix::unistd::{Pid, getpgid};
    use wait4::Wait4;

    /// Ends a program when this one ends without having called it off.
    pub struct Guard(Child);

    impl Guard {
        /// The end of the pipe comes when the last process that could write to it has ended, which is this one: the system
        /// closes it, and nobody inherits it. A line is the call off.
        const SCRIPT: &str = "trap '' HUP INT TERM; read -r line || kill -s KILL -- \"$0\"";

        /// A guard of `child`; `None` where there is no shell.
        pub fn new(child: &Child) -> Option<Self> {
            let id = pid(child);
            let target = if getpgid(Some(id)) == Ok(id) { -id.as_raw() } else { id.as_raw() };
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", Self::SCRIPT, &target.to_string()]);
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            super::in_own_group(&mut shell).spawn().ok().map(Self)
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            // A guard that has ended needs no call.
            let _ = self.0.stdin.take().map(|mut pipe| pipe.write_all(b"\n"));
            let _ = self.0.wait();
        }
    }

    /// Looks without reaping, so that the process' figures can still be asked for and its id is still its own.
    pub fn has_exited(child: &mut Child) -> io::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(pid(child)), flags) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Not by SIGINT, which programs begun in the background of a shell ignore, with all that they start.
    pub fn ask_to_stop(child: &mut Child) -> io::Result<()> {
        Ok(signal::kill(pid(child), Signal::SIGTERM)?)
    }

    /// Ends the process, and all in its group where that is its own.
    pub fn end(child: &mut Child) -> io::Result<()> {
        let id = pid(child);
        let leads = getpgid(Some(id)) == Ok(id);
        Ok(if leads { killpg(id, Signal::SIGKILL) } else { signal::kill(id, Signal::SIGKILL) }?)
    }

    /// The most memory that the process has held so far, where the system tells it of a process that runs. What
    /// [`reap`] tells counts on Linux what this process held when it began the other one, too.
    pub fn peak_bytes(child: &Child) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }

    /// Its exit status, its seconds on processors, and its most memory.
    pub fn reap(child: &mut Child) -> io::Result<(ExitStatus, Option<(f64, u64)>)> {
        let wait4::ResUse { status, rusage } = child.wait4()?;
        Ok((status, Some(((rusage.utime + rusage.stime).as_secs_f64(), rusage.maxrss))))
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

    /// There is none.
    pub struct Guard;

    impl Guard {
        pub fn new(_: &Child) -> Option<Self> {
            None
        }
    }

    /// There is no gentle way that every such system knows.
    pub fn ask_to_stop(child: &mut Child) -> io::Result<()> {
        child.kill()
    }

    pub fn end(child: &mut Child) -> io::Result<()> {
        child.kill()
    }

    pub fn peak_bytes(_: &Child) -> Option<u64> {
        None
    }

    pub fn reap(child: &mut Child) -> io::Result<(ExitStatus, Option<(f64, u64)>)> {
        Ok((child.wait()?, None))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sleeper() -> Child {
        in_own_group(Command::new("sleep").arg("60")).spawn().expect("every system has sleep")
    }

    #[test]
    fn a_program_ends_when_it_is_told_to() {
        let ended = watch(sleeper(), |_| Ok(Order::End)).expect("watched");
        assert!(ended.was_ended && !ended.status.success() && ended.elapsed < Duration::from_secs(30));
        let mut asked = false;
        let stop_once = |_| Ok(if std::mem::replace(&mut asked, true) { Order::GoOn } else { Order::Stop });
        let stopped = watch(sleeper(), stop_once).expect("watched");
        assert!(!stopped.was_ended && stopped.status.code().is_none());
    }

    #[test]
    fn a_program_ends_where_watching_it_fails() {
        let child = sleeper();
        let id = nix::unistd::Pid::from_raw(child.id().cast_signed());
        let failed = watch(child, |_| Err(io::Error::other("no")));
        assert_eq!(failed.map(|_| ()).map_err(|error| error.to_string()), Err("no".to_owned()));
        // It is reaped, so its id is nobody's.
        assert_eq!(nix::sys::signal::kill(id, None), Err(nix::errno::Errno::ESRCH));
    }

    #[test]
    fn a_program_may_end_by_itself() {
        let child = Command::new("true").spawn().expect("every system has true");
        let exited = watch(child, |_| Ok(Order::GoOn)).expect("watched");
        assert!(exited.status.success() && !exited.was_ended);
    }
}
