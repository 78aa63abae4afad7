//! The order in which a codec's encodings sort, and the orders of tables.

#[cfg(doc)]
use crate::KeyOrder;

/// The order of tables in which the encodings of a codec sort as its items do. A table with
/// keys of the codec must have it, and a multi-value table with values of the codec must have it as
/// the order of values. A [`KeyOrder::Custom`] is the application's own, and goes with every codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodecOrder {
    /// The order of the table is the order of the items: raw bytes and text.
    Any,
    /// [`KeyOrder::Bytes`].
    Bytes,
    /// [`KeyOrder::Integer`].
    Integer,
    /// None: the items can only be values of tables in which a key has one value.
    Unordered,
}

impl CodecOrder {
    /// The order of a codec whose encodings contain encodings of this order, so that only their
    /// bytes count.
    pub(super) const fn within(self) -> Self {
        match self {
            Self::Any | Self::Bytes => Self::Bytes,
            Self::Integer | Self::Unordered => Self::Unordered,
        }
    }

    /// The order of a codec whose encodings are one of this order and then one of the other.
    #[must_use]
    pub const fn then(self, other: Self) -> Self {
        match self.within() {
            Self::Bytes => other.within(),
            unordered => unordered,
        }
    }
}
