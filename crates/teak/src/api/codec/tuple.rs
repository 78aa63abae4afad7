//! Tuples, sorted by the first part, then by the second, and so on.

use super::{Codec, CodecOrder, EncodeAs, undecodable};
use crate::{Error, Result};
use std::borrow::Cow;

/// A codec whose items can be a part of a tuple that is not its last one.
///
/// Encodings that all have one length are stored unchanged. Others are escaped so that they end
/// themselves and still sort: each zero byte is followed by a byte 255, and two zero bytes are the
/// end. The last part is never escaped, so any codec may be the last one.
///
/// Text and bytes are borrowed from the page if nothing in them was escaped:
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let by_city = txn.create_table::<(&str, u64), ()>("by city")?;
/// for (city, person) in [("York", 1), ("Bath", 7), ("York", 3)] {
///     by_city.insert(&mut txn, (city, person), ())?;
/// }
/// let in_york = by_city.range(("York", 0)..=("York", u64::MAX));
/// let people: Vec<_> = in_york.keys(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(people, [("York".into(), 1), ("York".into(), 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For a codec of your own, let `Part` be an owned item:
///
/// ```
/// # use std::borrow::Cow;
/// # use teak::{Result, codec::{Codec, CodecOrder, EncodeAs}};
/// use teak::codec::KeyPart;
/// # #[derive(Clone, Copy, PartialEq, Debug)]
/// # struct Moment(u64);
/// # impl Codec for Moment {
/// #     type Item<'a> = Moment;
/// #     type Owned = Moment;
/// #     const ORDER: CodecOrder = u64::ORDER;
/// #     fn name() -> Cow<'static, str> {
/// #         "my-app.moment".into()
/// #     }
/// #     fn decode(bytes: &[u8]) -> Result<Moment> {
/// #         u64::decode(bytes).map(Moment)
/// #     }
/// #     fn to_owned(item: Moment) -> Moment {
/// #         item
/// #     }
/// # }
/// # impl EncodeAs<Moment> for Moment {
/// #     fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
/// #         Ok(self.0.to_be_bytes())
/// #     }
/// # }
///
/// impl KeyPart for Moment {
///     type Part<'a> = Moment;
///     const LEN: Option<usize> = Some(8);
///
///     fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Moment> {
///         Moment::decode(&bytes)
///     }
///     fn part_to_owned(part: Moment) -> Moment {
///         part
///     }
/// }
/// # let directory = tempfile::tempdir()?;
/// # let database = teak::Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let events = txn.create_table::<(Moment, &str), ()>("events")?;
/// events.insert(&mut txn, (Moment(7), "started"), ())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can only be the last part of a tuple",
    label = "not a part that something can follow",
    note = "put it last; for a codec of your own, implement `KeyPart`, whose docs have an example"
)]
pub trait KeyPart: Codec {
    /// The type that is decoded from a part of a tuple. It borrows bytes that were not escaped, or
    /// owns its data.
    type Part<'a>: EncodeAs<Self> + 'a;
    /// The length of all encodings in bytes; `None` if it varies.
    const LEN: Option<usize>;

    /// Decodes an item from its encoding.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if `bytes` are not the encoding of an item.
    fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Self::Part<'_>>;

    /// Makes a part independent of the bytes it was decoded from.
    fn part_to_owned(part: Self::Part<'_>) -> Self::Owned;
}

/// Appends an encoding that others follow.
#[inline]
fn push_part<P: KeyPart>(encoded: &[u8], tuple: &mut Vec<u8>) -> Result<()> {
    match P::LEN {
        Some(len) if encoded.len() == len => tuple.extend_from_slice(encoded),
        Some(len) => return Err(wrong_part_len::<P>(encoded.len(), len)),
        None => {
            let mut pieces = encoded.split(|byte| *byte == 0);
            tuple.extend_from_slice(pieces.next().unwrap_or_default());
            for piece in pieces {
                tuple.extend_from_slice(&[0, 255]);
                tuple.extend_from_slice(piece);
            }
            tuple.extend_from_slice(&[0, 0]);
        }
    }
    Ok(())
}

#[cold]
fn wrong_part_len<P: KeyPart>(len: usize, expected: usize) -> Error {
    Error::Encode {
        expected: P::name(),
        detail: format!("it has {len} bytes as a part of a tuple, and its `LEN` is {expected}"),
    }
}

/// Takes the first part off the rest of a tuple.
#[inline]
fn take_part<'a, P: KeyPart>(rest: &mut &'a [u8]) -> Result<P::Part<'a>> {
    let part = match P::LEN {
        Some(len) => match rest.split_at_checked(len) {
            Some((part, others)) => {
                *rest = others;
                Cow::Borrowed(part)
            }
            None => return Err(undecodable::<P>("the tuple ends within it")),
        },
        None => unescape(rest).ok_or_else(|| undecodable::<P>("it has no end within the tuple"))?,
    };
    P::decode_part(part)
}

/// Takes an escaped encoding off the rest of a tuple.
fn unescape<'a>(rest: &mut &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let mut unescaped: Vec<u8> = Vec::new();
    loop {
        let zero = rest.iter().position(|byte| *byte == 0)?;
        let (piece, others) = rest.split_at(zero);
        let (mark, others) = others.split_at_checked(2)?;
        *rest = others;
        match mark {
            [0, 0] if unescaped.is_empty() => return Some(Cow::Borrowed(piece)),
            [0, 0] => {
                unescaped.extend_from_slice(piece);
                return Some(Cow::Owned(unescaped));
            }
            [0, 255] => {
                unescaped.extend_from_slice(piece);
                unescaped.push(0);
            }
            _ => return None,
        }
    }
}

/// The sum of two lengths, if both are fixed.
const fn sum(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => a.checked_add(b),
        _ => None,
    }
}

macro_rules! tuple_codec {
    ($($part:ident $item:ident $value:ident),*; $last:ident $last_item:ident $last_value:ident) => {
        impl<$($part: KeyPart,)* $last: Codec> Codec for ($($part,)* $last) {
            type Item<'a> = ($($part::Part<'a>,)* $last::Item<'a>);
            type Owned = ($($part::Owned,)* $last::Owned);
            const ORDER: CodecOrder = CodecOrder::Bytes$(.then($part::ORDER))*.then($last::ORDER);

            fn name() -> Cow<'static, str> {
                let parts = [$($part::name(),)* $last::name()];
                format!("({})", parts.join(",")).into()
            }

            fn decode(mut bytes: &[u8]) -> Result<Self::Item<'_>> {
                Ok(($(take_part::<$part>(&mut bytes)?,)* $last::decode(bytes)?))
            }

            fn to_owned(($($value,)* $last_value): Self::Item<'_>) -> Self::Owned {
                ($($part::part_to_owned($value),)* $last::to_owned($last_value))
            }
        }

        impl<$($part: KeyPart,)* $last: KeyPart> KeyPart for ($($part,)* $last) {
            type Part<'a> = Self::Owned;
            const LEN: Option<usize> = {
                let len = $last::LEN;
                $(let len = sum($part::LEN, len);)*
                len
            };

            fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Self::Owned> {
                Self::decode(&bytes).map(<Self as Codec>::to_owned)
            }

            fn part_to_owned(part: Self::Owned) -> Self::Owned {
                part
            }
        }

        impl<$($part: KeyPart, $item: EncodeAs<$part>,)* $last: Codec, $last_item: EncodeAs<$last>>
            EncodeAs<($($part,)* $last)> for ($($item,)* $last_item)
        {
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                let ($($value,)* $last_value) = self;
                let ($($value,)* $last_value) =
                    ($($value.encode_as()?,)* $last_value.encode_as()?);
                let ($($value,)* $last_value) = ($($value.as_ref(),)* $last_value.as_ref());
                let len = 0 $(+ $value.len() + 2)* + $last_value.len();
                let mut tuple = Vec::with_capacity(len);
                $(push_part::<$part>($value, &mut tuple)?;)*
                tuple.extend_from_slice($last_value);
                Ok(tuple)
            }
        }
    };
}

tuple_codec!(A TA a; B TB b);
tuple_codec!(A TA a, B TB b; C TC c);
tuple_codec!(A TA a, B TB b, C TC c; D TD d);
tuple_codec!(A TA a, B TB b, C TC c, D TD d; E TE e);
tuple_codec!(A TA a, B TB b, C TC c, D TD d, E TE e; F TF f);
tuple_codec!(A TA a, B TB b, C TC c, D TD d, E TE e, F TF f; G TG g);
tuple_codec!(A TA a, B TB b, C TC c, D TD d, E TE e, F TF f, G TG g; H TH h);

#[cfg(test)]
#[path = "tuple_tests.rs"]
mod tests;
