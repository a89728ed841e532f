//! Numbers that are short in a file.

/// `value` to six significant decimal digits: far finer than any cost model, and short and stable in a file.
pub(super) fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
