//! Tables of a reproduction: as published for people, one figure a line for programs.

use super::{Outcome, Plan, Study, Verdict};
use crate::report::comparison::distinct;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::units::percent;

/// The table with the rows and columns of the publication. A cell holds our figure, in brackets the published one with
/// the deviation, and the letter of the remark that says why they differ or why ours is not there.
pub fn sheet(study: &Study, plan: &Plan, outcomes: &[Outcome]) -> Sheet {
    let mut columns = distinct(outcomes.iter().map(|outcome| outcome.column.as_str()));
    columns.sort_by_key(|column| plan.columns.iter().position(|planned| planned == column));
    let reasons = distinct(outcomes.iter().filter_map(|outcome| outcome.reason.as_deref()));
    let row = |name: &str| {
        let cell = |column: &&str| {
            let figure = outcomes.iter().find(|outcome| outcome.row == name && outcome.column == **column);
            figure.map_or_else(|| "".into(), |outcome| cell(outcome, &reasons))
        };
        std::iter::once(Cell::from(name)).chain(columns.iter().map(cell)).collect()
    };
    let remarks = reasons.iter().enumerate().map(|(i, reason)| format!("[{}] {reason}", letter(i)));
    let explanation = "Ours, * where proven optimal, ** where a proof was checked (published; where ours is not the same to its last digit the deviation, and the tolerance if it is within)";
    Sheet {
        caption: format!("{}: {}. {explanation}.", study.source, study.title),
        columns: std::iter::once(Column::words("workload"))
            .chain(columns.iter().map(|&c| Column::figures(c)))
            .collect(),
        rows: distinct(outcomes.iter().map(|outcome| outcome.row.as_str())).into_iter().map(row).collect(),
        notes: plan.notes.iter().map(|&note| note.to_owned()).chain(remarks).collect(),
    }
}

/// One line per figure, for programs.
pub fn data(study: &Study, outcomes: &[Outcome]) -> Sheet {
    let words = ["study", "row", "column"].map(Column::words);
    let ours = [Column::figures("ours"), Column::words("proven optimal"), Column::words("certified")];
    let figures = ["published", "deviation", "tolerance"].map(Column::figures);
    let row = |outcome: &Outcome| {
        vec![
            study.name.into(),
            outcome.row.as_str().into(),
            outcome.column.as_str().into(),
            Cell::of(Cell::Number, outcome.ours),
            if outcome.is_proven { "yes" } else { "no" }.into(),
            if outcome.is_certified { "yes" } else { "no" }.into(),
            Cell::of(Cell::Number, outcome.published),
            Cell::of(Cell::Ratio, outcome.deviation),
            Cell::of(Cell::Ratio, outcome.tolerance),
            outcome.verdict.name().into(),
            outcome.reason.as_deref().unwrap_or_default().into(),
        ]
    };
    Sheet {
        caption: String::new(),
        columns: words.into_iter().chain(ours).chain(figures).chain(["verdict", "reason"].map(Column::words)).collect(),
        rows: outcomes.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn cell(outcome: &Outcome, reasons: &[&str]) -> Cell {
    let mut text = outcome.ours.map_or_else(|| "–".into(), |ours| rounded(ours, outcome.digit));
    text += match (outcome.is_certified, outcome.is_proven) {
        (true, _) => "**",
        (false, true) => "*",
        (false, false) => "",
    };
    if let Some(published) = outcome.published {
        let least = if outcome.is_least { "≥ " } else { "" };
        text += &format!(" ({least}{}{})", rounded(published, outcome.digit), stands(outcome));
    }
    if let Some(i) = reasons.iter().position(|reason| Some(*reason) == outcome.reason.as_deref()) {
        text += &format!(" [{}]", letter(i));
    }
    text.into()
}

/// By how much the two differ, and what that is called.
fn stands(outcome: &Outcome) -> String {
    if outcome.verdict == Verdict::Agrees {
        return String::new();
    }
    let signed = |part| format!(", {}{}", if part > 0.0 { "+" } else { "" }, percent(part));
    let deviation = outcome.deviation.map(signed).unwrap_or_default();
    match (outcome.verdict, outcome.tolerance) {
        (Verdict::Close, Some(tolerance)) => format!("{deviation} of {}", percent(tolerance)),
        (Verdict::BelowBound, _) => format!("{deviation}, below the bound"),
        (Verdict::ShapeNotReproduced, _) => format!("{deviation}, shape not reproduced"),
        _ => deviation,
    }
}

/// As many decimals as are printed; two where nothing is.
fn rounded(value: f64, digit: Option<f64>) -> String {
    let decimals = digit.map_or(2, |digit| (-digit.log10()).round().clamp(0.0, 4.0) as usize);
    format!("{value:.decimals$}")
}

/// a, b, …, z, aa, ab, …
fn letter(i: usize) -> String {
    let last = char::from(b'a' + (i % 26) as u8).to_string();
    if i < 26 { last } else { letter(i / 26 - 1) + &last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Plan, studies};

    fn outcome(row: &str, column: &str, ours: Option<f64>, verdict: Verdict, reason: Option<&str>) -> Outcome {
        let published = Some(20.0);
        let deviation = ours.map(|ours| ours / 20.0 - 1.0);
        Outcome {
            row: row.into(),
            column: column.into(),
            ours,
            is_proven: verdict == Verdict::Agrees,
            is_certified: false,
            published,
            digit: Some(0.01),
            is_least: false,
            deviation,
            tolerance: Some(0.1),
            verdict,
            reason: reason.map(str::to_owned),
        }
    }

    #[test]
    fn rows_and_columns_are_those_of_the_publication() {
        let study = studies().next().unwrap();
        let outcomes = [
            outcome("BERT-3", "Scotch", Some(25.0), Verdict::Higher, Some("another version")),
            outcome("BERT-3", "DP", Some(20.004), Verdict::Agrees, None),
            outcome("GNMT", "Scotch", None, Verdict::Incomparable, Some("not at hand")),
        ];
        let plan = Plan { columns: vec!["DP", "Scotch"], ..Plan::default() };
        let table = sheet(study, &plan, &outcomes);
        let shown: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let certified = Outcome { is_certified: true, ..outcomes[1].clone() };
        assert_eq!(cell(&certified, &[]).shown(), "20.00** (20.00)");
        let stands = |verdict| stands(&outcome("", "", Some(20.2), verdict, None));
        assert_eq!(stands(Verdict::Close), ", +1.00 % of 10.00 %");
        assert_eq!(stands(Verdict::BelowBound), ", +1.00 %, below the bound");
        assert_eq!(stands(Verdict::ShapeNotReproduced), ", +1.00 %, shape not reproduced");
        assert_eq!(shown[0], ["BERT-3", "20.00* (20.00)", "25.00 (20.00, +25.00 %) [a]"]);
        assert_eq!(shown[1], ["GNMT", "", "– (20.00) [b]"]);
        assert_eq!(table.notes, ["[a] another version", "[b] not at hand"]);
        let lines = data(study, &outcomes);
        assert!(lines.rows.len() == 3 && lines.rows.iter().all(|row| row.len() == lines.columns.len()));
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(letter), ["a", "z", "aa", "ab", "ba"]);
    }
}
