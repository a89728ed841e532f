//! The option that keeps nodes on one device.

use crate::graph::NodeId;
use crate::instance::{Instance, Problems};

use super::{Exit, Failure, OrFail};

/// Nodes that are not to be parted.
#[derive(Debug, clap::Args)]
pub struct TogetherArgs {
    /// Keep on one device all nodes whose name, or its beginning up to a `.`, `/` or `@`, is like one of these patterns;
    /// `*` stands for any text, `?` for one character. May be given several times, each for a device.
    #[arg(long, value_name = "PATTERN,...", help_heading = "Problem")]
    together: Vec<String>,
}

impl TogetherArgs {
    /// Whether any are.
    pub fn is_asked(&self) -> bool {
        !self.together.is_empty()
    }

    /// The nodes of each set, by their indices.
    ///
    /// # Errors
    /// Every pattern that no node is like.
    pub fn sets(&self, instance: &Instance) -> Result<Vec<Vec<NodeId>>, Failure> {
        let mut found = Problems::default();
        let mut set = |patterns: &String| {
            let of_patterns = patterns.split(',').map(|pattern| {
                let alike = if pattern.is_empty() { Vec::new() } else { nodes_like(instance, pattern) };
                if alike.is_empty() {
                    let cure = "give a name of the file's nodes, or one with `*`";
                    found.add("--together", format!("no node has a name like `{pattern}`"), cure);
                }
                alike
            });
            of_patterns.collect::<Vec<_>>().concat()
        };
        let sets = self.together.iter().map(&mut set).collect();
        found.into_result().or_fail(Exit::Usage)?;
        Ok(sets)
    }
}

fn nodes_like(instance: &Instance, pattern: &str) -> Vec<NodeId> {
    let named = instance.nodes.iter().enumerate().filter_map(|(v, node)| Some((v, node.name.as_deref()?)));
    named.filter(|(_, name)| is_like(name, pattern)).map(|(v, _)| v).collect()
}

/// Whether a name or its beginning up to the end of a module is like `pattern`.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut ends = name.match_indices(['.', '/', '@']).map(|(end, _)| end).chain([name.len()]);
    ends.any(|end| matches(pattern, &name[..end]))
}

/// Whether `text` is like `pattern`. O(length of one times that of the other).
fn matches(pattern: &str, text: &str) -> bool {
    // Whether the pattern so far is like the beginning of the text of each length.
    let text: Vec<char> = text.chars().collect();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for sign in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for length in 0..=text.len() {
            next[length] = match sign {
                '*' => reached[length] || length > 0 && next[length - 1],
                _ => length > 0 && reached[length - 1] && (sign == '?' || sign == text[length - 1]),
            };
        }
        reached = next;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text_and_question_marks_for_one_character() {
        let alike = [("", ""), ("*", ""), ("a", "a"), ("a*", "a"), ("*b*", "abc"), ("a?c", "abc"), ("a*a*b", "aacab")];
        let other = [("", "a"), ("?", ""), ("a", "ab"), ("*b", "abc"), ("a?c", "ac"), ("a*a*b", "aacaba")];
        assert!(alike.iter().all(|(pattern, text)| matches(pattern, text)));
        assert!(!other.iter().any(|(pattern, text)| matches(pattern, text)));
    }
}
