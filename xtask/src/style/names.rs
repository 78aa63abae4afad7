//! The identifiers of a Rust source.

use super::rules::Where;
use crate::sources::{Kind, pieces};
use std::collections::BTreeMap;

/// An identifier at its first position in a file.
#[derive(Debug, PartialEq)]
pub(super) struct Identifier {
    pub(super) name: String,
    /// In snake case, regardless of its case in the source.
    pub(super) words: String,
    pub(super) line: usize,
    is_function: bool,
}

impl Identifier {
    /// Whether a rule for `position` applies to this name.
    pub(super) fn is_in(&self, position: Where) -> bool {
        match position {
            Where::Prose => false,
            Where::Identifier => true,
            Where::Function => self.is_function,
            Where::Type => {
                self.name.starts_with(char::is_uppercase) && self.name.contains(char::is_lowercase)
            }
        }
    }
}

/// The identifiers of a source, each once.
pub(super) fn of(text: &str) -> Vec<Identifier> {
    let mut names: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    let mut previous = "";
    for piece in pieces(text) {
        if piece.kind != Kind::Code {
            continue;
        }
        for (index, line) in piece.text.split('\n').enumerate() {
            for word in words(line) {
                let name = names.entry(word).or_insert((piece.line + index, false));
                name.1 |= previous == "fn";
                previous = word;
            }
        }
    }
    let names = names.into_iter();
    names
        .map(|(name, (line, is_function))| Identifier {
            name: name.to_owned(),
            words: snake(name),
            line,
            is_function,
        })
        .collect()
}

/// The identifiers and keywords in a line.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|word| !word.is_empty() && !word.starts_with(|first: char| first.is_ascii_digit()))
}

/// A name in snake case.
pub(super) fn snake(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && was_lower {
            words.push('_');
        }
        was_lower = character.is_lowercase() || character.is_ascii_digit();
        words.extend(character.to_lowercase());
    }
    words
}
