//! Codecs whose encodings all have one length.

use super::{Ordered, undecodable};

/// Implements the traits for a codec whose items are encoded in `$len` bytes.
macro_rules! fixed_codec {
    (
        $(where $size:ident,)? $codec:ty: $item:ty as [u8; $len:expr], $order:ident, $name:expr,
        |$value:ident| $encode:expr, |$bytes:ident| $decode:expr
    ) => {
        impl $(<const $size: usize>)? $crate::codec::Codec for $codec {
            type Item<'a> = $item;
            type Owned = $item;
            const ORDER: $crate::codec::CodecOrder = $crate::codec::CodecOrder::$order;

            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            #[inline]
            fn decode(bytes: &[u8]) -> $crate::Result<$item> {
                let $bytes: [u8; $len] = bytes
                    .try_into()
                    .map_err(|_| $crate::api::codec::wrong_len::<Self>(bytes.len()))?;
                $decode
            }

            #[inline]
            fn to_owned(item: $item) -> $item {
                item
            }
        }

        impl $(<const $size: usize>)? $crate::codec::KeyPart for $codec {
            type Part<'a> = $item;
            const LEN: Option<usize> = Some($len);

            #[inline]
            fn decode_part(bytes: std::borrow::Cow<'_, [u8]>) -> $crate::Result<$item> {
                <Self as $crate::codec::Codec>::decode(&bytes)
            }

            #[inline]
            fn part_to_owned(part: $item) -> $item {
                part
            }
        }

        impl $(<const $size: usize>)? $crate::codec::EncodeAs<$codec> for $item {
            #[inline]
            fn encode_as(&self) -> $crate::Result<impl AsRef<[u8]>> {
                let $value = self;
                $encode
            }
        }
    };
}

fixed_codec!((): () as [u8; 0], Bytes, "()", |_item| Ok([]), |_bytes| Ok(()));
fixed_codec!(
    where N, [u8; N]: [u8; N] as [u8; N], Any, format!("[u8;{N}]"),
    |item| Ok(item), |bytes| Ok(bytes)
);
fixed_codec!(
    bool: bool as [u8; 1], Bytes, "bool", |item| Ok([u8::from(*item)]),
    |bytes| match bytes {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(undecodable::<bool>(format_args!("it is the byte {other}"))),
    }
);
fixed_codec!(
    char: char as [u8; 4], Bytes, "char", |item| Ok(u32::from(*item).to_be_bytes()),
    |bytes| {
        let number = u32::from_be_bytes(bytes);
        let no_character = || undecodable::<char>(format_args!("{number} is no character"));
        char::from_u32(number).ok_or_else(no_character)
    }
);

macro_rules! number_codecs {
    ($($codec:ident: $item:ident, $order:ident, $name:literal, $to:ident, $from:ident;)*) => {$(
        fixed_codec!(
            $codec: $item as [u8; size_of::<$item>()], $order, $name,
            |item| Ok(item.to_ordered().$to()),
            |bytes| Ok($item::from_ordered(<$item as Ordered>::Unsigned::$from(bytes)))
        );
    )*};
}

macro_rules! plain_codecs {
    ($($item:ident $name:literal),*) => {
        number_codecs!($($item: $item, Bytes, $name, to_be_bytes, from_be_bytes;)*);
    };
}

macro_rules! native_codecs {
    ($($codec:ident: $item:ident, $name:literal;)*) => {
        $(
            #[doc = concat!(
                "Keys of type `", stringify!($item), "` for tables in the order ",
                "[`KeyOrder::Integer`](crate::KeyOrder::Integer): little-endian, as the common ",
                "machines have them."
            )]
            #[derive(Debug)]
            pub struct $codec;
        )*

        number_codecs!($($codec: $item, Integer, $name, to_le_bytes, from_le_bytes;)*);
    };
}

plain_codecs!(
    u8 "u8", u16 "u16", u32 "u32", u64 "u64", u128 "u128", i8 "i8", i16 "i16", i32 "i32",
    i64 "i64", i128 "i128", f32 "f32", f64 "f64"
);
native_codecs! {
    NativeU32: u32, "native-u32";
    NativeU64: u64, "native-u64";
    NativeI32: i32, "native-i32";
    NativeI64: i64, "native-i64";
    NativeF32: f32, "native-f32";
    NativeF64: f64, "native-f64";
}
