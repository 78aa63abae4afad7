//! Encodings sort like the encoded items.

use super::*;
use crate::{codec::*, page::key::KeyOrder};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Checks a codec against the order of its items, and its round trip.
fn assert_order<C>(
    order: KeyOrder,
    items: &[C::Owned],
    compare: impl Fn(&C::Owned, &C::Owned) -> Ordering,
) where
    C: for<'a> Codec<Item<'a> = <C as Codec>::Owned>,
    C::Owned: Copy + std::fmt::Debug,
{
    for a in items {
        let a_bytes = EncodeAs::<C>::encode_as(a).unwrap().as_ref().to_vec();
        let back = C::to_owned(C::decode(&a_bytes).unwrap());
        assert_eq!(compare(a, &back), Ordering::Equal, "{a:?}");
        assert!(C::decode(&a_bytes[1..]).is_err());
        for b in items {
            let b_bytes = EncodeAs::<C>::encode_as(b).unwrap().as_ref().to_vec();
            assert_eq!(
                order.compare(&a_bytes, &b_bytes),
                compare(a, b),
                "{a:?} {b:?}"
            );
        }
    }
}

const FLOATS: [f64; 15] = [
    -f64::NAN,
    f64::NEG_INFINITY,
    f64::MIN,
    -1e10,
    -1.0,
    -f64::MIN_POSITIVE,
    -0.0,
    0.0,
    5e-324,
    f64::EPSILON,
    1.0,
    9_007_199_254_740_993.0,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

fn assert_all(mut integers: Vec<i128>, mut floats: Vec<f64>) {
    integers.extend([
        i128::MIN,
        i64::MIN.into(),
        i32::MIN.into(),
        -1,
        0,
        1,
        i64::MAX.into(),
        i128::MAX,
    ]);
    floats.extend(FLOATS);
    let narrow: Vec<f32> = floats.iter().map(|float| *float as f32).collect();
    assert_order::<f64>(KeyOrder::Bytes, &floats, f64::total_cmp);
    assert_order::<f32>(KeyOrder::Bytes, &narrow, f32::total_cmp);
    assert_order::<NativeF64>(KeyOrder::Integer, &floats, f64::total_cmp);
    assert_order::<NativeF32>(KeyOrder::Integer, &narrow, f32::total_cmp);
    macro_rules! assert_integers {
        ($($codec:ident $integer:ty, $order:ident;)*) => {$(
            let items: Vec<$integer> = integers.iter().map(|integer| *integer as $integer).collect();
            assert_order::<$codec>(KeyOrder::$order, &items, Ord::cmp);
        )*};
    }
    assert_integers! {
        i8 i8, Bytes; i16 i16, Bytes; i32 i32, Bytes; i64 i64, Bytes; i128 i128, Bytes;
        NativeU32 u32, Integer; NativeU64 u64, Integer; NativeI32 i32, Integer; NativeI64 i64, Integer;
    }
}

#[test]
fn edges_sort_as_they_should() {
    assert_all(Vec::new(), Vec::new());
    assert!(FLOATS.is_sorted_by(|a, b| a.to_ordered() < b.to_ordered()));
    assert_eq!(
        f64::from_ordered((-0.0f64).to_ordered()).to_bits(),
        (-0.0f64).to_bits()
    );
    assert_eq!(
        (i32::from_ordered(0), i64::from_ordered(u64::MAX)),
        (i32::MIN, i64::MAX)
    );
}

#[test]
fn integers_of_json_are_their_floats() {
    for (integer, float) in [
        (0, 0.0),
        (-7, -7.0),
        (1 << 53, 9_007_199_254_740_992.0),
        (i64::MIN, -(2f64.powi(63))),
    ] {
        assert_eq!(
            ordered_json_integer(integer),
            Some(float.to_ordered()),
            "{integer}"
        );
    }
    for integer in [(1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MAX - 1] {
        assert_eq!(ordered_json_integer(integer), None, "{integer}");
    }
    assert!(ordered_json_integer((1 << 53) + 2).is_some());
}

proptest! {
    #[test]
    fn random_numbers_sort_as_they_should(
        integers in proptest::collection::vec(any::<i128>(), 1..8),
        bits in proptest::collection::vec(any::<u64>(), 1..8),
    ) {
        assert_all(integers, bits.into_iter().map(f64::from_bits).collect());
    }

    #[test]
    fn mapped_numbers_survive_a_round_trip(bits in any::<u64>()) {
        prop_assert_eq!(f64::from_ordered(bits).to_ordered(), bits);
        prop_assert_eq!(i64::from_ordered(bits).to_ordered(), bits);
        prop_assert_eq!(f32::from_ordered(bits as u32).to_ordered(), bits as u32);
        prop_assert_eq!(i32::from_ordered(bits as u32).to_ordered(), bits as u32);
    }
}
