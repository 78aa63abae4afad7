//! Encodings of tuples sort like the tuples, and every encoding is the only one of its tuple.

use crate::codec::{Codec, CodecOrder, EncodeAs, KeyPart, NativeU64, Str};
use proptest::prelude::*;
use std::{borrow::Cow, fmt::Debug};

fn encoded<C: Codec, T: EncodeAs<C>>(item: &T) -> Vec<u8> {
    item.encode_as().unwrap().as_ref().to_vec()
}

/// Checks the order of two items and their round trips.
fn assert_order<C: Codec>(a: &C::Owned, b: &C::Owned)
where
    C::Owned: Ord + Debug,
{
    let (a_bytes, b_bytes) = (encoded::<C, _>(a), encoded::<C, _>(b));
    assert_eq!(a_bytes.cmp(&b_bytes), a.cmp(b), "{a:?} {b:?}");
    for (item, bytes) in [(a, a_bytes), (b, b_bytes)] {
        let decoded = C::decode(&bytes).unwrap();
        assert_eq!(encoded::<C, _>(&decoded), bytes, "{item:?}");
        assert_eq!(&C::to_owned(decoded), item);
    }
}

/// Text of few characters, so that many begin like others.
fn text() -> impl Strategy<Value = String> {
    "[\0\u{1}a\u{7f}\u{80}\u{fffd}]{0,4}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(254), Just(255), any::<u8>()];
    proptest::collection::vec(byte, 0..5)
}

type Parts = (
    String,
    Option<Vec<u8>>,
    (Vec<u8>, i8),
    u16,
    Vec<u8>,
    Option<(String, bool)>,
    char,
    String,
);

fn parts() -> impl Strategy<Value = Parts> {
    (
        text(),
        proptest::option::of(bytes()),
        (bytes(), any::<i8>()),
        0..3u16,
        bytes(),
        proptest::option::of((text(), any::<bool>())),
        any::<char>(),
        text(),
    )
}

proptest! {
    #[test]
    fn tuples_sort_by_their_parts(a in parts(), b in parts(), same in 0..8usize) {
        // Equal first parts, so that later ones decide.
        let mut b = b;
        let (a, copy) = (&a, a.clone());
        if same > 0 { b.0 = copy.0; }
        if same > 1 { b.1 = copy.1; }
        if same > 2 { b.2 = copy.2; }
        if same > 3 { b.3 = copy.3; }
        if same > 4 { b.4 = copy.4; }
        if same > 5 { b.5 = copy.5; }
        if same > 6 { b.6 = copy.6; }
        assert_order::<Parts>(a, &b);
        assert_order::<(Vec<u8>, Vec<u8>)>(&(a.4.clone(), a.2.0.clone()), &(b.4.clone(), b.2.0));
        assert_order::<(String, i8)>(&(a.0.clone(), a.2.1), &(b.0, b.2.1));
    }

    #[test]
    fn bytes_that_can_be_decoded_are_the_encoding(bytes in proptest::collection::vec(0..3u8, 0..24)) {
        type Some = (Vec<u8>, Option<u8>, (bool, Str), Option<(u8, Vec<u8>)>);
        if let Ok(item) = Some::decode(&bytes) {
            prop_assert_eq!(encoded::<Some, _>(&item), bytes);
        }
    }
}

#[test]
fn fixed_parts_are_stored_as_they_are() {
    type Fixed = ((u8, u16), [u8; 2], Str);
    let bytes = encoded::<Fixed, _>(&((1, 2), [3, 4], "a\0"));
    assert_eq!(bytes, [1, 0, 2, 3, 4, b'a', 0]);
    assert_eq!(<(u8, u16)>::LEN, Some(3));
    assert_eq!(Fixed::LEN, None);
}

#[test]
fn text_is_borrowed_unless_it_was_escaped() {
    let bytes = encoded::<(Str, u8), _>(&("oak", 1));
    assert_eq!(bytes, *b"oak\0\0\x01");
    let (text, number) = <(Str, u8)>::decode(&bytes).unwrap();
    assert!(matches!(text, Cow::Borrowed("oak")) && number == 1);
    let bytes = encoded::<(Str, u8), _>(&("o\0k", 1));
    assert_eq!(bytes, *b"o\0\xffk\0\0\x01");
    let (text, _) = <(Str, u8)>::decode(&bytes).unwrap();
    assert!(matches!(text, Cow::Owned(text) if text == "o\0k"));
}

#[test]
fn parts_that_end_too_early_are_errors() {
    for bytes in [
        &b""[..],
        b"oak",
        b"oak\0",
        b"oak\0\x01\x01",
        b"\xff\0\0\x01",
        b"oak\0\0",
    ] {
        assert!(<(Str, u8)>::decode(bytes).is_err(), "{bytes:?}");
    }
    assert!(<(u16, Str)>::decode(b"\0").is_err());
}

#[test]
fn names_and_orders_are_those_of_the_parts() {
    assert_eq!(<(Str, u64)>::name(), "(str,u64)");
    assert_eq!(
        Option::<(Vec<u8>, [u8; 3])>::name(),
        "option<(bytes,[u8;3])>"
    );
    assert_eq!((String::name(), <()>::name()), (Str::name(), "()".into()));
    assert_eq!(<(Str, u64)>::ORDER, CodecOrder::Bytes);
    assert_eq!(<(u8, NativeU64)>::ORDER, CodecOrder::Unordered);
    assert_eq!(Option::<Str>::ORDER, CodecOrder::Bytes);
    assert_eq!(Option::<NativeU64>::ORDER, CodecOrder::Unordered);
}
