//! A read-only view of a leaf: records by index, assembled keys, and searches.

use super::format::{
    ALIGN_SHIFT, HAS_REFERENCES, LeafArrays, NODE_HEADER_LEN, NodeFormat, SLOT_LEN, WHOLE_KEYS,
};
pub(crate) use crate::io::{CursorKey, KeyBuffer};
use crate::page::{
    PageDamage,
    fixed::FixedKeys,
    header::{HEADER_LEN, Header, PageKind},
    key::{self, KeyOrder, PrefixOrdering},
    value::{StoredValue, ValueKind},
};
use std::cmp::Ordering;

/// A prefix, with room for a head after it.
pub(crate) type PrefixAndHead = [u8; 16];

/// Why this is not a leaf with nodes. It does not take the header, which would then have to be in
/// memory.
#[cold]
#[inline(never)]
fn layout_damage(page: &[u8]) -> PageDamage {
    let header = Header::read(page);
    PageDamage(
        if !header.is_heap_after(page, LeafArrays::of(&header).end) {
            "the arrays of a leaf overlap its heap"
        } else {
            "a page does not lie on a page boundary"
        },
    )
}

/// A leaf with checked bounds and its arrays located. Those of a fixed leaf are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaf<'p> {
    pub(super) page: &'p [u8],
    pub(super) heads: &'p [u32],
    pub(super) offsets: &'p [u16],
    pub(super) prefix: &'p [u8],
    pub(super) flags: u16,
}

/// A node of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'p> {
    /// Length of the key after the prefix.
    pub(super) key_len: usize,
    /// The page from the key on.
    pub(super) tail: &'p [u8],
    /// The part of the key in the node: all of it on pages with full keys.
    pub(crate) stored_key: &'p [u8],
    pub(crate) value: StoredValue<'p>,
}

impl<'p> Leaf<'p> {
    #[inline]
    pub(crate) fn parse(page: &'p [u8]) -> Result<Self, PageDamage> {
        Self::from_header(page, &Header::read(page))
    }

    /// A leaf of any kind.
    #[inline]
    pub(crate) fn from_header(page: &'p [u8], header: &Header) -> Result<Self, PageDamage> {
        if header.kind == PageKind::Leaf as u8 {
            Self::with_nodes(page, header)
        } else {
            Self::without_nodes(page, header)
        }
    }

    /// A fixed leaf.
    #[cold]
    fn without_nodes(page: &'p [u8], header: &Header) -> Result<Self, PageDamage> {
        if !header.is_fixed_leaf() {
            return Err(PageDamage("a leaf was expected here"));
        }
        FixedKeys::of(page, header)?;
        Ok(Self {
            page,
            flags: WHOLE_KEYS,
            ..Self::default()
        })
    }

    /// A leaf of kind [`PageKind::Leaf`].
    #[inline]
    pub(crate) fn with_nodes(page: &'p [u8], header: &Header) -> Result<Self, PageDamage> {
        Self::parse_arrays(page, header).ok_or_else(|| layout_damage(page))
    }

    #[inline(always)]
    fn parse_arrays(page: &'p [u8], header: &Header) -> Option<Self> {
        let at = LeafArrays::of(header);
        if !header.is_heap_after(page, at.end) {
            return None;
        }
        let (heads, offsets) = (at.heads..at.offsets, at.offsets..at.end);
        Some(Self {
            page,
            heads: bytemuck::try_cast_slice(&page[heads]).ok()?,
            offsets: bytemuck::try_cast_slice(&page[offsets]).ok()?,
            prefix: page.get(HEADER_LEN..HEADER_LEN + usize::from(header.prefix_len))?,
            flags: header.flags,
        })
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        match self.heads.len() {
            0 => self.fixed_keys().map_or(0, |keys| keys.count()),
            count => count,
        }
    }

    /// The keys of a fixed leaf.
    #[inline]
    pub(crate) fn fixed_keys(&self) -> Option<FixedKeys<'p>> {
        // Only an ordinary leaf under construction has no heads.
        if self.heads.is_empty() {
            fixed_keys_of(self.page)
        } else {
            None
        }
    }

    /// The keys of a fixed leaf from an index on, concatenated.
    pub(crate) fn packed_from(&self, index: usize) -> Option<&'p [u8]> {
        let keys = self.fixed_keys()?;
        keys.bytes().get(index * keys.key_len()..)
    }

    /// The keys of a fixed leaf up to an index, concatenated.
    pub(crate) fn packed_to(&self, index: usize) -> Option<&'p [u8]> {
        let keys = self.fixed_keys()?;
        keys.bytes().get(..(index + 1) * keys.key_len())
    }

    /// Bytes of a page that a record takes, slot included.
    pub(crate) fn record_len(&self, node: &Node<'_>) -> usize {
        match self.fixed_keys() {
            Some(keys) => keys.key_len(),
            None => SLOT_LEN + NODE_HEADER_LEN + node.stored_key.len() + node.value.bytes.len(),
        }
    }

    pub(crate) fn has_references(&self) -> bool {
        self.flags & HAS_REFERENCES != 0
    }

    pub(crate) fn prefix(&self) -> &'p [u8] {
        self.prefix
    }

    /// Whether the first and the last key agree beyond the prefix, as far as their heads tell.
    pub(crate) fn may_share_more(&self) -> bool {
        match self.heads {
            [first, .., last] => !self.has_whole_keys() && first >> 24 == last >> 24,
            [_] => true,
            [] => false,
        }
    }

    pub(crate) fn head(&self, index: usize) -> Option<u32> {
        self.heads.get(index).copied()
    }

    /// The offset of the node, for a prefetch.
    #[inline]
    pub(crate) fn node_offset(&self, index: usize) -> Option<usize> {
        self.offsets.get(index).map(|&offset| usize::from(offset))
    }

    /// The page from the node on.
    #[inline]
    pub(crate) fn page_from_node(&self, index: usize) -> &'p [u8] {
        let offset = self.node_offset(index);
        let from = offset.and_then(|offset| self.page.get(offset..));
        from.unwrap_or_default()
    }

    #[inline]
    pub(crate) fn node(&self, index: usize) -> Result<Node<'p>, PageDamage> {
        self.node_as(self.node_format(), index)
    }

    /// Whether keys are truncated and values are not aligned, as in most tables.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.flags & (WHOLE_KEYS | 7 << ALIGN_SHIFT) == 0
    }

    /// A node of a plain page. Scans use it, so everything known in advance is omitted.
    #[inline(always)]
    pub(crate) fn plain_node(&self, index: usize) -> Result<Node<'p>, PageDamage> {
        let format = NodeFormat {
            in_head: 4,
            align_mask: 0,
        };
        self.node_as(format, index)
    }

    /// Whether keys are full and values are not aligned. Tables that return slices of both have
    /// such pages; their records are stored one by one.
    #[inline]
    pub(crate) fn is_plain_but_whole(&self) -> bool {
        self.flags & (WHOLE_KEYS | 7 << ALIGN_SHIFT) == WHOLE_KEYS && !self.offsets.is_empty()
    }

    /// Like [`Self::plain_node`], for a page with full keys.
    #[inline(always)]
    pub(crate) fn plain_whole_node(&self, index: usize) -> Result<Node<'p>, PageDamage> {
        let format = NodeFormat {
            in_head: 0,
            align_mask: 0,
        };
        self.node_as(format, index)
    }

    #[inline]
    pub(super) fn node_format(&self) -> NodeFormat {
        NodeFormat::of(self.flags)
    }

    #[inline(always)]
    fn node_as(&self, format: NodeFormat, index: usize) -> Result<Node<'p>, PageDamage> {
        let damage = PageDamage("a node lies outside of its page");
        let Some(&offset) = self.offsets.get(index) else {
            return fixed_node_of(self.page, index).ok_or(damage);
        };
        node_at(self.page, offset.into(), format).ok_or(damage)
    }

    #[inline]
    pub(crate) fn has_whole_keys(&self) -> bool {
        self.flags & WHOLE_KEYS != 0
    }

    /// Writes the prefix of the page to the start of `key`, for [`Leaf::read_key`].
    pub(crate) fn read_prefix(&self, key: &mut KeyBuffer) {
        key.set_prefix(self.prefix);
    }

    /// Writes the rest of the key at `index` to `key`, after the prefix that is there already, and
    /// asks whether the key is ASCII if it `is_text`. Only for pages with prefixes.
    #[inline(always)]
    pub(crate) fn read_key(
        &self,
        index: usize,
        node: &Node<'p>,
        key: &mut KeyBuffer,
        is_text: bool,
    ) {
        let rest = (self.heads[index].to_be_bytes(), node.stored_key);
        key.set_rest(rest, node.tail, node.key_len, is_text);
    }

    /// Appends the key at `index` to `out`.
    #[inline]
    pub(crate) fn append_key(&self, index: usize, node: &Node<'_>, out: &mut Vec<u8>) {
        if self.flags & WHOLE_KEYS == 0 {
            out.extend_from_slice(self.prefix);
            let head = self.heads[index].to_be_bytes();
            out.extend_from_slice(&head[..node.key_len.min(4)]);
        }
        out.extend_from_slice(node.stored_key);
    }

    /// The prefix with which [`Leaf::append_record`] begins each record of a leaf, if it is short.
    pub(crate) fn lead(&self) -> Option<PrefixAndHead> {
        let mut lead = PrefixAndHead::default();
        let is_short = self.prefix.len() + 4 <= lead.len();
        is_short.then(|| {
            lead[..self.prefix.len()].copy_from_slice(self.prefix);
            lead
        })
    }

    /// Appends the key at `index` and its value to `out`.
    #[inline(always)]
    pub(crate) fn append_record(
        &self,
        index: usize,
        node: &Node<'_>,
        lead: &mut Option<PrefixAndHead>,
        out: &mut Vec<u8>,
    ) {
        if !self.is_plain() {
            self.append_key(index, node, out);
            out.extend_from_slice(node.value.bytes);
            return;
        }
        let (at, prefix_len) = (out.len(), self.prefix.len());
        let (head, head_len) = (self.heads[index].to_be_bytes(), node.key_len.min(4));
        if let Some(lead) = lead {
            lead[prefix_len..prefix_len + 4].copy_from_slice(&head);
            // Always of this length, so that no call copies it.
            out.extend_from_slice(lead);
            out.truncate(at + prefix_len + head_len);
        } else {
            out.extend_from_slice(self.prefix);
            out.extend_from_slice(&head[..head_len]);
        }
        // The value directly follows the key.
        let stored_len = node.stored_key.len() + node.value.bytes.len();
        out.extend_from_slice(&node.tail[..stored_len]);
    }

    pub(crate) fn key(&self, index: usize) -> Result<Vec<u8>, PageDamage> {
        let mut key = Vec::new();
        self.append_key(index, &self.node(index)?, &mut key);
        Ok(key)
    }

    /// Returns the index of `key` (`Ok`), or the index where it would be inserted (`Err`).
    #[inline]
    pub(crate) fn search(
        &self,
        order: KeyOrder,
        key: &[u8],
    ) -> Result<Result<usize, usize>, PageDamage> {
        if self.flags & WHOLE_KEYS != 0 {
            return self.search_whole_keys(order, key);
        }
        match key::compare_prefix(key, self.prefix) {
            PrefixOrdering::Before => Ok(Err(0)),
            PrefixOrdering::After => Ok(Err(self.count())),
            PrefixOrdering::Rest(rest) => {
                let suffix = key::suffix_of(rest);
                self.search_equal_heads(key::head_of(rest), |node| {
                    key::compare_beyond_head(node.key_len, node.stored_key, rest.len(), suffix)
                })
            }
        }
    }

    fn search_whole_keys(
        &self,
        order: KeyOrder,
        key: &[u8],
    ) -> Result<Result<usize, usize>, PageDamage> {
        match self.fixed_keys() {
            Some(keys) => Ok(keys.search(order, key)),
            None => self.search_equal_heads(order.head(key), |node| {
                order.stored_to(node.stored_key, key)
            }),
        }
    }

    /// Like [`Self::search`], if the records show that `key` belongs to this leaf: it is one of
    /// them, between two, or, in the last leaf of the tree, after all of them. `None` if they do
    /// not show it.
    #[inline]
    pub(crate) fn search_here(
        &self,
        order: KeyOrder,
        key: &[u8],
        is_last: bool,
    ) -> Result<Option<Result<usize, usize>>, PageDamage> {
        let after = is_last.then_some(Err(self.count()));
        let head = match (
            self.flags & WHOLE_KEYS,
            key::compare_prefix(key, self.prefix),
        ) {
            (0, PrefixOrdering::Before) => return Ok(None),
            (0, PrefixOrdering::After) => return Ok(after),
            (0, PrefixOrdering::Rest(rest)) => key::head_of(rest),
            _ => order.head(key),
        };
        // Fixed leaves have no heads.
        if let (Some(&first), Some(&last)) = (self.heads.first(), self.heads.last()) {
            match head {
                head if head < first => return Ok(None),
                head if head > last => return Ok(after),
                _ => {}
            }
        }
        let slot = self.search(order, key)?;
        Ok(match slot {
            Err(0) => None,
            Err(index) if index == self.count() => after,
            slot => Some(slot),
        })
    }

    /// The node at `index`, if there is one and its key has these bytes. Fixed leaves have none.
    #[inline]
    pub(crate) fn node_of(&self, index: usize, key: &[u8]) -> Result<Option<Node<'p>>, PageDamage> {
        let Some(&head) = self.heads.get(index) else {
            return Ok(None);
        };
        let node = self.node(index)?;
        let is_its_key = if self.has_whole_keys() {
            node.stored_key == key
        } else if let PrefixOrdering::Rest(rest) = key::compare_prefix(key, self.prefix) {
            rest.len() == node.key_len
                && key::head_of(rest) == head
                && key::suffix_of(rest) == node.stored_key
        } else {
            false
        };
        Ok(is_its_key.then_some(node))
    }

    /// Finds the heads equal to `head`, usually none or one, and searches their nodes.
    #[inline]
    fn search_equal_heads(
        &self,
        head: u32,
        compare: impl Fn(&Node<'p>) -> Ordering,
    ) -> Result<Result<usize, usize>, PageDamage> {
        let mut low = key::lower_bound(self.heads, head);
        if self.heads.get(low) != Some(&head) {
            return Ok(Err(low));
        }
        match compare(&self.node(low)?) {
            Ordering::Equal => return Ok(Ok(low)),
            Ordering::Greater => return Ok(Err(low)),
            Ordering::Less => low += 1,
        }
        let mut high = low + key::upper_bound(&self.heads[low..], head);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(&self.node(middle)?) {
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Greater => high = middle,
                Ordering::Less => low = middle + 1,
            }
        }
        Ok(Err(low))
    }
}

// The functions for fixed leaves take the page and not the leaf. Otherwise the fields of the leaf
// would be kept in memory, and not in registers, on the path to ordinary leaves too.

/// The node at an offset; `None` if it does not lie in its page.
#[inline(always)]
pub(super) fn node_at(page: &[u8], offset: usize, format: NodeFormat) -> Option<Node<'_>> {
    let (node, tail) = page.get(offset..)?.split_first_chunk::<NODE_HEADER_LEN>()?;
    let words = u32::from_le_bytes(*node);
    let key_len = (words & 0x7fff) as usize;
    let value_len = (words >> 16 & 0x7fff) as usize;
    let kind = if words & 0x8000_8000 == 0 {
        ValueKind::Inline
    } else {
        ValueKind::from_bits((words >> 15 & 1 | words >> 30 & 2) as u16)
    };
    let stored_len = key_len.saturating_sub(format.in_head);
    let filler = (offset + NODE_HEADER_LEN + stored_len).wrapping_neg() & format.align_mask;
    let (stored_key, after) = tail.split_at_checked(stored_len)?;
    Some(Node {
        key_len,
        tail,
        stored_key,
        value: StoredValue {
            kind,
            bytes: after.get(filler..filler + value_len)?,
        },
    })
}

/// The keys of a page that is a fixed leaf.
#[cold]
fn fixed_keys_of(page: &[u8]) -> Option<FixedKeys<'_>> {
    page.get(..HEADER_LEN)?;
    let header = Header::read(page);
    let keys = header
        .is_fixed_leaf()
        .then(|| FixedKeys::of(page, &header))?;
    keys.ok()
}

/// A key of a page that is a fixed leaf, as a node.
#[cold]
fn fixed_node_of(page: &[u8], index: usize) -> Option<Node<'_>> {
    let stored_key = fixed_keys_of(page)?.get(index)?;
    Some(Node {
        key_len: stored_key.len(),
        tail: stored_key,
        stored_key,
        value: StoredValue::inline(&[]),
    })
}
