//! Small sorted sets: the values of a key that has several, as long as they fit into its leaf.
//!
//! Values of any length:
//!
//! | offset | size | what |
//! |---|---|---|
//! | 0 | 2 | count n, at least 2 |
//! | 2 | 2 x (n + 1) | offsets, from the start of the set; each value ends where the next one begins, the last with the set |
//! | 4 + 2 n | | the values, in their order, without gaps |
//!
//! Values of one size s:
//!
//! | offset | size | what |
//! |---|---|---|
//! | 0 | 2 | count n, at least 2 |
//! | 2 | s x n | the values, in their order |
//!
//! The root of the tree states which of both it is. Invariants: there are at least two values, and
//! they fill the set, which is checked when it is parsed; they ascend strictly, which the check of
//! the database verifies.

#[cfg(test)]
mod tests;

use super::{
    PageDamage,
    fixed::{FixedKeys, search_by},
    key::KeyOrder,
    read_u16,
    value::{StoredValue, TREE_ROOT_LEN, ValueKind},
};

/// Bytes of the count, and of an offset.
const WORD_LEN: usize = 2;
/// More pairs of key and value than trees on 2^32 pages have.
const PAIRS_MAX: u64 = 1 << 48;
/// The offset of the number of records in the root of a tree.
const RECORDS_AT: usize = 16;

/// A small sorted set with checked bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set<'p> {
    bytes: &'p [u8],
    values: SetLayout<'p>,
}

#[derive(Clone, Copy, Debug)]
enum SetLayout<'p> {
    /// Values of one size.
    Fixed(FixedKeys<'p>),
    /// The offset of each value, and the end of the last one.
    Any(&'p [[u8; WORD_LEN]]),
}

impl<'p> Set<'p> {
    /// Parses a set of values of `value_size`, which is 0 if it varies.
    pub(crate) fn parse(bytes: &'p [u8], value_size: u16) -> Result<Self, PageDamage> {
        let count = count_of(bytes)?;
        let values = match usize::from(value_size) {
            0 => SetLayout::Any(offsets_of(bytes, count)?),
            size if bytes.len() == WORD_LEN + size * count => {
                SetLayout::Fixed(FixedKeys::new(&bytes[WORD_LEN..], size))
            }
            _ => {
                return Err(PageDamage(
                    "a set of values does not have the length of its values",
                ));
            }
        };
        Ok(Self { bytes, values })
    }

    pub(crate) fn len(&self) -> usize {
        match self.values {
            SetLayout::Fixed(values) => values.count(),
            SetLayout::Any(offsets) => offsets.len() - 1,
        }
    }

    /// The value at an index, which is smaller than the length.
    pub(crate) fn get(&self, index: usize) -> &'p [u8] {
        match self.values {
            SetLayout::Fixed(values) => values.get(index).expect("the set has the value"),
            SetLayout::Any(offsets) => {
                let at = |index: usize| usize::from(u16::from_le_bytes(offsets[index]));
                // They ascended when they were checked, and read as zeros if they have become
                // unreadable.
                self.bytes.get(at(index)..at(index + 1)).unwrap_or_default()
            }
        }
    }

    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = &'p [u8]> + Clone {
        (0..self.len()).map(move |index| self.get(index))
    }

    /// All values as one slice, if they have one size.
    pub(crate) fn packed(&self) -> Option<&'p [u8]> {
        match self.values {
            SetLayout::Fixed(values) => Some(values.bytes()),
            SetLayout::Any(_) => None,
        }
    }

    /// Returns the index of `value` (`Ok`), or the index where it would be inserted (`Err`).
    pub(crate) fn search(&self, order: KeyOrder, value: &[u8]) -> Result<usize, usize> {
        match self.values {
            SetLayout::Fixed(values) => values.search(order, value),
            SetLayout::Any(_) => {
                search_by(self.len(), |index| order.stored_to(self.get(index), value))
            }
        }
    }

    /// The size of every value, 0 if it varies.
    fn value_size(&self) -> usize {
        match self.values {
            SetLayout::Fixed(values) => values.key_len(),
            SetLayout::Any(_) => 0,
        }
    }
}

fn count_of(bytes: &[u8]) -> Result<usize, PageDamage> {
    match read_u16(bytes, 0) {
        Some(count) if count >= 2 => Ok(count.into()),
        _ => Err(PageDamage("a set of values has fewer than two")),
    }
}

fn offsets_of(bytes: &[u8], count: usize) -> Result<&[[u8; WORD_LEN]], PageDamage> {
    let start = WORD_LEN * (count + 2);
    let offsets = bytes.get(WORD_LEN..start).ok_or(PageDamage(
        "the offsets of a set of values lie outside of it",
    ))?;
    let (offsets, _) = offsets.as_chunks::<WORD_LEN>();
    let at = |word: &[u8; WORD_LEN]| usize::from(u16::from_le_bytes(*word));
    // No early exit, so that several are compared at once.
    let ascend = |ascend: bool, pair: &[[u8; WORD_LEN]]| ascend & (at(&pair[0]) <= at(&pair[1]));
    let is_sound = at(&offsets[0]) == start && at(&offsets[count]) == bytes.len();
    if !is_sound || !offsets.windows(2).fold(true, ascend) {
        return Err(PageDamage("the values of a set do not fill it"));
    }
    Ok(offsets)
}

/// How many values a stored value of a multi-value table represents, without reading them.
pub(crate) fn pair_count(value: StoredValue<'_>) -> Result<u64, PageDamage> {
    match value.kind {
        ValueKind::Inline => Ok(1),
        ValueKind::Set => count_of(value.bytes).map(|count| count as u64),
        ValueKind::Tree => {
            let root: &[u8; TREE_ROOT_LEN] = value
                .bytes
                .try_into()
                .map_err(|_| PageDamage("the root of a tree has the wrong length"))?;
            let records = root[RECORDS_AT..]
                .first_chunk()
                .map(|&b| u64::from_le_bytes(b));
            records
                .filter(|records| (1..=PAIRS_MAX).contains(records))
                .ok_or(PageDamage("the number of values of a key is out of range"))
        }
        ValueKind::Extent => Err(PageDamage(
            "a value of a multi-value table is a large value",
        )),
    }
}

/// Bytes of a set of `count` values of `value_size`, or, if that is 0, of `bytes` in total.
pub(crate) fn set_len(value_size: u16, count: usize, bytes: usize) -> usize {
    match value_size {
        0 => WORD_LEN * (count + 2) + bytes,
        size => WORD_LEN + usize::from(size) * count,
    }
}

/// Writes a set of these values to `out`, replacing its contents. There are at least two; they
/// ascend strictly and have this size. The set must not be longer than the longest value of a leaf.
pub(crate) fn write_all<'v>(
    out: &mut Vec<u8>,
    value_size: u16,
    values: impl ExactSizeIterator<Item = &'v [u8]> + Clone,
) {
    write(out, value_size.into(), values.len(), values);
}

/// Like [`write_all`], for two values.
pub(crate) fn write_pair(out: &mut Vec<u8>, value_size: u16, a: &[u8], b: &[u8]) {
    write_all(out, value_size, [a, b].into_iter());
}

/// Writes a set with one more value, at an index that a search has found.
pub(crate) fn write_with(out: &mut Vec<u8>, set: &Set<'_>, index: usize, value: &[u8]) {
    out.clear();
    out.reserve(set.bytes.len() + WORD_LEN + value.len());
    out.extend_from_slice(&(set.len() as u16 + 1).to_le_bytes());
    let (start, insert_offset) = match set.values {
        SetLayout::Fixed(values) => (WORD_LEN, WORD_LEN + index * values.key_len()),
        SetLayout::Any(offsets) => {
            let mut move_by = |offsets: &[[u8; WORD_LEN]], len: usize| {
                let moved =
                    |offset: &[u8; WORD_LEN]| u16::from_le_bytes(*offset).wrapping_add(len as u16);
                out.extend(
                    offsets
                        .iter()
                        .flat_map(|offset| moved(offset).to_le_bytes()),
                );
            };
            move_by(&offsets[..=index], WORD_LEN);
            move_by(&offsets[index..], WORD_LEN + value.len());
            let at = |index: usize| usize::from(u16::from_le_bytes(offsets[index]));
            (at(0), at(index))
        }
    };
    // The offsets ascended when they were checked, and read as zeros if they have become
    // unreadable.
    let before = set.bytes.get(start..insert_offset).unwrap_or_default();
    out.extend_from_slice(before);
    out.extend_from_slice(value);
    out.extend_from_slice(&set.bytes[insert_offset.min(set.bytes.len())..]);
}

/// Writes a set without the value at an index; at least two values remain.
pub(crate) fn write_without(out: &mut Vec<u8>, set: &Set<'_>, index: usize) {
    let values = set.iter().take(index).chain(set.iter().skip(index + 1));
    write(out, set.value_size(), set.len() - 1, values);
}

fn write<'v>(
    out: &mut Vec<u8>,
    value_size: usize,
    count: usize,
    values: impl Iterator<Item = &'v [u8]> + Clone,
) {
    debug_assert!(count >= 2, "a set has at least two values");
    out.clear();
    out.extend_from_slice(&(count as u16).to_le_bytes());
    if value_size == 0 {
        let mut end = WORD_LEN * (count + 2);
        out.extend_from_slice(&(end as u16).to_le_bytes());
        for value in values.clone() {
            end += value.len();
            out.extend_from_slice(&(end as u16).to_le_bytes());
        }
        debug_assert!(end <= 0x7fff, "a set is a value of a leaf");
    }
    for value in values {
        debug_assert!(value_size == 0 || value.len() == value_size);
        out.extend_from_slice(value);
    }
}
