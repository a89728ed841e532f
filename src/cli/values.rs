//! Values of options, checked as they are read.

use std::time::Duration;

use bytesize::ByteSize;

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

/// Reads a number of bytes, with or without a unit such as `GiB` or `GB`.
pub fn bytes(text: &str) -> Result<f64, String> {
    let bytes = text.parse::<f64>().or_else(|_| text.parse::<ByteSize>().map(|size| size.as_u64() as f64));
    bytes
        .ok()
        .filter(|bytes| bytes.is_finite() && *bytes >= 0.0)
        .ok_or_else(|| "give bytes, such as `16GiB`, `16GB` or `1.6e10`".into())
}

/// Reads a number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0).ok_or_else(|| "give a number above 0".into())
}

/// Reads a number that is at least zero.
pub fn not_negative(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).ok_or_else(|| "give a number of at least 0".into())
}

/// Reads a name and a size, such as `batch=8`.
pub fn dimension(text: &str) -> Result<(String, u64), String> {
    let parts = text.rsplit_once('=').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
    parts.ok_or_else(|| "give a name and a whole number, such as `batch=8`".into())
}

/// Reads a duration in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "give seconds, such as `60` or `0.5`".into())
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
    fn limits_are_finite_and_positive() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(["-1", "nan", "1e300", "soon"].iter().all(|bad| seconds(bad).is_err()));
        assert!(positive("0").is_err() && not_negative("0").is_ok() && not_negative("inf").is_err());
    }
}
