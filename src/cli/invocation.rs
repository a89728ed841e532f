//! How the program was begun: by the system, or by a launcher that passes on its own words.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What begins the program once more, and the words it was given.
struct Invocation {
    program: PathBuf,
    words: Vec<OsString>,
}

static INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// Takes `program` and `words` for the system's own. The first call counts.
pub fn begin(program: PathBuf, words: Vec<OsString>) {
    INVOCATION.get_or_init(|| Invocation { program, words });
}

fn invocation() -> &'static Invocation {
    INVOCATION.get_or_init(|| {
        let mut words = std::env::args_os();
        let name = words.next().unwrap_or_default();
        Invocation { program: std::env::current_exe().unwrap_or_else(|_| name.into()), words: words.collect() }
    })
}

/// The file that begins the program once more.
pub fn program() -> &'static Path {
    &invocation().program
}

/// The words after the program's name.
pub fn words() -> &'static [OsString] {
    &invocation().words
}
