//! The root of a tree: what a catalog entry, a commit record and a multi-value key store of it.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | root page, 0 in an empty tree |
//! | 4 | 1 | depth: levels of pages, 0 in an empty tree |
//! | 5 | 1 | key order |
//! | 6 | 2 | flags |
//! | 8 | 8 | checksum of the root page |
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
//!
//! In a catalog entry the names of comparisons follow, if an order is a comparison, and the names
//! of the table's types, if they are recorded: `btree/root/entry.rs`.

mod entry;
mod nested;
#[cfg(test)]
mod tests;

pub(crate) use entry::TYPE_NAME_MAX;

use crate::{
    Checksum, Error, PageNumber, TransactionId,
    page::{PageDamage, inner::InnerFormat, key::KeyOrder, leaf::LeafFormat, value::TREE_ROOT_LEN},
};
use std::ops::Deref;

/// Pages share the prefix of their keys.
const SHARE_PREFIXES: u16 = 1;
/// Inner pages count the records below each child.
const COUNTED: u16 = 2;
/// A key has a sorted set of values.
const MULTI_VALUE: u16 = 4;
/// Leaves are fixed leaves.
const FIXED: u16 = 8;
/// The first value fixes the size of all.
const FIRST_DECIDES: u16 = 16;
/// The table was dropped, and its pages are being released.
const DROPPED: u16 = 32;
/// The names of the types of keys and values are recorded after the root.
const TYPED: u16 = 64;
/// Records expire: a table whose values begin with a stamp, or its index.
const EXPIRING: u16 = 128;
/// The flags that this version understands.
const KNOWN_FLAGS: u16 =
    SHARE_PREFIXES | COUNTED | MULTI_VALUE | FIXED | FIRST_DECIDES | DROPPED | TYPED | EXPIRING;

const UNKNOWN_KIND: &str = "is of a kind that this version does not know";

/// More levels than an undamaged tree of 2^32 pages can have.
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
    pub(crate) checksum: Checksum,
    pub(crate) records: u64,
    pub(crate) inner_pages: u32,
    pub(crate) leaf_pages: u32,
    pub(crate) value_pages: u64,
    pub(crate) changed: TransactionId,
    pub(crate) sequence: u64,
    /// The attributes of special kinds of tables.
    pub(crate) kind: TreeKind,
}

/// The root of a table in a transaction. It is small, because every operation passes it on.
#[derive(Debug)]
pub(crate) enum RootRef<'t> {
    /// The transaction stores it.
    Kept(&'t TreeRoot),
    /// The transaction has no slot for it.
    Found(Box<TreeRoot>),
}

impl RootRef<'_> {
    pub(crate) fn found(root: TreeRoot) -> Self {
        Self::Found(Box::new(root))
    }
}

impl Deref for RootRef<'_> {
    type Target = TreeRoot;

    #[inline]
    fn deref(&self) -> &TreeRoot {
        match self {
            Self::Kept(root) => root,
            Self::Found(root) => root,
        }
    }
}

/// The kind of a table, which every operation compares with the one that it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum TableClass {
    /// A key has one value.
    #[default]
    Single,
    /// A key has a sorted set of values.
    Multi,
    /// A key has one value, which begins with a stamp that says when the record expires.
    Expiring,
}

/// The attributes of special kinds of trees, beyond those of all trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TreeKind {
    /// [`TableClass::Multi`] if there is an order of values. Nested trees have none, and are
    /// [`TableClass::Single`].
    pub(crate) class: TableClass,
    /// A key has a sorted set of values, in this order.
    pub(crate) values: Option<KeyOrder>,
    /// The size of every value of a multi-value tree, 0 where it varies or is not known yet.
    pub(crate) value_size: u16,
    /// The first value fixes the size of all.
    pub(crate) first_decides: bool,
    /// Leaves are fixed leaves.
    pub(crate) fixed: bool,
    /// The table was dropped, and its pages are being released.
    pub(crate) dropped: bool,
    /// The catalog entry has the names of the types of keys and values.
    pub(crate) typed: bool,
}

/// Why a root cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RootFault {
    Damaged(PageDamage),
    /// A newer version wrote it.
    Unknown(UnknownTree),
}

/// A tree that this version cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnknownTree {
    /// The unknown part.
    pub(crate) feature: &'static str,
    /// The last transaction that changed it.
    pub(crate) changed: TransactionId,
}

impl UnknownTree {
    /// The error for the tree called `name`.
    pub(crate) fn error(self, name: &str) -> Error {
        Error::unknown_format(format!("{name} {}", self.feature))
    }
}

impl RootFault {
    /// The error for the root of the tree called `name`, which is stored on `page`.
    #[cold]
    pub(crate) fn at(self, page: PageNumber, detected_by: &'static str, name: &str) -> Error {
        match self {
            Self::Damaged(damage) => damage.at(page, detected_by),
            Self::Unknown(unknown) => unknown.error(name),
        }
    }
}

impl From<PageDamage> for RootFault {
    fn from(damage: PageDamage) -> Self {
        Self::Damaged(damage)
    }
}

impl TreeRoot {
    /// Creates an empty tree.
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
            checksum: Checksum(0),
            records: 0,
            inner_pages: 0,
            leaf_pages: 0,
            value_pages: 0,
            changed: TransactionId(0),
            sequence: 0,
            kind: TreeKind::default(),
        }
    }

    /// Creates an empty tree of this one's kind.
    pub(crate) fn emptied(&self) -> Self {
        let empty = Self::new(
            self.order,
            self.share_prefixes,
            self.counted,
            self.value_align_log2,
        );
        let kind = TreeKind {
            value_size: if self.kind.first_decides {
                0
            } else {
                self.kind.value_size
            },
            ..self.kind
        };
        Self {
            sequence: self.sequence,
            key_len: if kind.fixed { self.key_len } else { 0 },
            kind,
            ..empty
        }
    }

    /// Whether programs that know only plain tables must not open a database that has had such a
    /// tree.
    pub(crate) fn is_special(&self) -> bool {
        self.kind.class != TableClass::Single
            || self.kind.values.is_some()
            || matches!(self.order, KeyOrder::Custom(_))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    pub(crate) fn leaf_format(&self) -> LeafFormat {
        LeafFormat {
            order: self.order,
            share_prefixes: self.share_prefixes,
            value_align_log2: self.value_align_log2,
            fixed_len: if self.kind.fixed { self.key_len } else { 0 },
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
        let kind = &self.kind;
        let flags = [
            (self.share_prefixes, SHARE_PREFIXES),
            (self.counted, COUNTED),
            (kind.values.is_some(), MULTI_VALUE),
            (kind.fixed, FIXED),
            (kind.first_decides, FIRST_DECIDES),
            (kind.dropped, DROPPED),
            (kind.typed, TYPED),
            (kind.class == TableClass::Expiring, EXPIRING),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags = flags.fold(0, |flags, (_, flag)| flags | flag);
        bytes[0..4].copy_from_slice(&self.page.0.to_le_bytes());
        bytes[4] = self.depth;
        bytes[5] = self.order.code();
        bytes[6..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.checksum.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.records.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.inner_pages.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.leaf_pages.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.value_pages.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.changed.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[56] = self.value_align_log2;
        bytes[57] = kind.values.map_or(0, KeyOrder::code);
        bytes[58..60].copy_from_slice(&self.key_len.to_le_bytes());
        bytes[60..62].copy_from_slice(&kind.value_size.to_le_bytes());
        bytes
    }

    /// Reads the root of a tree that is not in the catalog: a plain one.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RootFault> {
        let root = Self::decode_any(bytes)?;
        if root.is_special() || root.kind != TreeKind::default() {
            return Err(RootFault::Unknown(root.unknown_kind()));
        }
        Ok(root)
    }

    /// Reads the root of such a tree whose keys are names: the catalog, or the list of named
    /// snapshots.
    pub(crate) fn decode_of_names(bytes: &[u8]) -> Result<Self, RootFault> {
        let root = Self::decode(bytes)?;
        match root.order == KeyOrder::Bytes && !root.counted {
            true => Ok(root),
            false => Err(PageDamage("a tree of names has another order, or counts").into()),
        }
    }

    /// Describes a tree of an unsupported kind.
    pub(crate) fn unknown_kind(&self) -> UnknownTree {
        UnknownTree {
            feature: UNKNOWN_KIND,
            changed: self.changed,
        }
    }

    /// Reads a root of any kind. Unknown attributes are reported before damage: in a table of
    /// another kind, other values may be valid.
    fn decode_any(bytes: &[u8]) -> Result<Self, RootFault> {
        let bytes: &[u8; TREE_ROOT_LEN] = bytes
            .try_into()
            .map_err(|_| PageDamage("the root of a tree has the wrong length"))?;
        let u16_at = |offset: usize| u16::from_le_bytes([bytes[offset], bytes[offset + 1]]);
        let u32_at = |offset: usize| {
            u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
        };
        let u64_at = |offset: usize| {
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
        };
        let flags = u16_at(6);
        let has = |flag| flags & flag != 0;
        let changed = TransactionId(u64_at(40));
        let unknown = |feature| RootFault::Unknown(UnknownTree { feature, changed });
        if flags & !KNOWN_FLAGS != 0 {
            return Err(unknown(UNKNOWN_KIND));
        }
        let order = |code| {
            let order = KeyOrder::from_code(code);
            order.ok_or_else(|| unknown("has a key order that this version does not know"))
        };
        let kind = TreeKind {
            class: match () {
                () if has(MULTI_VALUE) => TableClass::Multi,
                () if has(EXPIRING) => TableClass::Expiring,
                () => TableClass::Single,
            },
            values: has(MULTI_VALUE).then(|| order(bytes[57])).transpose()?,
            value_size: if has(MULTI_VALUE) { u16_at(60) } else { 0 },
            first_decides: has(FIRST_DECIDES),
            fixed: has(FIXED),
            dropped: has(DROPPED),
            typed: has(TYPED),
        };
        if has(EXPIRING) && flags & (MULTI_VALUE | FIXED | DROPPED) != 0 {
            return Err(PageDamage("the root of a tree contradicts itself").into());
        }
        let root = Self {
            page: PageNumber(u32_at(0)),
            depth: bytes[4],
            order: order(bytes[5])?,
            share_prefixes: has(SHARE_PREFIXES),
            counted: has(COUNTED),
            value_align_log2: bytes[56],
            key_len: u16_at(58),
            checksum: Checksum(u64_at(8)),
            records: u64_at(16),
            inner_pages: u32_at(24),
            leaf_pages: u32_at(28),
            value_pages: u64_at(32),
            changed,
            sequence: u64_at(48),
            kind,
        };
        root.refuse_impossible()?;
        Ok(root)
    }

    fn refuse_impossible(&self) -> Result<(), PageDamage> {
        let is_countable = self.records <= COUNT_MAX && self.value_pages <= COUNT_MAX;
        if self.value_align_log2 > 4 || self.depth > MAX_DEPTH || !is_countable {
            return Err(PageDamage("the root of a tree is out of range"));
        }
        if (self.depth == 0) != (self.page.0 == 0) {
            return Err(PageDamage("the root of a tree is empty and is not"));
        }
        let kind = &self.kind;
        let is_possible = match kind.values {
            None => !kind.first_decides && (!kind.fixed || self.key_len > 0),
            Some(order) => {
                let is_undecided = kind.first_decides && self.depth == 0;
                let is_integer = order == KeyOrder::Integer;
                let is_size_possible = match kind.value_size {
                    0 => is_undecided || !is_integer && !kind.first_decides,
                    size => !is_integer || matches!(size, 4 | 8),
                };
                let is_plain = self.value_align_log2 == 0 && self.value_pages == 0;
                is_size_possible && is_plain && !kind.fixed
            }
        };
        let is_possible = is_possible && !(kind.typed && kind.dropped);
        match is_possible && kind.value_size <= 0x7fff {
            true => Ok(()),
            false => Err(PageDamage("the root of a tree contradicts itself")),
        }
    }
}
