//! Bytes and text.

use super::{
    Codec, CodecOrder, EncodeAs, KeyPart, boxed_undecodable,
    small::{Small, text},
};
use crate::{Result, api::ValueGuard, error::BoxedError, page::leaf::CursorKey};
use std::{borrow::Cow, sync::Arc};

/// UTF-8 text. For struct fields and signatures of functions, where `&str` has another lifetime:
/// `table: Table<Str, u64>`.
pub type Str = &'static str;

/// Any bytes, unchanged. For struct fields and signatures of functions, where `&[u8]` has another
/// lifetime: `table: Table<Bytes, u64>`.
pub type Bytes = &'static [u8];

/// Any bytes, in a table with keys or values of any type: for programs that do not know the types,
/// such as those that dump and copy tables.
///
/// ```
/// # use teak::{Database, Transaction, codec::Raw};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let squares = txn.create_table::<u16, u16>("squares")?;
/// squares.insert(&mut txn, 3, 9)?;
/// let raw = txn.open_table::<Raw, Raw>("squares")?;
/// assert_eq!(raw.get(&txn, [0, 3])?, Some(&[0, 9][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Raw;

macro_rules! slice_codec {
    (
        $codec:ty, $slice:ty, $owned:ty, $to_owned:expr, $name:literal, $decode:expr,
        {$($of_keys:tt)*}, $($source:ty),*
    ) => {
        impl Codec for $codec {
            type Item<'a> = &'a $slice;
            type Owned = $owned;
            const ORDER: CodecOrder = CodecOrder::Any;

            fn name() -> Cow<'static, str> {
                $name.into()
            }

            #[inline(always)]
            fn decode(bytes: &[u8]) -> Result<&$slice> {
                $decode(bytes)
            }

            $($of_keys)*

            #[inline(always)]
            fn to_owned(item: &$slice) -> $owned {
                $to_owned(item)
            }
        }

        impl KeyPart for $codec {
            type Part<'a> = Cow<'a, $slice>;
            const LEN: Option<usize> = None;

            fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, $slice>> {
                Ok(match bytes {
                    Cow::Borrowed(bytes) => Cow::Borrowed(Self::decode(bytes)?),
                    Cow::Owned(bytes) => Cow::Owned(Self::decode(&bytes)?.to_owned()),
                })
            }

            fn part_to_owned(part: Cow<'_, $slice>) -> $owned {
                match part {
                    Cow::Borrowed(item) => $to_owned(item),
                    Cow::Owned(item) => item.into(),
                }
            }
        }

        $(impl EncodeAs<$codec> for $source {
            #[inline]
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                let slice: &$slice = self;
                Ok(<$slice as AsRef<[u8]>>::as_ref(slice))
            }
        })*
    };
}

macro_rules! text_codec {
    ($($codec:ty, $owned:ty;)*) => {$(
        slice_codec!(
            $codec, str, $owned, <$owned>::from, "str", text::<Self>,
            {
                const IS_TEXT: bool = true;

                #[inline(always)]
                fn decode_key(key: CursorKey<'_>) -> Result<&str, BoxedError> {
                    key.text().map_err(boxed_undecodable::<Self>)
                }
            },
            str, String, Box<str>, Arc<str>, Cow<'_, str>, Small<str>
        );
    )*};
}

macro_rules! bytes_codec {
    ($($codec:ty, $owned:ty, $to_owned:expr, $name:literal;)*) => {$(
        slice_codec!(
            $codec, [u8], $owned, $to_owned, $name, Ok, {},
            [u8], Vec<u8>, Box<[u8]>, Arc<[u8]>, Cow<'_, [u8]>, Small<[u8]>, ValueGuard
        );

        impl<const N: usize> EncodeAs<$codec> for [u8; N] {
            #[inline]
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                Ok(self)
            }
        }

        impl EncodeAs<$codec> for str {
            #[inline]
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                Ok(self)
            }
        }
    )*};
}

text_codec! {
    &'static str, Small<str>;
    String, String;
}
bytes_codec! {
    &'static [u8], Small<[u8]>, Small::from, "bytes";
    Vec<u8>, Vec<u8>, Vec::from, "bytes";
    Raw, Vec<u8>, Vec::from, "";
}
#[cfg(feature = "bytes")]
bytes_codec!(bytes::Bytes, bytes::Bytes, bytes::Bytes::copy_from_slice, "bytes";);

#[cfg(feature = "bytes")]
macro_rules! encode_shared_bytes {
    ($($codec:ty),*) => {$(
        impl EncodeAs<$codec> for bytes::Bytes {
            #[inline]
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                Ok(self)
            }
        }
    )*};
}

#[cfg(feature = "bytes")]
encode_shared_bytes!(&'static [u8], Vec<u8>, Raw, bytes::Bytes);
