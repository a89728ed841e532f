//! What there is to choose from: methods, the steps of chains, and the parameters of both. The same tables stand on the
//! terminal and in `docs/methods.md`.

use super::export::markdown::markdown as in_markdown;
use super::sheet::{Cell, Column, Sheet};
use super::table;
use crate::registry::{self, Method, Parameter, StepKind};

/// The tables for a terminal.
pub fn text() -> String {
    sheets(&[]).iter().map(table::sheet).collect::<Vec<_>>().join("\n")
}

/// The tables in Markdown, with one more column for the source.
pub fn markdown() -> String {
    sheets(&["source"]).iter().map(in_markdown).collect::<Vec<_>>().join("\n")
}

/// Methods, steps, parameters, where there are any; `further` are columns that not every reader needs.
fn sheets(further: &[&str]) -> Vec<Sheet> {
    let methods = ["method", "what it does", "scopes", "objectives", "exact", "anytime", "limits"];
    let steps = ["step", "place in a chain", "what it does"];
    let with_source = |mut row: Vec<Cell>, source: &str| {
        row.extend((!further.is_empty()).then(|| source.into()));
        row
    };
    let method_rows = registry::methods().iter().map(|method| with_source(method_row(method), method.source));
    let clusterings = registry::clusterings().iter().map(|kind| with_source(step_row(kind, "before"), kind.source));
    let refinements = registry::refinements().iter().map(|kind| with_source(step_row(kind, "after"), kind.source));
    let sheet = |caption: &str, titles: &[&str], further: &[&str], rows: Vec<Vec<Cell>>| Sheet {
        caption: caption.into(),
        columns: titles.iter().chain(further).map(|&title| Column::words(title)).collect(),
        rows,
        notes: Vec::new(),
    };
    let all = [
        sheet("Methods:", &methods, further, method_rows.collect()),
        sheet(
            "Steps that a chain such as `cluster:k=48+dp+refine` puts before or after a method:",
            &steps,
            further,
            clusterings.chain(refinements).collect(),
        ),
        sheet(
            "Parameters, given as in `annealing:patience=50,seed=2`; every method takes `seed`, too:",
            &["of", "parameter", "default", "what it is"],
            &[],
            parameter_rows(),
        ),
    ];
    all.into_iter().filter(|sheet| !sheet.rows.is_empty()).collect()
}

fn method_row(method: &Method) -> Vec<Cell> {
    let yes_no = |flag: bool| if flag { "yes" } else { "no" };
    vec![
        Cell::code(method.name),
        method.summary.into(),
        method.scopes.join(", ").into(),
        method.objectives.join(", ").into(),
        yes_no(method.exact).into(),
        yes_no(method.anytime).into(),
        method.limits.into(),
    ]
}

fn step_row<T: ?Sized>(kind: &StepKind<T>, place: &str) -> Vec<Cell> {
    vec![Cell::code(kind.name), format!("{place} the method").into(), kind.summary.into()]
}

fn parameter_rows() -> Vec<Vec<Cell>> {
    let methods = registry::methods().iter().map(|method| (method.name, method.parameters));
    let clusterings = registry::clusterings().iter().map(|kind| (kind.name, kind.parameters));
    let refinements = registry::refinements().iter().map(|kind| (kind.name, kind.parameters));
    let row = |of: &str, parameter: &Parameter| {
        vec![Cell::code(of), Cell::code(parameter.name), parameter.default.into(), parameter.described().into()]
    };
    let all = methods.chain(clusterings).chain(refinements);
    all.flat_map(|(of, parameters)| parameters.iter().map(move |parameter| row(of, parameter))).collect()
}
