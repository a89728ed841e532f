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
    /// The object in `text`, whatever its fields.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| error.to_string())
    }

    /// The object in `text`, which may have these fields alone.
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

    /// What `read` makes of a field that has to be there.
    pub fn get<T>(&self, name: &str, read: impl Fn(Value<'a>) -> Result<T, String>) -> Result<T, String> {
        self.optional(name, read)?.ok_or_else(|| format!("the field {name:?} is missing"))
    }

    /// What `read` makes of a field; `None` where it is absent or null.
    pub fn optional<T>(&self, name: &str, read: impl Fn(Value<'a>) -> Result<T, String>) -> Result<Option<T>, String> {
        let value = self.0.get(name).copied().filter(|value| value.get() != "null");
        value.map(read).transpose().map_err(|cause| format!("{name}: {cause}"))
    }
}

/// Reads a list by what `read` makes of each entry.
pub fn list<'a, T>(read: impl Fn(Value<'a>) -> Result<T, String>) -> impl Fn(Value<'a>) -> Result<Vec<T>, String> {
    move |value| {
        let values: Vec<Value> = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
        let entry = |(i, value)| read(value).map_err(|cause| format!("entry {i}: {cause}"));
        values.into_iter().enumerate().map(entry).collect()
    }
}

/// Reads a list of `N` entries.
pub fn array<'a, T, const N: usize>(
    read: impl Fn(Value<'a>) -> Result<T, String>,
) -> impl Fn(Value<'a>) -> Result<[T; N], String> {
    let read = list(read);
    move |value| read(value)?.try_into().map_err(|_| format!("{} has not {N} entries", shown(value)))
}

/// A whole number that `T` holds.
pub fn whole<T: FromStr>(value: Value) -> Result<T, String> {
    value.get().parse().map_err(|_| format!("{} is no whole number in range", shown(value)))
}

/// A decimal number of at least zero.
pub fn decimal(value: Value) -> Result<Decimal, String> {
    match value.get().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        true => Decimal::parse(value.get()),
        false => Err(format!("{} is no number", shown(value))),
    }
}

/// A text.
pub fn text(value: Value) -> Result<String, String> {
    serde_json::from_str(value.get()).map_err(|_| format!("{} is no text", shown(value)))
}

/// A flag: true or false, 1 or 0.
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
