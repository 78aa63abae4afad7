//! Fixed leaves: pages of keys of one length, without values. The keys are contiguous and sorted,
//! so their offsets are computed.
//!
//! ```text
//! header | keys: k x count | gap
//! ```
//!
//! In the header the field of the prefix length holds k, and the fields of heap length, garbage and
//! flags are zero.
//!
//! Invariants: k is not zero, and the keys end inside the page, which every function here checks
//! first; keys ascend strictly, which the check of the database verifies.

#[cfg(test)]
mod tests;

use super::{
    PageDamage,
    header::{HEADER_LEN, Header, PageKind},
    key::{self, KeyOrder},
    leaf::{LeafEnd, LocalChange},
    max_key_len,
    value::{StoredValue, ValueKind},
};
use crate::{PageNumber, TransactionId};
use std::{cmp::Ordering, ops::Range};

/// When at most this many numeric keys are left, a search counts them instead of halving further.
const WINDOW: usize = 16;
/// A search continues in one of this many parts of a page. The cache lines that decide between the
/// parts are loaded together, whereas halving would wait for them one after the other.
const PARTS: usize = 8;

/// Contiguous byte strings of one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedKeys<'p> {
    bytes: &'p [u8],
    key_len: usize,
    count: usize,
}

impl<'p> FixedKeys<'p> {
    /// Splits `bytes` into keys of `key_len` bytes each, which is not zero.
    pub(super) fn new(bytes: &'p [u8], key_len: usize) -> Self {
        Self {
            bytes,
            key_len,
            count: bytes.len() / key_len,
        }
    }

    /// The keys of a page.
    pub(super) fn of(page: &'p [u8], header: &Header) -> Result<Self, PageDamage> {
        if header.heap_len != 0 || header.garbage_len != 0 || header.flags != 0 {
            return Err(PageDamage(
                "a fixed leaf is of a kind that this version does not know",
            ));
        }
        let (key_len, count) = (usize::from(header.prefix_len), usize::from(header.count));
        if key_len == 0 || key_len > max_key_len(page.len()) {
            return Err(PageDamage(
                "the length of the keys of a fixed leaf is out of range",
            ));
        }
        let bytes = page
            .get(HEADER_LEN..HEADER_LEN + key_len * count)
            .ok_or(PageDamage("a fixed leaf has more keys than fit in it"))?;
        Ok(Self {
            bytes,
            key_len,
            count,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn key_len(&self) -> usize {
        self.key_len
    }

    /// All keys as one slice.
    pub(super) fn bytes(&self) -> &'p [u8] {
        self.bytes
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'p [u8]> {
        let start = (index < self.count).then(|| index * self.key_len)?;
        self.bytes.get(start..start + self.key_len)
    }

    /// Returns the index of `key` (`Ok`), or the index where it would be inserted (`Err`). The
    /// search key may have another length.
    pub(super) fn search(&self, order: KeyOrder, key: &[u8]) -> Result<usize, usize> {
        match (order, self.key_len) {
            (KeyOrder::Bytes, 4) => self.search_numbers(order, key, u32::from_be_bytes),
            (KeyOrder::Bytes, 8) => self.search_numbers(order, key, u64::from_be_bytes),
            (KeyOrder::Integer, 4) => self.search_numbers(order, key, u32::from_le_bytes),
            (KeyOrder::Integer, 8) => self.search_numbers(order, key, u64::from_le_bytes),
            _ => self.search_any(order, key),
        }
    }

    /// Searches keys that are ordered as numbers.
    #[inline]
    fn search_numbers<const LEN: usize, N: Ord>(
        &self,
        order: KeyOrder,
        key: &[u8],
        number: impl Fn([u8; LEN]) -> N,
    ) -> Result<usize, usize> {
        let Ok(wanted) = <[u8; LEN]>::try_from(key) else {
            return self.search_any(order, key);
        };
        let (keys, _) = self.bytes.as_chunks::<LEN>();
        let limit = number(wanted);
        let is_before = |key| number(key) < limit;
        let (mut from, mut part) = (0, keys);
        while part.len() > 2 * WINDOW {
            let len = part.len() / PARTS;
            let passed: usize = (1..PARTS)
                .map(|n| usize::from(is_before(part[n * len])))
                .sum();
            let end = if passed + 1 < PARTS {
                (passed + 1) * len
            } else {
                part.len()
            };
            from += passed * len;
            part = &part[passed * len..end];
        }
        let slot = from + key::partition_point(part, is_before);
        match keys.get(slot) {
            Some(found) if *found == wanted => Ok(slot),
            _ => Err(slot),
        }
    }

    fn search_any(&self, order: KeyOrder, key: &[u8]) -> Result<usize, usize> {
        search_by(self.count, |index| {
            order.stored_to(self.get(index).unwrap_or_default(), key)
        })
    }
}

/// Searches `count` ascending items; `compare` compares the item at an index with the target.
pub(super) fn search_by(count: usize, compare: impl Fn(usize) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
            Ordering::Less => low = middle + 1,
        }
    }
    Err(low)
}

/// Makes `page` an empty fixed leaf.
pub(super) fn init(page: &mut [u8], number: PageNumber, birth: TransactionId, key_len: u16) {
    let mut header = Header::new(number, PageKind::FixedLeaf, birth);
    header.prefix_len = key_len;
    header.write(page);
}

/// Inserts records at `index`: all of them, or none.
pub(super) fn insert<'r>(
    page: &mut [u8],
    mut header: Header,
    index: usize,
    records: impl ExactSizeIterator<Item = (&'r [u8], StoredValue<'r>)> + Clone,
) -> Result<LocalChange, PageDamage> {
    let FixedKeys { key_len, count, .. } = FixedKeys::of(page, &header)?;
    if index > count {
        return Err(PageDamage("an index is beyond the last record"));
    }
    let belongs = |key: &[u8], value: StoredValue<'_>| {
        key.len() == key_len && value.kind == ValueKind::Inline && value.bytes.is_empty()
    };
    if !records.clone().all(|(key, value)| belongs(key, value)) {
        return Err(PageDamage(
            "a fixed leaf is where records are not keys of its length alone",
        ));
    }
    let (start, end) = (HEADER_LEN + index * key_len, HEADER_LEN + count * key_len);
    let added_len = records.len() * key_len;
    if end + added_len > page.len() {
        return Ok(LocalChange::Rebuild);
    }
    page.copy_within(start..end, start + added_len);
    header.count += records.len() as u16;
    let slots = page[start..start + added_len].chunks_exact_mut(key_len);
    for (key_slot, (key, _)) in slots.zip(records) {
        key_slot.copy_from_slice(key);
    }
    header.write(page);
    Ok(LocalChange::Done)
}

/// Inserts records at one end: all of them, or none.
pub(super) fn insert_at<'r>(
    page: &mut [u8],
    header: Header,
    end: LeafEnd,
    records: impl ExactSizeIterator<Item = (&'r [u8], StoredValue<'r>)> + Clone,
) -> Result<LocalChange, PageDamage> {
    let index = match end {
        LeafEnd::Before => 0,
        LeafEnd::After => usize::from(header.count),
    };
    insert(page, header, index, records)
}

/// Removes records.
pub(super) fn remove_range(
    page: &mut [u8],
    mut header: Header,
    range: Range<usize>,
) -> Result<(), PageDamage> {
    let FixedKeys { key_len, count, .. } = FixedKeys::of(page, &header)?;
    if range.start > range.end || range.end > count {
        return Err(PageDamage("an index is beyond the last record"));
    }
    let at = |index: usize| HEADER_LEN + index * key_len;
    page.copy_within(at(range.end)..at(count), at(range.start));
    header.count -= range.len() as u16;
    header.write(page);
    Ok(())
}

/// Where the keys of a page end, according to its header.
pub(super) fn used_len(header: &Header) -> usize {
    HEADER_LEN + usize::from(header.prefix_len) * usize::from(header.count)
}
