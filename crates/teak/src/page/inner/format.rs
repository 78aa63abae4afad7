//! The layout of inner pages, and laying out all children of one.

use crate::page::{
    PageDamage,
    child::Child,
    header::{Header, PageKind, arrays_start, write_prefix},
    key::{self, KeyOrder},
};
use crate::{PageNumber, TransactionId};

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

    pub(super) fn whole_keys(self) -> bool {
        self.order != KeyOrder::Bytes
    }

    /// The minimum bytes that a child takes of a page.
    pub(crate) fn slot_len(self) -> usize {
        slot_len(self.counted)
    }

    /// The maximum bytes that a child with this separator takes of a page.
    pub(super) fn child_len(self, prefix_len: usize, separator_len: usize) -> usize {
        let rest = separator_len - prefix_len.min(separator_len);
        let node = match (self.whole_keys(), rest) {
            (true, _) => 2 + separator_len,
            (false, 0..=4) => 0,
            (false, _) => 2 + rest - 4,
        };
        self.slot_len() + node
    }

    /// The length of the common prefix of all separators but the first.
    pub(super) fn prefix_len(self, children: &[Child]) -> usize {
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
            self.write_child(page, arrays, index, child);
            put(page, arrays.offsets + 2 * index, &offset.to_le_bytes());
        }
        header.heap_len = (page.len() - heap_start) as u16;
        header.write(page);
        Ok(())
    }

    /// Writes a child to the arrays: its page, its checksum, and in counted trees its records.
    #[inline]
    pub(super) fn write_child(
        self,
        page: &mut [u8],
        arrays: InnerArrays,
        index: usize,
        child: &Child,
    ) {
        let page_bytes = child.page.0.to_le_bytes();
        put(page, arrays.children + 4 * index, &page_bytes);
        let checksum_bytes = child.checksum.0.to_le_bytes();
        put(page, arrays.checksums + 8 * index, &checksum_bytes);
        if self.counted {
            let record_bytes = child.records.to_le_bytes();
            put(page, arrays.counts + 8 * index, &record_bytes);
        }
    }

    /// Writes the bytes that the head cannot hold; returns the head and the value of the offset
    /// field.
    pub(super) fn write_separator(
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

pub(super) fn put(page: &mut [u8], offset: usize, bytes: &[u8]) {
    page[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Where the arrays of an inner page begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerArrays {
    pub(super) heads: usize,
    pub(super) children: usize,
    pub(super) checksums: usize,
    pub(super) counts: usize,
    pub(super) offsets: usize,
    pub(super) end: usize,
}

impl InnerArrays {
    #[inline]
    pub(super) fn new(prefix_len: usize, count: usize, counted: bool) -> Self {
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
    pub(super) fn of(header: &Header) -> Self {
        Self::new(
            usize::from(header.prefix_len),
            usize::from(header.count),
            header.flags & COUNTED != 0,
        )
    }
}
