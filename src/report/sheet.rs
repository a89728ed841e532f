//! A table as data: what the terminal shows and every exporter writes.

use crate::text::escaped;
use crate::units::{bytes, number, percent, seconds};

/// One cell. Exporters for programs write all digits, those for people round.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// Something to type, such as a method's name.
    Code(String),
    /// A number in the unit of the workload.
    Number(f64),
    /// A ratio, shown as a percentage.
    Ratio(f64),
    /// A ratio of about 1, shown as a factor.
    Factor(f64),
    /// A duration in seconds.
    Seconds(f64),
    /// A size in bytes.
    Bytes(f64),
    /// Nothing is known.
    Empty,
}

impl Cell {
    /// Something to type.
    pub fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }

    /// The cell that `kind` makes of a value, [`Cell::Empty`] where there is none.
    pub fn of(kind: fn(f64) -> Self, value: Option<f64>) -> Self {
        value.map_or(Self::Empty, kind)
    }

    /// As people read it.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) | Self::Code(text) => escaped(text).into_owned(),
            Self::Number(value) => number(*value),
            Self::Ratio(value) => percent(*value),
            Self::Factor(value) => format!("{value:.3}"),
            Self::Seconds(value) => seconds(*value),
            Self::Bytes(value) => bytes(*value),
            Self::Empty => "–".into(),
        }
    }

    /// With all digits and without units; empty where nothing is known.
    pub fn raw(&self) -> String {
        match self {
            Self::Text(text) | Self::Code(text) => escaped(text).into_owned(),
            Self::Number(value)
            | Self::Ratio(value)
            | Self::Factor(value)
            | Self::Seconds(value)
            | Self::Bytes(value) => value.to_string(),
            Self::Empty => String::new(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Text(count.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A column's title, and whether it holds figures, which are set to the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// Whether it holds figures.
    pub figures: bool,
}

impl Column {
    /// A column of words.
    pub fn words(title: impl Into<String>) -> Self {
        Self { title: title.into(), figures: false }
    }

    /// A column of figures.
    pub fn figures(title: impl Into<String>) -> Self {
        Self { title: title.into(), figures: true }
    }
}

/// A table with remarks below it. Every row has one cell per column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sheet {
    /// What the table shows, in one line.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// Remarks.
    pub notes: Vec<String>,
}
