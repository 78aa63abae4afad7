//! Maps numbers to unsigned integers that sort in the same order.
//!
//! The codecs of signed integers and floats encode these integers as bytes. Call the functions
//! directly to encode keys by other means, for example for a table in the order
//! [`KeyOrder::Integer`](crate::KeyOrder::Integer).
//!
//! Floats follow the total order of IEEE 754: negative NaNs, negative infinity, negative numbers,
//! -0, +0, positive numbers, positive infinity, positive NaNs. [`f64::total_cmp`] uses this order.
//! Every float is restored with all of its bits.
//!
//! ```
//! use teak::codec::ordered;
//! assert!(ordered::u32_of_i32(-1) < ordered::u32_of_i32(0));
//! assert!(ordered::u64_of_f64(-0.5) < ordered::u64_of_f64(0.25));
//! assert_eq!(ordered::f64_of_u64(ordered::u64_of_f64(-0.5)), -0.5);
//! assert_eq!(ordered::u64_of_json_integer(-3), Some(ordered::u64_of_f64(-3.0)));
//! ```

use super::{Codec, FixedLen, wrong_len};
use crate::Result;
use std::convert::identity;

/// Maps a signed 32-bit integer.
#[must_use]
pub const fn u32_of_i32(integer: i32) -> u32 {
    integer.cast_unsigned() ^ 1 << 31
}

/// The inverse of [`u32_of_i32`].
#[must_use]
pub const fn i32_of_u32(number: u32) -> i32 {
    (number ^ 1 << 31).cast_signed()
}

/// Maps a signed 64-bit integer.
#[must_use]
pub const fn u64_of_i64(integer: i64) -> u64 {
    integer.cast_unsigned() ^ 1 << 63
}

/// The inverse of [`u64_of_i64`].
#[must_use]
pub const fn i64_of_u64(number: u64) -> i64 {
    (number ^ 1 << 63).cast_signed()
}

/// Maps a 32-bit float.
#[must_use]
pub const fn u32_of_f32(float: f32) -> u32 {
    // All bits of negative numbers are inverted; of others only the sign bit.
    let bits = float.to_bits();
    bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | 1 << 31)
}

/// The inverse of [`u32_of_f32`].
#[must_use]
pub const fn f32_of_u32(number: u32) -> f32 {
    f32::from_bits(number ^ ((!number.cast_signed() >> 31).cast_unsigned() | 1 << 31))
}

/// Maps a 64-bit float.
#[must_use]
pub const fn u64_of_f64(float: f64) -> u64 {
    let bits = float.to_bits();
    bits ^ ((bits.cast_signed() >> 63).cast_unsigned() | 1 << 63)
}

/// The inverse of [`u64_of_f64`].
#[must_use]
pub const fn f64_of_u64(number: u64) -> f64 {
    f64::from_bits(number ^ ((!number.cast_signed() >> 63).cast_unsigned() | 1 << 63))
}

/// Maps a JSON integer like the float of the same value, so that 3 and 3.0 are one key; `None` if
/// there is no such float, as for most integers beyond 2^53.
#[must_use]
pub fn u64_of_json_integer(integer: i64) -> Option<u64> {
    let float = integer as f64;
    // The greatest integers round up to a value outside of 64 bits.
    let is_exact = float < 9_223_372_036_854_775_808.0 && float as i64 == integer;
    is_exact.then(|| u64_of_f64(float))
}

macro_rules! number_codec {
    ($name:ident, $item:ty as $number:ty, $map:expr, $unmap:expr, $to:ident, $from:ident, $text:literal, $suffix:literal) => {
        #[doc = concat!($text, $suffix)]
        #[derive(Debug)]
        pub struct $name;

        impl Codec for $name {
            type Item<'a> = $item;
            type Owned = $item;
            type Encoded<'a> = [u8; size_of::<$number>()];

            fn encode<'a, 'b: 'a>(item: &'a $item) -> Self::Encoded<'a> {
                <$number>::$to($map(*item))
            }

            fn decode(bytes: &[u8]) -> Result<$item> {
                let bytes = bytes
                    .try_into()
                    .map_err(|_| wrong_len($text, bytes.len()))?;
                Ok($unmap(<$number>::$from(bytes)))
            }

            fn to_owned(item: $item) -> $item {
                item
            }
        }

        impl FixedLen for $name {
            const LEN: usize = size_of::<$number>();
        }
    };
}

macro_rules! float_codec {
    ($name:ident, $item:ty as $number:ty, $map:expr, $unmap:expr, $text:literal) => {
        number_codec!(
            $name,
            $item as $number,
            $map,
            $unmap,
            to_be_bytes,
            from_be_bytes,
            $text,
            ", in bytes that sort as numbers do: in the total order of IEEE 754, see [`ordered`](crate::codec::ordered)."
        );
    };
}

macro_rules! native_codec {
    ($name:ident, $item:ty as $number:ty, $map:expr, $unmap:expr, $text:literal) => {
        number_codec!(
            $name,
            $item as $number,
            $map,
            $unmap,
            to_le_bytes,
            from_le_bytes,
            $text,
            ", for keys of tables in the order [`KeyOrder::Integer`](crate::KeyOrder::Integer): little-endian, as the common \
             machines have them."
        );
    };
}

float_codec!(F32, f32 as u32, u32_of_f32, f32_of_u32, "Floats of 32 bits");
float_codec!(F64, f64 as u64, u64_of_f64, f64_of_u64, "Floats of 64 bits");
native_codec!(
    NativeU32,
    u32 as u32,
    identity,
    identity,
    "Unsigned integers of 32 bits"
);
native_codec!(
    NativeU64,
    u64 as u64,
    identity,
    identity,
    "Unsigned integers of 64 bits"
);
native_codec!(
    NativeI32,
    i32 as u32,
    u32_of_i32,
    i32_of_u32,
    "Signed integers of 32 bits"
);
native_codec!(
    NativeI64,
    i64 as u64,
    u64_of_i64,
    i64_of_u64,
    "Signed integers of 64 bits"
);
native_codec!(
    NativeF32,
    f32 as u32,
    u32_of_f32,
    f32_of_u32,
    "Floats of 32 bits"
);
native_codec!(
    NativeF64,
    f64 as u64,
    u64_of_f64,
    f64_of_u64,
    "Floats of 64 bits"
);

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
