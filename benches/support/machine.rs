//! What a measurement was made on, without names.

use std::process::Command;

use dagsplit::internals::report::comparison::Machine;

/// Processor, number of cores and day, in words.
pub fn describe() -> String {
    let Machine { cpu, cores, .. } = Machine::here();
    let mut words = vec![cpu, format!("{cores} cores")];
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    words.extend(date.ok().map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).filter(|d| !d.is_empty()));
    words.join(", ")
}

/// A memory figure of this process in bytes, such as `VmHWM` (its peak), where the system tells it.
pub fn memory(figure: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
