//! The layout of leaves and their nodes, according to the table and to the flags of a page.

use crate::page::{
    header::{HEADER_LEN, Header, PageKind, arrays_start},
    key::{self, KeyOrder},
    value::VALUE_EXTENT_LEN,
};

/// Flag: nodes hold full keys, and there is no prefix.
pub(crate) const WHOLE_KEYS: u16 = 1;

/// Flag: some value refers to other pages, so the nodes must be examined before the page is
/// dropped.
pub(crate) const HAS_REFERENCES: u16 = 2;

pub(super) const ALIGN_SHIFT: u32 = 8;

/// Bytes of head and offset per record.
pub(super) const SLOT_LEN: usize = 6;

/// Bytes of a node before the key.
pub(super) const NODE_HEADER_LEN: usize = 4;

/// The format of a table's leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeafFormat {
    pub(crate) order: KeyOrder,
    pub(crate) share_prefixes: bool,
    pub(crate) value_align_log2: u8,
    /// The length of every key if leaves are fixed leaves, else 0.
    pub(crate) fixed_len: u16,
}

impl LeafFormat {
    fn whole_keys(self) -> bool {
        !self.share_prefixes || self.order != KeyOrder::Bytes || self.fixed_len != 0
    }

    /// The page kind of leaves.
    pub(crate) fn kind(self) -> PageKind {
        match self.fixed_len {
            0 => PageKind::Leaf,
            _ => PageKind::FixedLeaf,
        }
    }

    /// The flags of the format, without those that depend on records.
    pub(crate) fn flags(self) -> u16 {
        (if self.whole_keys() { WHOLE_KEYS } else { 0 })
            | u16::from(self.value_align_log2) << ALIGN_SHIFT
    }

    /// The length of the prefix that a page with keys from `first` to `last` can share.
    pub(crate) fn prefix_len(self, first: &[u8], last: &[u8]) -> usize {
        if self.whole_keys() {
            0
        } else {
            key::common_prefix_len(first, last)
        }
    }

    /// The maximum bytes that a record takes of a page, slot included.
    #[inline]
    pub(crate) fn record_len(self, prefix_len: usize, key_len: usize, value_len: usize) -> usize {
        self.record_len_with(prefix_len)(key_len, value_len)
    }

    /// Like [`Self::record_len`], as a function of the lengths of key and value, for many records.
    #[inline(always)]
    pub(crate) fn record_len_with(self, prefix_len: usize) -> impl Fn(usize, usize) -> usize {
        let not_stored = match self.whole_keys() {
            true => 0,
            false => prefix_len + 4,
        };
        let overhead_len = SLOT_LEN + NODE_HEADER_LEN + (1 << self.value_align_log2) - 1;
        let fixed_len = usize::from(self.fixed_len);
        move |key_len, value_len| match fixed_len {
            0 => overhead_len + key_len.saturating_sub(not_stored) + value_len,
            fixed_len => fixed_len,
        }
    }

    /// Whether a value of this length stays in the leaf.
    #[inline(always)]
    pub(crate) fn stays_inline(self, page_size: usize, key_len: usize, value_len: usize) -> bool {
        value_len <= VALUE_EXTENT_LEN
            || self.record_len(0, key_len, value_len) <= Self::max_inline_record_len(page_size)
    }

    /// The longest record that stays in the leaf; longer ones have their value in an extent.
    pub(crate) fn max_inline_record_len(page_size: usize) -> usize {
        (page_size - HEADER_LEN) / 2
    }
}

/// Where the arrays of a leaf are.
#[derive(Clone, Copy)]
pub(super) struct LeafArrays {
    pub(super) heads: usize,
    pub(super) offsets: usize,
    pub(super) end: usize,
}

impl LeafArrays {
    #[inline]
    pub(super) fn new(prefix_len: usize, count: usize) -> Self {
        let heads = arrays_start(prefix_len);
        let offsets = heads + 4 * count;
        Self {
            heads,
            offsets,
            end: offsets + 2 * count,
        }
    }

    #[inline]
    pub(super) fn of(header: &Header) -> Self {
        Self::new(usize::from(header.prefix_len), usize::from(header.count))
    }
}

/// The layout of nodes, according to the flags of their page.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFormat {
    /// Bytes of a key's rest that are in its head and not in its node.
    pub(super) in_head: usize,
    pub(super) align_mask: usize,
}

impl NodeFormat {
    #[inline]
    pub(super) fn of(flags: u16) -> Self {
        Self {
            in_head: if flags & WHOLE_KEYS == 0 { 4 } else { 0 },
            align_mask: (1 << (flags >> ALIGN_SHIFT & 7)) - 1,
        }
    }
}
