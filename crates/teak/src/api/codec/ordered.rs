//! Numbers that map to unsigned integers in the same order.

/// A number that maps to an unsigned integer of its size that sorts in the same order.
///
/// The codecs of signed integers and floats encode these integers as bytes. Call the functions
/// directly to encode keys by other means, for example for a table in the order
/// [`KeyOrder::Integer`](crate::KeyOrder::Integer).
///
/// Floats follow the total order of IEEE 754: negative NaNs, negative infinity, negative numbers,
/// -0, +0, positive numbers, positive infinity, positive NaNs. [`f64::total_cmp`] uses this order.
/// Every float is restored with all of its bits.
///
/// ```
/// use teak::codec::Ordered;
/// assert!((-1i32).to_ordered() < 0i32.to_ordered());
/// assert!((-0.5f64).to_ordered() < 0.25f64.to_ordered());
/// assert_eq!(f64::from_ordered((-0.5f64).to_ordered()), -0.5);
/// ```
// Only this crate has such numbers.
#[allow(private_bounds)]
pub trait Ordered: Number {
    /// The unsigned integer.
    type Unsigned: Ord;

    /// Maps the number.
    fn to_ordered(self) -> Self::Unsigned;

    /// The inverse of [`Ordered::to_ordered`].
    fn from_ordered(mapped: Self::Unsigned) -> Self;
}

/// A number of this crate's choice.
trait Number: Sized {}

macro_rules! ordered_unsigned {
    ($($unsigned:ty),*) => {$(
        impl Number for $unsigned {}

        impl Ordered for $unsigned {
            type Unsigned = Self;

            #[inline]
            fn to_ordered(self) -> Self {
                self
            }

            #[inline]
            fn from_ordered(mapped: Self) -> Self {
                mapped
            }
        }
    )*};
}

macro_rules! ordered_integer {
    ($($integer:ty as $unsigned:ty),*) => {$(
        impl Number for $integer {}

        impl Ordered for $integer {
            type Unsigned = $unsigned;

            #[inline]
            fn to_ordered(self) -> $unsigned {
                self.cast_unsigned() ^ 1 << (<$unsigned>::BITS - 1)
            }

            #[inline]
            fn from_ordered(mapped: $unsigned) -> Self {
                (mapped ^ 1 << (<$unsigned>::BITS - 1)).cast_signed()
            }
        }
    )*};
}

macro_rules! ordered_float {
    ($float:ty as $unsigned:ty) => {
        impl Number for $float {}

        impl Ordered for $float {
            type Unsigned = $unsigned;

            #[inline]
            fn to_ordered(self) -> $unsigned {
                // All bits of negative numbers are inverted; of others only the sign bit.
                let sign_at = <$unsigned>::BITS - 1;
                let bits = self.to_bits();
                bits ^ ((bits.cast_signed() >> sign_at).cast_unsigned() | 1 << sign_at)
            }

            #[inline]
            fn from_ordered(mapped: $unsigned) -> Self {
                let sign_at = <$unsigned>::BITS - 1;
                let is_negative = (!mapped.cast_signed() >> sign_at).cast_unsigned();
                Self::from_bits(mapped ^ (is_negative | 1 << sign_at))
            }
        }
    };
}

ordered_unsigned!(u8, u16, u32, u64, u128);
ordered_integer!(i8 as u8, i16 as u16, i32 as u32, i64 as u64, i128 as u128);
ordered_float!(f32 as u32);
ordered_float!(f64 as u64);

/// Maps a JSON integer like the float of the same value, so that 3 and 3.0 are one key; `None` if
/// there is no such float, as for most integers beyond 2^53.
///
/// ```
/// use teak::codec::{Ordered, ordered_json_integer};
/// assert_eq!(ordered_json_integer(-3), Some((-3.0f64).to_ordered()));
/// assert_eq!(ordered_json_integer((1 << 53) + 1), None);
/// ```
#[must_use]
pub fn ordered_json_integer(integer: i64) -> Option<u64> {
    let float = integer as f64;
    // The greatest integers round up to a value outside of 64 bits.
    let is_exact = float < 9_223_372_036_854_775_808.0 && float as i64 == integer;
    is_exact.then(|| float.to_ordered())
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
