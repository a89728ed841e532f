//! Graphviz' DOT language, as far as drawn graphs of operators use it: nodes with attributes, and edges.

use crate::instance::Problems;
use crate::instance::validate::shorten;

/// One line of a graph, more or less.
pub(super) enum Statement {
    /// A node with its attributes.
    Node { line: usize, name: String, attributes: Vec<(String, String)> },
    /// An edge.
    Edge { line: usize, source: String, target: String },
}

/// The nodes and edges of a graph. What cannot be read is reported once, and nothing is read behind it.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Vec<Statement> {
    let mut parser = Parser { rest: text, line: 1 };
    let mut statements = Vec::new();
    if let Err(cause) = parser.graph(&mut statements) {
        let cure = "give a file as Graphviz and torch.fx write it: `digraph name { a [label=\"…\"]; a -> b; }`";
        problems.add(format!("line {}", parser.line), cause, cure);
    }
    statements
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    /// A name or text in quotes, without these and with escapes as they are written.
    Word(&'a str),
    Arrow,
    Sign(char),
}

impl<'a> Parser<'a> {
    fn graph(&mut self, statements: &mut Vec<Statement>) -> Result<(), String> {
        loop {
            match self.token()? {
                Some(Token::Sign('{')) => break,
                Some(Token::Word(_)) => {}
                _ => return Err("this is no graph".into()),
            }
        }
        loop {
            match self.token()? {
                Some(Token::Sign('}')) => return Ok(()),
                Some(Token::Sign(';' | ',')) => {}
                Some(Token::Word(name)) => self.statement(name, statements)?,
                Some(token) => return Err(format!("{} stands where a node should", shown(token))),
                None => return Err("the file ends within the graph".into()),
            }
        }
    }

    fn statement(&mut self, first: &'a str, statements: &mut Vec<Statement>) -> Result<(), String> {
        let line = self.line;
        let mut source = first;
        let mut is_edge = false;
        while self.peek()? == Some(Token::Arrow) {
            self.token()?;
            let Some(Token::Word(target)) = self.token()? else { return Err("an edge leads nowhere".into()) };
            statements.push(Statement::Edge { line, source: source.to_owned(), target: target.to_owned() });
            (source, is_edge) = (target, true);
        }
        if self.peek()? == Some(Token::Sign('=')) {
            // A setting of the whole graph.
            self.token()?;
            self.token()?;
            return Ok(());
        }
        let attributes = if self.peek()? == Some(Token::Sign('[')) { self.attributes()? } else { Vec::new() };
        if !is_edge && !["node", "edge", "graph"].contains(&first) {
            statements.push(Statement::Node { line, name: first.to_owned(), attributes });
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<Vec<(String, String)>, String> {
        let mut attributes = Vec::new();
        self.token()?;
        loop {
            match self.token()? {
                Some(Token::Sign(']')) => return Ok(attributes),
                Some(Token::Sign(',' | ';')) => {}
                Some(Token::Word(key)) => match (self.token()?, self.token()?) {
                    (Some(Token::Sign('=')), Some(Token::Word(value))) => attributes.push((key.into(), value.into())),
                    _ => return Err(format!("attribute {:?} has no value", shorten(key, 40))),
                },
                _ => return Err("its attributes do not end".into()),
            }
        }
    }

    fn peek(&mut self) -> Result<Option<Token<'a>>, String> {
        let (rest, line) = (self.rest, self.line);
        let token = self.token();
        (self.rest, self.line) = (rest, line);
        token
    }

    fn token(&mut self) -> Result<Option<Token<'a>>, String> {
        self.skip_blanks();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if self.rest.starts_with("->") {
            self.advance(2);
            return Ok(Some(Token::Arrow));
        }
        if first == '"' {
            let mut escaped = false;
            let ends = |&(_, letter): &(usize, char)| {
                let is_end = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                is_end
            };
            let end = self.rest[1..].char_indices().find(ends).ok_or("text in quotes does not end")?.0;
            let word = &self.rest[1..=end];
            self.advance(end + 2);
            return Ok(Some(Token::Word(word)));
        }
        let is_word = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
        let length = self.rest.find(|letter| !is_word(letter)).unwrap_or(self.rest.len());
        if length > 0 {
            let word = &self.rest[..length];
            self.advance(length);
            return Ok(Some(Token::Word(word)));
        }
        self.advance(first.len_utf8());
        Ok(Some(Token::Sign(first)))
    }

    fn skip_blanks(&mut self) {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.advance(blanks);
            let comment = match self.rest {
                rest if rest.starts_with("//") || rest.starts_with('#') => rest.find('\n').unwrap_or(rest.len()),
                rest if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => return,
            };
            self.advance(comment);
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count();
        self.rest = rest;
    }
}

fn shown(token: Token) -> String {
    match token {
        Token::Word(word) => format!("{:?}", shorten(word, 40)),
        Token::Arrow => "`->`".into(),
        Token::Sign(sign) => format!("{sign:?}"),
    }
}
