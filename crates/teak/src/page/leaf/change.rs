//! Changes of leaves: initializing, filling, inserting, removing, compacting.

use super::{
    format::{HAS_REFERENCES, LeafArrays, LeafFormat, NODE_HEADER_LEN, SLOT_LEN, WHOLE_KEYS},
    local_change::{LeafEnd, LocalChange},
    view::{Leaf, Node},
};
use crate::{
    PageNumber, TransactionId,
    page::{
        PageDamage, fixed,
        header::{HEADER_LEN, Header, PageKind, write_prefix},
        key::{self, KeyOrder},
        value::{StoredValue, ValueKind},
    },
};
use std::{iter, ops::Range};

/// Initializes `page` as an empty leaf.
pub(crate) fn init(
    page: &mut [u8],
    number: PageNumber,
    birth: TransactionId,
    format: LeafFormat,
    prefix: &[u8],
) {
    if format.fixed_len != 0 {
        return fixed::init(page, number, birth, format.fixed_len);
    }
    let mut header = Header::new(number, PageKind::Leaf, birth);
    header.flags = format.flags();
    header.prefix_len = prefix.len() as u16;
    header.write(page);
    write_prefix(page, prefix);
}

/// Inserts a record at `index`, which a search has determined.
pub(crate) fn insert(
    page: &mut [u8],
    order: KeyOrder,
    index: usize,
    key: &[u8],
    value: StoredValue<'_>,
) -> Result<LocalChange, PageDamage> {
    let mut header = Header::read(page);
    if header.is_fixed_leaf() {
        return fixed::insert(page, header, index, iter::once((key, value)));
    }
    let leaf = Leaf::with_nodes(page, &header)?;
    if index > leaf.count() {
        return Err(PageDamage("an index is beyond the last record"));
    }
    let arrays = LeafArrays::of(&header);
    let mut heap = NodeHeap::of(&leaf, order, arrays.end + SLOT_LEN);
    let Some(slot) = heap.push(page, key, value) else {
        return Ok(LocalChange::Rebuild);
    };
    open_slots(page, arrays, index, 1);
    header.count += 1;
    set_slot(page, LeafArrays::of(&header), index, slot);
    heap.note(page, &mut header);
    header.write(page);
    Ok(LocalChange::Done)
}

/// Inserts records at one end, and compacts the page if necessary: either all of them, or none.
pub(crate) fn insert_many<'r>(
    page: &mut [u8],
    order: KeyOrder,
    end: LeafEnd,
    records: impl ExactSizeIterator<Item = (&'r [u8], StoredValue<'r>)> + Clone,
) -> Result<LocalChange, PageDamage> {
    let mut header = Header::read(page);
    if header.is_fixed_leaf() {
        return fixed::insert_at(page, header, end, records);
    }
    let leaf = Leaf::with_nodes(page, &header)?;
    let arrays = LeafArrays::of(&header);
    let mut heap = NodeHeap::of(&leaf, order, arrays.end + SLOT_LEN * records.len());
    let mut slots = Vec::with_capacity(records.len());
    for (key, value) in records.clone() {
        // The bytes written so far lie in the gap, where no reader sees them.
        match heap.push(page, key, value) {
            Some(slot) => slots.push(slot),
            None if header.garbage_len == 0 || !compact(page, &mut Vec::new())? => {
                return Ok(LocalChange::Rebuild);
            }
            None => return insert_many(page, order, end, records),
        }
    }
    let first = match end {
        LeafEnd::Before => 0,
        LeafEnd::After => usize::from(header.count),
    };
    open_slots(page, arrays, first, slots.len());
    header.count += slots.len() as u16;
    let arrays = LeafArrays::of(&header);
    for (index, slot) in slots.into_iter().enumerate() {
        set_slot(page, arrays, first + index, slot);
    }
    heap.note(page, &mut header);
    header.write(page);
    Ok(LocalChange::Done)
}

/// A record whose key and value are contiguous.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContiguousRecord<'r> {
    /// The key, followed by the bytes of the value.
    pub(crate) bytes: &'r [u8],
    pub(crate) key_len: usize,
    pub(crate) kind: ValueKind,
}

impl<'r> ContiguousRecord<'r> {
    /// A record that consists only of a key.
    #[cfg(test)]
    pub(crate) fn of_key(key: &'r [u8]) -> Self {
        Self {
            bytes: key,
            key_len: key.len(),
            kind: ValueKind::Inline,
        }
    }

    #[inline(always)]
    pub(crate) fn parts(self) -> (&'r [u8], StoredValue<'r>) {
        let (key, bytes) = self.bytes.split_at(self.key_len);
        let kind = self.kind;
        (key, StoredValue { kind, bytes })
    }
}

/// Fills an empty leaf with records, in order. They must fit, and have the prefix of the page.
pub(crate) fn fill<'r>(
    page: &mut [u8],
    order: KeyOrder,
    records: impl ExactSizeIterator<Item = ContiguousRecord<'r>> + Clone,
) -> Result<(), PageDamage> {
    let too_many = PageDamage("records do not fit in the page that was measured for them");
    let mut header = Header::read(page);
    if header.is_fixed_leaf() {
        let records = records.map(ContiguousRecord::parts);
        return match fixed::insert(page, header, 0, records)? {
            LocalChange::Done => Ok(()),
            LocalChange::Rebuild => Err(too_many),
        };
    }
    let empty = Leaf::with_nodes(page, &header)?;
    let is_plain = empty.is_plain();
    let arrays = LeafArrays::new(empty.prefix.len(), records.len());
    let mut heap = NodeHeap::of(&empty, order, arrays.end);
    header.count = records.len() as u16;
    for (index, record) in records.enumerate() {
        let slot = if is_plain {
            heap.push_contiguous(page, record)
        } else {
            let (key, value) = record.parts();
            heap.push(page, key, value)
        };
        set_slot(page, arrays, index, slot.ok_or(too_many)?);
    }
    heap.note(page, &mut header);
    header.write(page);
    Ok(())
}

/// The head of a record and the offset of its node.
type LeafSlot = (u32, u16);

/// The heap of a leaf to which nodes are added.
struct NodeHeap {
    order: KeyOrder,
    flags: u16,
    prefix_len: usize,
    align_mask: usize,
    /// The lower limit of the nodes, which grow downwards: the future end of the arrays.
    limit: usize,
    start: usize,
    has_references: bool,
}

impl NodeHeap {
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
    fn push(&mut self, page: &mut [u8], key: &[u8], value: StoredValue<'_>) -> Option<LeafSlot> {
        let (head, rest_len, stored_key) = if self.flags & WHOLE_KEYS != 0 {
            (self.order.head(key), key.len(), key)
        } else {
            let rest = self.after_prefix(page, key)?;
            (key::head_of(rest), rest.len(), key::suffix_of(rest))
        };
        let value_start = self.start.checked_sub(value.bytes.len())? & !self.align_mask;
        let offset = value_start.checked_sub(NODE_HEADER_LEN + stored_key.len())?;
        if offset < self.limit {
            return None;
        }
        write_node(page, offset, rest_len, stored_key, value_start, value);
        self.start = offset;
        self.has_references |= value.kind.is_reference();
        Some((head, offset as u16))
    }

    /// Like [`Self::push`], in a plain leaf, where the part of the node after the head is
    /// contiguous.
    #[inline(always)]
    fn push_contiguous(
        &mut self,
        page: &mut [u8],
        record: ContiguousRecord<'_>,
    ) -> Option<LeafSlot> {
        let rest = self.after_prefix(page, record.bytes)?;
        let rest_len = record.key_len.checked_sub(self.prefix_len)?;
        let stored = rest.get(rest_len.min(4)..)?;
        let offset = self
            .start
            .checked_sub(NODE_HEADER_LEN + stored.len())
            .filter(|offset| *offset >= self.limit)?;
        let node = &mut page[offset..self.start];
        let value_len = rest.len() - rest_len;
        write_words(node, rest_len, record.kind, value_len);
        node[NODE_HEADER_LEN..].copy_from_slice(stored);
        self.start = offset;
        self.has_references |= record.kind.is_reference();
        Some((key::head_of(&rest[..rest_len]), offset as u16))
    }

    /// The part of a key, and of the bytes that follow it, after the page's prefix; `None` if the
    /// bytes do not begin with the prefix.
    #[inline(always)]
    fn after_prefix<'k>(&self, page: &[u8], bytes: &'k [u8]) -> Option<&'k [u8]> {
        let (prefix, rest) = bytes.split_at_checked(self.prefix_len)?;
        let is_same = key::is_same(prefix, &page[HEADER_LEN..HEADER_LEN + self.prefix_len]);
        is_same.then_some(rest)
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
    let node = &mut page[offset..value_start + value.bytes.len()];
    write_words(node, rest_len, value.kind, value.bytes.len());
    let (node, value_bytes) = node.split_at_mut(value_start - offset);
    node[NODE_HEADER_LEN..NODE_HEADER_LEN + stored_key.len()].copy_from_slice(stored_key);
    value_bytes.copy_from_slice(value.bytes);
}

/// Writes the beginning of a node: the lengths of key and value, and the kind of the value.
fn write_words(node: &mut [u8], rest_len: usize, kind: ValueKind, value_len: usize) {
    let kind = kind as u16;
    let key_word = rest_len as u16 | (kind & 1) << 15;
    let value_word = value_len as u16 | (kind >> 1) << 15;
    let words = u32::from(key_word) | u32::from(value_word) << 16;
    node[..NODE_HEADER_LEN].copy_from_slice(&words.to_le_bytes());
}

/// Makes room for more heads and offsets.
fn open_slots(page: &mut [u8], old: LeafArrays, index: usize, count: usize) {
    let new_offsets = old.offsets + 4 * count;
    let old_index = old.offsets + 2 * index;
    page.copy_within(old_index..old.end, new_offsets + 2 * (index + count));
    page.copy_within(old.offsets..old_index, new_offsets);
    let head_at = old.heads + 4 * index;
    page.copy_within(head_at..old.offsets, head_at + 4 * count);
}

/// Fills in a head and an offset.
fn set_slot(page: &mut [u8], arrays: LeafArrays, index: usize, (head, offset): LeafSlot) {
    let (head_at, offset_at) = (arrays.heads + 4 * index, arrays.offsets + 2 * index);
    page[head_at..head_at + 4].copy_from_slice(&head.to_le_bytes());
    page[offset_at..offset_at + 2].copy_from_slice(&offset.to_le_bytes());
}

/// Removes the record at `index`; its node becomes garbage.
pub(crate) fn remove(page: &mut [u8], index: usize) -> Result<(), PageDamage> {
    remove_range(page, index..index + 1)
}

/// Removes records; their nodes become garbage.
pub(crate) fn remove_range(page: &mut [u8], range: Range<usize>) -> Result<(), PageDamage> {
    let mut header = Header::read(page);
    if header.is_fixed_leaf() {
        return fixed::remove_range(page, header, range);
    }
    let leaf = Leaf::with_nodes(page, &header)?;
    if range.start > range.end || range.end > leaf.count() {
        return Err(PageDamage("an index is beyond the last record"));
    }
    let mut garbage_len = header.garbage_len;
    for index in range.clone() {
        let node_len = leaf.record_len(&leaf.node(index)?) - SLOT_LEN;
        garbage_len = garbage_len.saturating_add(node_len as u16);
    }
    let old = LeafArrays::of(&header);
    let new_offsets = old.offsets - 4 * range.len();
    let offset_at = |index: usize| old.offsets + 2 * index;
    let following_heads = old.heads + 4 * range.end..old.offsets;
    page.copy_within(following_heads, old.heads + 4 * range.start);
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

/// Compacts the nodes of a leaf, so that garbage becomes free space. `scratch` is overwritten.
/// Returns `false`, and changes nothing, if they do not fit in their new order: aligned values may
/// need more padding in one order than in another. A fixed leaf has no garbage.
pub(crate) fn compact(page: &mut [u8], scratch: &mut Vec<u8>) -> Result<bool, PageDamage> {
    scratch.clear();
    scratch.extend_from_slice(page);
    let mut header = Header::read(scratch);
    if header.is_fixed_leaf() {
        return Ok(true);
    }
    let old = Leaf::with_nodes(scratch, &header)?;
    let Some(heap_start) = move_nodes(page, &old)? else {
        page.copy_from_slice(scratch);
        return Ok(false);
    };
    header.heap_len = (page.len() - heap_start) as u16;
    header.garbage_len = 0;
    header.write(page);
    Ok(true)
}

/// Lays out all nodes of a leaf again; returns the new start of the heap, or `None` if it does not
/// fit.
fn move_nodes(page: &mut [u8], old: &Leaf<'_>) -> Result<Option<usize>, PageDamage> {
    let mask = old.node_format().align_mask;
    let arrays = LeafArrays::new(old.prefix.len(), old.count());
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
        if mask == 0 {
            let node_len = head_room + value_len;
            page[offset..offset + node_len].copy_from_slice(&old.page[from..from + node_len]);
        } else {
            page[offset..value_start].copy_from_slice(&old.page[from..from + head_room]);
            page[value_start..value_start + value_len].copy_from_slice(node.value.bytes);
        }
        let slot = arrays.offsets + 2 * index;
        page[slot..slot + 2].copy_from_slice(&(offset as u16).to_le_bytes());
        heap_start = offset;
    }
    Ok(Some(heap_start))
}

/// Replaces the value at `index`. The nodes below move by the difference in length, so that it
/// leaves no garbage and no slot moves.
pub(crate) fn set_value(
    page: &mut [u8],
    index: usize,
    value: StoredValue<'_>,
) -> Result<LocalChange, PageDamage> {
    let mut header = Header::read(page);
    let leaf = Leaf::from_header(page, &header)?;
    let node = leaf.node(index)?;
    let (old, new) = (node.value, value);
    let Some(offset) = leaf.node_offset(index) else {
        // A fixed leaf, which has no values.
        return Ok(match old == new {
            true => LocalChange::Done,
            false => LocalChange::Rebuild,
        });
    };
    let range = value_range(&leaf, index, &node);
    if old.kind == new.kind && range.len() == new.bytes.len() {
        page[range].copy_from_slice(new.bytes);
        return Ok(LocalChange::Done);
    }
    let (key_len, align_mask) = (node.key_len, leaf.node_format().align_mask);
    let start = range.end.checked_sub(new.bytes.len());
    let Some(start) = start.map(|start| start & !align_mask) else {
        return Ok(LocalChange::Rebuild);
    };
    if !move_below(page, &mut header, offset, range.start, start)? {
        return Ok(LocalChange::Rebuild);
    }
    let end = start + new.bytes.len();
    let words = &mut page[offset + start - range.start..];
    write_words(words, key_len, new.kind, new.bytes.len());
    page[start..end].copy_from_slice(new.bytes);
    // Alignment padding after the value is left to the next compaction.
    header.garbage_len = header.garbage_len.saturating_add((range.end - end) as u16);
    if new.kind.is_reference() {
        header.flags |= HAS_REFERENCES;
    }
    header.write(page);
    Ok(LocalChange::Done)
}

/// Moves the bytes between the start of the heap and `from` so that they end at `to`, and with them
/// the node at `offset` and all below it; `false` if there is no room.
fn move_below(
    page: &mut [u8],
    header: &mut Header,
    offset: usize,
    from: usize,
    to: usize,
) -> Result<bool, PageDamage> {
    let arrays = LeafArrays::of(header);
    let old_start = page.len() - usize::from(header.heap_len);
    if offset < old_start {
        return Err(PageDamage("a node lies outside of the heap"));
    }
    let new_start = (old_start + to).checked_sub(from);
    let Some(new_start) = new_start.filter(|&start| start >= arrays.end) else {
        return Ok(false);
    };
    page.copy_within(old_start..from, new_start);
    // Modulo 2^16, because they may move in either direction.
    let up = (to as u16).wrapping_sub(from as u16);
    let (slots, _) = page[arrays.offsets..arrays.end].as_chunks_mut::<2>();
    for slot in slots {
        let at = u16::from_le_bytes(*slot);
        let is_below = usize::from(at) <= offset;
        *slot = at.wrapping_add(if is_below { up } else { 0 }).to_le_bytes();
    }
    header.heap_len = (page.len() - new_start) as u16;
    Ok(true)
}

/// The bytes of the value at `index`, for changes in place.
pub(crate) fn value_mut(page: &mut [u8], index: usize) -> Result<&mut [u8], PageDamage> {
    let leaf = Leaf::parse(page)?;
    let range = value_range(&leaf, index, &leaf.node(index)?);
    Ok(&mut page[range])
}

/// The byte range of a node's value in its page.
#[inline]
pub(super) fn value_range(leaf: &Leaf<'_>, index: usize, node: &Node<'_>) -> Range<usize> {
    let key_end =
        leaf.node_offset(index).unwrap_or_default() + NODE_HEADER_LEN + node.stored_key.len();
    let start = (key_end + leaf.node_format().align_mask) & !leaf.node_format().align_mask;
    start..start + node.value.bytes.len()
}
