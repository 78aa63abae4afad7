//! Lines of comments and Markdown that are too long.
//!
//! Tables, code blocks, and lines that are long because of a link or a code span are exempt: they
//! cannot be wrapped.

use super::texts::Text;
use crate::sources::{Kind, pieces};

/// The name of the rule.
pub(super) const RULE: &str = "long-line";
/// The replacement, in words.
pub(super) const INSTEAD: &str = "lines of at most 100 columns";

const COLUMNS_MAX: usize = 100;

/// The numbers of the lines that are too long, each with its beginning.
pub(super) fn of(text: &Text) -> Vec<(usize, String)> {
    let mut finder = LongLines::default();
    if text.is_markdown {
        for (index, line) in text.text.lines().enumerate() {
            finder.check(index + 1, line, line);
        }
    } else {
        finder.check_comments(&text.text);
    }
    finder.found
}

#[derive(Default)]
struct LongLines {
    found: Vec<(usize, String)>,
    is_in_code: bool,
    /// The number of the line that was checked last.
    last: usize,
}

impl LongLines {
    fn check_comments(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        let comments = pieces(text)
            .into_iter()
            .filter(|piece| matches!(piece.kind, Kind::Comment | Kind::Doc));
        for comment in comments {
            for (index, words) in comment.text.lines().enumerate() {
                let number = comment.line + index;
                let words = words.trim().trim_start_matches(['/', '*', '!']);
                let line = lines.get(number - 1).copied().unwrap_or_default();
                self.check(number, line, words);
            }
        }
    }

    /// Checks a line with these words; comments that are not consecutive share no code block.
    fn check(&mut self, number: usize, line: &str, words: &str) {
        if number > self.last + 1 {
            self.is_in_code = false;
        }
        self.last = number;
        let words = words.trim();
        if words.starts_with("```") {
            self.is_in_code = !self.is_in_code;
            return;
        }
        let is_exempt = self.is_in_code
            || line.starts_with("    ") && line.trim() == words
            || words.starts_with('|')
            || words.starts_with(['`', '(']) && words.contains('`')
            || words.contains("](")
            || words.contains("://");
        if !is_exempt && line.chars().count() > COLUMNS_MAX {
            self.found
                .push((number, words.chars().take(COLUMNS_MAX).collect()));
        }
    }
}
