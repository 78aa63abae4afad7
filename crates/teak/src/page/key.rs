//! Keys: their orders, their heads, and searches over heads.
//!
//! The *head* of a key is a `u32` that sorts like the key: comparing heads is comparing keys, until
//! they are equal. For byte order it is the first four bytes after the page's shared prefix,
//! big-endian, padded with zeros.

use super::comparison::{Comparison, UNRESOLVED};
use std::{cmp::Ordering, hint::select_unpredictable};

/// The order of the keys of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum KeyOrder {
    /// As bytes, from the first to the last; a key that is a prefix of another comes before it.
    #[default]
    Bytes,
    /// As bytes, compared from the last to the first.
    ReverseBytes,
    /// Little-endian unsigned integers of 4 or 8 bytes. The first key fixes the length for the
    /// table.
    Integer,
    /// By a comparison that the application provides. Keys then share no prefixes, and a search
    /// compares full keys.
    Custom(&'static Comparison),
}

impl KeyOrder {
    /// The order of this code; a comparison is still to be resolved by its name.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Bytes,
            1 => Self::ReverseBytes,
            2 => Self::Integer,
            3 => Self::Custom(&UNRESOLVED),
            _ => return None,
        })
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Bytes => 0,
            Self::ReverseBytes => 1,
            Self::Integer => 2,
            Self::Custom(_) => 3,
        }
    }

    /// Whether keys can be compared: `false` if the comparison is not known here.
    pub(crate) fn is_resolved(self) -> bool {
        !matches!(self, Self::Custom(comparison) if comparison.name().is_empty())
    }

    /// Compares two full keys.
    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytes => a.cmp(b),
            Self::ReverseBytes => a.iter().rev().cmp(b.iter().rev()),
            Self::Integer => integer(a).cmp(&integer(b)).then(a.len().cmp(&b.len())),
            Self::Custom(comparison) => comparison.compare(a, b),
        }
    }

    /// Compares a stored key with a search key. A comparison of the application receives the search
    /// key first.
    pub(crate) fn stored_to(self, stored: &[u8], key: &[u8]) -> Ordering {
        match self {
            Self::Custom(comparison) => comparison.compare(key, stored).reverse(),
            order => order.compare(stored, key),
        }
    }

    /// Sorts items by `compare`; the sort is stable. A comparison of the application may not be a
    /// total order: the result is then unspecified, whereas the sort of the standard library may
    /// panic.
    pub(crate) fn sort<T: Copy>(self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
        match self {
            Self::Custom(_) => merge_sort(items, compare),
            _ => items.sort_by(compare),
        }
    }

    /// Sorts like the keys, as far as eight bytes allow: keys with equal sort heads may differ.
    pub(crate) fn sort_head(self, key: &[u8]) -> u64 {
        let mut eight = [0; 8];
        match self {
            Self::Bytes => eight.iter_mut().zip(key).for_each(|(to, from)| *to = *from),
            Self::ReverseBytes => {
                let reversed = key.iter().rev();
                eight
                    .iter_mut()
                    .zip(reversed)
                    .for_each(|(to, from)| *to = *from);
            }
            Self::Integer => return integer(key),
            Self::Custom(_) => {}
        }
        u64::from_be_bytes(eight)
    }

    /// The head of a full key, also for orders other than [`KeyOrder::Bytes`].
    pub(crate) fn head(self, key: &[u8]) -> u32 {
        match self {
            Self::Bytes => head_of(key),
            Self::ReverseBytes => {
                let mut last = [0; 4];
                for (to, from) in last.iter_mut().zip(key.iter().rev()) {
                    *to = *from;
                }
                u32::from_be_bytes(last)
            }
            Self::Integer if key.len() <= 4 => integer(key) as u32,
            Self::Integer => (integer(key) >> 32) as u32,
            // Equal heads: the keys decide.
            Self::Custom(_) => 0,
        }
    }
}

/// A stable sort that tolerates any result of `compare`.
fn merge_sort<T: Copy>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut width = 1;
    let mut merged = Vec::with_capacity(items.len());
    while width < items.len() {
        merged.clear();
        for pair in items.chunks(2 * width) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
                if compare(first_b, first_a).is_lt() {
                    merged.push(*first_b);
                    b = rest_b;
                } else {
                    merged.push(*first_a);
                    a = rest_a;
                }
            }
            merged.extend_from_slice(a);
            merged.extend_from_slice(b);
        }
        items.copy_from_slice(&merged);
        width *= 2;
    }
}

/// A little-endian integer of up to 8 bytes; callers check the length, so longer keys do not occur.
fn integer(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}

/// The first four bytes, big-endian, padded with zeros.
#[inline]
pub(crate) fn head_of(rest: &[u8]) -> u32 {
    match rest.first_chunk::<4>() {
        Some(&four) => u32::from_be_bytes(four),
        None => {
            let mut four = [0; 4];
            four[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(four)
        }
    }
}

/// Whether two short byte strings are equal, without a call.
#[inline]
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // In the order of their frequency.
    match a.len() {
        len if len < 2 => a.first() == b.first(),
        len if len > 16 => a == b,
        len if len >= 8 => ends::<8>(a) == ends::<8>(b),
        len if len >= 4 => ends::<4>(a) == ends::<4>(b),
        _ => ends::<2>(a) == ends::<2>(b),
    }
}

/// Whether a key ends with these bytes, without a call if they are few.
#[inline]
pub(crate) fn is_end(key: &[u8], end: &[u8]) -> bool {
    let from = key.len().wrapping_sub(end.len());
    key.get(from..).is_some_and(|last| is_same(last, end))
}

/// The first and the last bytes, which may overlap.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    Some((bytes.first_chunk()?, bytes.last_chunk()?))
}

/// The bytes of a key that its head does not hold.
#[inline]
pub(crate) fn suffix_of(rest: &[u8]) -> &[u8] {
    rest.get(4..).unwrap_or(&[])
}

/// Compares the bytes of two keys beyond their equal heads. Equal heads mean equal first bytes
/// except for the zero padding of a short key, so of two short keys the longer comes last.
#[inline]
pub(crate) fn compare_beyond_head(a_len: usize, a: &[u8], b_len: usize, b: &[u8]) -> Ordering {
    a.cmp(b).then(a_len.cmp(&b_len))
}

/// How many heads are smaller than `head`, found without a mispredictable branch.
#[inline]
pub(crate) fn lower_bound(heads: &[u32], head: u32) -> usize {
    partition_point(heads, |probe| probe < head)
}

/// How many heads are smaller than or equal to `head`.
#[inline]
pub(crate) fn upper_bound(heads: &[u32], head: u32) -> usize {
    partition_point(heads, |probe| probe <= head)
}

/// How many items, usually heads, are `before` a target; items ascend. The last four are counted
/// instead of being halved further: their comparisons do not depend on each other.
#[inline]
pub(super) fn partition_point<T: Copy>(items: &[T], before: impl Fn(T) -> bool) -> usize {
    let mut rest = items;
    while rest.len() > 4 {
        let half = rest.len() / 2;
        // Both have the same length, so that only the start depends on the comparison.
        let (lower, upper) = (&rest[..rest.len() - half], &rest[half..]);
        rest = select_unpredictable(before(rest[half]), upper, lower);
    }
    let passed = (rest.as_ptr().addr() - items.as_ptr().addr()) / size_of::<T>();
    // A loop over them would be vectorized, although there are so few.
    let is_before = |index| usize::from(rest.get(index).is_some_and(|&item| before(item)));
    passed + is_before(0) + is_before(1) + is_before(2) + is_before(3)
}

/// The length of the common prefix of two keys.
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The shortest byte string that is greater than `left` and not greater than `right`
/// (Bayer and Unterauer, Prefix B-trees, 1977).
pub(crate) fn shortest_separator<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    &right[..(common_prefix_len(left, right) + 1).min(right.len())]
}

/// How a key compares with the common prefix of a page's keys.
pub(crate) enum PrefixOrdering<'k> {
    /// The key comes before all keys with the prefix.
    Before,
    /// The key has the prefix; this is the rest.
    Rest(&'k [u8]),
    /// The key comes after all keys with the prefix.
    After,
}

/// Compares `key` with the prefix, and splits it there.
#[inline(always)]
pub(crate) fn compare_prefix<'k>(key: &'k [u8], prefix: &[u8]) -> PrefixOrdering<'k> {
    match key.split_at_checked(prefix.len()) {
        Some((shared, rest)) if is_same(shared, prefix) => PrefixOrdering::Rest(rest),
        _ if key < prefix => PrefixOrdering::Before,
        _ => PrefixOrdering::After,
    }
}
