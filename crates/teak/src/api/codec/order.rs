//! The order in which a codec's encodings sort, and the orders of tables.

use super::Codec;
use crate::{Error, Result, page::key::KeyOrder, read::catalog};

/// The order of tables in which the encodings of a [`Codec`] sort as its items do. A table with
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
    #[must_use]
    pub const fn within(self) -> Self {
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

/// Refuses codecs whose encodings do not sort in a table's order of keys, and of values if it has
/// one.
pub(in crate::api) fn refuse_orders<K: Codec, V: Codec>(
    table: &[u8],
    keys: KeyOrder,
    values: Option<KeyOrder>,
) -> Result<()> {
    refuse_order::<K>(table, "keys", keys)?;
    values.map_or(Ok(()), |order| refuse_order::<V>(table, "values", order))
}

/// Refuses a codec whose encodings do not sort in a table's order of keys or values, which `part`
/// names.
fn refuse_order<C: Codec>(table: &[u8], part: &'static str, order: KeyOrder) -> Result<()> {
    let advice = match (C::ORDER, order) {
        (_, KeyOrder::Custom(_))
        | (CodecOrder::Any, _)
        | (CodecOrder::Bytes, KeyOrder::Bytes)
        | (CodecOrder::Integer, KeyOrder::Integer) => return Ok(()),
        (CodecOrder::Bytes, KeyOrder::Integer) => {
            "create the table in the order Bytes, or use a codec for integers of the machine, such as NativeU64"
        }
        (CodecOrder::Bytes, _) => "create the table in the order Bytes",
        (CodecOrder::Integer, _) => {
            "create the table in the order Integer, or use a plain number type, such as u64"
        }
        (CodecOrder::Unordered, _) => {
            "use it for the values of tables in which a key has one value, or give the table a comparison of your own"
        }
    };
    let (table, codec) = (catalog::printable(table), C::name());
    let text = format!(
        "the {part} of table {table:?} are in the order {order:?}, in which `{codec}` does not sort; {advice}"
    );
    Err(Error::InvalidArgument(text))
}
