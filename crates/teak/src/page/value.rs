//! The value of a record, in its form in a leaf.
//!
//! A large value has an extent of its own, whose pages have no headers, so that it is one slice.
//! The leaf then holds 32 bytes that describe it:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | first page |
//! | 4 | 4 | zero |
//! | 8 | 8 | length in bytes |
//! | 16 | 8 | checksum of these bytes |
//! | 24 | 8 | birth |

use super::{PageDamage, page_len};
use crate::{Checksum, Extent, PageNumber, TransactionId, types::value_trailer_len};

/// Length of the description of a large value.
pub(crate) const VALUE_EXTENT_LEN: usize = 32;

/// Length of the root of a tree, as stored in a leaf or in a commit record.
pub(crate) const TREE_ROOT_LEN: usize = 64;

/// The meaning of the value bytes of a node.
// As wide as the pointers next to it in `StoredValue`, which then has no padding. Padding is moved
// in overlapping parts, and reading such parts back makes the processor wait for all earlier
// stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum ValueKind {
    /// The value itself.
    Inline = 0,
    /// The description of a large value.
    Extent = 1,
    /// A small sorted set of values.
    Set = 2,
    /// The root of a nested tree.
    Tree = 3,
}

impl ValueKind {
    pub(crate) fn from_bits(bits: u16) -> Self {
        match bits & 3 {
            0 => Self::Inline,
            1 => Self::Extent,
            2 => Self::Set,
            _ => Self::Tree,
        }
    }

    /// Whether it refers to other pages.
    pub(crate) fn is_reference(self) -> bool {
        matches!(self, Self::Extent | Self::Tree)
    }
}

/// A value in an extent of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ValueExtent {
    pub(crate) start: PageNumber,
    pub(crate) len_bytes: u64,
    pub(crate) checksum: Checksum,
    pub(crate) birth: TransactionId,
}

impl ValueExtent {
    pub(crate) fn encode(&self) -> [u8; VALUE_EXTENT_LEN] {
        let mut bytes = [0; VALUE_EXTENT_LEN];
        bytes[0..4].copy_from_slice(&self.start.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.len_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.checksum.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.birth.0.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, PageDamage> {
        let bytes: &[u8; VALUE_EXTENT_LEN] = bytes
            .try_into()
            .map_err(|_| PageDamage("a large value's description has the wrong length"))?;
        let u64_at = |offset: usize| {
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
        };
        let extent = Self {
            start: PageNumber(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            len_bytes: u64_at(8),
            checksum: Checksum(u64_at(16)),
            birth: TransactionId(u64_at(24)),
        };
        if extent.len_bytes == 0 || extent.len_bytes > u64::from(u32::MAX) << 16 {
            return Err(PageDamage("a large value's length is out of range"));
        }
        Ok(extent)
    }

    /// The pages that the value occupies, where pages have `usable_len` usable bytes.
    pub(crate) fn pages(&self, usable_len: usize) -> Result<Extent, PageDamage> {
        let count = value_page_count(self.len_bytes, usable_len);
        let len = u32::try_from(count).map_err(|_| PageDamage("a large value is too long"))?;
        Ok(Extent {
            start: self.start,
            len,
        })
    }
}

/// The number of pages of a large value, where pages have `usable_len` usable bytes. If pages
/// reserve bytes, the value is followed by MACs, one for each chunk, and the last one's nonce.
pub(crate) fn value_page_count(len_bytes: u64, usable_len: usize) -> u64 {
    let page_len = page_len(usable_len);
    let trailer_len = match usable_len == page_len {
        true => 0,
        false => value_trailer_len(len_bytes),
    };
    (len_bytes + trailer_len).div_ceil(page_len as u64)
}

/// The value of a record, before a large one is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredValue<'p> {
    pub(crate) kind: ValueKind,
    pub(crate) bytes: &'p [u8],
}

impl<'p> StoredValue<'p> {
    pub(crate) fn inline(bytes: &'p [u8]) -> Self {
        Self {
            kind: ValueKind::Inline,
            bytes,
        }
    }

    /// The large value that this describes, if it is one.
    pub(crate) fn as_extent(&self) -> Result<Option<ValueExtent>, PageDamage> {
        match self.kind {
            ValueKind::Extent => ValueExtent::decode(self.bytes).map(Some),
            _ => Ok(None),
        }
    }
}
