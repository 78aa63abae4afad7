//! A bitmap page: one bit for each page of a section of the file, set if the page is free.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 24 | header: kind 4, level 0, count 0 |
//! | 24 | P - 24 | bits, as little-endian 64-bit words; bit `b` of word `w` is page `64 w + b` of the section |
//!
//! A bitmap page covers `8 (P - 24)` pages: 32,576 for pages of 4 KiB. The header costs 24 bytes of
//! bits, so that every page of the free-space map can be checked by itself. P is a multiple of 8,
//! so a section begins and ends at a word. Bits of pages past the end of the file are set: they
//! become free as soon as the file grows over them.

use super::header::{HEADER_LEN, Header, PageKind};
use crate::types::{PageNumber, TransactionId};

/// How many pages one bitmap page covers.
pub(crate) fn capacity(page_size: usize) -> u32 {
    8 * (page_size - HEADER_LEN) as u32
}

/// Builds a bitmap page that holds `words`; there must be exactly as many as fit.
pub(crate) fn build(
    page_size: usize,
    number: PageNumber,
    birth: TransactionId,
    words: &[u64],
) -> Vec<u8> {
    assert_eq!(
        words.len() * 8,
        page_size - HEADER_LEN,
        "a bitmap page is full of bits"
    );
    let mut page = vec![0; page_size];
    Header::new(number, PageKind::Bitmap, birth).write(&mut page);
    for (bytes, word) in page[HEADER_LEN..].chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    page
}

/// The words of a bitmap page.
pub(crate) fn words(page: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = page[HEADER_LEN..].as_chunks::<8>();
    words.iter().map(|bytes| u64::from_le_bytes(*bytes))
}
