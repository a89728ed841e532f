//! Pages: all that is known of a run, of a comparison or of a plan in one file of HTML.
//!
//! A page asks nothing of anybody: style, script, pictures and data are within, and its policy forbids every request. It
//! can be read without its script, which adds zooming, sorting, filters and details.

mod comparison;
mod plan;
mod proof;
mod run;
mod sheets;
mod split;

pub use comparison::comparison;
pub use plan::{PlanPage, plan};
pub use run::{RunPage, run};
use split::SplitOnPage;

use serde::Serialize;

use crate::report::sheet::Sheet;
use crate::text::{self, escaped_json};

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What is shown, in order.
struct Page<'a> {
    title: &'a str,
    /// What matters most: names and values.
    facts: &'a [(&'a str, String)],
    sections: Vec<Section>,
}

/// A part of a page with its heading.
struct Section {
    heading: &'static str,
    /// HTML.
    content: String,
}

impl Page<'_> {
    /// The page, whose script gets `data`.
    ///
    /// # Errors
    /// The data cannot be written as JSON.
    fn html(&self, data: &impl Serialize) -> serde_json::Result<String> {
        let json = in_script(&serde_json::to_string(data)?);
        let sections: String = self.sections.iter().enumerate().map(Section::html).collect();
        let parts = [
            ("title", escaped(self.title)),
            ("facts", listed(self.facts)),
            ("sections", sections),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("style", STYLE.into()),
            ("data", json),
            ("script", SCRIPT.into()),
        ];
        Ok(filled(TEMPLATE, &parts))
    }
}

impl Section {
    /// A table under its heading; `None` where it has no rows.
    fn table(heading: &'static str, sheet: &Sheet, opens: Option<&str>) -> Option<Self> {
        (!sheet.rows.is_empty()).then(|| Self { heading, content: sheets::table(heading, sheet, opens) })
    }

    /// Command lines that do it again and check what came of it, each with what it does.
    fn commands(commands: &[(&str, String)]) -> Option<Self> {
        let command = |(what, line): &(&str, String)| {
            format!("<p>{}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(what), escaped(line))
        };
        let content: String = commands.iter().map(command).collect();
        (!content.is_empty()).then_some(Self { heading: "Do it again", content })
    }

    fn html((number, Self { heading, content }): (usize, &Self)) -> String {
        format!(
            "<section aria-labelledby=\"part{number}\">\n<h2 id=\"part{number}\">{heading}</h2>\n{content}</section>\n"
        )
    }
}

/// The template with each `{{name}}` of it, and of nothing that is put in, replaced by its part.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        out.extend(parts.iter().filter(|(part, _)| *part == name).map(|(_, value)| value.as_str()));
        out += rest;
    }
    out
}

/// JSON in an element for scripts, which nothing of it ends.
fn in_script(json: &str) -> String {
    escaped_json(json).replace('<', "\\u003c")
}

/// Facts as a list of names and values.
fn listed(facts: &[(&str, String)]) -> String {
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

/// A figure of a class that the script or the style knows.
fn drawn(class: &str, svg: &str) -> String {
    format!("<figure class=\"{class}\">\n{svg}</figure>\n")
}

/// A picture that the script makes to zoom, of a class of its own.
fn zoomed(class: &str, label: &str, svg: &str) -> String {
    format!("<figure class=\"picture {class}\" tabindex=\"0\" aria-label=\"{label}\">\n{svg}</figure>\n")
}

/// Text as HTML shows it, in elements and in attributes; what acts on a terminal or turns the direction of reading is
/// written out.
fn escaped(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    for c in text::escaped(content).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            _ => out.push(c),
        }
    }
    out
}
