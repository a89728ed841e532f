//! Markdown, for pages and issues.

use crate::report::sheet::{Cell, Sheet};

/// The table with its caption above and its notes below.
pub fn markdown(sheet: &Sheet) -> String {
    let titles: Vec<String> = sheet.columns.iter().map(|column| escaped(&column.title)).collect();
    let rule: Vec<String> = sheet.columns.iter().map(|c| if c.figures { "---:" } else { "---" }.to_string()).collect();
    let mut out = if sheet.caption.is_empty() { String::new() } else { format!("{}\n\n", sheet.caption) };
    out += &(line(&titles) + &line(&rule));
    for row in &sheet.rows {
        out += &line(&row.iter().map(cell).collect::<Vec<_>>());
    }
    for note in &sheet.notes {
        out += &format!("\n{note}\n");
    }
    out
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.shown());
    if let Cell::Code(_) = cell { format!("`{text}`") } else { text }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_stand_to_the_right_and_bars_are_escaped() {
        insta::assert_snapshot!(super::markdown(&crate::report::export::tests::sample()));
    }
}
