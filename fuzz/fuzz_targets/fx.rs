//! See `fx` in `tests/readers/mod.rs`.

#![no_main]

#[path = "../../tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| readers::fx(data));
