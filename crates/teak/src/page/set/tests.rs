//! Sets against sorted vectors, and arbitrary bytes.

use super::*;
use proptest::prelude::*;

type Values = Vec<Vec<u8>>;

fn slices(values: &Values) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
    values.iter().map(Vec::as_slice)
}

fn sorted(mut values: Values, order: KeyOrder) -> Values {
    values.sort_by(|a, b| order.compare(a, b));
    values.dedup_by(|a, b| order.compare(a, b).is_eq());
    values
}

fn written(values: &Values, value_size: u16) -> Vec<u8> {
    let mut bytes = vec![0xab; 7];
    write_all(&mut bytes, value_size, slices(values));
    let value_bytes = values.iter().map(Vec::len).sum();
    assert_eq!(bytes.len(), set_len(value_size, values.len(), value_bytes));
    bytes
}

/// Checks every accessor of a set against the values it was built from.
fn assert_holds(bytes: &[u8], value_size: u16, values: &Values, order: KeyOrder) {
    let set = Set::parse(bytes, value_size).unwrap();
    assert_eq!(set.len(), values.len());
    assert!(set.iter().eq(slices(values)));
    match value_size {
        0 => assert_eq!(set.packed(), None),
        _ => assert_eq!(set.packed(), Some(&values.concat()[..])),
    }
    for (index, value) in values.iter().enumerate() {
        assert_eq!(set.get(index), value);
        assert_eq!(set.search(order, value), Ok(index));
    }
    for probe in [&b""[..], &[0; 4], &[0x7f; 9], &[0xff; 8]] {
        let expected = values.binary_search_by(|value| order.compare(value, probe));
        assert_eq!(set.search(order, probe), expected);
    }
    let stored = StoredValue {
        kind: ValueKind::Set,
        bytes,
    };
    assert_eq!(pair_count(stored), Ok(values.len() as u64));
}

/// Writes the set with and without each of its values, by every function.
fn assert_changes(values: &Values, value_size: u16, order: KeyOrder) {
    let bytes = written(values, value_size);
    assert_holds(&bytes, value_size, values, order);
    let mut out = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let mut others = values.clone();
        others.remove(index);
        if let [a, b] = &others[..] {
            write_pair(&mut out, value_size, a, b);
            assert_holds(&out, value_size, &others, order);
        }
        if others.len() < 2 {
            continue;
        }
        let set = Set::parse(&bytes, value_size).unwrap();
        write_without(&mut out, &set, index);
        assert_eq!(out, written(&others, value_size));
        let set = out.clone();
        let set = Set::parse(&set, value_size).unwrap();
        assert_eq!(set.search(order, value), Err(index));
        write_with(&mut out, &set, index, value);
        assert_eq!(out, bytes);
    }
}

#[test]
fn the_longest_and_the_shortest_values_are_kept() {
    let longest = vec![0xfe; crate::page::max_key_len(65536)];
    let pair = vec![Vec::new(), longest[..16_000].to_vec()];
    assert_changes(&pair, 0, KeyOrder::Bytes);
    let pair = vec![longest[1..16_001].to_vec(), vec![0xff; 16_000]];
    assert_changes(&pair, 16_000, KeyOrder::ReverseBytes);
    let bytes: Values = (0..=255).map(|byte| vec![byte]).collect();
    assert_changes(&bytes, 1, KeyOrder::Bytes);
    assert_changes(&bytes, 0, KeyOrder::Bytes);
}

#[test]
fn a_partly_filled_set_is_damage() {
    let values: Values = vec![b"a".to_vec(), b"bcd".to_vec(), b"e".to_vec()];
    let bytes = written(&values, 0);
    for len in 0..bytes.len() {
        assert!(Set::parse(&bytes[..len], 0).is_err(), "{len} bytes");
    }
    assert!(Set::parse(&[&bytes[..], b"x"].concat(), 0).is_err());
    // The count, and each of the offsets.
    for at in [0, 2, 4, 6, 8] {
        for wrong in [0, 1, 2, 4, 9, 16, 0xff] {
            let mut other = bytes.clone();
            other[at] = wrong;
            let is_sound = Set::parse(&other, 0).is_ok_and(|set| set.iter().count() == 3);
            let can_be = matches!(at, 4 | 6) && (bytes[2]..=bytes[8]).contains(&wrong);
            assert!(!is_sound || other == bytes || can_be, "{wrong} at {at}");
        }
    }
    let bytes = written(&vec![b"ab".to_vec(), b"cd".to_vec()], 2);
    for size in [1, 3, 4, 5, u16::MAX] {
        assert!(Set::parse(&bytes, size).is_err());
    }
    for len in 0..bytes.len() {
        assert!(Set::parse(&bytes[..len], 2).is_err());
    }
}

#[test]
fn pairs_are_counted_without_reading_them() {
    let count = |kind, bytes: &[u8]| pair_count(StoredValue { kind, bytes });
    assert_eq!(count(ValueKind::Inline, b""), Ok(1));
    assert_eq!(count(ValueKind::Inline, b"value"), Ok(1));
    assert_eq!(count(ValueKind::Set, &[0x34, 0x12]), Ok(0x1234));
    assert!(count(ValueKind::Set, &[1, 0, 0]).is_err());
    assert!(count(ValueKind::Set, &[9]).is_err());
    assert!(count(ValueKind::Extent, &[0; 32]).is_err());
    let mut root = [0xee; TREE_ROOT_LEN];
    for (records, is_sound) in [
        (0, false),
        (1, true),
        (1 << 48, true),
        ((1 << 48) + 1, false),
    ] {
        root[16..24].copy_from_slice(&u64::to_le_bytes(records));
        let expected = is_sound.then_some(records);
        assert_eq!(count(ValueKind::Tree, &root).ok(), expected);
    }
    assert!(count(ValueKind::Tree, &root[1..]).is_err());
}

proptest! {
    #[test]
    fn sets_of_any_values_survive_a_round_trip(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 2..40),
        is_reverse in any::<bool>(),
    ) {
        let order = if is_reverse { KeyOrder::ReverseBytes } else { KeyOrder::Bytes };
        let values = sorted(values, order);
        if values.len() >= 2 {
            assert_changes(&values, 0, order);
        }
    }

    #[test]
    fn sets_of_fixed_size_values_survive_a_round_trip(
        (size, values) in (1usize..20).prop_flat_map(|size| {
            let value = prop::collection::vec(any::<u8>(), size);
            (Just(size), prop::collection::vec(value, 2..60))
        }),
        is_reverse in any::<bool>(),
    ) {
        let order = match size {
            4 | 8 if is_reverse => KeyOrder::Integer,
            _ if is_reverse => KeyOrder::ReverseBytes,
            _ => KeyOrder::Bytes,
        };
        let values = sorted(values, order);
        if values.len() >= 2 {
            assert_changes(&values, size as u16, order);
        }
    }

    /// Arbitrary bytes, and sets of which a few bytes are changed.
    #[test]
    fn hostile_sets_give_errors_or_their_own_values(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 4), 2..20),
        anything in prop::collection::vec(any::<u8>(), 0..60),
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        size in 0u16..9,
        written_size in prop::sample::select(vec![0, 4]),
    ) {
        let mut bytes = written(&values, written_size);
        for (index, byte) in wrong {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [bytes, anything] {
            for order in [KeyOrder::Bytes, KeyOrder::ReverseBytes, KeyOrder::Integer] {
                let Ok(set) = Set::parse(&bytes, size) else { continue };
                assert!(set.len() >= 2);
                let own = bytes.as_ptr_range();
                for value in set.iter() {
                    let range = value.as_ptr_range();
                    assert!(own.start <= range.start && range.end <= own.end);
                    assert!(set.search(order, value).is_ok_and(|at| at < set.len())
                        || set.search(order, value).is_err_and(|at| at <= set.len()));
                }
                assert!(set.packed().is_none_or(|all| all.len() == set.len() * usize::from(size)));
                let (mut out, value) = (Vec::new(), vec![0; size.into()]);
                write_with(&mut out, &set, set.len(), &value);
                assert!(Set::parse(&out, size).is_ok());
            }
        }
    }
}
