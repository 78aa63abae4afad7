//! Refuses types of keys and values that do not sort in the order of a table.

use super::codec::{Codec, CodecOrder};
use crate::{Error, Result, page::key::KeyOrder, read::catalog};

/// Refuses codecs whose encodings do not sort in a table's order of keys, and of values if it has
/// one.
pub(super) fn refuse_orders<K: Codec, V: Codec>(
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
