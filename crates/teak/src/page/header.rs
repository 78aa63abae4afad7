//! The 24 bytes at the start of every page except commit records and pages of large values.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | number: the page's own |
//! | 4 | 1 | kind |
//! | 5 | 1 | level: 0 for a leaf, one more than its children for an inner page |
//! | 6 | 2 | count of entries |
//! | 8 | 8 | birth: the transaction that wrote the page |
//! | 16 | 2 | heap length: bytes used at the end of the page, garbage included |
//! | 18 | 2 | garbage: bytes of a leaf's heap that no record uses |
//! | 20 | 2 | prefix length: bytes that all keys of the page share; they follow the header. In a fixed leaf the length of a key |
//! | 22 | 2 | flags |
//!
//! Garbage is only the bytes of removed records. Inner pages write 0, whatever their heap
//! holds, and padding before a node that aligns its value is not counted.

use crate::types::{PageNumber, TransactionId};

/// Length of the page header in bytes.
pub(crate) const HEADER_LEN: usize = 24;

const _: () = assert!(
    HEADER_LEN.is_multiple_of(8),
    "what follows the header is aligned to words"
);

/// Where the arrays of a page begin: after the header and the prefix, at a multiple of four.
#[inline]
pub(crate) fn arrays_start(prefix_len: usize) -> usize {
    HEADER_LEN + ((prefix_len + 3) & !3)
}

/// Writes the prefix of a page, padded with zeros up to the arrays.
pub(crate) fn write_prefix(page: &mut [u8], prefix: &[u8]) {
    let target = &mut page[HEADER_LEN..arrays_start(prefix.len())];
    let (bytes, filler) = target.split_at_mut(prefix.len());
    bytes.copy_from_slice(prefix);
    filler.fill(0);
}

/// The kind of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum PageKind {
    /// Records of a tree.
    Leaf = 1,
    /// Separators and children of a tree.
    Inner = 2,
    /// Keys of one length, and nothing else.
    FixedLeaf = 3,
    /// Bits of the free-space map: a set bit is a free page.
    Bitmap = 4,
    /// Pages that died and that a snapshot may still see.
    Deaths = 5,
    /// A node of a page array: numbers and checksums of other pages.
    Array = 6,
}

impl PageKind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Leaf,
            2 => Self::Inner,
            3 => Self::FixedLeaf,
            4 => Self::Bitmap,
            5 => Self::Deaths,
            6 => Self::Array,
            _ => return None,
        })
    }
}

#[inline(always)]
fn bytes_of(page: &[u8]) -> &[u8; HEADER_LEN] {
    page.first_chunk()
        .expect("a page is longer than its header")
}

/// The decoded header. A page has at least [`HEADER_LEN`] bytes: its source guarantees that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) number: PageNumber,
    pub(crate) kind: u8,
    pub(crate) level: u8,
    pub(crate) count: u16,
    pub(crate) birth: TransactionId,
    pub(crate) heap_len: u16,
    pub(crate) garbage_len: u16,
    pub(crate) prefix_len: u16,
    pub(crate) flags: u16,
}

impl Header {
    pub(crate) fn new(number: PageNumber, kind: PageKind, birth: TransactionId) -> Self {
        Self {
            number,
            kind: kind as u8,
            level: 0,
            count: 0,
            birth,
            heap_len: 0,
            garbage_len: 0,
            prefix_len: 0,
            flags: 0,
        }
    }

    #[inline]
    pub(crate) fn read(page: &[u8]) -> Self {
        let h = bytes_of(page);
        Self {
            number: PageNumber(u32::from_le_bytes([h[0], h[1], h[2], h[3]])),
            kind: h[4],
            level: h[5],
            count: u16::from_le_bytes([h[6], h[7]]),
            birth: TransactionId(u64::from_le_bytes([
                h[8], h[9], h[10], h[11], h[12], h[13], h[14], h[15],
            ])),
            heap_len: u16::from_le_bytes([h[16], h[17]]),
            garbage_len: u16::from_le_bytes([h[18], h[19]]),
            prefix_len: u16::from_le_bytes([h[20], h[21]]),
            flags: u16::from_le_bytes([h[22], h[23]]),
        }
    }

    #[inline]
    pub(crate) fn write(&self, page: &mut [u8]) {
        let h: &mut [u8; HEADER_LEN] = page
            .first_chunk_mut()
            .expect("a page is longer than its header");
        h[0..4].copy_from_slice(&self.number.0.to_le_bytes());
        h[4] = self.kind;
        h[5] = self.level;
        h[6..8].copy_from_slice(&self.count.to_le_bytes());
        h[8..16].copy_from_slice(&self.birth.0.to_le_bytes());
        h[16..18].copy_from_slice(&self.heap_len.to_le_bytes());
        h[18..20].copy_from_slice(&self.garbage_len.to_le_bytes());
        h[20..22].copy_from_slice(&self.prefix_len.to_le_bytes());
        h[22..24].copy_from_slice(&self.flags.to_le_bytes());
    }

    /// Whether the page begins with this number, this kind and this level.
    #[inline(always)]
    pub(crate) fn begins(page: &[u8], number: PageNumber, kind: PageKind, level: u8) -> bool {
        let h = bytes_of(page);
        u32::from_le_bytes([h[0], h[1], h[2], h[3]]) == number.0
            && u16::from_le_bytes([h[4], h[5]]) == u16::from_le_bytes([kind as u8, level])
    }

    pub(crate) fn kind(&self) -> Option<PageKind> {
        PageKind::from_byte(self.kind)
    }

    /// Whether the page holds records of a tree, of any leaf kind.
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.kind == PageKind::Leaf as u8 || self.is_fixed_leaf()
    }

    #[inline]
    pub(crate) fn is_fixed_leaf(&self) -> bool {
        self.kind == PageKind::FixedLeaf as u8
    }

    /// Whether the heap begins at or after the end of the arrays.
    #[inline(always)]
    pub(crate) fn is_heap_after(&self, page: &[u8], arrays_end: usize) -> bool {
        arrays_end + usize::from(self.heap_len) <= page.len()
    }

    /// The prefix of a page that is not a fixed leaf; empty if it would not lie inside the page.
    #[inline]
    pub(crate) fn prefix<'p>(&self, page: &'p [u8]) -> &'p [u8] {
        let end = HEADER_LEN + usize::from(self.prefix_len);
        page.get(HEADER_LEN..end).unwrap_or_default()
    }
}
