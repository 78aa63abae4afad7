//! The events that readers of text return.

use super::header::Header;

/// The next item of a reader's input.
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
    /// The input ended at a valid position.
    End,
}
