//! Parameters of methods, as spec strings give them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::SpecError;

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// Whole numbers from the first to the second.
    Whole(u64, u64),
    /// Numbers from the first to the second.
    Number(f64, f64),
    /// Numbers from the first to the second, as many as one likes, separated by slashes.
    Numbers(f64, f64),
    /// `true` or `false`.
    Switch,
    /// What the meaning says.
    Text,
}

impl Values {
    /// Whether `text` is one of them; for text the method says.
    fn hold(&self, text: &str) -> bool {
        let number = |text: &str, least: f64, most: f64| text.parse().is_ok_and(|x: f64| (least..=most).contains(&x));
        match *self {
            Values::Whole(least, most) => text.parse().is_ok_and(|x: u64| (least..=most).contains(&x)),
            Values::Number(least, most) => number(text, least, most),
            Values::Numbers(least, most) => text.split('/').all(|text| number(text, least, most)),
            Values::Switch => matches!(text, "true" | "false"),
            Values::Text => true,
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Values::Number(least, most) => write!(f, "a number from {least} to {most}"),
            Values::Numbers(least, most) => write!(f, "numbers from {least} to {most}, separated by slashes"),
            Values::Switch => f.write_str("true or false"),
            Values::Text => f.write_str("such text"),
        }
    }
}

/// A parameter of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in a spec string.
    pub name: &'static str,
    /// Its value where the spec string gives none.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What values it takes.
    pub values: Values,
}

impl Parameter {
    /// What it does, and what values it takes.
    pub fn described(&self) -> String {
        match self.values {
            Values::Text => self.meaning.into(),
            values => format!("{}: {values}", self.meaning),
        }
    }
}

/// What comes before the command line of a program.
pub(super) const EXEC: &str = "exec:";

/// The name and the given parameters of one step, `name` or `name:parameter=value,...`. Names may hold a colon
/// themselves. What follows `exec:` is a command line, whatever it holds.
pub(crate) fn parts(step: &str) -> (&str, Vec<(&str, &str)>) {
    if let Some(line) = step.strip_prefix(EXEC) {
        return ("exec", vec![("program", line)]);
    }
    let colon = step.find('=').and_then(|equals| step[..equals].rfind(':'));
    let (name, text) = colon.map_or((step, None), |colon| (&step[..colon], Some(&step[colon + 1..])));
    let pieces = text.into_iter().flat_map(|text| text.split(','));
    (name, pieces.map(|piece| piece.split_once('=').unwrap_or((piece, ""))).collect())
}

/// The values of a method's parameters: those given, and the defaults of the others.
#[derive(Debug, Clone)]
pub struct Parameters<'a> {
    method: &'static str,
    declared: &'static [Parameter],
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// The `given` values of a method's `declared` parameters.
    ///
    /// # Errors
    /// A parameter that is not declared, or given twice.
    pub(crate) fn new(
        method: &'static str,
        declared: &'static [Parameter],
        given: Vec<(&'a str, &'a str)>,
    ) -> Result<Self, SpecError> {
        for (i, (name, _)) in given.iter().enumerate() {
            if !declared.iter().any(|parameter| parameter.name == *name) {
                let known = declared.iter().map(|parameter| parameter.name).collect();
                return Err(SpecError::UnknownParameter { method, name: (*name).into(), known });
            }
            if given[..i].iter().any(|(other, _)| other == name) {
                return Err(SpecError::Twice { method, name: (*name).into() });
            }
        }
        Ok(Self { method, declared, given })
    }

    /// The text of parameter `name`, which has to be declared.
    fn text(&self, name: &str) -> (&'static Parameter, &str) {
        let parameter = self.declared.iter().find(|parameter| parameter.name == name);
        let parameter = parameter.unwrap_or_else(|| unreachable!("{} declares no parameter {name}", self.method));
        let given = self.given.iter().find(|(given, _)| *given == name);
        (parameter, given.map_or(parameter.default, |(_, value)| value))
    }

    /// The value of parameter `name`.
    ///
    /// # Errors
    /// The text given is no such value.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, SpecError> {
        let (parameter, text) = self.text(name);
        self.value(parameter, text, text)
    }

    /// The path that parameter `name` gives; `None` where it gives none.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let (_, text) = self.text(name);
        (!text.is_empty()).then(|| text.into())
    }

    /// The values of parameter `name`, which are separated by slashes.
    ///
    /// # Errors
    /// The text given holds something else.
    pub fn list<T: FromStr>(&self, name: &str) -> Result<Vec<T>, SpecError> {
        let (parameter, text) = self.text(name);
        text.split('/').map(|value| self.value(parameter, text, value)).collect()
    }

    /// The value that one `piece` of a parameter's `text` gives.
    fn value<T: FromStr>(&self, parameter: &Parameter, text: &str, piece: &str) -> Result<T, SpecError> {
        let value = Some(piece).filter(|piece| parameter.values.hold(piece)).and_then(|piece| piece.parse().ok());
        value.ok_or_else(|| self.bad(parameter, text))
    }

    /// What is said of a text given for parameter `name` that the method itself cannot read.
    pub(super) fn refused(&self, name: &str) -> SpecError {
        let (parameter, text) = self.text(name);
        self.bad(parameter, text)
    }

    fn bad(&self, parameter: &Parameter, text: &str) -> SpecError {
        SpecError::BadValue {
            method: self.method,
            name: parameter.name,
            value: text.into(),
            meaning: parameter.meaning,
            range: parameter.values.to_string(),
        }
    }
}
