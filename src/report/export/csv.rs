//! Comma-separated values (RFC 4180) with all digits, for programs.

use crate::report::sheet::{Cell, Sheet};

/// The table without caption and notes. Ratios are plain numbers, times seconds, sizes bytes; what is not known is
/// empty.
pub fn csv(sheet: &Sheet) -> String {
    let titles = sheet.columns.iter().map(|column| column.title.clone()).collect();
    let rows = sheet.rows.iter().map(|row| row.iter().map(Cell::raw).collect());
    std::iter::once(titles).chain(rows).map(line).collect()
}

fn line(cells: Vec<String>) -> String {
    let quoted: Vec<String> = cells.into_iter().map(quoted).collect();
    quoted.join(",") + "\n"
}

fn quoted(text: String) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    #[test]
    fn commas_quotes_and_breaks_are_quoted_and_digits_kept() {
        insta::assert_snapshot!(super::csv(&crate::report::export::tests::sample()));
    }
}
