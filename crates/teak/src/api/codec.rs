//! Codecs: how typed keys and values are encoded as bytes.
//!
//! Codecs of keys preserve order: `a < b` exactly if the bytes of `a` sort before those of `b`.
//! Integers are big-endian; signed ones have their sign bit flipped. Floats use their total order.
//! Tuples are the concatenation of their parts, all of which but the last have a fixed length.
//!
//! [`NativeU64`] and its relatives are only for tables in the order
//! [`KeyOrder::Integer`](crate::KeyOrder::Integer).
//!
//! ```
//! use teak::{Database, codec::{Pair, Str, U32}};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let lines = txn.create_table::<Pair<U32, U32>, Str>("lines")?;
//! lines.insert(&mut txn, (1, 2), "second line of the first page")?;
//! assert_eq!(lines.get(&txn, (1, 2))?, Some("second line of the first page"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod encode_as;
mod ordered;

pub use encode_as::EncodeAs;
pub use ordered::{
    F32, F64, NativeF32, NativeF64, NativeI32, NativeI64, NativeU32, NativeU64, Ordered,
    ordered_json_integer,
};

use crate::{Error, Result};
use std::marker::PhantomData;

/// How items are encoded as bytes.
pub trait Codec: 'static {
    /// The type that is encoded, and that is decoded from bytes with the lifetime `'a`.
    type Item<'a>: 'a;
    /// An item that owns its data.
    type Owned;
    /// The encoded bytes of an item.
    type Encoded<'a>: AsRef<[u8]>;

    /// Encodes an item.
    fn encode<'a, 'b: 'a>(item: &'a Self::Item<'b>) -> Self::Encoded<'a>;

    /// Decodes an item.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if `bytes` are not the encoding of an item.
    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>>;

    /// Makes an item independent of the bytes it was decoded from.
    fn to_owned(item: Self::Item<'_>) -> Self::Owned;
}

/// A codec whose items all have the same encoded length, so that it can begin a tuple.
pub trait FixedLen: Codec {
    /// The encoded length in bytes.
    const LEN: usize;
}

fn wrong_len(expected: &'static str, len: usize) -> Error {
    Error::Decode {
        expected,
        detail: format!("it has {len} bytes"),
    }
}

/// Any bytes, unchanged.
#[derive(Debug)]
pub struct Bytes;

impl Codec for Bytes {
    type Item<'a> = &'a [u8];
    type Owned = Vec<u8>;
    type Encoded<'a> = &'a [u8];

    #[inline]
    fn encode<'a, 'b: 'a>(item: &'a &'b [u8]) -> &'a [u8] {
        item
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<&[u8]> {
        Ok(bytes)
    }

    fn to_owned(item: &[u8]) -> Vec<u8> {
        item.to_vec()
    }
}

/// UTF-8 text.
#[derive(Debug)]
pub struct Str;

impl Codec for Str {
    type Item<'a> = &'a str;
    type Owned = String;
    type Encoded<'a> = &'a [u8];

    fn encode<'a, 'b: 'a>(item: &'a &'b str) -> &'a [u8] {
        item.as_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<&str> {
        std::str::from_utf8(bytes).map_err(|error| Error::Decode {
            expected: "text",
            detail: error.to_string(),
        })
    }

    fn to_owned(item: &str) -> String {
        item.to_owned()
    }
}

/// Nothing, encoded in zero bytes: the value of a table that is a set of keys.
#[derive(Debug)]
pub struct Unit;

impl Codec for Unit {
    type Item<'a> = ();
    type Owned = ();
    type Encoded<'a> = [u8; 0];

    fn encode<'a, 'b: 'a>((): &'a ()) -> [u8; 0] {
        []
    }

    fn decode(bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(wrong_len("nothing", bytes.len()))
        }
    }

    fn to_owned((): ()) {}
}

impl FixedLen for Unit {
    const LEN: usize = 0;
}

/// Byte arrays of one length, such as hashes and identifiers.
#[derive(Debug)]
pub struct Array<const N: usize>;

impl<const N: usize> Codec for Array<N> {
    type Item<'a> = [u8; N];
    type Owned = [u8; N];
    type Encoded<'a> = [u8; N];

    fn encode<'a, 'b: 'a>(item: &'a [u8; N]) -> [u8; N] {
        *item
    }

    fn decode(bytes: &[u8]) -> Result<[u8; N]> {
        bytes
            .try_into()
            .map_err(|_| wrong_len("an array of another length", bytes.len()))
    }

    fn to_owned(item: [u8; N]) -> [u8; N] {
        item
    }
}

impl<const N: usize> FixedLen for Array<N> {
    const LEN: usize = N;
}

macro_rules! integer_codec {
    ($name:ident, $integer:ty, $flip:expr, $text:literal) => {
        #[doc = concat!($text, ", big-endian, so that they sort as numbers do.")]
        #[derive(Debug)]
        pub struct $name;

        impl Codec for $name {
            type Item<'a> = $integer;
            type Owned = $integer;
            type Encoded<'a> = [u8; size_of::<$integer>()];

            fn encode<'a, 'b: 'a>(item: &'a $integer) -> Self::Encoded<'a> {
                (*item ^ $flip).to_be_bytes()
            }

            fn decode(bytes: &[u8]) -> Result<$integer> {
                let bytes = bytes
                    .try_into()
                    .map_err(|_| wrong_len($text, bytes.len()))?;
                Ok(<$integer>::from_be_bytes(bytes) ^ $flip)
            }

            fn to_owned(item: $integer) -> $integer {
                item
            }
        }

        impl EncodeAs<$name> for $integer {
            fn encode_as(&self) -> impl AsRef<[u8]> {
                $name::encode(self)
            }
        }

        impl FixedLen for $name {
            const LEN: usize = size_of::<$integer>();
        }
    };
}

integer_codec!(U8, u8, 0, "Unsigned integers of 8 bits");
integer_codec!(U16, u16, 0, "Unsigned integers of 16 bits");
integer_codec!(U32, u32, 0, "Unsigned integers of 32 bits");
integer_codec!(U64, u64, 0, "Unsigned integers of 64 bits");
integer_codec!(U128, u128, 0, "Unsigned integers of 128 bits");
integer_codec!(I8, i8, i8::MIN, "Signed integers of 8 bits");
integer_codec!(I16, i16, i16::MIN, "Signed integers of 16 bits");
integer_codec!(I32, i32, i32::MIN, "Signed integers of 32 bits");
integer_codec!(I64, i64, i64::MIN, "Signed integers of 64 bits");
integer_codec!(I128, i128, i128::MIN, "Signed integers of 128 bits");

/// Two parts, sorted by the first and then by the second.
#[derive(Debug)]
pub struct Pair<A, B>(PhantomData<fn() -> (A, B)>);

impl<A: FixedLen, B: Codec> Codec for Pair<A, B> {
    type Item<'a> = (A::Item<'a>, B::Item<'a>);
    type Owned = (A::Owned, B::Owned);
    type Encoded<'a> = Vec<u8>;

    fn encode<'a, 'b: 'a>(item: &'a Self::Item<'b>) -> Vec<u8> {
        [A::encode(&item.0).as_ref(), B::encode(&item.1).as_ref()].concat()
    }

    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>> {
        let Some((first, second)) = bytes.split_at_checked(A::LEN) else {
            return Err(wrong_len("a tuple", bytes.len()));
        };
        Ok((A::decode(first)?, B::decode(second)?))
    }

    fn to_owned(item: Self::Item<'_>) -> Self::Owned {
        (A::to_owned(item.0), B::to_owned(item.1))
    }
}

impl<A: FixedLen, B: FixedLen> FixedLen for Pair<A, B> {
    const LEN: usize = A::LEN + B::LEN;
}

/// Three parts, sorted by the first, then by the second, then by the third.
#[derive(Debug)]
pub struct Triple<A, B, C>(Nested<A, B, C>);

type Nested<A, B, C> = Pair<A, Pair<B, C>>;

impl<A: FixedLen, B: FixedLen, C: Codec> Codec for Triple<A, B, C> {
    type Item<'a> = (A::Item<'a>, B::Item<'a>, C::Item<'a>);
    type Owned = (A::Owned, B::Owned, C::Owned);
    type Encoded<'a> = Vec<u8>;

    fn encode<'a, 'b: 'a>(item: &'a Self::Item<'b>) -> Vec<u8> {
        let (first, second) = (A::encode(&item.0), B::encode(&item.1));
        [first.as_ref(), second.as_ref(), C::encode(&item.2).as_ref()].concat()
    }

    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>> {
        let (first, (second, third)) = Nested::<A, B, C>::decode(bytes)?;
        Ok((first, second, third))
    }

    fn to_owned(item: Self::Item<'_>) -> Self::Owned {
        (
            A::to_owned(item.0),
            B::to_owned(item.1),
            C::to_owned(item.2),
        )
    }
}

impl<A: FixedLen, B: FixedLen, C: FixedLen> FixedLen for Triple<A, B, C> {
    const LEN: usize = A::LEN + B::LEN + C::LEN;
}
