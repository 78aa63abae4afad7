//! The root of a tree: what a catalog entry, a commit record and a multi-value key hold of it.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | root page, 0 in an empty tree |
//! | 4 | 1 | depth: levels of pages, 0 in an empty tree |
//! | 5 | 1 | key order |
//! | 6 | 2 | flags |
//! | 8 | 8 | tag of the root page |
//! | 16 | 8 | records |
//! | 24 | 4 | inner pages |
//! | 28 | 4 | leaf pages |
//! | 32 | 8 | pages of large values |
//! | 40 | 8 | transaction of the last change |
//! | 48 | 8 | sequence |
//! | 56 | 1 | alignment of values, as a power of two |
//! | 57 | 1 | order of the values of a key, in multi-value tables |
//! | 58 | 2 | length of every key, 0 where it varies, or is not known since there is none yet |
//! | 60 | 2 | size of every value, 0 where it varies |
//! | 62 | 2 | zero |

use crate::{
    Error, PageNumber, Tag, TransactionId,
    page::{Damage, inner::InnerFormat, key::KeyOrder, leaf::LeafFormat, value::TREE_ROOT_LEN},
};

/// Pages share the prefix of their keys.
const SHARE_PREFIXES: u16 = 1;
/// Inner pages count the records below each child.
const COUNTED: u16 = 2;
/// The flags that this version understands; the others belong to table kinds yet to come.
const KNOWN_FLAGS: u16 = SHARE_PREFIXES | COUNTED;

/// More levels than a tree of 2^32 pages can have, unless it is damaged.
pub(super) const MAX_DEPTH: u8 = 40;

/// More records, and more pages, than a tree of 2^32 pages can have.
const COUNT_MAX: u64 = 1 << 48;

/// The root of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TreeRoot {
    pub(crate) page: PageNumber,
    pub(crate) depth: u8,
    pub(crate) order: KeyOrder,
    pub(crate) share_prefixes: bool,
    pub(crate) counted: bool,
    pub(crate) value_align_log2: u8,
    /// The length of every key, 0 where it varies or is not known yet.
    pub(crate) key_len: u16,
    pub(crate) tag: Tag,
    pub(crate) records: u64,
    pub(crate) inner_pages: u32,
    pub(crate) leaf_pages: u32,
    pub(crate) value_pages: u64,
    pub(crate) changed: TransactionId,
    pub(crate) sequence: u64,
}

/// Why a root cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RootFault {
    Damaged(Damage),
    /// A newer version wrote it.
    Unknown(UnknownTree),
}

/// A tree that this version cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnknownTree {
    /// What is unknown about it.
    pub(crate) what: &'static str,
    /// The transaction of its last change.
    pub(crate) changed: TransactionId,
}

impl UnknownTree {
    /// The error for the tree called `name`.
    pub(crate) fn error(self, name: &str) -> Error {
        Error::UnknownFormat(format!("{name} {}", self.what))
    }
}

impl RootFault {
    /// The error for the root of the tree called `name`, which stands on `page`.
    #[cold]
    pub(crate) fn at(self, page: PageNumber, detected_by: &'static str, name: &str) -> Error {
        match self {
            Self::Damaged(damage) => damage.at(page, detected_by),
            Self::Unknown(unknown) => unknown.error(name),
        }
    }
}

impl From<Damage> for RootFault {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl TreeRoot {
    /// An empty tree.
    pub(crate) fn new(
        order: KeyOrder,
        share_prefixes: bool,
        counted: bool,
        value_align_log2: u8,
    ) -> Self {
        Self {
            page: PageNumber(0),
            depth: 0,
            order,
            share_prefixes,
            counted,
            value_align_log2,
            key_len: 0,
            tag: Tag(0),
            records: 0,
            inner_pages: 0,
            leaf_pages: 0,
            value_pages: 0,
            changed: TransactionId(0),
            sequence: 0,
        }
    }

    /// An empty tree of this one's kind.
    pub(crate) fn emptied(&self) -> Self {
        let empty = Self::new(
            self.order,
            self.share_prefixes,
            self.counted,
            self.value_align_log2,
        );
        Self {
            sequence: self.sequence,
            ..empty
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    pub(crate) fn leaf_format(&self) -> LeafFormat {
        LeafFormat {
            order: self.order,
            share_prefixes: self.share_prefixes,
            value_align_log2: self.value_align_log2,
        }
    }

    pub(crate) fn inner_format(&self) -> InnerFormat {
        InnerFormat {
            order: self.order,
            counted: self.counted,
        }
    }

    /// All pages of the tree.
    #[cfg(test)]
    pub(crate) fn page_count(&self) -> u64 {
        u64::from(self.inner_pages) + u64::from(self.leaf_pages) + self.value_pages
    }

    pub(crate) fn encode(&self) -> [u8; TREE_ROOT_LEN] {
        let mut bytes = [0; TREE_ROOT_LEN];
        let flags = if self.share_prefixes {
            SHARE_PREFIXES
        } else {
            0
        } | if self.counted { COUNTED } else { 0 };
        bytes[0..4].copy_from_slice(&self.page.0.to_le_bytes());
        bytes[4] = self.depth;
        bytes[5] = self.order as u8;
        bytes[6..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.tag.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.records.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.inner_pages.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.leaf_pages.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.value_pages.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.changed.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[56] = self.value_align_log2;
        bytes[58..60].copy_from_slice(&self.key_len.to_le_bytes());
        bytes
    }

    /// Reads a root. What is unknown is found before what is damaged: in a table of another kind,
    /// other values may make sense.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RootFault> {
        let bytes: &[u8; TREE_ROOT_LEN] = bytes
            .try_into()
            .map_err(|_| Damage("the root of a tree has the wrong length"))?;
        let u32_at = |offset: usize| {
            u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
        };
        let u64_at = |offset: usize| {
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
        };
        let flags = u16::from_le_bytes([bytes[6], bytes[7]]);
        let changed = TransactionId(u64_at(40));
        let unknown = |what| RootFault::Unknown(UnknownTree { what, changed });
        if flags & !KNOWN_FLAGS != 0 {
            return Err(unknown("is of a kind that this version does not know"));
        }
        let Some(order) = KeyOrder::from_byte(bytes[5]) else {
            return Err(unknown("has a key order that this version does not know"));
        };
        let root = Self {
            page: PageNumber(u32_at(0)),
            depth: bytes[4],
            order,
            share_prefixes: flags & SHARE_PREFIXES != 0,
            counted: flags & COUNTED != 0,
            value_align_log2: bytes[56],
            key_len: u16::from_le_bytes([bytes[58], bytes[59]]),
            tag: Tag(u64_at(8)),
            records: u64_at(16),
            inner_pages: u32_at(24),
            leaf_pages: u32_at(28),
            value_pages: u64_at(32),
            changed,
            sequence: u64_at(48),
        };
        let is_countable = root.records <= COUNT_MAX && root.value_pages <= COUNT_MAX;
        if root.value_align_log2 > 4 || root.depth > MAX_DEPTH || !is_countable {
            return Err(Damage("the root of a tree is out of range").into());
        }
        if (root.depth == 0) != (root.page.0 == 0) {
            return Err(Damage("the root of a tree is empty and is not").into());
        }
        Ok(root)
    }
}
