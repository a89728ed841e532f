//! What a measurement was made on, without names.

use std::process::Command;

/// Processor, number of cores and day, in words; what the system does not tell is left out.
pub fn describe() -> String {
    let mut words = Vec::new();
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    words.extend(model.map(|(_, model)| model.to_owned()));
    if let Ok(cores) = std::thread::available_parallelism() {
        words.push(format!("{cores} cores"));
    }
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
