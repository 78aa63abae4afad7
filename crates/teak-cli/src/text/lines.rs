//! Reading an input line by line, with positions for error messages.
//!
//! A line is held in memory, so each call limits the length of the next one. An input that is not
//! text is refused before it fills the memory.

use super::{escape::printable, fault::LineFault};
use std::fmt;
use std::io::{self, BufRead, Read};

/// The longest line of a header.
pub(super) const HEADER_LINE_LEN_MAX: u64 = 64 << 10;
/// The longest line of data: two digits for each byte of a 4 GiB value, and a margin.
pub(super) const DATA_LINE_LEN_MAX: u64 = (2 << 32) + (64 << 10);

const EXCERPT_LEN_MAX: usize = 40;

/// Why an input could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The input is malformed.
    Malformed(Malformed),
    /// The system could not read it.
    Io(io::Error),
}

/// A format error of an input, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The name of the input.
    pub(crate) input: String,
    /// The line, counted from 1.
    pub(crate) line: u64,
    /// The byte of the line, counted from 1.
    pub(crate) column: u64,
    /// The text that the format expects.
    pub(crate) expected: String,
    /// The text that was found.
    pub(crate) found: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            input,
            line,
            column,
            expected,
            found,
        } = self;
        write!(
            f,
            "{input}, line {line}, column {column}: expected {expected}, found {found}"
        )
    }
}

impl From<Malformed> for ReadError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The lines of an input.
pub(super) struct Lines<R> {
    input: R,
    name: String,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, name: &str) -> Self {
        Self {
            input,
            name: name.to_owned(),
            line: Vec::new(),
            number: 0,
            ended: false,
        }
    }

    /// Moves to the next line. Returns `false` at the end of the input.
    pub(super) fn advance(&mut self, len_max: u64) -> Result<bool, ReadError> {
        self.line.clear();
        self.number += 1;
        let mut limited = Read::take(&mut self.input, len_max + 1);
        let len = limited
            .read_until(b'\n', &mut self.line)
            .map_err(ReadError::Io)?;
        self.ended = len == 0;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if len as u64 > len_max {
            let expected = format!("a line of at most {len_max} bytes");
            return Err(self.malformed(1, expected).into());
        }
        Ok(!self.ended)
    }

    /// The current line without its end.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The number of the current line.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Drops the carriage return that a line ends with in files from other systems.
    pub(super) fn strip_carriage_return(&mut self) {
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
    }

    /// An error at a column of the current line.
    pub(super) fn malformed(&self, column: usize, expected: impl Into<String>) -> Malformed {
        Malformed {
            input: self.name.clone(),
            line: self.number,
            column: column as u64,
            expected: expected.into(),
            found: self.excerpt(column),
        }
    }

    /// The error for a `fault` in the text after `skipped` bytes of the current line.
    pub(super) fn fault(&self, skipped: usize, fault: LineFault) -> Malformed {
        self.malformed(skipped + fault.position + 1, fault.expected)
    }

    fn excerpt(&self, column: usize) -> String {
        if self.ended {
            return "the end of the input".to_owned();
        }
        let rest = self.line.get(column - 1..).unwrap_or_default();
        match rest.len() {
            0 => "the end of the line".to_owned(),
            1..=EXCERPT_LEN_MAX => format!("\"{}\"", printable(rest)),
            _ => format!("\"{}...\"", printable(&rest[..EXCERPT_LEN_MAX])),
        }
    }
}
