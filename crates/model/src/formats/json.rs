//! What the JSON formats share: lists whose every malformed entry is reported, and one entry per line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ReadCause;
use crate::instance::Problems;
use crate::instance::validate::shorten;
use crate::text::{escaped, escaped_json};

/// A list of `T` that reads on after a malformed entry. What is wrong with an entry has its cure from
/// [`List::take_as`].
pub struct List<T> {
    entries: Vec<T>,
    malformed: Problems,
}

impl<T> List<T> {
    /// The well-formed entries; the others are added to `problems` as `name[index]`.
    pub fn take(self, name: &str, problems: &mut Problems) -> Vec<T> {
        self.take_as(name, "docs/format.md", problems)
    }

    /// The well-formed entries; the others are added to `problems` as `name[index]`, with the document that says how
    /// they are written.
    pub fn take_as(self, name: &str, document: &str, problems: &mut Problems) -> Vec<T> {
        for issue in self.malformed.issues {
            problems.add(format!("{name}{}", issue.place), issue.cause, format!("write it as {document} states"));
        }
        problems.more += self.malformed.more;
        self.entries
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
        let mut list = List { entries: Vec::new(), malformed: Problems::default() };
        let mut index = 0;
        while let Some(text) = seq.next_element::<&RawValue>()? {
            match read_entry(text.get()) {
                Ok(entry) => list.entries.push(entry),
                Err((id, cause)) => {
                    let id = id.map(|id| format!(" (id {id})")).unwrap_or_default();
                    let cause = shorten(&escaped(&cause), 200);
                    list.malformed.add(format!("[{index}]{id}"), cause, "");
                }
            }
            index += 1;
        }
        Ok(list)
    }
}

/// The entry that `text` states, or its identifier, if it has one, and what is wrong with it.
fn read_entry<T: DeserializeOwned>(text: &str) -> Result<T, (Option<u64>, String)> {
    // Without this, serde would take an array of the fields' values, too.
    if text.starts_with('{')
        && let Ok(entry) = serde_json::from_str(text)
    {
        return Ok(entry);
    }
    // Slower, but it takes the last of fields that stand twice, and tells no line and column, which are those in the entry.
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        (None, told.split(" at line ").next().unwrap_or(&told).to_owned())
    })?;
    let id = value.get("id").and_then(Value::as_u64);
    match value {
        Value::Object(_) => serde_json::from_value(value).map_err(|error| (id, error.to_string())),
        other => Err((id, format!("expected an object, found {other}"))),
    }
}

/// What the first field of the object `text` that is not null and tells something tells; what comes after it is not read.
pub fn first_telling<T>(text: &str, tell: impl Fn(&str) -> Option<T>) -> Result<Option<T>, ReadCause> {
    let mut told = None;
    let fields = Fields { tell, told: &mut told };
    // Where a field has told, the end of the object is not reached, which is no error of the text.
    match serde_json::Deserializer::from_str(text).deserialize_map(fields) {
        Err(error) if told.is_none() => Err(ReadCause::Json(explain(text, &error))),
        _ => Ok(told),
    }
}

/// Goes through an object's fields until one tells something.
struct Fields<'a, F, T> {
    tell: F,
    told: &'a mut Option<T>,
}

impl<'de, T, F: Fn(&str) -> Option<T>> Visitor<'de> for Fields<'_, F, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<str>>()? {
            let told = (self.tell)(&name);
            if map.next_value::<Option<IgnoredAny>>()?.is_some() && told.is_some() {
                *self.told = told;
                break;
            }
        }
        Ok(())
    }
}

/// Parses `text`, which must be an object; serde_json limits the nesting of what is read, and skips without recursion what is
/// not, so no text can exhaust the stack.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ReadCause> {
    if !text.trim_start().starts_with('{') {
        return Err(ReadCause::Json("expected a JSON object, which begins with `{`".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| ReadCause::Json(explain(text, &error)))
}

/// serde_json's message, with a hint where Python's `json` wrote what is not JSON.
fn explain(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let rest = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let is_number_of_python = ["NaN", "Infinity", "-Infinity"].iter().any(|word| rest.starts_with(word))
        || line.get(..error.column().saturating_sub(1)).is_some_and(|before| before.ends_with('-'));
    let hint = if error.is_syntax() && is_number_of_python {
        "; NaN and Infinity are not JSON: write a finite number, or null where the format allows it"
    } else {
        ""
    };
    format!("{}{hint}", shorten(&escaped(&error.to_string()), 300))
}

/// Reads a flag written as `0`, `1`, `false` or `true`.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Bool(flag) => Ok(flag),
        Value::Number(number) if number.as_f64() == Some(0.0) => Ok(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Ok(true),
        other => Err(serde::de::Error::custom(format!("expected 0, 1, false or true, found {other}"))),
    }
}

/// A JSON object with `fields` first and then each list with one entry per line.
pub struct Object(Vec<u8>);

impl Object {
    /// An object without fields.
    #[must_use]
    pub fn begin() -> Self {
        Self(b"{".to_vec())
    }

    /// Adds a field on a line of its own.
    pub fn field(mut self, name: &str, value: &impl Serialize) -> Self {
        self.key(name);
        self.value(value);
        self
    }

    /// Adds a list with one entry per line.
    pub fn list<T: Serialize>(mut self, name: &str, entries: impl IntoIterator<Item = T>) -> Self {
        self.key(name);
        self.0.push(b'[');
        let mut separator = "\n    ";
        for entry in entries {
            self.0.extend_from_slice(separator.as_bytes());
            self.value(&entry);
            separator = ",\n    ";
        }
        self.0.extend_from_slice(b"\n  ]");
        self
    }

    /// Adds an object whose fields `fill` adds.
    pub fn object(mut self, name: &str, fill: impl FnOnce(Self) -> Self) -> Self {
        self.key(name);
        self.0.extend_from_slice(fill(Self::begin()).finish().trim_end().as_bytes());
        self
    }

    /// The text, with a line break at its end.
    pub fn finish(mut self) -> String {
        self.0.extend_from_slice(b"\n}\n");
        let text = String::from_utf8(self.0).unwrap_or_else(|error| unreachable!("JSON is text: {error}"));
        match escaped_json(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(escaped) => escaped,
        }
    }

    fn key(&mut self, name: &str) {
        let separator = if self.0.len() == 1 { "\n  " } else { ",\n  " };
        self.0.extend_from_slice(separator.as_bytes());
        self.value(&name);
        self.0.extend_from_slice(b": ");
    }

    /// Adds the compact JSON of a value whose serialisation cannot fail: plain data with string keys.
    fn value(&mut self, value: &impl Serialize) {
        let written = serde_json::to_writer(&mut self.0, value);
        written.unwrap_or_else(|error| unreachable!("plain data serialises: {error}"));
    }
}
