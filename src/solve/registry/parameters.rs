//! Parameters of methods, as spec strings give them.

use std::path::PathBuf;
use std::str::FromStr;

use super::SpecError;

/// A parameter of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in a spec string.
    pub name: &'static str,
    /// Its value where the spec string gives none.
    pub default: &'static str,
    /// What it does, and what values it takes.
    pub meaning: &'static str,
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

    /// The value of parameter `name` where it is not below `least`.
    ///
    /// # Errors
    /// The text given is no such value.
    pub fn at_least<T: FromStr + PartialOrd>(&self, name: &str, least: T) -> Result<T, SpecError> {
        let (parameter, text) = self.text(name);
        Some(self.value(parameter, text, text)?)
            .filter(|value| *value >= least)
            .ok_or_else(|| self.bad(parameter, text))
    }

    /// The value of parameter `name` where it is from 0 to 1.
    ///
    /// # Errors
    /// The text given is no such value.
    pub fn share(&self, name: &str) -> Result<f64, SpecError> {
        let (parameter, text) = self.text(name);
        text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| self.bad(parameter, text))
    }

    /// The values of parameter `name`, which are separated by slashes.
    ///
    /// # Errors
    /// The text given holds something else.
    pub fn list<T: FromStr>(&self, name: &str) -> Result<Vec<T>, SpecError> {
        let (parameter, text) = self.text(name);
        text.split('/').map(|value| self.value(parameter, text, value)).collect()
    }

    /// The value that one `piece` of a parameter's `text` gives. No number may be infinite, or none.
    fn value<T: FromStr>(&self, parameter: &Parameter, text: &str, piece: &str) -> Result<T, SpecError> {
        let is_finite = piece.parse().map_or(true, f64::is_finite);
        piece.parse().ok().filter(|_| is_finite).ok_or_else(|| self.bad(parameter, text))
    }

    fn bad(&self, parameter: &Parameter, text: &str) -> SpecError {
        SpecError::BadValue {
            method: self.method,
            name: parameter.name,
            value: text.into(),
            meaning: parameter.meaning,
        }
    }
}
