//! Numbers as people read them.

use bytesize::ByteSize;

/// A number with at most seven significant digits and no trailing zeros; JSON carries all digits.
pub fn number(value: f64) -> String {
    rounded(value, 7)
}

/// A number with at most three significant digits, for pictures.
pub fn short(value: f64) -> String {
    rounded(value, 3)
}

fn rounded(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor();
    if !(-6.0..15.0).contains(&magnitude) {
        return format!("{value:.*e}", digits as usize - 1);
    }
    let decimals = (digits - 1 - magnitude as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A memory size in binary units, such as `16.0 GiB`.
pub fn bytes(value: f64) -> String {
    ByteSize::b(value.max(0.0) as u64).display().iec().to_string()
}

/// A ratio as a percentage: `0 %` only when it is exactly zero.
pub fn percent(ratio: f64) -> String {
    let percent = 100.0 * ratio;
    if percent == 0.0 {
        "0 %".into()
    } else if percent.abs() < 0.01 {
        format!("{percent:.1e} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// A duration in seconds, to the millisecond.
pub fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}

/// A bar that fills `fraction` (0 to 1) of `width` terminal cells, to an eighth of a cell.
pub fn bar(fraction: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (fraction.clamp(0.0, 1.0) * 8.0 * width as f64).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(Some(EIGHTHS[eighths % 8]).filter(|&part| part != ' '));
    bar
}

/// A bar from `start` to `finish` (0 to 1) of `width` terminal cells, in whole cells, at least one.
pub fn bar_between(start: f64, finish: f64, width: usize) -> String {
    let cells = width as f64;
    let first = ((start * cells).round() as usize).min(width.saturating_sub(1));
    let last = ((finish * cells).round() as usize).clamp(first + 1, width.max(first + 1));
    " ".repeat(first) + &"█".repeat(last - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_digits_and_no_trailing_zeros() {
        assert_eq!([51.549_720_31, 0.5, 1e9].map(number), ["51.54972", "0.5", "1000000000"]);
    }

    #[test]
    fn numbers_keep_seven_digits() {
        let shown: Vec<String> = [0.0, 1.0, 1234.5678901, -0.000123456789, 2.0e-9].map(number).into();
        assert_eq!(shown, ["0", "1", "1234.568", "-0.0001234568", "2.000000e-9"]);
    }

    #[test]
    fn small_gaps_are_not_shown_as_zero() {
        assert_eq!([0.0, 1e-9, 0.035].map(percent), ["0 %", "1.0e-7 %", "3.50 %"]);
    }

    #[test]
    fn bars_fill_by_eighths() {
        assert_eq!((bar(0.5, 4).as_str(), bar(1.0, 2).as_str(), bar(0.0, 9).as_str()), ("██", "██", ""));
        assert_eq!(bar(0.3125, 2), "▋");
        assert_eq!([bar_between(0.25, 0.75, 4), bar_between(1.0, 1.0, 4)], [" ██", "   █"]);
    }
}
