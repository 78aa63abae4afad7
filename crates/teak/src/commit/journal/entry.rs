//! The format of journal entries, and writing them.
//!
//! An entry begins on a page of its own. If system pages are no larger, nothing acknowledged is
//! written again. If they are larger, acknowledged bytes are written again unchanged. All numbers
//! are little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic: `TeakJou` and a byte 1 |
//! | 8 | 8 | checksum: XXH3-64 of the bytes from 16 up to the length |
//! | 16 | 4 | length of the entry in bytes |
//! | 20 | 4 | count of pages |
//! | 24 | 8 | checksum of the previous entry, or of the record of the flushed commit |
//! | 32 | | the pages, the record first |
//!
//! A page:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | its number; for a record the slot |
//! | 4 | 4 | number of its source; 0: all zeros; all ones: the previous record, zeros after its sectors |
//! | 8 | 4 | count of parts that differ |
//! | 12 | | the parts: start (2) and length (2) in words of 8 bytes, and the bytes |

use crate::{
    Checksum, Extent,
    record::{Record, SLOT_COUNT},
};

pub(super) const MAGIC: [u8; 8] = *b"TeakJou\x01";
pub(super) const CHECKED_FROM: usize = 16;
pub(super) const HEAD_LEN: usize = 32;
pub(super) const PAGE_HEAD_LEN: usize = 12;
pub(super) const WORD_LEN: usize = 8;
/// Bytes that are compared at once.
const BLOCK_LEN: usize = 128;
const _: () = assert!(BLOCK_LEN.is_multiple_of(WORD_LEN));
/// Source number that stands for the previous record.
pub(crate) const RECORD: u32 = u32::MAX;
/// All entries together may have this many pages for each page of the journal, and no more page
/// bytes than the limit below. Recovery may have to keep all of them in memory.
const PAGES_PER_PAGE: usize = 16;
const REDONE_BYTES_MAX: usize = 64 << 20;

/// The most pages that all entries of a journal may have.
pub(super) fn pages_max(journal: Extent, page_size: usize) -> usize {
    (journal.len as usize)
        .saturating_mul(PAGES_PER_PAGE)
        .min(REDONE_BYTES_MAX / page_size)
}

/// Clears what an older record may have left after this record.
pub(super) fn clear_after(image: &mut [u8]) {
    let len = Record::sectors_len(image);
    if let Some(rest) = image.get_mut(len..) {
        rest.fill(0);
    }
}

/// The checksum at the head of a record.
pub(super) fn checksum_of(image: &[u8]) -> Checksum {
    Checksum(word(image, 8).unwrap_or(0))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// An entry under construction.
pub(crate) struct JournalEntry {
    pub(super) bytes: Vec<u8>,
    pub(super) count: u32,
}

impl JournalEntry {
    pub(crate) fn new(before: Checksum) -> Self {
        let mut bytes = vec![0; HEAD_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[24..HEAD_LEN].copy_from_slice(&before.0.to_le_bytes());
        Self { bytes, count: 0 }
    }

    /// Adds a page: the parts that differ from `old`, or from zeros without `old`.
    pub(crate) fn put(&mut self, number: u32, source: u32, page: &[u8], old: Option<&[u8]>) {
        debug_assert!(page.len().is_multiple_of(WORD_LEN), "a page is whole words");
        debug_assert!(
            old.is_none_or(|old| old.len() == page.len()),
            "pages have one size"
        );
        debug_assert_eq!(
            self.count == 0,
            source == RECORD,
            "an entry begins with its record, and has no other"
        );
        debug_assert_eq!(
            source == RECORD,
            number < u32::from(SLOT_COUNT),
            "the record is in a slot, and the pages are not"
        );
        let head = self.bytes.len();
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&source.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        let is_same = |index: usize, bytes: &[u8]| match old {
            Some(old) => *bytes == old[index * WORD_LEN..][..bytes.len()],
            None => *bytes == [0; BLOCK_LEN][..bytes.len()],
        };
        let (mut count, mut begun): (u32, Option<usize>) = (0, None);
        let mut part = |start: usize, end: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(&(start as u16).to_le_bytes());
            out.extend_from_slice(&((end - start) as u16).to_le_bytes());
            out.extend_from_slice(&page[start * WORD_LEN..end * WORD_LEN]);
            count += 1;
        };
        for (block_index, block) in page.chunks(BLOCK_LEN).enumerate() {
            let first = block_index * (BLOCK_LEN / WORD_LEN);
            // Most of a page is unchanged.
            if begun.is_none() && is_same(first, block) {
                continue;
            }
            for (index, word) in (first..).zip(block.chunks_exact(WORD_LEN)) {
                match (is_same(index, word), begun) {
                    (true, Some(start)) => {
                        part(start, index, &mut self.bytes);
                        begun = None;
                    }
                    (false, None) => begun = Some(index),
                    _ => {}
                }
            }
        }
        if let Some(start) = begun {
            part(start, page.len() / WORD_LEN, &mut self.bytes);
        }
        self.bytes[head + 8..head + PAGE_HEAD_LEN].copy_from_slice(&count.to_le_bytes());
        self.count += 1;
    }

    /// The bytes, padded to whole pages, and the checksum.
    pub(crate) fn finish(mut self, page_size: usize) -> (Vec<u8>, Checksum) {
        let len = self.bytes.len();
        self.bytes[16..20].copy_from_slice(&(len as u32).to_le_bytes());
        self.bytes[20..24].copy_from_slice(&self.count.to_le_bytes());
        let checksum = Checksum::of(&self.bytes[CHECKED_FROM..]);
        self.bytes[8..16].copy_from_slice(&checksum.0.to_le_bytes());
        self.bytes.resize(len.next_multiple_of(page_size), 0);
        (self.bytes, checksum)
    }
}
