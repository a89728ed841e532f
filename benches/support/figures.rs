//! Figures as people read them, and Markdown rows of them.

use super::measure::Measurement;

/// A row of a Markdown table.
pub fn row<T: AsRef<str>>(cells: &[T]) -> String {
    cells.iter().map(|cell| format!("| {} ", cell.as_ref())).collect::<String>() + "|"
}

/// The head of a Markdown table: the first `texts` columns hold text, the others numbers.
pub fn head(titles: &[&str], texts: usize) -> String {
    let rule: String = (0..titles.len()).map(|i| if i < texts { "|---" } else { "|---:" }).collect();
    format!("{}\n{rule}|", row(titles))
}

/// The figure, or a dash where there is none.
pub fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "–".to_owned())
}

/// Seconds with three significant digits or milliseconds.
pub fn seconds(value: f64) -> String {
    if value < 9.9995 { format!("{value:.3}") } else { format!("{value:.1}") }
}

/// Bytes in megabytes.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / 1e6)
}

/// A whole number, or a power of ten where it is large.
pub fn count(value: f64) -> String {
    if value < 1e7 { format!("{value:.0}") } else { format!("{value:.1e}") }
}

/// How the run ended: `optimal`, or the status with the gap that is left.
pub fn status(measurement: &Measurement) -> String {
    match measurement.gap() {
        Some(gap) if !measurement.is_proven() => format!("gap {:.2}%", gap * 100.0),
        _ => measurement.status.clone(),
    }
}

/// How many times as fast something is, or a dash where it was not measured.
pub fn times_as_fast(speedup: Option<f64>) -> String {
    or_dash(speedup.map(|speedup| format!("{speedup:.2} times as fast")))
}
