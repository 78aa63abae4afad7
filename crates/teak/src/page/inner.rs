//! Inner pages: separators and children of a tree.
//!
//! ```text
//! header | prefix | heads: u32 x count | children: u32 x count | checksums: u64 x count
//!        | record counts: u64 x count, in counted trees | offsets: u16 x count
//!        | gap | separators ...
//! ```
//!
//! Child `i` holds the keys from separator `i` (included) to separator `i + 1` (excluded). The
//! first separator counts as smaller than every key; its head and offset are zero. Separators are
//! cut to the shortest bytes that separate their neighbours, so most consist only of a head. The
//! offset field then holds the length of the separator after the prefix, 0 to 4. Otherwise a node
//! at the offset holds
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | length of the separator after the prefix |
//! | 2 | n | its bytes beyond the head; on a page with full keys the full separator |

use super::{
    PageDamage,
    child::Child,
    header::{HEADER_LEN, Header, PageKind, arrays_start, write_prefix},
    key::{self, KeyOrder, PrefixOrdering},
    max_key_len, read_u16,
};
use crate::{Checksum, PageNumber, TransactionId};
use std::cmp::Ordering;

/// Flag: separators are whole keys, and there is no prefix.
pub(crate) const WHOLE_KEYS: u16 = 1;
/// Flag: the number of records below each child is stored.
pub(crate) const COUNTED: u16 = 4;

/// The format of a table's inner pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InnerFormat {
    pub(crate) order: KeyOrder,
    pub(crate) counted: bool,
}

impl InnerFormat {
    /// The flags of the format.
    pub(crate) fn flags(self) -> u16 {
        let whole_keys = if self.whole_keys() { WHOLE_KEYS } else { 0 };
        whole_keys | if self.counted { COUNTED } else { 0 }
    }

    fn whole_keys(self) -> bool {
        self.order != KeyOrder::Bytes
    }

    /// The minimum bytes that a child takes of a page.
    pub(crate) fn slot_len(self) -> usize {
        slot_len(self.counted)
    }

    /// The maximum bytes that a child with this separator takes of a page.
    fn child_len(self, prefix_len: usize, separator_len: usize) -> usize {
        let rest = separator_len - prefix_len.min(separator_len);
        let node = match (self.whole_keys(), rest) {
            (true, _) => 2 + separator_len,
            (false, 0..=4) => 0,
            (false, _) => 2 + rest - 4,
        };
        self.slot_len() + node
    }

    /// The length of the common prefix of all separators but the first.
    fn prefix_len(self, children: &[Child]) -> usize {
        match (children.get(1), children.last()) {
            (Some(first), Some(last)) if children.len() > 2 && !self.whole_keys() => {
                key::common_prefix_len(&first.separator, &last.separator)
            }
            _ => 0,
        }
    }

    /// Bytes of a page that holds these children.
    pub(crate) fn page_len(self, children: &[Child]) -> usize {
        let prefix_len = self.prefix_len(children);
        let rest = children
            .iter()
            .skip(1)
            .map(|c| self.child_len(prefix_len, c.separator.len()));
        arrays_start(prefix_len) + self.slot_len() + rest.sum::<usize>()
    }

    /// The weight of each child, for splitting a page.
    pub(crate) fn weights(self, children: &[Child]) -> Vec<usize> {
        let prefix_len = self.prefix_len(children);
        children
            .iter()
            .map(|c| self.child_len(prefix_len, c.separator.len()))
            .collect()
    }

    /// Lays out children in `page`. Children of a damaged page may not fit, because their
    /// separators may have overlapped there.
    pub(crate) fn build(
        self,
        page: &mut [u8],
        number: PageNumber,
        birth: TransactionId,
        level: u8,
        children: &[Child],
    ) -> Result<(), PageDamage> {
        if self.page_len(children) > page.len() {
            return Err(PageDamage("its separators are longer than its page"));
        }
        let count = children.len();
        let prefix_len = self.prefix_len(children);
        let mut header = Header::new(number, PageKind::Inner, birth);
        header.flags = self.flags();
        header.level = level;
        header.count = count as u16;
        header.prefix_len = prefix_len as u16;
        let arrays = InnerArrays::new(prefix_len, count, self.counted);
        let mut heap_start = page.len();
        write_prefix(
            page,
            children.get(1).map_or(&[], |c| &c.separator[..prefix_len]),
        );
        for (index, child) in children.iter().enumerate() {
            let separator = if index == 0 {
                &[][..]
            } else {
                // Separators of a damaged page may be unsorted, and then share no prefix.
                child.separator.get(prefix_len..).unwrap_or_default()
            };
            let (head, offset) = self.write_separator(page, &mut heap_start, index, separator);
            put(page, arrays.heads + 4 * index, &head.to_le_bytes());
            put(
                page,
                arrays.children + 4 * index,
                &child.page.0.to_le_bytes(),
            );
            put(
                page,
                arrays.checksums + 8 * index,
                &child.checksum.0.to_le_bytes(),
            );
            if self.counted {
                put(
                    page,
                    arrays.counts + 8 * index,
                    &child.records.to_le_bytes(),
                );
            }
            put(page, arrays.offsets + 2 * index, &offset.to_le_bytes());
        }
        header.heap_len = (page.len() - heap_start) as u16;
        header.write(page);
        Ok(())
    }

    /// Writes the bytes that the head cannot hold; returns the head and the value of the offset
    /// field.
    fn write_separator(
        self,
        page: &mut [u8],
        heap_start: &mut usize,
        index: usize,
        separator: &[u8],
    ) -> (u32, u16) {
        if index == 0 {
            return (0, 0);
        }
        let (head, stored) = if self.whole_keys() {
            (self.order.head(separator), separator)
        } else if separator.len() <= 4 {
            return (key::head_of(separator), separator.len() as u16);
        } else {
            (key::head_of(separator), key::suffix_of(separator))
        };
        *heap_start -= 2 + stored.len();
        put(page, *heap_start, &(separator.len() as u16).to_le_bytes());
        put(page, *heap_start + 2, stored);
        (head, *heap_start as u16)
    }
}

#[inline]
fn slot_len(counted: bool) -> usize {
    18 + 8 * usize::from(counted)
}

fn put(page: &mut [u8], offset: usize, bytes: &[u8]) {
    page[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Where the arrays of an inner page begin.
#[derive(Clone, Copy, Debug)]
struct InnerArrays {
    heads: usize,
    children: usize,
    checksums: usize,
    counts: usize,
    offsets: usize,
    end: usize,
}

impl InnerArrays {
    #[inline]
    fn new(prefix_len: usize, count: usize, counted: bool) -> Self {
        let heads = arrays_start(prefix_len);
        let children = heads + 4 * count;
        let checksums = children + 4 * count;
        let counts = checksums + 8 * count;
        let offsets = counts + if counted { 8 * count } else { 0 };
        Self {
            heads,
            children,
            checksums,
            counts,
            offsets,
            // Computed without the other offsets, because it is often needed alone.
            end: checksums + (slot_len(counted) - 8) * count,
        }
    }

    #[inline]
    fn of(header: &Header) -> Self {
        Self::new(
            usize::from(header.prefix_len),
            usize::from(header.count),
            header.flags & COUNTED != 0,
        )
    }
}

/// Why this is not an inner page. It does not take the header, which would then have to be in
/// memory.
#[cold]
#[inline(never)]
fn layout_damage(page: &[u8]) -> PageDamage {
    let header = Header::read(page);
    PageDamage(if header.count == 0 {
        "an inner page has no children"
    } else if !header.is_heap_after(page, InnerArrays::of(&header).end) {
        "the arrays of an inner page overlap its heap"
    } else {
        "a page does not lie on a page boundary"
    })
}

/// More records than 2^32 pages hold, and few enough that the counts of all children can be added.
const RECORDS_MAX: u64 = 1 << 48;

const TOO_MANY_RECORDS: PageDamage = PageDamage("it counts more records than there can be");
const OUTSIDE: PageDamage = PageDamage("a separator lies outside of its page");
const BEHIND_LAST: PageDamage = PageDamage("an index is beyond the last child");

/// An inner page with checked bounds and its arrays located.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner<'p> {
    page: &'p [u8],
    heads: &'p [u32],
    children: &'p [[u8; 4]],
    prefix: &'p [u8],
    flags: u16,
}

impl<'p> Inner<'p> {
    #[inline]
    pub(crate) fn parse(page: &'p [u8]) -> Result<Self, PageDamage> {
        let header = Header::read(page);
        if header.kind != PageKind::Inner as u8 {
            return Err(PageDamage("an inner page was expected here"));
        }
        Self::from_header(page, &header)
    }

    #[inline]
    pub(crate) fn from_header(page: &'p [u8], header: &Header) -> Result<Self, PageDamage> {
        Self::parse_arrays(page, header).ok_or_else(|| layout_damage(page))
    }

    #[inline(always)]
    fn parse_arrays(page: &'p [u8], header: &Header) -> Option<Self> {
        let arrays = InnerArrays::of(header);
        if header.count == 0 || !header.is_heap_after(page, arrays.end) {
            return None;
        }
        Some(Self {
            page,
            heads: bytemuck::try_cast_slice(&page[arrays.heads..arrays.children]).ok()?,
            children: page[arrays.children..arrays.checksums].as_chunks().0,
            prefix: page.get(HEADER_LEN..HEADER_LEN + usize::from(header.prefix_len))?,
            flags: header.flags,
        })
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.heads.len()
    }

    #[inline]
    fn arrays(&self) -> InnerArrays {
        InnerArrays::new(
            self.prefix.len(),
            self.heads.len(),
            self.flags & COUNTED != 0,
        )
    }

    pub(crate) fn prefix(&self) -> &'p [u8] {
        self.prefix
    }

    pub(crate) fn head(&self, index: usize) -> Option<u32> {
        self.heads.get(index).copied()
    }

    /// The page of child `index`.
    #[inline]
    pub(crate) fn child(&self, index: usize) -> Result<PageNumber, PageDamage> {
        self.child_bytes(index).map(|&bytes| child_of(bytes))
    }

    /// The pages of all children.
    pub(crate) fn children(&self) -> impl Iterator<Item = PageNumber> + use<'p> {
        self.children.iter().map(|&bytes| child_of(bytes))
    }

    /// The bytes that store the page number of the child, for [`child_of`].
    #[inline(always)]
    pub(crate) fn child_bytes(&self, index: usize) -> Result<&'p [u8; 4], PageDamage> {
        self.children.get(index).ok_or(BEHIND_LAST)
    }

    /// The offset in the page at which child `index` is stored.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn child_offset(&self, index: usize) -> usize {
        self.arrays().children + 4 * index
    }

    /// The offset in the page at which the offset of separator `index` is stored.
    #[cfg(test)]
    pub(crate) fn separator_field(&self, index: usize) -> usize {
        self.arrays().offsets + 2 * index
    }

    pub(crate) fn checksum(&self, index: usize) -> Result<Checksum, PageDamage> {
        let arrays = self.arrays();
        let bytes = self.in_array(arrays.checksums + 8 * index, arrays.counts)?;
        Ok(Checksum(u64::from_le_bytes(bytes)))
    }

    /// Records below child `index`; 0 in a tree that is not counted.
    pub(crate) fn records(&self, index: usize) -> Result<u64, PageDamage> {
        if self.flags & COUNTED == 0 {
            return Ok(0);
        }
        let arrays = self.arrays();
        let bytes = self.in_array(arrays.counts + 8 * index, arrays.offsets)?;
        let records = u64::from_le_bytes(bytes);
        if records > RECORDS_MAX {
            return Err(TOO_MANY_RECORDS);
        }
        Ok(records)
    }

    /// The total number of records below the children before `index`.
    pub(crate) fn records_before(&self, index: usize) -> Result<u64, PageDamage> {
        let counts = self.counts()?.get(..index).ok_or(BEHIND_LAST)?;
        let sum = |sum: u64, count: &[u8; 8]| sum.saturating_add(u64::from_le_bytes(*count));
        let records = counts.iter().fold(0, sum);
        if records > RECORDS_MAX {
            return Err(TOO_MANY_RECORDS);
        }
        Ok(records)
    }

    /// The child that contains record `number` of this page, and the number of the record within
    /// that child.
    pub(crate) fn find_record(&self, mut number: u64) -> Result<(usize, u64), PageDamage> {
        for (index, count) in self.counts()?.iter().enumerate() {
            let count = u64::from_le_bytes(*count);
            if number < count {
                return Ok((index, number));
            }
            number -= count;
        }
        Err(PageDamage("it counts fewer records than its parent says"))
    }

    fn counts(&self) -> Result<&'p [[u8; 8]], PageDamage> {
        if self.flags & COUNTED == 0 {
            return Err(PageDamage("it does not count records, as its table does"));
        }
        let arrays = self.arrays();
        let bytes = self.page.get(arrays.counts..arrays.offsets);
        Ok(bytes.ok_or(BEHIND_LAST)?.as_chunks().0)
    }

    #[inline]
    fn in_array<const N: usize>(&self, at: usize, end: usize) -> Result<[u8; N], PageDamage> {
        let bytes = self.page.get(at..end).and_then(|tail| tail.first_chunk());
        bytes.copied().ok_or(BEHIND_LAST)
    }

    /// The length after the prefix and the stored bytes of separator `index`.
    #[inline]
    fn stored_separator(&self, index: usize) -> Option<(usize, &'p [u8])> {
        let at = self.arrays().offsets + 2 * index;
        let offset = usize::from(read_u16(self.page, at)?);
        if offset <= 4 {
            return Some((offset, &[]));
        }
        let len = usize::from(read_u16(self.page, offset)?);
        let stored_len = if self.flags & WHOLE_KEYS != 0 {
            len
        } else {
            len.checked_sub(4)?
        };
        let stored = self.page.get(offset + 2..offset + 2 + stored_len)?;
        Some((len, stored))
    }

    /// The full separator before child `index`; empty for the first.
    pub(crate) fn separator(&self, index: usize) -> Result<Vec<u8>, PageDamage> {
        if index == 0 {
            return Ok(Vec::new());
        }
        let head = *self.heads.get(index).ok_or(BEHIND_LAST)?;
        let (len, stored) = self.stored_separator(index).ok_or(OUTSIDE)?;
        if self.prefix.len() + len > max_key_len(self.page.len()) {
            // A page with two such separators could not be laid out.
            return Err(PageDamage("a separator is longer than keys can be"));
        }
        let mut separator = Vec::with_capacity(self.prefix.len() + len);
        if self.flags & WHOLE_KEYS == 0 {
            separator.extend_from_slice(self.prefix);
            separator.extend_from_slice(&head.to_be_bytes()[..len.min(4)]);
        }
        separator.extend_from_slice(stored);
        Ok(separator)
    }

    /// Whether the stored separators are disjoint and in the heap: changes of the page rely on
    /// this.
    pub(crate) fn is_laid_out_well(&self) -> Result<bool, PageDamage> {
        let offsets = self.arrays().offsets;
        let mut nodes = Vec::with_capacity(self.count());
        for index in 1..self.count() {
            let offset = usize::from(read_u16(self.page, offsets + 2 * index).ok_or(OUTSIDE)?);
            let (_, stored) = self.stored_separator(index).ok_or(OUTSIDE)?;
            if offset > 4 {
                nodes.push(offset..offset + 2 + stored.len());
            }
        }
        nodes.sort_unstable_by_key(|node| node.start);
        let heap_len = usize::from(Header::read(self.page).heap_len);
        let mut end = self.page.len().saturating_sub(heap_len);
        for node in nodes {
            if node.start < end {
                return Ok(false);
            }
            end = node.end;
        }
        Ok(true)
    }

    pub(crate) fn child_at(&self, index: usize) -> Result<Child, PageDamage> {
        Ok(Child {
            separator: self.separator(index)?,
            page: self.child(index)?,
            checksum: self.checksum(index)?,
            records: self.records(index)?,
        })
    }

    /// The child that contains `key` if the tree has it: the last one whose separator is not
    /// greater.
    #[inline(always)]
    pub(crate) fn search(&self, order: KeyOrder, key: &[u8]) -> Result<usize, PageDamage> {
        let head = if self.flags & WHOLE_KEYS != 0 {
            order.head(key)
        } else {
            match key::compare_prefix(key, self.prefix) {
                PrefixOrdering::Before => return Ok(0),
                PrefixOrdering::After => return Ok(self.count() - 1),
                PrefixOrdering::Rest(rest) => key::head_of(rest),
            }
        };
        let high = key::upper_bound(&self.heads[1..], head);
        if high == 0 || self.heads.get(high) != Some(&head) {
            return Ok(high);
        }
        search_equal_heads(self.page, order, key, high).ok_or(OUTSIDE)
    }

    /// The last child up to `high` whose separator is not greater, where heads are equal and
    /// `compare` decides.
    fn search_up_to(
        &self,
        mut high: usize,
        compare: impl Fn(usize, &'p [u8]) -> Ordering,
    ) -> Option<usize> {
        let (len, stored) = self.stored_separator(high)?;
        if compare(len, stored) != Ordering::Greater {
            return Some(high);
        }
        let mut low = key::lower_bound(&self.heads[1..], self.heads[high]);
        high -= 1;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let (len, stored) = self.stored_separator(middle)?;
            if compare(len, stored) == Ordering::Greater {
                high = middle - 1;
            } else {
                low = middle;
            }
        }
        Some(low)
    }
}

/// The slow path of [`Inner::search`], where child `high` has the head of the key; `None` if a
/// separator lies outside of its page. It takes the page: a view that is passed to other functions
/// would be kept in memory, and not in registers, on the fast path too.
#[inline(never)]
fn search_equal_heads(page: &[u8], order: KeyOrder, key: &[u8], high: usize) -> Option<usize> {
    let inner = Inner::parse(page).ok()?;
    if inner.flags & WHOLE_KEYS != 0 {
        return inner.search_up_to(high, |_, stored| order.stored_to(stored, key));
    }
    let rest = key.get(inner.prefix.len()..).unwrap_or_default();
    let suffix = key::suffix_of(rest);
    inner.search_up_to(high, |len, stored| {
        key::compare_beyond_head(len, stored, rest.len(), suffix)
    })
}

/// Replaces the children in `range` by `new`, without laying out the page again. The first of them
/// keeps the existing separator. Returns `false`, and changes nothing, if there is no room for
/// that, if a separator does not have the page's prefix, or if there would be fewer children.
pub(crate) fn splice(
    page: &mut [u8],
    format: InnerFormat,
    range: std::ops::Range<usize>,
    new: &[Child],
) -> Result<bool, PageDamage> {
    let inner = Inner::parse(page)?;
    if inner.flags != format.flags() {
        return Err(PageDamage("it is laid out for another table"));
    }
    let count = inner.count();
    if new.len() < range.len() || range.is_empty() || range.end > count {
        return Ok(false);
    }
    let prefix_len = inner.prefix.len();
    let added = new.len() - range.len();
    let mut needed = added * format.slot_len();
    for child in &new[1..] {
        if !child.separator.starts_with(inner.prefix) {
            return Ok(false);
        }
        needed += format.child_len(prefix_len, child.separator.len()) - format.slot_len();
    }
    let mut header = Header::read(page);
    let heap_len = usize::from(header.heap_len);
    if inner.arrays().end + needed + heap_len > page.len() {
        return Ok(false);
    }
    let old_arrays = inner.arrays();
    let arrays = InnerArrays::new(prefix_len, count + added, format.counted);
    move_arrays(page, format, old_arrays, arrays, range.end, added);
    let mut heap_start = page.len() - heap_len;
    for (index, child) in (range.start..).zip(new) {
        if index > range.start {
            let rest = &child.separator[prefix_len..];
            let (head, offset) = format.write_separator(page, &mut heap_start, index, rest);
            put(page, arrays.heads + 4 * index, &head.to_le_bytes());
            put(page, arrays.offsets + 2 * index, &offset.to_le_bytes());
        }
        put(
            page,
            arrays.children + 4 * index,
            &child.page.0.to_le_bytes(),
        );
        put(
            page,
            arrays.checksums + 8 * index,
            &child.checksum.0.to_le_bytes(),
        );
        if format.counted {
            put(
                page,
                arrays.counts + 8 * index,
                &child.records.to_le_bytes(),
            );
        }
    }
    header.count = (count + added) as u16;
    header.heap_len = (page.len() - heap_start) as u16;
    header.write(page);
    Ok(true)
}

/// Makes room for `added` children before child `at`: moves every array to its new offset, the last
/// array first.
fn move_arrays(
    page: &mut [u8],
    format: InnerFormat,
    old: InnerArrays,
    new: InnerArrays,
    at: usize,
    added: usize,
) {
    if added == 0 {
        return;
    }
    let mut shift = |old_start: usize, old_end: usize, new_start: usize, size: usize| {
        let middle = old_start + size * at;
        page.copy_within(middle..old_end, new_start + size * (at + added));
        page.copy_within(old_start..middle, new_start);
    };
    shift(old.offsets, old.end, new.offsets, 2);
    if format.counted {
        shift(old.counts, old.offsets, new.counts, 8);
    }
    shift(old.checksums, old.counts, new.checksums, 8);
    shift(old.children, old.checksums, new.children, 4);
    shift(old.heads, old.children, new.heads, 4);
}

/// Decodes the child stored in [`Inner::child_bytes`].
#[inline]
pub(crate) fn child_of(bytes: [u8; 4]) -> PageNumber {
    PageNumber(u32::from_le_bytes(bytes))
}

/// Replaces the page of child `index`.
pub(crate) fn set_child(page: &mut [u8], index: usize, child: PageNumber) {
    let arrays = InnerArrays::of(&Header::read(page));
    put(page, arrays.children + 4 * index, &child.0.to_le_bytes());
}

/// Sets the checksum of child `index`.
pub(crate) fn set_checksum(page: &mut [u8], index: usize, checksum: Checksum) {
    let arrays = InnerArrays::of(&Header::read(page));
    put(
        page,
        arrays.checksums + 8 * index,
        &checksum.0.to_le_bytes(),
    );
}

/// Adds to the number of records below child `index`, in a counted tree.
pub(crate) fn add_records(page: &mut [u8], index: usize, difference: i64) {
    let header = Header::read(page);
    let at = InnerArrays::of(&header).counts + 8 * index;
    let records = page.get(at..).and_then(<[u8]>::first_chunk);
    if let (true, Some(&records)) = (header.flags & COUNTED != 0, records) {
        let records = u64::from_le_bytes(records).saturating_add_signed(difference);
        put(page, at, &records.to_le_bytes());
    }
}

/// Bytes of the page that its children use.
pub(crate) fn used_len(header: &Header) -> usize {
    InnerArrays::of(header).end + usize::from(header.heap_len)
}

/// All children of an inner page.
pub(crate) fn children_of(inner: &Inner<'_>) -> Result<Vec<Child>, PageDamage> {
    (0..inner.count())
        .map(|index| inner.child_at(index))
        .collect()
}
