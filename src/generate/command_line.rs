//! The command line that generates something again.

use serde::Serialize;
use serde_json::Value;

/// `command`, the family of `recipe` and each of its other fields as an option: field `x_y` is `--x-y`, values are
/// spelled as serde spells them, and what is absent or false is left out.
pub(super) fn command_line(command: &str, recipe: &impl Serialize) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(recipe) else {
        unreachable!("a recipe is a struct of plain fields");
    };
    let family = fields.remove("family").unwrap_or_default();
    let mut words = vec![command.to_owned(), text(&family)];
    for (field, value) in fields {
        let option = format!("--{}", field.replace('_', "-"));
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => words.push(option),
            value => words.push(format!("{option} {}", text(&value))),
        }
    }
    words.join(" ")
}

/// A string as it is, a number without needless decimals, several with commas.
fn text(value: &Value) -> String {
    match value {
        Value::String(string) => string.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
