//! The `dagsplit` program.

use std::alloc::System;

use cap::Cap;

/// Counts what is allocated. It refuses nothing: a search that is refused an allocation could not end well.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> std::process::ExitCode {
    dagsplit::run_program(|| ALLOCATED.allocated())
}
