//! No text makes a reader panic, and whatever one accepts is valid and survives a round trip.
//!
//! The first byte picks the format, or leaves it to be told from the content; the rest is the file.

#![no_main]

use dagsplit::instance::formats::{Format, OutputFormat, ReadOptions, parse_instance, write_instance};
use dagsplit::instance::validate;
use libfuzzer_sys::fuzz_target;

const FORMATS: [Option<Format>; 5] =
    [None, Some(Format::Native), Some(Format::Tarnawski), Some(Format::PipeDream), Some(Format::Piper)];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let options = ReadOptions { format: FORMATS[usize::from(choice) % FORMATS.len()], ..ReadOptions::default() };
    let Ok(instance) = parse_instance(text, &options) else { return };
    assert!(validate(&instance).is_ok(), "a reader accepted what is not valid");
    let native = write_instance(&instance, OutputFormat::Native).expect("valid instances can be written");
    assert_eq!(parse_instance(&native, &ReadOptions::default()).expect("what is written can be read"), instance);
});
