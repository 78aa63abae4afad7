//! Leaf pages: the records of a tree.
//!
//! ```text
//! header | prefix | heads: u32 x count | offsets: u16 x count | gap | nodes ...
//! ```
//!
//! The heads lie side by side, so that a search touches three or four cache lines and no node but
//! that of an equal head. Nodes grow from the end of the page downwards; an offset is counted from
//! the start of the page. The prefix that all keys share stands behind the header, where a search
//! begins; zeros fill it up to a multiple of four bytes.
//!
//! A node is
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | length of the key's rest behind the prefix (15 bits), low bit of the value's kind (bit 15) |
//! | 2 | 2 | length of the value bytes (15 bits), high bit of the value's kind (bit 15) |
//! | 4 | s | what the rest has beyond its head; on a page with whole keys the whole key |
//! | 4 + s | pad | up to the alignment of values |
//! | ... | v | value bytes |
//!
//! Invariants: keys ascend strictly; the head is that of the key's rest; every node lies inside
//! the heap. The last is checked at each access, the others by the check of the database.

use super::{
    Damage,
    header::{HEADER_LEN, Header, Kind, arrays_start, write_prefix},
    key::{self, AgainstPrefix, KeyOrder},
    value::{StoredValue, VALUE_RUN_LEN, ValueKind},
};
use crate::{PageNumber, TransactionId};
use std::{cmp::Ordering, ops::Range};

/// Flag: nodes hold whole keys, and there is no prefix.
pub(crate) const WHOLE_KEYS: u16 = 1;
/// Flag: some value is not inline, so dropping the page means looking at its nodes.
pub(crate) const HAS_REFERENCES: u16 = 2;
const ALIGN_SHIFT: u32 = 8;

/// Bytes of head and offset for each record.
const SLOT_LEN: usize = 6;
/// Bytes of a node before the key.
const NODE_HEADER_LEN: usize = 4;

/// Bytes of a key that are copied at once.
const KEY_CHUNK: usize = 16;

/// What a table asks of its leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeafFormat {
    pub(crate) order: KeyOrder,
    pub(crate) share_prefixes: bool,
    pub(crate) value_align_log2: u8,
}

impl LeafFormat {
    fn whole_keys(self) -> bool {
        !self.share_prefixes || self.order != KeyOrder::Bytes
    }

    fn flags(self) -> u16 {
        (if self.whole_keys() { WHOLE_KEYS } else { 0 })
            | u16::from(self.value_align_log2) << ALIGN_SHIFT
    }

    /// The prefix that a page from `first` to `last` can share.
    pub(crate) fn prefix_len(self, first: &[u8], last: &[u8]) -> usize {
        if self.whole_keys() {
            0
        } else {
            key::common_prefix_len(first, last)
        }
    }

    fn stored_key_len(self, prefix_len: usize, key_len: usize) -> usize {
        if self.whole_keys() {
            key_len
        } else {
            key_len.saturating_sub(prefix_len + 4)
        }
    }

    /// The most bytes that a record takes of a page, its slot included.
    pub(crate) fn record_len(self, prefix_len: usize, key_len: usize, value_len: usize) -> usize {
        SLOT_LEN
            + NODE_HEADER_LEN
            + self.stored_key_len(prefix_len, key_len)
            + value_len
            + ((1 << self.value_align_log2) - 1)
    }

    /// Whether a value of this length stays in the leaf.
    #[inline(always)]
    pub(crate) fn stays_inline(self, page_size: usize, key_len: usize, value_len: usize) -> bool {
        value_len <= VALUE_RUN_LEN
            || self.record_len(0, key_len, value_len) <= Self::max_inline_record_len(page_size)
    }

    /// The longest record that stays in the leaf; longer ones keep their value in a run.
    pub(crate) fn max_inline_record_len(page_size: usize) -> usize {
        (page_size - HEADER_LEN) / 2
    }
}

/// Where the arrays of a leaf are.
#[derive(Clone, Copy)]
struct Arrays {
    heads: usize,
    offsets: usize,
    end: usize,
}

impl Arrays {
    #[inline]
    fn new(prefix_len: usize, count: usize) -> Self {
        let heads = arrays_start(prefix_len);
        let offsets = heads + 4 * count;
        Self {
            heads,
            offsets,
            end: offsets + 2 * count,
        }
    }

    #[inline]
    fn of(header: &Header) -> Self {
        Self::new(usize::from(header.prefix_len), usize::from(header.count))
    }
}

/// A leaf, its bounds checked, its arrays at hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaf<'p> {
    page: &'p [u8],
    heads: &'p [u32],
    offsets: &'p [u16],
    prefix: &'p [u8],
    flags: u16,
}

/// How nodes are laid out, by the flags of their page.
#[derive(Clone, Copy, Debug)]
struct NodeFormat {
    /// Bytes of a key's rest that its head holds and its node does not.
    in_head: usize,
    align_mask: usize,
}

/// A node of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'p> {
    /// Length of the key behind the prefix.
    key_len: usize,
    /// The page from the key on.
    tail: &'p [u8],
    /// What of the key is in the node: all of it on pages with whole keys.
    pub(crate) stored_key: &'p [u8],
    pub(crate) value: StoredValue<'p>,
}

impl Node<'_> {
    /// Bytes of a page that the record takes, its slot included.
    pub(crate) fn len(&self) -> usize {
        SLOT_LEN + NODE_HEADER_LEN + self.stored_key.len() + self.value.bytes.len()
    }
}

impl<'p> Leaf<'p> {
    #[inline]
    pub(crate) fn parse(page: &'p [u8]) -> Result<Self, Damage> {
        let header = Header::read(page);
        if header.kind != Kind::Leaf as u8 {
            return Err(Damage("a leaf was expected here"));
        }
        Self::from_header(page, &header)
    }

    #[inline]
    pub(crate) fn from_header(page: &'p [u8], header: &Header) -> Result<Self, Damage> {
        let at = Arrays::of(header);
        if at.end + usize::from(header.heap_len) > page.len() {
            return Err(Damage("the arrays of a leaf overlap its heap"));
        }
        let (Ok(heads), Ok(offsets)) = (
            bytemuck::try_cast_slice(&page[at.heads..at.offsets]),
            bytemuck::try_cast_slice(&page[at.offsets..at.end]),
        ) else {
            return Err(Damage("a page does not lie on a page boundary"));
        };
        let prefix = header.prefix(page);
        Ok(Self {
            page,
            heads,
            offsets,
            prefix,
            flags: header.flags,
        })
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.heads.len()
    }

    pub(crate) fn has_references(&self) -> bool {
        self.flags & HAS_REFERENCES != 0
    }

    pub(crate) fn prefix(&self) -> &'p [u8] {
        self.prefix
    }

    pub(crate) fn head(&self, index: usize) -> Option<u32> {
        self.heads.get(index).copied()
    }

    /// Where the node begins, for a prefetch.
    #[inline]
    pub(crate) fn node_offset(&self, index: usize) -> Option<usize> {
        self.offsets.get(index).map(|&offset| usize::from(offset))
    }

    #[inline]
    pub(crate) fn node(&self, index: usize) -> Result<Node<'p>, Damage> {
        self.node_as(self.node_format(), index)
    }

    /// Whether keys are cut and values are not aligned, as in most tables.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.flags & (WHOLE_KEYS | 7 << ALIGN_SHIFT) == 0
    }

    /// A node of a page that is plain: what scans read, so all that can be known before is.
    #[inline(always)]
    pub(crate) fn plain_node(&self, index: usize) -> Result<Node<'p>, Damage> {
        let format = NodeFormat {
            in_head: 4,
            align_mask: 0,
        };
        self.node_as(format, index)
    }

    #[inline]
    fn node_format(&self) -> NodeFormat {
        NodeFormat {
            in_head: if self.flags & WHOLE_KEYS == 0 { 4 } else { 0 },
            align_mask: (1 << (self.flags >> ALIGN_SHIFT & 7)) - 1,
        }
    }

    #[inline(always)]
    fn node_as(&self, format: NodeFormat, index: usize) -> Result<Node<'p>, Damage> {
        let damage = Damage("a node lies outside of its page");
        let offset = usize::from(*self.offsets.get(index).ok_or(damage)?);
        let (node, tail) = self
            .page
            .get(offset..)
            .and_then(|node| node.split_first_chunk::<NODE_HEADER_LEN>())
            .ok_or(damage)?;
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
        let (stored_key, behind) = tail.split_at_checked(stored_len).ok_or(damage)?;
        let value = behind.get(filler..filler + value_len).ok_or(damage)?;
        Ok(Node {
            key_len,
            tail,
            stored_key,
            value: StoredValue { kind, bytes: value },
        })
    }

    #[inline]
    pub(crate) fn has_whole_keys(&self) -> bool {
        self.flags & WHOLE_KEYS != 0
    }

    /// Puts the prefix of the page at the start of `out`, for [`Leaf::read_key`].
    pub(crate) fn read_prefix(&self, out: &mut Vec<u8>) {
        let room = self.prefix.len() + 4 + KEY_CHUNK;
        if out.len() < room {
            out.resize(room, 0);
        }
        out[..self.prefix.len()].copy_from_slice(self.prefix);
    }

    /// Puts the rest of the key at `index` in `out`, behind the prefix that is there already, makes
    /// `out` longer if need be, and returns the length of the key. Only for pages with prefixes.
    /// Copies a whole chunk, so bytes behind the key may change too.
    #[inline(always)]
    pub(crate) fn read_key(&self, index: usize, node: &Node<'p>, out: &mut Vec<u8>) -> usize {
        let (prefix_len, head) = (self.prefix.len(), self.heads[index].to_be_bytes());
        if node.stored_key.len() <= KEY_CHUNK
            && let Some(&chunk) = node.tail.first_chunk()
            && let Some(room) = out.get_mut(prefix_len..)
            && let Some(room) = room.first_chunk_mut::<{ 4 + KEY_CHUNK }>()
        {
            room[..4].copy_from_slice(&head);
            // A number is moved, where bytes would be copied by a call.
            let chunk = u128::from_ne_bytes(chunk);
            room[4..].copy_from_slice(&chunk.to_ne_bytes());
        } else {
            read_long_key(prefix_len, head, node.stored_key, out);
        }
        prefix_len + node.key_len
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

    pub(crate) fn key(&self, index: usize) -> Result<Vec<u8>, Damage> {
        let mut key = Vec::new();
        self.append_key(index, &self.node(index)?, &mut key);
        Ok(key)
    }

    /// Where `key` is (`Ok`), or where it would have to be inserted (`Err`).
    #[inline]
    pub(crate) fn search(
        &self,
        order: KeyOrder,
        key: &[u8],
    ) -> Result<Result<usize, usize>, Damage> {
        if self.flags & WHOLE_KEYS != 0 {
            return self.search_whole_keys(order, key);
        }
        match key::against_prefix(key, self.prefix) {
            AgainstPrefix::Before => Ok(Err(0)),
            AgainstPrefix::Behind => Ok(Err(self.count())),
            AgainstPrefix::Rest(rest) => {
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
    ) -> Result<Result<usize, usize>, Damage> {
        self.search_equal_heads(order.head(key), |node| order.compare(node.stored_key, key))
    }

    /// The first slot whose head is not smaller than that of `key`: the first half of a lookup,
    /// which [`Leaf::get_from`] ends.
    #[inline]
    pub(crate) fn search_heads(&self, order: KeyOrder, key: &[u8]) -> usize {
        if self.flags & WHOLE_KEYS != 0 {
            return key::lower_bound(self.heads, order.head(key));
        }
        match key::against_prefix(key, self.prefix) {
            AgainstPrefix::Before => 0,
            AgainstPrefix::Behind => self.count(),
            AgainstPrefix::Rest(rest) => key::lower_bound(self.heads, key::head_of(rest)),
        }
    }

    /// The value of `key`, given what [`Leaf::search_heads`] said of it.
    #[inline]
    pub(crate) fn get_from(
        &self,
        order: KeyOrder,
        slot: usize,
        key: &[u8],
    ) -> Result<Option<StoredValue<'p>>, Damage> {
        if slot >= self.count() {
            return Ok(None);
        }
        let node = self.node(slot)?;
        if self.is_key_of(&node, slot, order, key) {
            return Ok(Some(node.value));
        }
        // Another key with the same head, or a prefix that the key does not have.
        match self.search(order, key)? {
            Ok(index) => Ok(Some(self.node(index)?.value)),
            Err(_) => Ok(None),
        }
    }

    #[inline]
    fn is_key_of(&self, node: &Node<'_>, slot: usize, order: KeyOrder, key: &[u8]) -> bool {
        if self.flags & WHOLE_KEYS != 0 {
            return order.compare(node.stored_key, key).is_eq();
        }
        match key.strip_prefix(self.prefix) {
            Some(rest) => {
                self.heads[slot] == key::head_of(rest)
                    && node.key_len == rest.len()
                    && node.stored_key == key::suffix_of(rest)
            }
            None => false,
        }
    }

    /// Finds the heads equal to `head`, mostly none or one, and searches their nodes.
    #[inline]
    fn search_equal_heads(
        &self,
        head: u32,
        compare: impl Fn(&Node<'p>) -> Ordering,
    ) -> Result<Result<usize, usize>, Damage> {
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

/// What came of an attempt to insert into a leaf in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InPlace {
    /// Done.
    Done,
    /// There is no room, or the key does not have the page's prefix: the page must be rebuilt.
    Rebuild,
}

/// Makes `page` an empty leaf.
pub(crate) fn init(
    page: &mut [u8],
    number: PageNumber,
    birth: TransactionId,
    format: LeafFormat,
    prefix: &[u8],
) {
    let mut header = Header::new(number, Kind::Leaf, birth);
    header.flags = format.flags();
    header.prefix_len = prefix.len() as u16;
    header.write(page);
    write_prefix(page, prefix);
}

/// Inserts a record at `index`, where a search found that it belongs.
pub(crate) fn insert(
    page: &mut [u8],
    order: KeyOrder,
    index: usize,
    key: &[u8],
    value: StoredValue<'_>,
) -> Result<InPlace, Damage> {
    let mut header = Header::read(page);
    let leaf = Leaf::from_header(page, &header)?;
    if index > leaf.count() {
        return Err(Damage("an index lies behind the last record"));
    }
    let arrays = Arrays::of(&header);
    let mut heap = Heap::of(&leaf, order, arrays.end + SLOT_LEN);
    let Some(slot) = heap.push(page, key, value) else {
        return Ok(InPlace::Rebuild);
    };
    open_slots(page, arrays, index, 1);
    header.count += 1;
    set_slot(page, Arrays::of(&header), index, slot);
    heap.note(page, &mut header);
    header.write(page);
    Ok(InPlace::Done)
}

/// An end of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Before the first record.
    Before,
    /// Behind the last one.
    Behind,
}

/// Inserts records at one end, and compacts the page if that is what it takes. Either all of them
/// are in then, or none.
pub(crate) fn insert_many<'r>(
    page: &mut [u8],
    order: KeyOrder,
    end: End,
    records: impl ExactSizeIterator<Item = (&'r [u8], StoredValue<'r>)> + Clone,
) -> Result<InPlace, Damage> {
    let mut header = Header::read(page);
    let leaf = Leaf::from_header(page, &header)?;
    let arrays = Arrays::of(&header);
    let mut heap = Heap::of(&leaf, order, arrays.end + SLOT_LEN * records.len());
    let mut slots = Vec::with_capacity(records.len());
    for (key, value) in records.clone() {
        // What was written so far lies in the gap, where nobody sees it.
        match heap.push(page, key, value) {
            Some(slot) => slots.push(slot),
            None if header.garbage_len == 0 || !compact(page, &mut Vec::new())? => {
                return Ok(InPlace::Rebuild);
            }
            None => return insert_many(page, order, end, records),
        }
    }
    let first = match end {
        End::Before => 0,
        End::Behind => usize::from(header.count),
    };
    open_slots(page, arrays, first, slots.len());
    header.count += slots.len() as u16;
    let arrays = Arrays::of(&header);
    for (index, slot) in slots.into_iter().enumerate() {
        set_slot(page, arrays, first + index, slot);
    }
    heap.note(page, &mut header);
    header.write(page);
    Ok(InPlace::Done)
}

/// Fills an empty leaf with records, in order. They must fit, and have the prefix of the page.
pub(crate) fn fill<'r>(
    page: &mut [u8],
    order: KeyOrder,
    records: impl ExactSizeIterator<Item = (&'r [u8], StoredValue<'r>)>,
) -> Result<(), Damage> {
    let mut header = Header::read(page);
    let empty = Leaf::from_header(page, &header)?;
    let arrays = Arrays::new(empty.prefix.len(), records.len());
    let mut heap = Heap::of(&empty, order, arrays.end);
    header.count = records.len() as u16;
    for (index, (key, value)) in records.enumerate() {
        let slot = heap.push(page, key, value).ok_or(Damage(
            "records do not fit in the page that was measured for them",
        ))?;
        set_slot(page, arrays, index, slot);
    }
    heap.note(page, &mut header);
    header.write(page);
    Ok(())
}

/// The head of a record and the offset of its node.
type Slot = (u32, u16);

/// The nodes of a leaf that gets more of them.
struct Heap {
    order: KeyOrder,
    flags: u16,
    prefix_len: usize,
    align_mask: usize,
    /// Nodes end here, downwards: where the arrays will end.
    limit: usize,
    start: usize,
    has_references: bool,
}

impl Heap {
    #[inline]
    fn of(leaf: &Leaf<'_>, order: KeyOrder, limit: usize) -> Self {
        let heap_len = usize::from(Header::read(leaf.page).heap_len);
        Self {
            order,
            flags: leaf.flags,
            prefix_len: leaf.prefix.len(),
            align_mask: leaf.node_format().align_mask,
            limit,
            start: leaf.page.len() - heap_len,
            has_references: false,
        }
    }

    /// Writes a node; `None` if there is no room, or if the key does not have the page's prefix.
    #[inline]
    fn push(&mut self, page: &mut [u8], key: &[u8], value: StoredValue<'_>) -> Option<Slot> {
        let (head, rest_len, stored_key) = if self.flags & WHOLE_KEYS != 0 {
            (self.order.head(key), key.len(), key)
        } else {
            let rest = key.strip_prefix(&page[HEADER_LEN..HEADER_LEN + self.prefix_len])?;
            (key::head_of(rest), rest.len(), key::suffix_of(rest))
        };
        let value_start = self.start.checked_sub(value.bytes.len())? & !self.align_mask;
        let offset = value_start.checked_sub(NODE_HEADER_LEN + stored_key.len())?;
        if offset < self.limit {
            return None;
        }
        write_node(page, offset, rest_len, stored_key, value_start, value);
        self.start = offset;
        self.has_references |= value.kind != ValueKind::Inline;
        Some((head, offset as u16))
    }

    fn note(&self, page: &[u8], header: &mut Header) {
        header.heap_len = (page.len() - self.start) as u16;
        if self.has_references {
            header.flags |= HAS_REFERENCES;
        }
    }
}

fn write_node(
    page: &mut [u8],
    offset: usize,
    rest_len: usize,
    stored_key: &[u8],
    value_start: usize,
    value: StoredValue<'_>,
) {
    let kind = value.kind as u16;
    let key_word = rest_len as u16 | (kind & 1) << 15;
    let value_word = value.bytes.len() as u16 | (kind >> 1) << 15;
    let node = &mut page[offset..];
    node[0..2].copy_from_slice(&key_word.to_le_bytes());
    node[2..4].copy_from_slice(&value_word.to_le_bytes());
    node[NODE_HEADER_LEN..NODE_HEADER_LEN + stored_key.len()].copy_from_slice(stored_key);
    page[value_start..value_start + value.bytes.len()].copy_from_slice(value.bytes);
}

/// Makes room for more heads and offsets.
fn open_slots(page: &mut [u8], old: Arrays, index: usize, count: usize) {
    let new_offsets = old.offsets + 4 * count;
    let old_index = old.offsets + 2 * index;
    page.copy_within(old_index..old.end, new_offsets + 2 * (index + count));
    page.copy_within(old.offsets..old_index, new_offsets);
    let head_at = old.heads + 4 * index;
    page.copy_within(head_at..old.offsets, head_at + 4 * count);
}

/// Fills a head and an offset in.
fn set_slot(page: &mut [u8], arrays: Arrays, index: usize, (head, offset): Slot) {
    let (head_at, offset_at) = (arrays.heads + 4 * index, arrays.offsets + 2 * index);
    page[head_at..head_at + 4].copy_from_slice(&head.to_le_bytes());
    page[offset_at..offset_at + 2].copy_from_slice(&offset.to_le_bytes());
}

/// Takes the record at `index` out; its node becomes garbage.
pub(crate) fn remove(page: &mut [u8], index: usize) -> Result<(), Damage> {
    remove_range(page, index..index + 1)
}

/// Takes records out; their nodes become garbage.
pub(crate) fn remove_range(page: &mut [u8], range: Range<usize>) -> Result<(), Damage> {
    let mut header = Header::read(page);
    let leaf = Leaf::from_header(page, &header)?;
    if range.start > range.end || range.end > leaf.count() {
        return Err(Damage("an index lies behind the last record"));
    }
    let mut garbage_len = header.garbage_len;
    for index in range.clone() {
        let node_len = leaf.node(index)?.len() - SLOT_LEN;
        garbage_len = garbage_len.saturating_add(node_len as u16);
    }
    let old = Arrays::of(&header);
    let new_offsets = old.offsets - 4 * range.len();
    let offset_at = |index: usize| old.offsets + 2 * index;
    let heads_behind = old.heads + 4 * range.end..old.offsets;
    page.copy_within(heads_behind, old.heads + 4 * range.start);
    page.copy_within(old.offsets..offset_at(range.start), new_offsets);
    page.copy_within(offset_at(range.end)..old.end, new_offsets + 2 * range.start);
    header.count -= range.len() as u16;
    header.garbage_len = garbage_len;
    if header.count == 0 {
        header.garbage_len = 0;
        header.heap_len = 0;
    }
    header.write(page);
    Ok(())
}

/// Moves the nodes of a leaf together, so that garbage becomes free space. `scratch` is overwritten.
/// Returns `false`, and changes nothing, if they do not fit in their new order: values that are
/// aligned need more room between them in one order than in another.
pub(crate) fn compact(page: &mut [u8], scratch: &mut Vec<u8>) -> Result<bool, Damage> {
    scratch.clear();
    scratch.extend_from_slice(page);
    let mut header = Header::read(scratch);
    let old = Leaf::from_header(scratch, &header)?;
    let Some(heap_start) = move_nodes(page, &old)? else {
        page.copy_from_slice(scratch);
        return Ok(false);
    };
    header.heap_len = (page.len() - heap_start) as u16;
    header.garbage_len = 0;
    header.write(page);
    Ok(true)
}

/// What [`Leaf::read_key`] does with keys that have more than a chunk in their node, or that end the
/// page.
#[cold]
fn read_long_key(prefix_len: usize, head: [u8; 4], stored_key: &[u8], out: &mut Vec<u8>) {
    out.truncate(prefix_len);
    out.extend_from_slice(&head);
    out.extend_from_slice(stored_key);
    out.resize(out.len().max(prefix_len + 4 + KEY_CHUNK), 0);
}

/// Lays all nodes of a leaf out anew; returns where the heap starts then, or `None` if it does not
/// fit.
fn move_nodes(page: &mut [u8], old: &Leaf<'_>) -> Result<Option<usize>, Damage> {
    let mask = old.node_format().align_mask;
    let arrays = Arrays::new(old.prefix.len(), old.count());
    let mut heap_start = page.len();
    for index in 0..old.count() {
        let node = old.node(index)?;
        let value_len = node.value.bytes.len();
        let head_room = NODE_HEADER_LEN + node.stored_key.len();
        let from = old.page.len() - node.tail.len() - NODE_HEADER_LEN;
        let value_start = heap_start.checked_sub(value_len).map(|start| start & !mask);
        let offset = value_start.and_then(|start| start.checked_sub(head_room));
        let (Some(value_start), Some(offset)) = (value_start, offset) else {
            return Ok(None);
        };
        if offset < arrays.end {
            return Ok(None);
        }
        page[offset..value_start].copy_from_slice(&old.page[from..from + head_room]);
        page[value_start..value_start + value_len].copy_from_slice(node.value.bytes);
        let slot = arrays.offsets + 2 * index;
        page[slot..slot + 2].copy_from_slice(&(offset as u16).to_le_bytes());
        heap_start = offset;
    }
    Ok(Some(heap_start))
}

/// Puts a value of the same length and kind in the place of the one at `index`; `false` where
/// it does not have them.
pub(crate) fn overwrite(
    page: &mut [u8],
    index: usize,
    value: StoredValue<'_>,
) -> Result<bool, Damage> {
    let leaf = Leaf::parse(page)?;
    let node = leaf.node(index)?;
    if node.value.kind != value.kind || node.value.bytes.len() != value.bytes.len() {
        return Ok(false);
    }
    let range = value_range(&leaf, index, &node);
    page[range].copy_from_slice(value.bytes);
    Ok(true)
}

/// The bytes of the value at `index`, to be changed where they are.
pub(crate) fn value_mut(page: &mut [u8], index: usize) -> Result<&mut [u8], Damage> {
    let leaf = Leaf::parse(page)?;
    let range = value_range(&leaf, index, &leaf.node(index)?);
    Ok(&mut page[range])
}

/// Where in its page the value of a node is.
#[inline]
fn value_range(leaf: &Leaf<'_>, index: usize, node: &Node<'_>) -> Range<usize> {
    let key_end =
        leaf.node_offset(index).unwrap_or_default() + NODE_HEADER_LEN + node.stored_key.len();
    let start = (key_end + leaf.node_format().align_mask) & !leaf.node_format().align_mask;
    start..start + node.value.bytes.len()
}

/// Bytes of the page that its records use, garbage not counted.
pub(crate) fn used_len(header: &Header) -> usize {
    Arrays::of(header).end
        + usize::from(header.heap_len).saturating_sub(usize::from(header.garbage_len))
}

/// Where the gap between the arrays of a leaf and its heap begins and ends.
pub(crate) fn gap(page: &[u8], header: &Header) -> (usize, usize) {
    let heap = page.len().saturating_sub(header.heap_len.into());
    (Arrays::of(header).end.min(heap), heap)
}
