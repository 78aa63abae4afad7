//! Splits Rust source text into code, strings and comments.

/// A section of source text of one kind.
#[derive(Debug, PartialEq)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line in which it begins, from 1.
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    /// A string or character literal with its quotes.
    Text,
    /// `//` or `/* */`.
    Comment,
    /// `///`, `//!`, `/** */` or `/*! */`.
    Doc,
}

/// The pieces of a source text. Joined, they are the whole text.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut line = 1;
    let mut rest = text;
    let mut code_len = 0;
    while code_len < rest.len() {
        let Some((kind, len)) = special(&rest[code_len..]) else {
            code_len += word_len(&rest[code_len..]);
            continue;
        };
        for (kind, len) in [(Kind::Code, code_len), (kind, len)] {
            let (piece, remainder) = rest.split_at(len);
            if !piece.is_empty() {
                pieces.push(Piece {
                    kind,
                    text: piece,
                    line,
                });
            }
            line += piece.matches('\n').count();
            rest = remainder;
        }
        code_len = 0;
    }
    if !rest.is_empty() {
        pieces.push(Piece {
            kind: Kind::Code,
            text: rest,
            line,
        });
    }
    pieces
}

/// The kind and length of the comment or literal at the start of `text`, if there is one.
fn special(text: &str) -> Option<(Kind, usize)> {
    if text.starts_with("//") {
        let len = text.find('\n').unwrap_or(text.len());
        let is_doc =
            text.starts_with("//!") || text.starts_with("///") && !text.starts_with("////");
        return Some((comment_kind(is_doc), len));
    }
    if text.starts_with("/*") {
        let is_doc =
            text.starts_with("/*!") || text.starts_with("/**") && !text.starts_with("/**/");
        return Some((comment_kind(is_doc), block_len(text)));
    }
    let prefix_len = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let remainder = &text[prefix_len..];
    let hashes = remainder.len() - remainder.trim_start_matches('#').len();
    if text[..prefix_len].ends_with('r') && remainder[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let begin = prefix_len + hashes + 1;
        let len = text[begin..]
            .find(&end)
            .map_or(text.len(), |at| begin + at + end.len());
        return Some((Kind::Text, len));
    }
    if remainder.starts_with('"') {
        return Some((Kind::Text, prefix_len + quoted_len(remainder, '"')));
    }
    let is_character = remainder.starts_with("'\\")
        || remainder.starts_with('\'') && remainder.chars().nth(2) == Some('\'');
    is_character.then(|| (Kind::Text, prefix_len + quoted_len(remainder, '\'')))
}

fn comment_kind(is_doc: bool) -> Kind {
    if is_doc { Kind::Doc } else { Kind::Comment }
}

/// The length of a block comment, including nested ones.
fn block_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += char_len(&text[at..]);
        }
    }
    text.len()
}

/// The length of a literal in quotes, from its first quote.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == quote {
            return at + 1;
        }
    }
    text.len()
}

/// The length of the identifier or the single character at the start of `text`.
fn word_len(text: &str) -> usize {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let len = text
        .find(|character| !is_word(character))
        .unwrap_or(text.len());
    if len == 0 { char_len(text) } else { len }
}

fn char_len(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}
