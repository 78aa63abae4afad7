//! The kinds of tables that both engines have.

use std::cmp::Ordering;
use teak::{Comparison, KeyOrder, TableOptions, ValueSize};

/// The order of keys, or of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Bytes,
    /// From the last byte to the first.
    Reverse,
    /// Unsigned native integers.
    Integer,
    /// A custom comparison: by length, then by bytes.
    ByLen,
}

/// Teak's comparison by length.
pub(crate) static BY_LEN: Comparison = Comparison::new("by length", &compare_by_len);

pub(crate) fn compare_by_len(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// The kind of keys, or of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BytesForm {
    pub(crate) order: Order,
    /// The size in bytes, if all have an equal one.
    pub(crate) size: Option<usize>,
}

/// A kind of table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    /// Also the name of the table of this kind.
    pub(crate) name: &'static str,
    pub(crate) keys: BytesForm,
    /// The order and size of the values, if a key has several.
    pub(crate) values: Option<BytesForm>,
}

const fn any(order: Order) -> BytesForm {
    BytesForm { order, size: None }
}

const fn sized(order: Order, size: usize) -> BytesForm {
    BytesForm {
        order,
        size: Some(size),
    }
}

const fn plain(name: &'static str, keys: BytesForm) -> Kind {
    Kind {
        name,
        keys,
        values: None,
    }
}

const fn multi(name: &'static str, keys: BytesForm, values: BytesForm) -> Kind {
    Kind {
        name,
        keys,
        values: Some(values),
    }
}

use Order::{ByLen, Bytes, Integer, Reverse};

/// All kinds; operations name a table by its index here.
pub(crate) const KINDS: &[Kind] = &[
    plain("plain", any(Bytes)),
    plain("plain, 4-byte keys", sized(Integer, 4)),
    plain("plain, 8-byte keys", sized(Integer, 8)),
    plain("plain, reverse keys", any(Reverse)),
    plain("plain, compared keys", any(ByLen)),
    multi("multi", any(Bytes), any(Bytes)),
    multi("multi, compared values", any(Bytes), any(ByLen)),
    multi("multi, compared keys and values", any(ByLen), any(ByLen)),
    multi("multi, fixed 5", any(Bytes), sized(Bytes, 5)),
    multi("multi, fixed 64", any(Bytes), sized(Bytes, 64)),
    multi("multi, 4-byte values", any(Bytes), sized(Integer, 4)),
    multi("multi, 8-byte values", any(Bytes), sized(Integer, 8)),
    multi("multi, reverse values", any(Bytes), any(Reverse)),
    multi("multi, reverse fixed 12", any(Bytes), sized(Reverse, 12)),
    multi("multi, 8-byte keys", sized(Integer, 8), any(Bytes)),
    multi(
        "multi, 4-byte keys, 8-byte values",
        sized(Integer, 4),
        sized(Integer, 8),
    ),
    multi(
        "multi, reverse keys, fixed 20",
        any(Reverse),
        sized(Bytes, 20),
    ),
    multi(
        "multi, reverse keys, reverse values",
        any(Reverse),
        any(Reverse),
    ),
];

impl Order {
    /// Compares as both engines do.
    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytes => a.cmp(b),
            Self::Reverse => a.iter().rev().cmp(b.iter().rev()),
            Self::Integer if cfg!(target_endian = "big") => a.cmp(b),
            Self::Integer => a.iter().rev().cmp(b.iter().rev()),
            Self::ByLen => compare_by_len(a, b),
        }
    }

    fn to_teak(self) -> KeyOrder {
        match self {
            Self::Bytes => KeyOrder::Bytes,
            Self::Reverse => KeyOrder::ReverseBytes,
            Self::Integer => KeyOrder::Integer,
            Self::ByLen => KeyOrder::Custom(&BY_LEN),
        }
    }
}

impl BytesForm {
    /// Whether bytes have the fixed size, if there is one.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        self.size.is_none_or(|size| size == bytes.len())
    }
}

impl Kind {
    /// Whether a record has the sizes of the table.
    pub(crate) fn fits(&self, key: &[u8], value: &[u8]) -> bool {
        self.keys.fits(key) && self.values.is_none_or(|values| values.fits(value))
    }

    pub(crate) fn is_multi(&self) -> bool {
        self.values.is_some()
    }

    /// Whether LMDB packs the values of this table.
    pub(crate) fn is_packed(&self) -> bool {
        self.values.is_some_and(|values| values.size.is_some())
    }

    /// Teak's options for the table.
    pub(crate) fn options(&self) -> TableOptions {
        let options = TableOptions::new().order(self.keys.order.to_teak());
        match self.values {
            None => options,
            Some(values) => {
                options
                    .value_order(values.order.to_teak())
                    .value_size(match values.size {
                        None => ValueSize::Any,
                        Some(_) if values.order == Integer => ValueSize::AsFirst,
                        Some(size) => ValueSize::Bytes(u16::try_from(size).unwrap_or(u16::MAX)),
                    })
            }
        }
    }
}
