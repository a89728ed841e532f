//! LaTeX with booktabs, for papers.

use crate::report::sheet::{Cell, Sheet};

/// A `table` environment that needs the package `booktabs`; notes stand below the rules.
pub fn latex(sheet: &Sheet) -> String {
    let alignment: String = sheet.columns.iter().map(|column| if column.figures { 'r' } else { 'l' }).collect();
    let titles = line(sheet.columns.iter().map(|column| escaped(&column.title)));
    let rows: String = sheet.rows.iter().map(|row| line(row.iter().map(cell))).collect();
    let notes: String = sheet.notes.iter().map(|note| format!("\n\\par\\smallskip {}\n", escaped(note))).collect();
    let caption = escaped(&sheet.caption);
    format!(
        "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n\
         \\begin{{tabular}}{{{alignment}}}\n\\toprule\n{titles}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n\
         {notes}\\end{{table}}\n"
    )
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.shown());
    if let Cell::Code(_) = cell { format!("\\texttt{{{text}}}") } else { text }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '\\' => out += "\\textbackslash{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '|' => out += "\\textbar{}",
            '–' => out += "--",
            '−' => out += "$-$",
            '≤' => out += "$\\le$",
            '×' => out += "$\\times$",
            '≥' => out += "$\\ge$",
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn special_characters_are_escaped() {
        insta::assert_snapshot!(super::latex(&crate::report::export::tests::sample()));
    }
}
