//! Values of options, checked as they are read.

use std::any::TypeId;
use std::ops::RangeInclusive;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Arg;

/// A memory size in bytes; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory(pub Option<f64>);

/// Reads `16GiB`, `16 GB`, `17179869184`, `1.6e10` or `unlimited`.
pub fn memory(text: &str) -> Result<Memory, String> {
    if text.eq_ignore_ascii_case("unlimited") {
        return Ok(Memory(None));
    }
    bytes(text).map(|bytes| Memory(Some(bytes)))
}

/// The most bytes, and bytes per time unit, that anyone has: sums of them stay finite.
const MOST_BYTES: f64 = 1e24;

/// The largest factor, price or time that stays finite with all that it is multiplied by.
pub const MOST: f64 = 1e15;

/// The largest count: more devices, microbatches or copies than any machine room has, and products of two fit.
pub const COUNT: u64 = 1_000_000;

/// Reads a number of bytes, with or without a unit such as `GiB` or `GB`.
pub fn bytes(text: &str) -> Result<f64, String> {
    bytes_within(text, 0.0..=MOST_BYTES)
}

/// Reads bytes per time unit, with or without a unit such as `GiB` or `GB`.
pub fn bandwidth(text: &str) -> Result<f64, String> {
    bytes_within(text, 1e-9..=MOST_BYTES)
}

fn bytes_within(text: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let bytes = text.parse::<f64>().or_else(|_| text.parse::<ByteSize>().map(|size| size.as_u64() as f64));
    let (least, most) = (range.start(), range.end());
    let cure = || format!("give bytes, such as `16GiB`, `16GB` or `1.6e10`, from {least} to {most:e}");
    bytes.ok().filter(|bytes| range.contains(bytes)).ok_or_else(cure)
}

/// A reader of whole numbers in `range`.
pub fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let cure = || format!("give a whole number from {} to {}", range.start(), range.end());
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(cure)
    }
}

/// Reads a size above zero in whole bytes.
pub fn whole_bytes(text: &str) -> Result<u64, String> {
    let bytes = bytes(text)? as u64;
    (bytes > 0).then_some(bytes).ok_or_else(|| "give more than 0 bytes, such as `2GB`".into())
}

/// A reader of counts of at least one.
pub fn count<T: TryFrom<u64>>() -> impl Fn(&str) -> Result<T, String> + Clone {
    whole(1..=COUNT)
}

/// A reader of numbers in `range`.
pub fn number(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("give a number from {} to {}", range.start(), range.end()))
    }
}

/// Has the number that `arg` takes read by one of these readers, in the widest range of its type; what it stands for may
/// narrow that.
pub fn with_range(arg: Arg) -> Arg {
    const WHOLE: RangeInclusive<u64> = 0..=u32::MAX as u64;
    let reads = arg.get_value_parser().type_id();
    if reads == TypeId::of::<u32>() {
        arg.value_parser(whole::<u32>(WHOLE))
    } else if reads == TypeId::of::<usize>() {
        arg.value_parser(whole::<usize>(WHOLE))
    } else if reads == TypeId::of::<f64>() {
        arg.value_parser(number(0.0..=MOST))
    } else {
        arg
    }
}

/// Reads a name and a size, such as `batch=8`.
pub fn dimension(text: &str) -> Result<(String, u64), String> {
    const MOST: u64 = 1 << 31;
    let size = |text: &str| text.parse().ok().filter(|size| (1..=MOST).contains(size));
    let parts = text.rsplit_once('=').and_then(|(name, text)| Some((name.to_owned(), size(text)?)));
    parts.ok_or_else(|| format!("give a name and a whole number from 1 to {MOST}, such as `batch=8`"))
}

/// Several seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// Reads `0..9`, both included, or `1,2,5`, or both.
pub fn seeds(text: &str) -> Result<Seeds, String> {
    let of = |piece: &str| {
        let (first, last) = piece.split_once("..").unwrap_or((piece, piece));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last - first < COUNT).then_some(first..=last)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(of).collect();
    let seeds: Option<Vec<u64>> = ranges.map(|ranges| ranges.into_iter().flatten().collect());
    let distinct = |seeds: &Vec<u64>| seeds.iter().collect::<std::collections::BTreeSet<_>>().len() == seeds.len();
    let cure = || format!("give seeds, such as `0..9` or `1,2,5`, each once and up to {COUNT} of them");
    seeds.filter(distinct).map(Seeds).ok_or_else(cure)
}

/// Reads a duration in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    const MOST: f64 = 1e9;
    let seconds = text.parse().ok().filter(|seconds| (0.0..=MOST).contains(seconds));
    let cure = || format!("give seconds, such as `60` or `0.5`, from 0 to {MOST}");
    seconds.map(Duration::from_secs_f64).ok_or_else(cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units() {
        assert_eq!(memory("16GiB"), Ok(Memory(Some(17_179_869_184.0))));
        assert_eq!(memory("1.5 GB"), Ok(Memory(Some(1.5e9))));
        assert_eq!(memory("1.6e10"), Ok(Memory(Some(1.6e10))));
        assert_eq!(memory("Unlimited"), Ok(Memory(None)));
        for bad in ["", "-1", "16 gobs", "nan", "inf", "1e999"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn seeds_are_listed_or_counted() {
        assert_eq!(seeds("0..3, 7"), Ok(Seeds(vec![0, 1, 2, 3, 7])));
        for bad in ["", "3..1", "1,1", "0..3,2", "-1", "x", "0..18446744073709551615"] {
            assert!(seeds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_are_finite_and_positive() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(["-1", "nan", "1e300", "soon"].iter().all(|bad| seconds(bad).is_err()));
        let factor = number(0.5..=2.0);
        assert!(factor("0.5").is_ok() && ["0.4", "2.1", "nan", "inf", "x"].iter().all(|bad| factor(bad).is_err()));
        assert_eq!(whole::<u32>(1..=9)("9"), Ok(9));
        assert_eq!(whole::<u32>(1..=9)("10"), Err("give a whole number from 1 to 9".into()));
        assert!(whole::<u8>(0..=u64::MAX)("256").is_err() && bandwidth("0").is_err() && bytes("0").is_ok());
    }
}
