//! Protocol buffers' text format, field by field: `name: value`, `name: [value, …]`, `name { field … }`.

use crate::instance::Problems;
use crate::instance::validate::shorten;

/// A field of a message.
pub(super) struct Field<'a> {
    pub name: &'a str,
    /// Whether it is a message, whose fields the reader gives next.
    pub is_message: bool,
    /// Its values as they are written, quotes included; none of a message.
    pub values: Vec<&'a str>,
    line: usize,
}

impl Field<'_> {
    /// What is between the quotes, escapes as they are written.
    pub fn text(&self) -> String {
        let value = self.values.first().copied().unwrap_or_default();
        value.trim_matches(['"', '\'']).to_owned()
    }

    /// A finite number that is at least `least`; 0 where it is none, which is reported.
    pub fn number(&self, least: f64, problems: &mut Problems) -> f64 {
        let text = self.values.first().copied().unwrap_or_default();
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= least);
        number.unwrap_or_else(|| {
            let cure = if least.is_finite() {
                format!("give a number that is at least {least}")
            } else {
                "give a number".into()
            };
            self.report(text, &cure, problems);
            0.0
        })
    }

    /// Reports a value that makes no sense.
    pub fn report(&self, value: &str, cure: &str, problems: &mut Problems) {
        problems.add(format!("line {}, {}", self.line, self.name), format!("it is {:?}", shorten(value, 40)), cure);
    }
}

/// Gives the fields of a message, and of those within it that are not skipped.
pub(super) struct Reader<'a> {
    rest: &'a str,
    line: usize,
    /// What cannot be read is reported once, and nothing is read behind it.
    failed: bool,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, failed: false, depth: 0 }
    }

    /// The next field of the message; `None` at its end.
    pub fn field(&mut self, problems: &mut Problems) -> Option<Field<'a>> {
        let Some(name) = self.token() else {
            if self.depth > 0 {
                self.fail("the file ends within a message", "close every `{` by a `}`", problems);
            }
            return None;
        };
        let line = self.line;
        if name == "}" || name == ">" {
            if self.depth == 0 {
                self.fail(&format!("{name:?} closes nothing"), "leave it out", problems);
            }
            self.depth = self.depth.saturating_sub(1);
            return None;
        }
        if !name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            self.fail(
                &format!("{:?} is no name of a field", shorten(name, 40)),
                "write `name: value` or `name { … }`",
                problems,
            );
            return None;
        }
        let mut value = self.token();
        if value == Some(":") {
            value = self.token();
        }
        let mut values = Vec::new();
        match value {
            Some("{" | "<") => {
                self.depth += 1;
                return Some(Field { name, is_message: true, values, line });
            }
            Some("[") => values.extend(std::iter::from_fn(|| self.token().filter(|&token| token != "]"))),
            Some(value) if !matches!(value, "}" | ">" | ":" | "]") => values.push(value),
            _ => {
                self.fail(&format!("{name} has no value"), "write `name: value`", problems);
                return None;
            }
        }
        Some(Field { name, is_message: false, values, line })
    }

    /// Skips the fields of a message.
    pub fn skip(&mut self, field: &Field) {
        let mut depth = usize::from(field.is_message);
        while depth > 0 {
            match self.token() {
                Some("{" | "<") => depth += 1,
                Some("}" | ">") => depth -= 1,
                Some(_) => {}
                // Told where the message around it ends.
                None => return,
            }
        }
        self.depth = self.depth.saturating_sub(usize::from(field.is_message));
    }

    fn fail(&mut self, cause: &str, cure: &str, problems: &mut Problems) {
        if !self.failed {
            problems.add(format!("line {}", self.line), cause, cure);
        }
        (self.failed, self.rest, self.depth) = (true, "", 0);
    }

    /// A bracket, a colon, text in quotes, or a word. Commas and semicolons mean nothing.
    fn token(&mut self) -> Option<&'a str> {
        loop {
            let trimmed = self.rest.trim_start_matches(|letter: char| letter.is_whitespace() || ",;".contains(letter));
            self.line += self.rest[..self.rest.len() - trimmed.len()].matches('\n').count();
            self.rest = trimmed;
            if !trimmed.starts_with('#') {
                break;
            }
            self.rest = &trimmed[trimmed.find('\n').unwrap_or(trimmed.len())..];
        }
        let first = self.rest.chars().next()?;
        let length = match first {
            '{' | '}' | '<' | '>' | '[' | ']' | ':' => 1,
            '"' | '\'' => quoted(self.rest, first),
            _ => self.rest.find(|c: char| c.is_whitespace() || "{}<>[]:,;#\"'".contains(c)).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(length);
        self.line += token.matches('\n').count();
        self.rest = rest;
        Some(token)
    }
}

/// The length of text in quotes, these included; a backslash takes what follows it along.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
