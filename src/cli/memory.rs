//! How much memory the program uses, and how much it may use.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::solve::MemoryBudget;

/// How many bytes are allocated, as the program's allocator counts them.
pub static ALLOCATED: OnceLock<fn() -> usize> = OnceLock::new();

/// The part of the memory there is that a search may use where no limit is given.
const SHARE: f64 = 0.75;

/// What is resident counts by this part: where allocations leave gaps it is more than what is allocated, and may fill
/// some of the reserve that a budget keeps.
const RESIDENT: f64 = 0.85;

/// What is resident is asked for so often, in milliseconds: that takes longer than a look at a counter.
const PERIOD: u64 = 20;

/// A budget of `limit` bytes, or of three quarters of what the machine and the job allow.
pub fn budget(limit: Option<u64>) -> Option<MemoryBudget> {
    let limit = limit.or_else(default_limit)?;
    let (due, resident) = (AtomicU64::new(0), AtomicUsize::new(0));
    let in_use = move || {
        let now = super::started().elapsed().as_millis() as u64;
        if now >= due.load(Ordering::Relaxed) {
            due.store(now + PERIOD, Ordering::Relaxed);
            resident.store((resident_bytes().unwrap_or(0) as f64 * RESIDENT) as usize, Ordering::Relaxed);
        }
        let allocated = ALLOCATED.get().map_or(0, |allocated| allocated());
        allocated.max(resident.load(Ordering::Relaxed))
    };
    Some(MemoryBudget::new(usize::try_from(limit).unwrap_or(usize::MAX), in_use))
}

/// What a search may use where no limit is given, in bytes.
pub fn default_limit() -> Option<u64> {
    available().map(|bytes| (bytes as f64 * SHARE) as u64)
}

/// The least of what the machine, the job's control groups and the process's own limit allow, as far as they are known.
fn available() -> Option<u64> {
    [machine(), control_groups(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")), address_space()]
        .into_iter()
        .flatten()
        .min()
}

/// Memory of the machine, where the system tells it as Linux does.
fn machine() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

fn resident_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The value of a line such as `MemTotal: 16 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least limit of the process's control groups and of all above them, in both versions of the hierarchy. `own` lists
/// the groups; `root` is where they are mounted. In a container a group's own folder may be out of sight, and its limit
/// that of the root.
fn control_groups(own: &Path, root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(own).ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let folder = root.join(group);
        let above = folder.ancestors().take_while(|folder| folder.starts_with(&root));
        above.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok()).min()
    });
    limits.min()
}

/// The limit of the process's address space (`ulimit -v`).
fn address_space() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
        let (soft, _) = getrlimit(Resource::RLIMIT_AS).ok()?;
        (soft != RLIM_INFINITY).then_some(soft)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = || control_groups(&folder.path().join("own"), folder.path());
        assert_eq!(limit(), None);
        write("own", "0::/jobs/one\n");
        write("jobs/one/memory.max", "max\n");
        assert_eq!(limit(), None);
        write("jobs/memory.max", "2000\n");
        assert_eq!(limit(), Some(2000));
        write("jobs/one/memory.max", "3000\n");
        assert_eq!(limit(), Some(2000));
        write("own", "4:cpu,memory:/hidden/by/the/container\n2:pids:/jobs\n0::/jobs\n");
        write("memory/memory.limit_in_bytes", "1000\n");
        assert_eq!(limit(), Some(1000));
    }

    #[test]
    fn what_is_allocated_is_counted() {
        let budget = budget(Some(1 << 40)).unwrap();
        let before = budget.left();
        let taken = vec![1_u8; 1 << 28];
        let left = budget.left();
        assert!(before - left > taken.len() / 2, "{before} {left}");
    }

    #[test]
    fn lines_of_the_system_are_read() {
        assert_eq!(kibibytes("MemFree: 1 kB\nMemTotal:   16 kB\n", "MemTotal:"), Some(16384));
        assert_eq!(kibibytes("MemTotal: much\n", "MemTotal:"), None);
    }
}
