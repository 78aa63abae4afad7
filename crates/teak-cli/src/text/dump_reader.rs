//! Reading the dump format: for each table a header, then a line for each key and each value in
//! turn, each beginning with a space, then `DATA=END`. Several tables may follow one another.

use super::header::{self, Encoding};
use super::lines::{DATA_LINE_LEN_MAX, HEADER_LINE_LEN_MAX, Lines, Malformed, ReadError};
use super::{escape, event::Event, hex};
use std::io::BufRead;

/// The part of a dump that comes next.
#[derive(Clone, Copy)]
enum Position {
    /// The first header.
    Start,
    /// A header, or the end of the input.
    BetweenTables,
    /// A key, or `DATA=END`.
    InTable(Encoding),
}

/// The meaning of a line of data.
enum DataLine {
    Bytes,
    End,
}

/// Reads a dump as a stream of events.
pub(crate) struct DumpReader<R> {
    lines: Lines<R>,
    position: Position,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<R: BufRead> DumpReader<R> {
    /// A reader of `input`, which messages call `name`.
    pub(crate) fn new(input: R, name: &str) -> Self {
        Self {
            lines: Lines::new(input, name),
            position: Position::Start,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the next event of the input.
    pub(crate) fn next(&mut self) -> Result<Event<'_>, ReadError> {
        match self.position {
            Position::Start | Position::BetweenTables => self.table(),
            Position::InTable(encoding) => self.record(encoding),
        }
    }

    /// The header of the next table, or the end of an input that had one.
    fn table(&mut self) -> Result<Event<'_>, ReadError> {
        loop {
            if !self.lines.advance(HEADER_LINE_LEN_MAX)? {
                return match self.position {
                    Position::Start => Err(self.version_expected().into()),
                    _ => Ok(Event::End),
                };
            }
            self.lines.strip_carriage_return();
            if !self.lines.line().is_empty() {
                break;
            }
        }
        if self.lines.line() != b"VERSION=3" {
            return Err(self.version_expected().into());
        }
        let (header, encoding) = header::read(&mut self.lines)?;
        self.position = Position::InTable(encoding);
        Ok(Event::Table(header))
    }

    fn record(&mut self, encoding: Encoding) -> Result<Event<'_>, ReadError> {
        match Self::data_line(&mut self.lines, encoding, &mut self.key)? {
            Some(DataLine::Bytes) => {}
            Some(DataLine::End) => {
                self.position = Position::BetweenTables;
                return self.table();
            }
            None => {
                return Err(self
                    .data_expected("a key (a line that begins with a space), or DATA=END")
                    .into());
            }
        }
        let key_line = self.lines.number();
        match Self::data_line(&mut self.lines, encoding, &mut self.value)? {
            Some(DataLine::Bytes) => Ok(Event::Record {
                key: &self.key,
                value: &self.value,
                line: key_line,
            }),
            _ => {
                let expected = format!(
                    "the value (a line that begins with a space) of the key in line {key_line}"
                );
                Err(self.data_expected(&expected).into())
            }
        }
    }

    /// Reads and decodes a line of data; `None` if it is another kind of line.
    fn data_line(
        lines: &mut Lines<R>,
        encoding: Encoding,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<DataLine>, ReadError> {
        if !lines.advance(DATA_LINE_LEN_MAX)? {
            return Ok(None);
        }
        lines.strip_carriage_return();
        let Some(text) = lines.line().strip_prefix(b" ") else {
            return Ok((lines.line() == b"DATA=END").then_some(DataLine::End));
        };
        bytes.clear();
        let decoded = match encoding {
            Encoding::Hex => hex::decode(text, bytes),
            Encoding::Print => escape::decode_print(text, bytes),
        };
        decoded.map_err(|fault| lines.fault(1, fault))?;
        Ok(Some(DataLine::Bytes))
    }

    fn version_expected(&self) -> Malformed {
        let expected = match self.position {
            Position::Start => {
                "VERSION=3, the first line of a dump (pass --format tsv if the input is tab-separated)"
            }
            _ => "VERSION=3, the first line of the next table, or the end of the input",
        };
        self.lines.malformed(1, expected)
    }

    fn data_expected(&self, expected: &str) -> Malformed {
        self.lines.malformed(1, expected)
    }
}
