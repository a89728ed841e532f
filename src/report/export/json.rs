//! JSON: whole records, for programs.

use serde::Serialize;

use crate::text::escaped_json;

/// `value` as indented JSON.
///
/// # Errors
/// `value` has a map whose keys are no strings.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| format!("{}\n", escaped_json(&json)))
}

#[cfg(test)]
mod tests {
    use crate::report::comparison::tests::record;

    #[test]
    fn a_record_is_the_contracted_object() {
        insta::assert_snapshot!(super::json(&record("dp", Some(7.0))).unwrap());
    }
}
