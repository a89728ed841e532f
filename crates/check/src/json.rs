//! JSON without types: fields by name, and numbers as the digits of their file.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::value::RawValue;

use crate::decimal::Decimal;

/// A value as its file has it.
pub type Value<'a> = &'a RawValue;

/// The fields of an object.
pub struct Object<'a>(BTreeMap<String, Value<'a>>);

impl<'a> Object<'a> {
    /// The object in `text`.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| error.to_string())
    }

    /// The same for an object of these fields alone.
    ///
    /// # Errors
    /// It is no JSON object, or has other fields.
    pub fn of_fields(text: &'a str, known: &[&str]) -> Result<Self, String> {
        let object = Self::parse(text)?;
        match object.0.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("there is no field {name:?}; known are {}", known.join(", "))),
            None => Ok(object),
        }
    }

    /// Whether it has this field.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A field's value; `None` where it is absent or null.
    pub fn optional(&self, name: &str) -> Option<Value<'a>> {
        self.0.get(name).copied().filter(|value| value.get() != "null")
    }

    /// What `read` makes of a field.
    ///
    /// # Errors
    /// It is absent, or not of this kind.
    pub fn get<T>(&self, name: &str, read: impl Fn(Value<'a>) -> Result<T, String>) -> Result<T, String> {
        let value = self.optional(name).ok_or_else(|| format!("the field {name:?} is missing"))?;
        read(value).map_err(|cause| format!("{name}: {cause}"))
    }

    /// What `read` makes of a field, or `absent` where there is none.
    ///
    /// # Errors
    /// It is not of this kind.
    pub fn or<T>(&self, name: &str, absent: T, read: impl Fn(Value<'a>) -> Result<T, String>) -> Result<T, String> {
        if self.optional(name).is_some() { self.get(name, read) } else { Ok(absent) }
    }
}

/// What `read` makes of each entry of a list.
///
/// # Errors
/// It is no list, or an entry is not of this kind.
pub fn list<'a, T>(value: Value<'a>, read: impl Fn(Value<'a>) -> Result<T, String>) -> Result<Vec<T>, String> {
    let values: Vec<Value> = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
    let entry = |(i, value)| read(value).map_err(|cause| format!("entry {i}: {cause}"));
    values.into_iter().enumerate().map(entry).collect()
}

/// A whole number.
///
/// # Errors
/// It is none that `T` holds.
pub fn whole<T: FromStr>(value: Value) -> Result<T, String> {
    value.get().parse().map_err(|_| format!("{} is no whole number in range", shown(value)))
}

/// A decimal number of at least zero.
///
/// # Errors
/// See [`Decimal::parse`]; or it is no number.
pub fn decimal(value: Value) -> Result<Decimal, String> {
    if !value.get().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Err(format!("{} is no number", shown(value)));
    }
    Decimal::parse(value.get())
}

/// A text.
///
/// # Errors
/// It is none.
pub fn text(value: Value) -> Result<String, String> {
    serde_json::from_str(value.get()).map_err(|_| format!("{} is no text", shown(value)))
}

/// A flag: true or false, 1 or 0.
///
/// # Errors
/// It is none.
pub fn flag(value: Value) -> Result<bool, String> {
    match value.get() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("{} is no flag", shown(value))),
    }
}

/// The start of a value.
fn shown(value: Value) -> String {
    value.get().chars().take(40).collect()
}
