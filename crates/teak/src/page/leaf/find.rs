//! A lookup in a leaf, in two halves: the first reads only heads, the second a single node. Between
//! them the node can be prefetched.
//!
//! The slow paths take the page and not the leaf. Otherwise the fields of the leaf would be kept in
//! memory, and not in registers, on the fast path too.

use super::{
    format::{NodeFormat, WHOLE_KEYS},
    view::{Leaf, node_at},
};
use crate::page::{
    PageDamage,
    header::Header,
    key::{self, KeyOrder, PrefixOrdering},
    value::StoredValue,
};

/// Where a key is, if its leaf has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeafMatch<'p> {
    Nothing,
    /// The first of the nodes with the head of the key.
    Node {
        page: &'p [u8],
        offset: usize,
    },
    /// A leaf that requires a full search.
    Leaf(&'p [u8]),
}

impl<'p> Leaf<'p> {
    /// The first half of a lookup.
    #[inline(always)]
    pub(crate) fn find(&self, order: KeyOrder, key: &[u8]) -> LeafMatch<'p> {
        let head = if self.flags & WHOLE_KEYS == 0 {
            match key::compare_prefix(key, self.prefix) {
                PrefixOrdering::Rest(rest) => key::head_of(rest),
                PrefixOrdering::Before | PrefixOrdering::After => return LeafMatch::Nothing,
            }
        } else if self.offsets.is_empty() || matches!(order, KeyOrder::Custom(_)) {
            // A fixed leaf, or a comparison that may treat other bytes as equal.
            return LeafMatch::Leaf(self.page);
        } else {
            order.head(key)
        };
        let index = key::lower_bound(self.heads, head);
        match (self.heads.get(index), self.offsets.get(index)) {
            (Some(&found), Some(&offset)) if found == head => LeafMatch::Node {
                page: self.page,
                offset: offset.into(),
            },
            _ => LeafMatch::Nothing,
        }
    }
}

impl<'p> LeafMatch<'p> {
    /// The offset of the node, for a prefetch.
    #[inline(always)]
    pub(crate) fn node_offset(&self) -> Option<usize> {
        match *self {
            Self::Node { offset, .. } => Some(offset),
            _ => None,
        }
    }

    /// The second half: the value of `key`.
    #[inline(always)]
    pub(crate) fn value(
        self,
        order: KeyOrder,
        key: &[u8],
    ) -> Result<Option<StoredValue<'p>>, PageDamage> {
        let (page, offset) = match self {
            Self::Nothing => return Ok(None),
            Self::Leaf(page) => return search(page, order, key),
            Self::Node { page, offset } => (page, offset),
        };
        let header = Header::read(page);
        let format = NodeFormat::of(header.flags);
        let node = node_at(page, offset, format);
        let node = node.ok_or(PageDamage("a node lies outside of its page"))?;
        let prefix_len = if header.flags & WHOLE_KEYS == 0 {
            header.prefix_len
        } else {
            0
        };
        // Prefix and head match the key, so the stored bytes are compared with its end.
        let is_as_long = usize::from(prefix_len) + node.key_len == key.len();
        if is_as_long && key::is_end(key, node.stored_key) {
            return Ok(Some(node.value));
        }
        search(page, order, key)
    }
}

/// Another key may have the same head.
#[inline(never)]
fn search<'p>(
    page: &'p [u8],
    order: KeyOrder,
    key: &[u8],
) -> Result<Option<StoredValue<'p>>, PageDamage> {
    let leaf = Leaf::parse(page)?;
    match leaf.search(order, key)? {
        Ok(index) => Ok(Some(leaf.node(index)?.value)),
        Err(_) => Ok(None),
    }
}
