//! The bytes of a batch: a sequence number of 8 bytes, the number of entries in 4 bytes, and the
//! entries, each a kind, a key and perhaps a value with their lengths.

use crate::failure::{Failure, Result};

const HEADER_LEN: usize = 12;
const DELETION: u8 = 0;
const VALUE: u8 = 1;

/// An entry of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry<'b> {
    Put(&'b [u8], &'b [u8]),
    Delete(&'b [u8]),
}

impl<'b> Entry<'b> {
    pub(crate) fn key(&self) -> &'b [u8] {
        match *self {
            Entry::Put(key, _) | Entry::Delete(key) => key,
        }
    }
}

/// The entries of a batch. After an error there are no more.
pub(crate) struct Entries<'b> {
    rest: &'b [u8],
    left: u32,
}

/// Begins to read a batch.
pub(crate) fn entries(batch: &[u8]) -> Result<Entries<'_>> {
    let Some((header, rest)) = batch.split_at_checked(HEADER_LEN) else {
        return Err(Failure::corruption("malformed WriteBatch (too small)"));
    };
    let count = header[8..]
        .first_chunk()
        .map_or(0, |count| u32::from_le_bytes(*count));
    Ok(Entries { rest, left: count })
}

impl<'b> Entries<'b> {
    fn read(&mut self) -> Result<Option<Entry<'b>>> {
        let Some((kind, rest)) = self.rest.split_first() else {
            return match self.left {
                0 => Ok(None),
                _ => Err(Failure::corruption("WriteBatch has wrong count")),
            };
        };
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Failure::corruption("WriteBatch has wrong count"));
        };
        (self.rest, self.left) = (rest, left);
        match *kind {
            VALUE => {
                let entry = self.string().zip(self.string());
                let entry = entry.map(|(key, value)| Entry::Put(key, value));
                entry
                    .ok_or_else(|| Failure::corruption("bad WriteBatch Put"))
                    .map(Some)
            }
            DELETION => {
                let entry = self.string().map(Entry::Delete);
                entry
                    .ok_or_else(|| Failure::corruption("bad WriteBatch Delete"))
                    .map(Some)
            }
            _ => Err(Failure::corruption("unknown WriteBatch tag")),
        }
    }

    /// A byte string after its length, which is a number in groups of seven bits.
    fn string(&mut self) -> Option<&'b [u8]> {
        let mut len = 0_u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            len |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let (string, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
                self.rest = rest;
                return Some(string);
            }
        }
        None
    }
}

impl<'b> Iterator for Entries<'b> {
    type Item = Result<Entry<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.read();
        if entry.is_err() {
            (self.rest, self.left) = (&[], 0);
        }
        entry.transpose()
    }
}
