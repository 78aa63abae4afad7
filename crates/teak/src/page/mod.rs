//! Page layouts, as functions over bytes: no I/O, no state, no allocation of pages.
//!
//! Every function here takes bytes that may come from a damaged or hostile file. Numbers read from
//! a page are checked where they are used. An invalid number is a [`PageDamage`]. The layer above
//! knows where the bytes came from, and turns it into an error.

pub(crate) mod array;
pub(crate) mod bitmap;
pub(crate) mod child;
pub(crate) mod comparison;
pub(crate) mod deaths;
pub(crate) mod entries;
pub(crate) mod fixed;
pub(crate) mod header;
pub(crate) mod inner;
pub(crate) mod key;
pub(crate) mod leaf;
pub(crate) mod print;
pub(crate) mod set;
pub(crate) mod stamp;
pub(crate) mod value;

use crate::{Error, PageNumber};

/// Why the bytes of a page are invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageDamage(pub(crate) &'static str);

impl PageDamage {
    /// The error for damage found on `page` by the operation `detected_by`.
    #[cold]
    pub(crate) fn at(self, page: PageNumber, detected_by: &'static str) -> Error {
        Error::corrupted(page, detected_by, self.0)
    }
}

/// The length in the file of a page with that many usable bytes. The length is a power of two, and
/// less than half of it is reserved.
pub(crate) const fn page_len(usable_len: usize) -> usize {
    usable_len.next_power_of_two()
}

/// The longest key that a tree on pages of this size can hold: a leaf holds at least one record
/// with such a key, an inner page at least two children with such a separator between them.
pub(crate) fn max_key_len(page_size: usize) -> usize {
    page_size.saturating_sub(256).min(0x7fff)
}

/// Reads a little-endian `u16` that starts at `offset`.
#[inline]
pub(crate) fn read_u16(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes
        .get(offset..)?
        .first_chunk()
        .map(|&b| u16::from_le_bytes(b))
}

#[cfg(test)]
mod tests;
