//! The view of an inner page: checked bounds, and the arrays located.

use super::format::{COUNTED, InnerArrays, WHOLE_KEYS};
use crate::page::{
    PageDamage,
    child::Child,
    header::{HEADER_LEN, Header, PageKind},
    key::{self, KeyOrder, PrefixOrdering},
    max_key_len, read_u16,
};
use crate::{Checksum, PageNumber};
use std::cmp::Ordering;

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
const BEYOND_LAST: PageDamage = PageDamage("an index is beyond the last child");

/// An inner page with checked bounds and its arrays located.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner<'p> {
    page: &'p [u8],
    heads: &'p [u32],
    children: &'p [[u8; 4]],
    pub(super) prefix: &'p [u8],
    pub(super) flags: u16,
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
    pub(super) fn arrays(&self) -> InnerArrays {
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
        self.children.get(index).ok_or(BEYOND_LAST)
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
        let counts = self.counts()?.get(..index).ok_or(BEYOND_LAST)?;
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
        Ok(bytes.ok_or(BEYOND_LAST)?.as_chunks().0)
    }

    #[inline]
    fn in_array<const N: usize>(&self, at: usize, end: usize) -> Result<[u8; N], PageDamage> {
        let bytes = self.page.get(at..end).and_then(|tail| tail.first_chunk());
        bytes.copied().ok_or(BEYOND_LAST)
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
        let head = *self.heads.get(index).ok_or(BEYOND_LAST)?;
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

/// Decodes the child stored in [`Inner::child_bytes`].
#[inline]
pub(crate) fn child_of(bytes: [u8; 4]) -> PageNumber {
    PageNumber(u32::from_le_bytes(bytes))
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
