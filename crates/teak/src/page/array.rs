//! A node of a page array: consecutive pointers to other pages.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 24 | header: kind 6, level (1 for a node over elements), count of entries |
//! | 24 | 16 x count | entries |
//! | 24 + 16 x count | the rest | zero |
//!
//! An entry:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | page pointed to, 0 for an element that is absent |
//! | 4 | 4 | info: a count whose meaning the user of the array defines, summed upwards (and capped at 2^32 - 1) |
//! | 8 | 8 | checksum of the page pointed to |

use super::header::{HEADER_LEN, Header, PageKind};
use crate::types::{Checksum, PageNumber, TransactionId};

const ENTRY_LEN: usize = 16;

/// The entry of an array for an element or for a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Pointer {
    pub(crate) page: PageNumber,
    pub(crate) info: u32,
    pub(crate) checksum: Checksum,
}

/// How many pointers fit into one node.
pub(crate) fn fanout(page_size: usize) -> usize {
    (page_size - HEADER_LEN) / ENTRY_LEN
}

/// Builds a node of the given level that holds `pointers`, at most as many as fit.
pub(crate) fn build(
    page_size: usize,
    number: PageNumber,
    birth: TransactionId,
    level: u8,
    pointers: impl ExactSizeIterator<Item = Pointer>,
) -> Vec<u8> {
    assert!(
        pointers.len() <= fanout(page_size),
        "a node has no more pointers than fit into a page"
    );
    assert!(level > 0, "a node is above the elements of its array");
    let mut page = vec![0; page_size];
    let mut header = Header::new(number, PageKind::Array, birth);
    header.level = level;
    header.count = pointers.len() as u16;
    header.write(&mut page);
    for (entry, pointer) in page[HEADER_LEN..].chunks_exact_mut(ENTRY_LEN).zip(pointers) {
        entry[0..4].copy_from_slice(&pointer.page.0.to_le_bytes());
        entry[4..8].copy_from_slice(&pointer.info.to_le_bytes());
        entry[8..16].copy_from_slice(&pointer.checksum.0.to_le_bytes());
    }
    page
}

/// The pointers of a node; as many as its header counts or as fit into it.
pub(crate) fn pointers(page: &[u8]) -> impl Iterator<Item = Pointer> {
    let (entries, _) = page[HEADER_LEN..].as_chunks::<ENTRY_LEN>();
    entries
        .iter()
        .take(usize::from(Header::read(page).count))
        .map(|bytes| {
            let [page @ .., _, _, _, _, _, _, _, _, _, _, _, _] = *bytes;
            let [_, _, _, _, info @ .., _, _, _, _, _, _, _, _] = *bytes;
            let [_, _, _, _, _, _, _, _, checksum @ ..] = *bytes;
            Pointer {
                page: PageNumber(u32::from_le_bytes(page)),
                info: u32::from_le_bytes(info),
                checksum: Checksum(u64::from_le_bytes(checksum)),
            }
        })
}
