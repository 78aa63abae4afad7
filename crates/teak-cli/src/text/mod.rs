//! The text formats that records are loaded from and dumped to. Nothing here knows the engine.
//!
//! Every reader streams: it holds one line and one record at a time, and reports what it cannot
//! read as a [`Malformed`] with the line and the column.

mod dump_reader;
mod dump_writer;
mod escape;
mod header;
mod hex;
mod lines;
mod tsv;

#[cfg(test)]
mod dump_tests;
#[cfg(test)]
mod tsv_tests;

pub(crate) use dump_reader::DumpReader;
pub(crate) use dump_writer::DumpWriter;
pub(crate) use escape::{
    is_hidden, printable, shown_message, shown_path, write_escaped, write_tsv_field,
};
pub(crate) use header::{Encoding, Header, Kind, Order, Values};
pub(crate) use hex::{decode as decode_hex, encode as encode_hex};
pub(crate) use lines::{Malformed, ReadError};
pub(crate) use tsv::TsvReader;

/// What a reader finds next in its input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A table begins; the records that follow are its own.
    Table(Header),
    /// One record of the table that began last.
    Record {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
        /// The line of the input that its key is in.
        line: u64,
    },
    /// The input ended where it may end.
    End,
}

/// Where and why a line's bytes are not what the format allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The offending byte, counted from 0 in the text that was to be decoded.
    pub(crate) position: usize,
    /// What should have been there.
    pub(crate) expected: &'static str,
}
