//! Codecs: how typed keys and values are encoded as bytes.
//!
//! Plain types are codecs of themselves:
//!
//! | type | encoding |
//! |---|---|
//! | [`u8`] to [`u128`], [`i8`] to [`i128`] | big-endian; the sign bit of signed ones is flipped |
//! | [`f32`], [`f64`] | like integers, in the total order of IEEE 754: see [`Ordered`] |
//! | [`bool`], [`char`] | one byte; the number of the character in four bytes |
//! | [`&str`](Str), [`String`] | UTF-8, unchanged; see [`Small`] |
//! | [`&[u8]`](Bytes), [`Vec<u8>`] | unchanged; see [`Small`] |
//! | `[u8; N]` | unchanged; all have this length |
//! | `()` | nothing: the value of a table that is a set of keys |
//! | [`Option`] | a byte 0, or a byte 1 and the encoding |
//! | tuples of 2 to 8 parts | the parts one after the other: see [`KeyPart`] |
//! | `uuid::Uuid`, with the feature `uuid` | its 16 bytes |
//! | `jiff::Timestamp` and `jiff::civil::{Date, Time, DateTime}`, with the feature `jiff` | so that they sort |
//! | `chrono::{DateTime<Utc>, NaiveDate, NaiveTime, NaiveDateTime}`, with the feature `chrono` | so that they sort |
//! | `bytes::Bytes`, with the feature `bytes` | unchanged |
//! | `Json<T>`, `Postcard<T>`, with the features `serde-json` and `serde-postcard` | the format of serde, only for values |
//!
//! Encodings sort as the values do, in tables in the order that [`Codec::ORDER`] names: those of
//! [`NativeU64`] and its relatives in [`KeyOrder::Integer`](crate::KeyOrder::Integer), all others
//! in [`KeyOrder::Bytes`](crate::KeyOrder::Bytes).
//!
//! ```
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let lines = txn.create_table::<(u32, u32), &str>("lines")?;
//! lines.insert(&mut txn, (1, 2), "second line of the first page")?;
//! assert_eq!(lines.get(&txn, (1, 2))?, Some("second line of the first page"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod fixed;
mod bytes;
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod derived;
mod encode_as;
mod optional;
mod order;
mod ordered;
#[cfg(any(feature = "serde-json", feature = "serde-postcard"))]
mod serde_formats;
mod small;
#[cfg(any(feature = "chrono", feature = "jiff"))]
mod times;
mod tuple;
#[cfg(feature = "uuid")]
mod uuids;

pub use bytes::{Bytes, Raw, Str};
pub use encode_as::EncodeAs;
pub(super) use encode_as::{encode_all, encode_pairs};
pub use fixed::{NativeF32, NativeF64, NativeI32, NativeI64, NativeU32, NativeU64};
pub use order::CodecOrder;
pub use ordered::{Ordered, ordered_json_integer};
#[cfg(feature = "serde-json")]
pub use serde_formats::Json;
#[cfg(feature = "serde-postcard")]
pub use serde_formats::Postcard;
pub use small::Small;
pub use tuple::KeyPart;

use crate::{
    Error, Result,
    error::{BoxedError, boxed},
    page::leaf::CursorKey,
};
use std::borrow::Cow;

/// How keys or values of a table are encoded as bytes. Plain types are codecs of themselves: see
/// the [module](self). A type of your own may be one, too, or a type that exists only to name the
/// codec:
///
/// ```
/// use std::borrow::Cow;
/// use teak::{Database, Result, codec::{Codec, CodecOrder, EncodeAs}};
///
/// /// A moment in seconds.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Moment(u64);
///
/// impl Codec for Moment {
///     type Item<'a> = Moment;
///     type Owned = Moment;
///     const ORDER: CodecOrder = u64::ORDER;
///
///     fn name() -> Cow<'static, str> {
///         "my-app.moment".into()
///     }
///     fn decode(bytes: &[u8]) -> Result<Moment> {
///         u64::decode(bytes).map(Moment)
///     }
///     fn to_owned(item: Moment) -> Moment {
///         item
///     }
/// }
///
/// impl EncodeAs<Moment> for Moment {
///     fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
///         Ok(self.0.to_be_bytes())
///     }
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let events = txn.create_table::<Moment, &str>("events")?;
/// events.insert(&mut txn, Moment(7), "started")?;
/// assert_eq!(events.range(Moment(5)..=Moment(9)).count(&txn)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`KeyPart`] makes it a part of tuples.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of keys or values of a table",
    label = "not a codec",
    note = "use a plain type, such as `u64`, `&str`, `Vec<u8>`, `[u8; 32]`, `Option<u64>`, or a tuple of these",
    note = "for a type of your own, implement `Codec` and `EncodeAs`; the docs of `Codec` have an example"
)]
pub trait Codec: 'static {
    /// The type that is decoded from bytes with the lifetime `'a`.
    type Item<'a>: EncodeAs<Self> + 'a;
    /// An item that owns its data, as iterators return it.
    type Owned: EncodeAs<Self>;
    /// The order of tables in which encodings sort as the items do.
    const ORDER: CodecOrder;

    /// The name of the codec. It stays the same as long as the encoding does. Begin the name of
    /// your own codec with that of your application, because names without a dot are Teak's.
    fn name() -> Cow<'static, str>;

    /// Decodes an item.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if `bytes` are not the encoding of an item.
    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>>;

    /// Whether items are text. Cursors look for ASCII then, for [`Codec::decode_key`].
    #[doc(hidden)]
    const IS_TEXT: bool = false;

    /// Like [`Codec::decode`], for a key that a cursor has read.
    #[doc(hidden)]
    #[inline(always)]
    fn decode_key(key: CursorKey<'_>) -> Result<Self::Item<'_>, Box<Error>> {
        Self::decode(key.bytes()).map_err(boxed)
    }

    /// Makes an item independent of the bytes it was decoded from.
    fn to_owned(item: Self::Item<'_>) -> Self::Owned;
}

/// Like [`undecodable`], in a box.
#[cold]
fn boxed_undecodable<C: Codec>(detail: impl ToString) -> BoxedError {
    undecodable::<C>(detail).into()
}

/// The bytes cannot be decoded.
#[cold]
fn undecodable<C: Codec>(detail: impl ToString) -> Error {
    Error::Decode {
        expected: C::name(),
        detail: detail.to_string(),
    }
}

#[cold]
fn wrong_len<C: Codec>(len: usize) -> Error {
    undecodable::<C>(format_args!("it has {len} bytes"))
}
