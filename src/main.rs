//! The `dagsplit` program.

fn main() {}
