//! The text formats that records are loaded from and dumped to. This module does not use the
//! engine.
//!
//! Every reader streams: it holds one line and one record at a time. Errors are a [`Malformed`]
//! with line and column.

mod dump_reader;
mod dump_writer;
mod escape;
mod event;
mod fault;
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
pub(crate) use event::Event;
pub(crate) use header::{Encoding, Header, Order, TableKind, ValueKind};
pub(crate) use hex::{decode as decode_hex, encode as encode_hex};
pub(crate) use lines::{Malformed, ReadError};
pub(crate) use tsv::TsvReader;
