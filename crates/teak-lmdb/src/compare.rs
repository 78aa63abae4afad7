//! LMDB's orders of keys and values.

use crate::flags;
use std::{cmp::Ordering, ffi::c_uint};

/// How keys compare in a database with these flags.
pub(crate) fn keys(database_flags: c_uint, a: &[u8], b: &[u8]) -> Ordering {
    if database_flags & flags::REVERSEKEY != 0 {
        reversed(a, b)
    } else if database_flags & flags::INTEGERKEY != 0 {
        integers(a, b)
    } else {
        a.cmp(b)
    }
}

/// How values of a key compare in a database with these flags.
pub(crate) fn values(database_flags: c_uint, a: &[u8], b: &[u8]) -> Ordering {
    let is_fixed = database_flags & flags::DUPFIXED != 0;
    if database_flags & flags::INTEGERDUP != 0 {
        match is_fixed {
            true => integers_of_any_size(a, b),
            false => integers(a, b),
        }
    } else if database_flags & flags::REVERSEDUP != 0 {
        reversed(a, b)
    } else {
        a.cmp(b)
    }
}

/// From the last byte to the first.
fn reversed(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// Little-endian integers of one size.
fn integers(a: &[u8], b: &[u8]) -> Ordering {
    reversed(a, b)
}

/// Like [`integers`], where a key may have values of different sizes: of values that are not
/// integers LMDB compares four bytes.
fn integers_of_any_size(a: &[u8], b: &[u8]) -> Ordering {
    let compared = |bytes: &[u8]| match bytes.len() {
        len @ (0..=4 | 8) => len,
        _ => 4,
    };
    let sizes = a.len().cmp(&b.len());
    sizes.then_with(|| integers(&a[..compared(a)], &b[..compared(b)]))
}

#[cfg(test)]
mod tests {
    use super::{Ordering, flags, keys, values};

    #[test]
    fn flags_decide_the_order_of_keys_and_values() {
        assert_eq!(keys(0, b"ab", b"b"), Ordering::Less);
        assert_eq!(keys(flags::REVERSEKEY, b"ab", b"b"), Ordering::Greater);
        let integers = [256u32, 3].map(u32::to_le_bytes);
        let [large, small] = &integers;
        assert_eq!(keys(flags::INTEGERKEY, large, small), Ordering::Greater);
        assert_eq!(values(flags::INTEGERDUP, large, small), Ordering::Greater);
        let fixed = flags::INTEGERDUP | flags::DUPFIXED;
        assert_eq!(values(fixed, b"abcd, 1.", b"abcd, 2."), Ordering::Less);
        assert_eq!(values(fixed, b"abcd, one", b"abcd, two"), Ordering::Equal);
        assert_eq!(values(flags::REVERSEDUP, b"ba", b"ab"), Ordering::Less);
        assert_eq!(values(0, large, small), Ordering::Less);
    }
}

/// The things that an order compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ComparisonScope {
    Keys,
    Values,
}
