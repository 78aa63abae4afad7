//! Values that a codec encodes.

use crate::Result;
use std::convert::Infallible;

/// A value that codec `C` encodes: its items, references to them, and their owned forms. Keys,
/// values and the bounds of ranges have such types.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, Vec<u8>>("words")?;
/// let (word, value) = (String::from("oak"), vec![1, 2]);
/// words.insert(&mut txn, &word, &value)?;
/// words.insert(&mut txn, "elm", b"three")?;
/// words.insert(&mut txn, word, [4])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Methods that take such a value return [`Error::Encode`](crate::Error::Encode) if the codec
/// refuses it. The codecs of this crate refuse nothing, except those of `serde` formats, and times
/// of `chrono` that it could not restore.
///
/// Implement it for the items of a codec of your own: [`Codec`](super::Codec) has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be encoded as `{C}`",
    label = "the table has the type `{C}`",
    note = "give a value of the table's type or a reference to one; text may be `&str` or `String`, bytes may be `&[u8]`, `Vec<u8>` or an array",
    note = "for a codec of your own, implement `EncodeAs<{C}>` for its items"
)]
pub trait EncodeAs<C: ?Sized> {
    /// Encodes the value.
    ///
    /// # Errors
    ///
    /// [`Error::Encode`](crate::Error::Encode) if the codec has no encoding for the value.
    fn encode_as(&self) -> Result<impl AsRef<[u8]>>;
}

impl<C: ?Sized, T: EncodeAs<C> + ?Sized> EncodeAs<C> for &T {
    #[inline]
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        (**self).encode_as()
    }
}

/// There is no such value: a range without bounds has none.
impl<C: ?Sized> EncodeAs<C> for Infallible {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        (match *self {}) as Result<[u8; 0]>
    }
}

/// Encodes many values.
pub(in crate::api) fn encode_all<C, T: EncodeAs<C>>(
    items: &[T],
) -> Result<Vec<impl AsRef<[u8]> + use<'_, C, T>>> {
    let mut encoded = Vec::with_capacity(items.len());
    for item in items {
        encoded.push(item.encode_as()?);
    }
    Ok(encoded)
}

/// Encodes many records.
#[allow(clippy::type_complexity)]
pub(in crate::api) fn encode_pairs<K, V, X: EncodeAs<K>, Y: EncodeAs<V>>(
    records: &[(X, Y)],
) -> Result<
    Vec<(
        impl AsRef<[u8]> + use<'_, K, V, X, Y>,
        impl AsRef<[u8]> + use<'_, K, V, X, Y>,
    )>,
> {
    let mut encoded = Vec::with_capacity(records.len());
    for (key, value) in records {
        encoded.push((key.encode_as()?, value.encode_as()?));
    }
    Ok(encoded)
}
