//! Text from files and command lines, made safe to show: nothing in it acts on a terminal, breaks a line of a table or
//! turns the direction of reading.
//!
//! ```
//! use dagsplit::internals::text::escaped;
//!
//! assert_eq!(escaped("conv\u{1b}[31m\n2"), "conv\\u{1b}[31m\\n2");
//! assert_eq!(escaped("Größe → 3×3"), "Größe → 3×3");
//! ```

use std::borrow::Cow;
use std::path::Path;

/// Whether `c` acts in place of being seen: the control characters of ASCII and Latin-1 (C0, DEL, C1), line and paragraph
/// separators, and the marks that turn the direction of reading.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` in one line, what acts written as in Rust: `\n`, `\u{1b}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_but(text, |_| false)
}

/// `text` of several lines, with line breaks and tabs as they are.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    escaped_but(text, |c| matches!(c, '\n' | '\t'))
}

/// A file's path, as [`escaped`] shows it.
pub fn path(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

/// JSON text with the same value, whose strings hold nothing that acts: it is written as in JSON, `\u202e`.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    // Between its strings JSON has no such characters but line breaks, and inside them no line breaks.
    let stays = |c: char| c == '\n' || !acts(c);
    // Most texts are plain ASCII, which is seen by many bytes at a time.
    let is_plain = |bytes: &[u8]| bytes.iter().fold(true, |plain, b| plain & matches!(b, b'\n' | b' '..=b'~'));
    if json.as_bytes().chunks(64).all(is_plain) || json.chars().all(stays) {
        return json.into();
    }
    json.chars().map(|c| if stays(c) { c.into() } else { format!("\\u{:04x}", u32::from(c)) }).collect()
}

fn escaped_but(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let is_harmless = |c: char| stays(c) || !acts(c);
    if text.chars().all(is_harmless) {
        return text.into();
    }
    text.chars().map(|c| if is_harmless(c) { c.into() } else { c.escape_default().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped_and_nothing_else() {
        let acting = "a\u{7}\u{7f}\u{9b}31m\u{202e}b\u{2067}\r";
        assert_eq!(escaped(acting), "a\\u{7}\\u{7f}\\u{9b}31m\\u{202e}b\\u{2067}\\r");
        assert_eq!(escaped_lines("a\tb\nc\u{1b}"), "a\tb\nc\\u{1b}");
        for harmless in ["", "naïve 中文 עברית é\u{301} 👩‍💻", "\\n"] {
            assert!(matches!(escaped(harmless), Cow::Borrowed(same) if same == harmless));
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let name = "a\u{1b}\u{202e}\u{85}\n\"";
        let json = serde_json::to_string_pretty(&[name]).unwrap();
        let shown = escaped_json(&json);
        assert!(shown.contains("\\u202e\\u0085\\n") && !shown.chars().any(|c| c != '\n' && acts(c)), "{shown}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [name]);
    }
}
