//! The paragraphs of comments and of Markdown, without code.
//!
//! Code spans are replaced by an ellipsis and code blocks are left out. In Markdown, the line `<!--
//! style: off -->` leaves out everything up to the line `<!-- style: on -->`.

use crate::sources::{Kind, pieces};

const OFF: &str = "<!-- style: off -->";
const ON: &str = "<!-- style: on -->";

/// Text without line breaks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Paragraph {
    pub(super) text: String,
    /// The offset at which each line begins, with its number.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    /// The line of the byte at `offset`.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        let line = self.lines.iter().rev().find(|(begin, _)| *begin <= offset);
        line.map_or(0, |(_, line)| *line)
    }
}

/// The paragraphs of the comments in a Rust source.
pub(super) fn of_comments(text: &str) -> Vec<Paragraph> {
    let mut paragraphs = Paragraphs::default();
    let mut last = (Kind::Code, 0);
    for piece in pieces(text) {
        if !matches!(piece.kind, Kind::Comment | Kind::Doc) {
            continue;
        }
        if last != (piece.kind, piece.line) {
            paragraphs.end_block();
        }
        for (index, line) in piece.text.lines().enumerate() {
            let words = line.trim().trim_start_matches(['/', '*', '!']);
            paragraphs.add(words.trim_end_matches("*/"), piece.line + index);
        }
        last = (piece.kind, piece.line + piece.text.lines().count());
    }
    paragraphs.end_block();
    paragraphs.done
}

/// The paragraphs of a Markdown file. Each cell of a table is one.
pub(super) fn of_markdown(text: &str) -> Vec<Paragraph> {
    let mut paragraphs = Paragraphs::default();
    let mut is_on = true;
    for (index, line) in text.lines().enumerate() {
        is_on = (is_on || line.trim() == ON) && line.trim() != OFF;
        if is_on {
            paragraphs.add(line, index + 1);
        }
    }
    paragraphs.end_block();
    paragraphs.done
}

#[derive(Default)]
struct Paragraphs {
    done: Vec<Paragraph>,
    open: Paragraph,
    in_code: bool,
}

impl Paragraphs {
    fn add(&mut self, line: &str, number: usize) {
        let line = line.trim();
        if line.starts_with("```") {
            self.end();
            self.in_code = !self.in_code;
        } else if self.in_code {
        } else if line.starts_with('|') {
            self.end();
            for cell in without_code(line).split('|') {
                self.push(cell.trim(), number);
                self.end();
            }
        } else {
            let words = line.trim_start_matches(['-', '*', '#', '>']);
            if line.is_empty() || words.len() < line.len() {
                self.end();
            }
            self.push(&without_code(words.trim()), number);
        }
    }

    fn push(&mut self, words: &str, number: usize) {
        if words.is_empty() {
            return;
        }
        if !self.open.text.is_empty() {
            self.open.text.push(' ');
        }
        self.open.lines.push((self.open.text.len(), number));
        self.open.text.push_str(words);
    }

    fn end(&mut self) {
        let paragraph = std::mem::take(&mut self.open);
        if !paragraph.text.is_empty() {
            self.done.push(paragraph);
        }
    }

    fn end_block(&mut self) {
        self.end();
        self.in_code = false;
    }
}

/// The line with an ellipsis for each code span.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { "…" } else { part })
        .collect()
}
