//! JSON without types: fields by name, and numbers as the digits of their file.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::Result;
use crate::decimal::Decimal;

/// A value as its file has it.
pub type Value<'a> = &'a RawValue;

/// What a value may be read as.
pub trait Read<'a>: Sized {
    /// Reads a value; or what is wrong with it.
    fn read(value: Value<'a>) -> Result<Self>;
}

/// The fields of an object.
pub struct Object<'a>(BTreeMap<String, Value<'a>>);

impl<'a> Object<'a> {
    /// The object in `text`, whatever its fields.
    pub fn parse(text: &'a str) -> Result<Self> {
        serde_json::from_str(text).map(Self).map_err(|error| error.to_string())
    }

    /// The object, which may have these fields alone.
    pub fn of(value: Value<'a>, known: &[&str]) -> Result<Self> {
        let object = Self::read(value)?;
        object.are_fields(known)?;
        Ok(object)
    }

    /// Whether it has no other fields than these.
    pub fn are_fields(&self, known: &[&str]) -> Result<()> {
        let unknown = self.0.keys().find(|name| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| Err(format!("there is no field {name:?}; known are {}", known.join(", "))))
    }

    /// Whether there is such a field, be it null.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A field that has to be there.
    pub fn get<T: Read<'a>>(&self, name: &str) -> Result<T> {
        self.optional(name)?.ok_or_else(|| format!("the field {name:?} is missing"))
    }

    /// A field; `None` where it is absent or null.
    pub fn optional<T: Read<'a>>(&self, name: &str) -> Result<Option<T>> {
        let value = self.0.get(name).copied().map(Option::read).transpose();
        value.map(Option::flatten).map_err(|cause| format!("{name}: {cause}"))
    }

    /// What stands for the word of a field, which is one of these.
    pub fn word<T: Copy>(&self, name: &str, known: &[(&str, T)]) -> Result<T> {
        let word: String = self.get(name)?;
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let found = known.iter().find(|(name, _)| *name == word).map(|&(_, meaning)| meaning);
        found.ok_or_else(|| format!("{name}: {word:?} is none of {}", names.join(", ")))
    }
}

impl<'a> Read<'a> for Object<'a> {
    fn read(value: Value<'a>) -> Result<Self> {
        Self::parse(value.get())
    }
}

impl<'a> Read<'a> for Value<'a> {
    fn read(value: Value<'a>) -> Result<Self> {
        Ok(value)
    }
}

impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    fn read(value: Value<'a>) -> Result<Self> {
        if value.get() == "null" { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<'a, T: Read<'a>> Read<'a> for Vec<T> {
    fn read(value: Value<'a>) -> Result<Self> {
        let values: Vec<Value> = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
        let entry = |(i, value)| T::read(value).map_err(|cause| format!("entry {i}: {cause}"));
        values.into_iter().enumerate().map(entry).collect()
    }
}

impl<'a, T: Read<'a>, const N: usize> Read<'a> for [T; N] {
    fn read(value: Value<'a>) -> Result<Self> {
        Vec::read(value)?.try_into().map_err(|_| format!("{} has not {N} entries", shown(value)))
    }
}

/// A decimal number of at least zero.
impl Read<'_> for Decimal {
    fn read(value: Value) -> Result<Self> {
        let is_number = value.get().starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if is_number { Self::parse(value.get()) } else { Err(format!("{} is no number", shown(value))) }
    }
}

/// What a text may be read as: the types, how, and what it is called that cannot be.
macro_rules! read_texts {
    ($($($read:ty),+: $how:expr, $what:literal;)+) => {
        $($(impl Read<'_> for $read {
            fn read(value: Value) -> Result<Self> {
                $how(value.get()).ok_or_else(|| format!("{} is no {}", shown(value), $what))
            }
        })+)+
    };
}

read_texts! {
    u32, u64, usize, i128: |text: &str| text.parse().ok(), "whole number in range";
    String: |text| serde_json::from_str(text).ok(), "text";
    bool: |text| Some(matches!(text, "true" | "1")).filter(|flag| *flag || matches!(text, "false" | "0")), "flag";
}

/// The start of a value.
fn shown(value: Value) -> String {
    value.get().chars().take(40).collect()
}
