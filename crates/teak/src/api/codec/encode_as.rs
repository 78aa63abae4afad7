//! Values that a codec encodes, besides its items.

use super::{Array, Bytes, Pair, Str, Triple, Unit};
use std::convert::Infallible;

/// A value that codec `C` encodes: its items, references to them, and their owned forms. The bounds
/// of a range have such types.
///
/// Implement it for the items of a codec of your own, so that its keys can bound ranges:
///
/// ```
/// use teak::{Database, Result, codec::{Codec, EncodeAs, U64, Unit}};
///
/// /// A moment in seconds.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Moment(u64);
///
/// struct MomentCodec;
///
/// impl Codec for MomentCodec {
///     type Item<'a> = Moment;
///     type Owned = Moment;
///     type Encoded<'a> = [u8; 8];
///
///     fn encode<'a, 'b: 'a>(item: &'a Moment) -> [u8; 8] {
///         item.0.to_be_bytes()
///     }
///     fn decode(bytes: &[u8]) -> Result<Moment> {
///         U64::decode(bytes).map(Moment)
///     }
///     fn to_owned(item: Moment) -> Moment {
///         item
///     }
/// }
///
/// impl EncodeAs<MomentCodec> for Moment {
///     fn encode_as(&self) -> impl AsRef<[u8]> {
///         MomentCodec::encode(self)
///     }
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let events = txn.create_table::<MomentCodec, Unit>("events")?;
/// events.insert(&mut txn, Moment(7), ())?;
/// assert_eq!(events.range(Moment(5)..=Moment(9)).count(&txn)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "codec `{C}` does not encode `{Self}`",
    note = "give the item of the codec, for example a `u64` for `U64` or a `&str` for `Str`; for a codec of your own, implement `EncodeAs` for its items"
)]
pub trait EncodeAs<C: ?Sized> {
    /// Encodes the value.
    fn encode_as(&self) -> impl AsRef<[u8]>;
}

impl<C: ?Sized, T: EncodeAs<C> + ?Sized> EncodeAs<C> for &T {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        (**self).encode_as()
    }
}

/// There is no such value: a range without bounds has none.
impl<C: ?Sized> EncodeAs<C> for Infallible {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        (match *self {}) as [u8; 0]
    }
}

impl EncodeAs<Bytes> for [u8] {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<const N: usize> EncodeAs<Bytes> for [u8; N] {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl EncodeAs<Bytes> for Vec<u8> {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl EncodeAs<Str> for str {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl EncodeAs<Str> for String {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl EncodeAs<Unit> for () {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        []
    }
}

impl<const N: usize> EncodeAs<Array<N>> for [u8; N] {
    fn encode_as(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<A, B, X, Y> EncodeAs<Pair<A, B>> for (X, Y)
where
    X: EncodeAs<A>,
    Y: EncodeAs<B>,
{
    fn encode_as(&self) -> impl AsRef<[u8]> {
        [self.0.encode_as().as_ref(), self.1.encode_as().as_ref()].concat()
    }
}

impl<A, B, C, X, Y, Z> EncodeAs<Triple<A, B, C>> for (X, Y, Z)
where
    X: EncodeAs<A>,
    Y: EncodeAs<B>,
    Z: EncodeAs<C>,
{
    fn encode_as(&self) -> impl AsRef<[u8]> {
        let (first, second) = (self.0.encode_as(), self.1.encode_as());
        [first.as_ref(), second.as_ref(), self.2.encode_as().as_ref()].concat()
    }
}
