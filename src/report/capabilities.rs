//! The capability table of the methods: one table for the terminal, one for `docs/methods.md`.

use comfy_table::ContentArrangement;

use super::table::plain_table;
use crate::solve::registry::Method;

/// The table is not squeezed below this width, in terminal cells.
const NARROWEST: u16 = 100;
const HEADER: [&str; 7] = ["method", "what it does", "scopes", "objectives", "exact", "anytime", "limits"];

fn row(method: &Method) -> [String; 7] {
    let yes_no = |flag: bool| if flag { "yes" } else { "no" }.to_string();
    [
        method.name.to_string(),
        method.summary.to_string(),
        method.scopes.join(", "),
        method.objectives.join(", "),
        yes_no(method.exact),
        yes_no(method.anytime),
        method.limits.to_string(),
    ]
}

/// The table for a terminal.
pub fn text(methods: &[Method]) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(HEADER).add_rows(methods.iter().map(row));
    format!("{table}\n")
}

/// The table in Markdown, with one more column for the source.
pub fn markdown(methods: &[Method]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = HEADER.iter().map(|&h| h.to_string()).chain(["source".to_string()]).collect();
    let rule = vec!["---".to_string(); header.len()];
    let mut out = line(&header) + &line(&rule);
    for method in methods {
        let mut cells = row(method).to_vec();
        cells[0] = format!("`{}`", method.name);
        cells.push(method.source.to_string());
        out += &line(&cells);
    }
    out
}
