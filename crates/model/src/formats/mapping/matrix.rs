//! Square matrices of figures as files have them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::instance::Problems;
use crate::instance::validate::shorten;

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    /// A number.
    Number(f64),
    /// Nothing, as on the diagonal.
    Empty,
    /// Something else.
    Other(String),
}

impl Entry {
    /// The entry that a cell of text holds; dashes and crosses stand for nothing.
    pub fn of_text(text: &str) -> Self {
        match text.trim() {
            "" | "-" | "X" | "N/A" => Self::Empty,
            cell => cell.parse().map_or_else(|_| Self::Other(format!("{:?}", shorten(cell, 40))), Self::Number),
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Null => Self::Empty,
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            other => Self::Other(shorten(&other.to_string(), 40)),
        })
    }
}

/// What the entries of a matrix are.
pub(super) struct Quantity {
    /// Its name, as it is shown.
    pub name: &'static str,
    /// What an entry has to be, as it is shown.
    pub cure: String,
    /// What an entry is multiplied by to be in the program's unit.
    pub factor: f64,
    /// The least and the largest value in the program's unit.
    pub range: (f64, f64),
}

/// The bandwidths that are taken, in bytes per millisecond: slower or faster ones are slips, and would let times
/// overflow.
const BANDWIDTHS: (f64, f64) = (1e-3, 1e15);

/// The longest latency that is taken, in milliseconds.
const LONGEST_LATENCY: f64 = 1e9;

impl Quantity {
    /// Bandwidths in a unit of so many bytes per millisecond.
    pub fn bandwidth(unit: &str, factor: f64) -> Self {
        let (least, most) = BANDWIDTHS;
        let cure = format!("give a number of {unit} from {:e} to {:e}", least / factor, most / factor);
        Self { name: "bandwidth", cure, factor, range: BANDWIDTHS }
    }

    /// Latencies in a unit of so many milliseconds.
    pub fn latency(unit: &str, factor: f64) -> Self {
        let cure = format!("give a number of {unit} from 0 to {:e}", LONGEST_LATENCY / factor);
        Self { name: "latency", cure, factor, range: (0.0, LONGEST_LATENCY) }
    }
}

/// Where rows and their entries stand in a text whose header is line `header` and whose rows are `lines`: the first
/// column names the rows.
pub(super) fn place_in_text(header: usize, lines: &[usize]) -> impl Fn(usize, Option<usize>) -> String {
    move |row, column| {
        let line = lines.get(row).unwrap_or(&header);
        column.map_or_else(|| format!("line {line}"), |column| format!("line {line}, column {}", column + 2))
    }
}

/// The values of a square matrix in the program's unit, row by row, the diagonal 0. What is not right is added to
/// `problems` with its `place`, which is given row and column, and is 0 in the result.
pub(super) fn values(
    rows: &[Vec<Entry>],
    size: usize,
    quantity: &Quantity,
    place: &dyn Fn(usize, Option<usize>) -> String,
    problems: &mut Problems,
) -> Vec<f64> {
    let mut values = vec![0.0; size * size];
    if rows.len() != size {
        let cause = format!("the {} matrix has {} rows for {size} devices", quantity.name, rows.len());
        problems.add(place(rows.len().min(size), None), cause, "give one row for each device");
    }
    for (a, row) in rows.iter().take(size).enumerate() {
        if row.len() != size {
            let cause = format!("it has {} entries for {size} devices", row.len());
            problems.add(place(a, None), cause, "give one entry for each device");
        }
        for (b, entry) in row.iter().take(size).enumerate().filter(|&(b, _)| b != a) {
            match quantity.value(entry) {
                Ok(value) => values[a * size + b] = value,
                Err(cause) => problems.add(place(a, Some(b)), cause, &quantity.cure),
            }
        }
    }
    values
}

impl Quantity {
    fn value(&self, entry: &Entry) -> Result<f64, String> {
        match entry {
            Entry::Number(number) => {
                let value = number * self.factor;
                let (least, most) = self.range;
                let fits = (least..=most).contains(&value);
                fits.then_some(value).ok_or_else(|| format!("the {} is {number}", self.name))
            }
            Entry::Empty => Err(format!("there is no {}", self.name)),
            Entry::Other(other) => Err(format!("the {} is {other}", self.name)),
        }
    }
}
