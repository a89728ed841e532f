//! JSON: numbers as the digits of their file, and objects of which some fields are asked for.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use crate::Result;
use crate::decimal::Decimal;

/// What a text states; or what is wrong with it.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// An object with fields that nobody may ask for.
#[derive(serde::Deserialize)]
pub struct Object<'a>(#[serde(borrow)] BTreeMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Whether there is such a field, be it null.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A field; what is absent is null.
    pub fn get<T: Deserialize<'a>>(&self, name: &str) -> Result<T> {
        read(self.0.get(name).map_or("null", |value| value.get())).map_err(|cause| format!("{name}: {cause}"))
    }

    /// A field that is true or false, or 1 or 0; `None` where it is absent or null.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.0.get(name).map_or("null", |value| value.get()) {
            "null" => Ok(None),
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            other => Err(format!("{name}: {other} is no flag")),
        }
    }
}

impl<'a> Deserialize<'a> for Decimal {
    fn deserialize<D: Deserializer<'a>>(value: D) -> Result<Self, D::Error> {
        Self::parse(<&RawValue>::deserialize(value)?.get()).map_err(D::Error::custom)
    }
}
