//! Reading tab-separated text: on each line a key, a tab and a value, with the escapes `\t`, `\n`,
//! `\r`, `\\` and `\xHH`.

use super::lines::{DATA_LINE_LEN_MAX, Lines, ReadError};
use super::{Header, escape, event::Event};
use std::io::BufRead;

/// Reads tab-separated text as a stream of events: a table without a name, then its records.
pub(crate) struct TsvReader<R> {
    lines: Lines<R>,
    began: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<R: BufRead> TsvReader<R> {
    /// A reader of `input`, which messages call `name`.
    pub(crate) fn new(input: R, name: &str) -> Self {
        Self {
            lines: Lines::new(input, name),
            began: false,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the next event of the input.
    pub(crate) fn next(&mut self) -> Result<Event<'_>, ReadError> {
        if !std::mem::replace(&mut self.began, true) {
            return Ok(Event::Table(Header::default()));
        }
        if !self.lines.advance(DATA_LINE_LEN_MAX)? {
            return Ok(Event::End);
        }
        self.decode_line()?;
        Ok(Event::Record {
            key: &self.key,
            value: &self.value,
            line: self.lines.number(),
        })
    }

    fn decode_line(&mut self) -> Result<(), ReadError> {
        let line = self.lines.line();
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            return Err(self
                .lines
                .malformed(line.len() + 1, "a tab after the key, then the value")
                .into());
        };
        let (key, value) = (&line[..tab], &line[tab + 1..]);
        if let Some(second) = value.iter().position(|byte| *byte == b'\t') {
            let expected = "one tab on each line (a tab in a key or value is written \\t)";
            return Err(self.lines.malformed(tab + second + 2, expected).into());
        }
        self.key.clear();
        self.value.clear();
        escape::decode_tsv_field(key, &mut self.key).map_err(|fault| self.lines.fault(0, fault))?;
        escape::decode_tsv_field(value, &mut self.value)
            .map_err(|fault| self.lines.fault(tab + 1, fault))?;
        Ok(())
    }
}
