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
        notes: plan
            .notes
            .iter()
            .map(|&note| note.to_owned())
            .chain(other_shapes(outcomes, &reasons))
            .chain(remarks)
            .collect(),
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

/// The figures whose direction is not the published one, by name, with the letters of the remarks that say why.
fn other_shapes(outcomes: &[Outcome], reasons: &[&str]) -> Option<String> {
    let is_other = |outcome: &&Outcome| outcome.verdict == Verdict::ShapeNotReproduced;
    let compared = outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Incomparable).count();
    let name = |outcome: &Outcome| {
        let letter = remark(outcome, reasons).map(|letter| format!(" {letter}")).unwrap_or_default();
        format!("{}, {}{letter}", outcome.row, outcome.column)
    };
    let others: Vec<String> = outcomes.iter().filter(is_other).map(name).collect();
    let count = others.len();
    (count > 0)
        .then(|| format!("Another direction than published in {count} of {compared} cells: {}.", others.join("; ")))
}

/// The letter of the remark that says why a figure is not the published one.
fn remark(outcome: &Outcome, reasons: &[&str]) -> Option<String> {
    let place = reasons.iter().position(|reason| Some(*reason) == outcome.reason.as_deref())?;
    Some(format!("[{}]", letter(place)))
}

fn cell(outcome: &Outcome, reasons: &[&str]) -> Cell {
    let mut text = outcome.ours.map_or_else(|| "–".into(), |ours| rounded(ours, outcome.digit));
    if let Some((least, most)) = outcome.least.zip(outcome.most) {
        text += &format!(" of {} to {}", rounded(least, outcome.digit), rounded(most, outcome.digit));
    }
    text += match (outcome.is_certified, outcome.is_proven) {
        (true, _) => "**",
        (false, true) => "*",
        (false, false) => "",
    };
    if let Some(published) = outcome.published {
        let least = if outcome.is_least { "≥ " } else { "" };
        text += &format!(" ({least}{}{})", rounded(published, outcome.digit), stands(outcome));
    }
    if let Some(letter) = remark(outcome, reasons) {
        text += &format!(" {letter}");
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
    let is_within = |tolerance: f64| outcome.deviation.is_none_or(|part| part.abs() <= tolerance);
    match (outcome.verdict, outcome.tolerance) {
        (Verdict::Close, Some(tolerance)) if !is_within(tolerance) => format!("{deviation}, within the spread"),
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
            least: None,
            most: None,
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
        let drawn =
            Outcome { least: Some(15.0), most: Some(40.0), ..outcome("", "", Some(30.0), Verdict::Close, None) };
        assert_eq!(cell(&drawn, &[]).shown(), "30.00 of 15.00 to 40.00 (20.00, +50.00 %, within the spread)");
        assert_eq!(shown[0], ["BERT-3", "20.00* (20.00)", "25.00 (20.00, +25.00 %) [a]"]);
        assert_eq!(shown[1], ["GNMT", "", "– (20.00) [b]"]);
        assert_eq!(table.notes, ["[a] another version", "[b] not at hand"]);
        let other = outcome("GNMT", "DP", Some(30.0), Verdict::ShapeNotReproduced, Some("not at hand"));
        let named = sheet(study, &plan, &[&outcomes[..], &[other]].concat()).notes;
        assert_eq!(named[0], "Another direction than published in 1 of 3 cells: GNMT, DP [b].");
        let lines = data(study, &outcomes);
        assert!(lines.rows.len() == 3 && lines.rows.iter().all(|row| row.len() == lines.columns.len()));
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(letter), ["a", "z", "aa", "ab", "ba"]);
    }
}
