//! Tables of a page.

use serde_json::Value;

use super::{escaped, in_script};
use crate::report::DeviceRecord;
use crate::report::method::MethodRecord;
use crate::report::sheet::{Cell, Column, Sheet};

/// So many rows of a table are in the page; the script shows the others, which it is given as data.
const SHOWN: usize = 500;

/// A table with remarks below it. Its first cells open what the script knows of their rows, where `opens` says of what.
pub fn table(label: &str, sheet: &Sheet, opens: Option<&str>) -> String {
    let opens = opens.map(|what| format!(" data-opens=\"{what}\"")).unwrap_or_default();
    let class = |is_figure: bool| if is_figure { " class=\"figure\"" } else { "" };
    let head = |column: &Column| format!("<th scope=\"col\"{}>{}</th>", class(column.figures), escaped(&column.title));
    let cell = |(cell, column): (&Cell, &Column)| {
        let content = escaped(&cell.shown());
        let content = if let Cell::Code(_) = cell { format!("<code>{content}</code>") } else { content };
        let value = if column.figures { format!(" data-value=\"{}\"", escaped(&cell.raw())) } else { String::new() };
        format!("<td{}{value}>{content}</td>", class(column.figures))
    };
    let row = |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().zip(&sheet.columns).map(cell).collect::<String>());
    let (shown, others) = sheet.rows.split_at(sheet.rows.len().min(SHOWN));
    let note = |note: &String| format!("<p class=\"note\">{}</p>\n", escaped(note));
    format!(
        "<div class=\"table\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n<table{opens}>\n<thead><tr>{}</tr></thead>\n\
         <tbody>\n{}</tbody>\n</table>\n{}</div>\n{}",
        sheet.columns.iter().map(head).collect::<String>(),
        shown.iter().map(row).collect::<String>(),
        others_as_data(others, &sheet.columns, sheet.rows.len()),
        sheet.notes.iter().map(note).collect::<String>(),
    )
}

/// Rows that are not in the page: of each cell what is shown and, of figures, the value. Nothing where there are none.
fn others_as_data(rows: &[Vec<Cell>], columns: &[Column], count: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cell = |(cell, column): (&Cell, &Column)| {
        std::iter::once(cell.shown()).chain(column.figures.then(|| cell.raw())).collect::<Value>()
    };
    let rows: Value = rows.iter().map(|row| row.iter().zip(columns).map(cell).collect::<Value>()).collect();
    format!(
        "<noscript><p class=\"note\">These are {SHOWN} of {count} rows; a script shows the others.</p></noscript>\n\
         <script type=\"application/json\">{}</script>\n",
        in_script(&rows.to_string())
    )
}

/// One row per device; what none of them has is left out.
pub fn devices(devices: &[DeviceRecord], labels: &[String]) -> Sheet {
    type Figure = fn(&DeviceRecord) -> Cell;
    let figures: [(&str, Figure); 10] = [
        ("server", |device| counted(device.server)),
        ("replicas", |device| counted(device.replicas)),
        ("tensor", |device| counted(device.tensor_degree)),
        ("data", |device| counted(device.data_degree)),
        ("in flight", |device| counted(device.in_flight)),
        ("nodes", |device| counted(Some(device.nodes.len()))),
        ("memory", |device| Cell::Bytes(device.memory)),
        ("load", |device| Cell::Number(device.load)),
        ("start", |device| Cell::of(Cell::Number, device.start)),
        ("finish", |device| Cell::of(Cell::Number, device.finish)),
    ];
    let known = figures.iter().filter(|(_, figure)| devices.iter().any(|device| figure(device) != Cell::Empty));
    let row = |(device, label): (&DeviceRecord, &String)| {
        std::iter::once(label.as_str().into()).chain(known.clone().map(|(_, figure)| figure(device))).collect()
    };
    let title = std::iter::once(Column::words("device"));
    Sheet {
        columns: title.chain(known.clone().map(|(title, _)| Column::figures(*title))).collect(),
        rows: devices.iter().zip(labels).map(row).collect(),
        ..Sheet::default()
    }
}

fn counted(count: Option<usize>) -> Cell {
    Cell::of(Cell::Number, count.map(|count| count as f64))
}

/// One row per method and scope.
pub fn methods(methods: &[MethodRecord]) -> Sheet {
    let row = |method: &MethodRecord| {
        vec![
            Cell::code(method.method.as_str()),
            method.scope.unwrap_or_default().into(),
            method.status.name().into(),
            Cell::of(Cell::Number, method.objective),
            Cell::of(Cell::Number, method.lower_bound),
            Cell::of(Cell::Ratio, method.gap),
            Cell::Seconds(method.seconds),
        ]
    };
    let words = ["method", "splits", "status"].map(Column::words);
    let figures = ["objective", "own bound", "gap to it", "time"].map(Column::figures);
    Sheet {
        columns: words.into_iter().chain(figures).collect(),
        rows: methods.iter().map(row).collect(),
        ..Sheet::default()
    }
}
