//! Records and separators taken out of their pages, to be laid out again. Splitting, merging,
//! redistributing, compacting and bulk building share this code.

use super::{
    PageDamage,
    header::{HEADER_LEN, arrays_start},
    leaf::{self, ContiguousRecord, Leaf, LeafFormat},
    value::{StoredValue, ValueKind},
};
use crate::{PageNumber, TransactionId};
use std::ops::Range;

/// Records in key order, with full keys.
#[derive(Debug, Default)]
pub(crate) struct RecordList {
    /// Each key followed by its value.
    bytes: Vec<u8>,
    items: Vec<RecordItem>,
}

#[derive(Clone, Copy, Debug)]
struct RecordItem {
    start: u32,
    key_len: u32,
    value_len: u32,
    kind: ValueKind,
}

impl RecordList {
    /// Creates a list with room for the typical contents of this many pages.
    pub(crate) fn with_capacity(pages: usize, page_size: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(2 * pages * page_size),
            items: Vec::with_capacity(pages * page_size / 64),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        self.record(index).0
    }

    pub(crate) fn value(&self, index: usize) -> StoredValue<'_> {
        self.record(index).1
    }

    #[inline(always)]
    pub(crate) fn record(&self, index: usize) -> (&[u8], StoredValue<'_>) {
        self.piece(index).parts()
    }

    #[inline(always)]
    fn piece(&self, index: usize) -> ContiguousRecord<'_> {
        let item = self.items[index];
        let (start, key_len) = (item.start as usize, item.key_len as usize);
        let end = start + key_len + item.value_len as usize;
        ContiguousRecord {
            bytes: &self.bytes[start..end],
            key_len,
            kind: item.kind,
        }
    }

    pub(crate) fn push(&mut self, key: &[u8], value: StoredValue<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.bytes);
        self.add_item(start, value);
    }

    /// Adds a record whose bytes begin at `start`.
    #[inline(always)]
    fn add_item(&mut self, start: usize, value: StoredValue<'_>) {
        let (len, value_len) = (self.bytes.len() - start, value.bytes.len());
        self.items.push(RecordItem {
            start: start as u32,
            key_len: (len - value_len) as u32,
            value_len: value_len as u32,
            kind: value.kind,
        });
    }

    /// Appends the records of a leaf in `range`.
    pub(crate) fn append(
        &mut self,
        leaf: &Leaf<'_>,
        range: Range<usize>,
    ) -> Result<(), PageDamage> {
        self.items.reserve(range.len());
        let mut lead = leaf.lead();
        for index in range {
            let node = leaf.node(index)?;
            let start = self.bytes.len();
            leaf.append_record(index, &node, &mut lead, &mut self.bytes);
            self.add_item(start, node.value);
        }
        Ok(())
    }

    /// The maximum bytes that the records in `range` take of a page, header included.
    pub(crate) fn page_len(&self, format: LeafFormat, range: Range<usize>) -> usize {
        if range.is_empty() {
            return HEADER_LEN;
        }
        let prefix_len = self.prefix_len(format, &range);
        arrays_start(prefix_len) + self.record_lens(format, prefix_len, range).sum::<usize>()
    }

    /// The weight of each record if all of them share one prefix.
    pub(crate) fn weights(&self, format: LeafFormat) -> Vec<usize> {
        let prefix_len = self.prefix_len(format, &(0..self.len()));
        self.record_lens(format, prefix_len, 0..self.len())
            .collect()
    }

    fn prefix_len(&self, format: LeafFormat, range: &Range<usize>) -> usize {
        // A single record keeps its full key, so that the next ones need not rebuild the page.
        if range.len() < 2 {
            return 0;
        }
        format.prefix_len(self.key(range.start), self.key(range.end - 1))
    }

    /// The bytes that records take of a page if they share a prefix.
    #[inline(always)]
    fn record_lens(
        &self,
        format: LeafFormat,
        prefix_len: usize,
        range: Range<usize>,
    ) -> impl Iterator<Item = usize> {
        let record_len = format.record_len_with(prefix_len);
        let items = self.items[range].iter();
        items.map(move |item| record_len(item.key_len as usize, item.value_len as usize))
    }

    /// Bytes of a page with all records, if they share this prefix.
    pub(crate) fn measure(&self, format: LeafFormat, prefix_len: usize) -> usize {
        let lens = self.record_lens(format, prefix_len, 0..self.len());
        arrays_start(prefix_len) + lens.sum::<usize>()
    }

    /// Lays out the records in `range` in `page`, as a leaf. They must fit.
    pub(crate) fn build(
        &self,
        page: &mut [u8],
        number: PageNumber,
        birth: TransactionId,
        format: LeafFormat,
        range: Range<usize>,
    ) -> Result<(), PageDamage> {
        let prefix_len = self.prefix_len(format, &range);
        let prefix = if range.is_empty() {
            &[]
        } else {
            &self.key(range.start)[..prefix_len]
        };
        leaf::init(page, number, birth, format, prefix);
        let records = range.map(|index| self.piece(index));
        leaf::fill(page, format.order, records)
    }
}

/// Splits items into `pages` ranges of nearly equal weight, each of which `fits`; `None` if that is
/// impossible.
pub(crate) fn cut_evenly(
    weights: &[usize],
    pages: usize,
    mut fits: impl FnMut(Range<usize>) -> bool,
) -> Option<Vec<Range<usize>>> {
    if weights.len() < pages {
        return None;
    }
    let total: usize = weights.iter().sum();
    let mut cuts = Vec::with_capacity(pages);
    let (mut start, mut end, mut sum) = (0, 0, 0);
    for page in 1..=pages {
        let target = total * page / pages;
        let last_end = weights.len() - (pages - page);
        while end < last_end && (page == pages || end == start || sum + weights[end] / 2 <= target)
        {
            sum += weights[end];
            end += 1;
        }
        if end == start || !fits(start..end) {
            return None;
        }
        cuts.push(start..end);
        start = end;
    }
    Some(cuts)
}

/// Splits items greedily, in order, into ranges each of which `fits`.
pub(crate) fn cut_greedily(
    count: usize,
    mut fits: impl FnMut(Range<usize>) -> bool,
) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut start = 0;
    for end in 1..=count {
        if end - start > 1 && !fits(start..end) {
            cuts.push(start..end - 1);
            start = end - 1;
        }
    }
    if start < count {
        cuts.push(start..count);
    }
    cuts
}
