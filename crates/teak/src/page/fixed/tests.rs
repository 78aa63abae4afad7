//! Fixed leaves against sorted vectors, and arbitrary pages.

use super::*;
use crate::page::{
    entries::RecordList,
    leaf::{self, ContiguousRecord, Leaf, LeafFormat},
    print,
};
use proptest::prelude::*;

const NUMBER: PageNumber = PageNumber(9);
const BIRTH: TransactionId = TransactionId(7);
const PAGE_LEN: usize = 4096;

/// Key lengths, and the orders they can have.
const FORMATS: [(u16, KeyOrder); 10] = [
    (1, KeyOrder::Bytes),
    (3, KeyOrder::Bytes),
    (4, KeyOrder::Bytes),
    (8, KeyOrder::Bytes),
    (20, KeyOrder::Bytes),
    (4, KeyOrder::Integer),
    (8, KeyOrder::Integer),
    (8, KeyOrder::ReverseBytes),
    (16, KeyOrder::ReverseBytes),
    (3840, KeyOrder::Bytes),
];

fn format(key_len: u16, order: KeyOrder) -> LeafFormat {
    LeafFormat {
        order,
        share_prefixes: true,
        value_align_log2: 0,
        fixed_len: key_len,
    }
}

fn page() -> Vec<u64> {
    vec![0xabab_abab_abab_abab; PAGE_LEN / 8]
}

fn empty_leaf(words: &mut [u64], format: LeafFormat) -> &mut [u8] {
    let page = bytemuck::cast_slice_mut(words);
    leaf::init(page, NUMBER, BIRTH, format, &[]);
    page
}

/// A key of this length for each number.
fn key_of(number: u64, key_len: u16) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    mixed.iter().copied().cycle().take(key_len.into()).collect()
}

const NOTHING: StoredValue<'static> = StoredValue {
    kind: ValueKind::Inline,
    bytes: &[],
};

fn insert(page: &mut [u8], order: KeyOrder, key: &[u8]) -> LocalChange {
    let slot = Leaf::parse(page).unwrap().search(order, key).unwrap();
    leaf::insert(page, order, slot.unwrap_err(), key, NOTHING).unwrap()
}

/// Checks every accessor of a leaf against its expected keys.
fn assert_holds(page: &[u8], format: LeafFormat, keys: &[Vec<u8>]) {
    let order = format.order;
    let leaf = Leaf::parse(page).unwrap();
    assert_eq!(leaf.count(), keys.len());
    assert!(leaf.has_whole_keys() && !leaf.is_plain() && !leaf.has_references());
    assert_eq!((leaf.prefix(), leaf.head(0)), (&[][..], None));
    for (index, key) in keys.iter().enumerate() {
        let node = leaf.node(index).unwrap();
        assert_eq!((node.stored_key, node.value), (&key[..], NOTHING));
        assert_eq!(leaf.record_len(&node), usize::from(format.fixed_len));
        assert_eq!(&leaf.key(index).unwrap(), key);
        assert_eq!(leaf.search(order, key), Ok(Ok(index)));
        assert_eq!(leaf.find(order, key).value(order, key), Ok(Some(NOTHING)));
    }
    assert!(leaf.node(keys.len()).is_err() && leaf.node(usize::MAX).is_err());
    let long = [0x55; 60];
    let probes = [&b""[..], &[0], &[0x80; 4], &[0x7f; 8], &[0x55; 20], &long];
    for probe in probes {
        let expected = keys.binary_search_by(|key| order.compare(key, probe));
        assert_eq!(leaf.search(order, probe), Ok(expected));
        let found = leaf.find(order, probe).value(order, probe).unwrap();
        assert_eq!(found.is_some(), expected.is_ok());
    }
    let header = Header::read(page);
    let end = HEADER_LEN + keys.len() * usize::from(format.fixed_len);
    assert_eq!(leaf::used_len(&header), end);
    assert_eq!(leaf::gap(page, &header), (end, page.len()));
    assert!(header.is_leaf());
}

#[test]
fn a_leaf_is_filled_in_any_order_and_emptied() {
    for (key_len, order) in FORMATS {
        let (format, mut words) = (format(key_len, order), page());
        let page = empty_leaf(&mut words, format);
        assert_holds(page, format, &[]);
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let room = (PAGE_LEN - HEADER_LEN) / usize::from(key_len);
        for number in 0.. {
            let key = key_of(number, key_len);
            let Err(slot) = keys.binary_search_by(|other| order.compare(other, &key)) else {
                continue;
            };
            if keys.len() == room {
                let before = page.to_vec();
                assert_eq!(insert(page, order, &key), LocalChange::Rebuild);
                assert_eq!(page, before, "a key that does not fit changes nothing");
                break;
            }
            assert_eq!(insert(page, order, &key), LocalChange::Done);
            keys.insert(slot, key);
            if keys.len() == 256 && key_len == 1 {
                break;
            }
        }
        assert_holds(page, format, &keys);
        while !keys.is_empty() {
            let (start, len) = (keys.len() / 3, 1 + keys.len() / 5);
            leaf::remove_range(page, start..start + len).unwrap();
            keys.drain(start..start + len);
            assert_holds(page, format, &keys);
        }
    }
}

#[test]
fn many_keys_are_inserted_at_an_end_or_not_at_all() {
    let format = format(8, KeyOrder::Integer);
    let mut words = page();
    let page = empty_leaf(&mut words, format);
    let keys = |numbers: Range<u64>| -> Vec<Vec<u8>> {
        numbers
            .map(|number| number.to_le_bytes().to_vec())
            .collect()
    };
    let put = |page: &mut [u8], end, numbers| {
        let keys = keys(numbers);
        let records = keys.iter().map(|key| (key.as_slice(), NOTHING));
        leaf::insert_many(page, format.order, end, records).unwrap()
    };
    assert_eq!(put(page, LeafEnd::After, 1000..1100), LocalChange::Done);
    assert_eq!(put(page, LeafEnd::Before, 900..1000), LocalChange::Done);
    assert_eq!(put(page, LeafEnd::After, 1100..1409), LocalChange::Done);
    assert_holds(page, format, &keys(900..1409));
    for end in [LeafEnd::Before, LeafEnd::After] {
        assert_eq!(put(page, end, 0..1), LocalChange::Rebuild);
    }
    assert!(leaf::compact(page, &mut Vec::new()).unwrap());
    assert_holds(page, format, &keys(900..1409));
    leaf::remove(page, 508).unwrap();
    assert!(leaf::remove(page, 508).is_err());
    assert!(leaf::remove_range(page, 507..509).is_err());
    assert_holds(page, format, &keys(900..1408));
}

#[test]
fn records_are_laid_out_as_an_array() {
    for (key_len, order) in FORMATS {
        let format = format(key_len, order);
        let mut keys: Vec<_> = (0..40).map(|number| key_of(number, key_len)).collect();
        keys.sort_by(|a, b| order.compare(a, b));
        keys.dedup();
        keys.truncate((PAGE_LEN - HEADER_LEN) / usize::from(key_len));
        let mut records = RecordList::default();
        keys.iter().for_each(|key| records.push(key, NOTHING));
        let all = 0..keys.len();
        assert_eq!(
            records.page_len(format, all.clone()),
            HEADER_LEN + keys.len() * usize::from(key_len)
        );
        let mut words = page();
        let page = bytemuck::cast_slice_mut(&mut words);
        records
            .build(page, NUMBER, BIRTH, format, all.clone())
            .unwrap();
        assert_holds(page, format, &keys);
        let mut read = RecordList::default();
        read.append(&Leaf::parse(page).unwrap(), all).unwrap();
        assert!((0..keys.len()).all(|index| read.key(index) == keys[index]));
    }
}

/// Only damage leads to such records or to such a leaf.
#[test]
fn other_records_are_refused_and_change_nothing() {
    let format = format(4, KeyOrder::Bytes);
    let mut words = page();
    let page = empty_leaf(&mut words, format);
    assert_eq!(insert(page, format.order, b"aaaa"), LocalChange::Done);
    let before = page.to_vec();
    let extent = StoredValue {
        kind: ValueKind::Extent,
        bytes: &[],
    };
    let wrong = [
        (&b"bbb"[..], NOTHING),
        (b"bbbbb", NOTHING),
        (b"", NOTHING),
        (b"bbbb", StoredValue::inline(b"v")),
        (b"bbbb", extent),
    ];
    for record in wrong {
        let records = [(&b"bbbb"[..], NOTHING), record].into_iter();
        let joined = records
            .clone()
            .map(|(key, value)| ([key, value.bytes].concat(), key.len(), value.kind));
        let joined: Vec<_> = joined.collect();
        let pieces = joined
            .iter()
            .map(|(bytes, key_len, kind)| ContiguousRecord {
                bytes,
                key_len: *key_len,
                kind: *kind,
            });
        assert!(leaf::insert(page, format.order, 1, record.0, record.1).is_err());
        assert!(leaf::insert_many(page, format.order, LeafEnd::After, records.clone()).is_err());
        assert!(leaf::fill(page, format.order, pieces).is_err());
        let is_done = leaf::set_value(page, 0, record.1) == Ok(LocalChange::Done);
        assert_eq!(is_done, record.1 == NOTHING);
        assert_eq!(page, before);
    }
    assert!(leaf::insert(page, format.order, 2, b"bbbb", NOTHING).is_err());
    assert_eq!(page, before);
}

#[test]
fn headers_that_contradict_themselves_are_damage() {
    let mut words = page();
    let page = empty_leaf(&mut words, format(4, KeyOrder::Bytes));
    assert_eq!(insert(page, KeyOrder::Bytes, b"aaaa"), LocalChange::Done);
    let sound = Header::read(page);
    let wrong: [fn(&mut Header); 6] = [
        |header| header.heap_len = 1,
        |header| header.garbage_len = 1,
        |header| header.flags = leaf::WHOLE_KEYS,
        |header| header.prefix_len = 0,
        |header| header.prefix_len = max_key_len(PAGE_LEN) as u16 + 1,
        |header| header.count = ((PAGE_LEN - HEADER_LEN) / 4 + 1) as u16,
    ];
    for make_wrong in wrong {
        let mut header = sound;
        make_wrong(&mut header);
        header.write(page);
        assert!(Leaf::parse(page).is_err(), "{header:?}");
        assert!(print::page(page).contains("damaged"), "{header:?}");
    }
}

#[test]
fn a_leaf_is_printed_key_by_key() {
    let mut words = page();
    let page = empty_leaf(&mut words, format(4, KeyOrder::Bytes));
    for key in [&b"abcd"[..], &[0, 1, 2, 3]] {
        assert_eq!(insert(page, KeyOrder::Bytes, key), LocalChange::Done);
    }
    let expected = "page 9 FixedLeaf level 0 count 2 born 7 flags 0x0000\n\
                    used 32 of 4096 bytes, keys of 4 bytes\n   \
                    0 00010203\n   \
                    1 \"abcd\"\n";
    assert_eq!(print::page(page), expected);
}

proptest! {
    /// A fixed leaf with any header and any keys is read, searched and changed without a panic, and
    /// its results lie in its page.
    #[test]
    fn hostile_leaves_give_errors(
        (key_len, count) in (prop_oneof![0u16..20, any::<u16>()], prop_oneof![0u16..600, any::<u16>()]),
        rest in prop_oneof![3 => Just([0; 3]), 1 => any::<[u16; 3]>()],
        seed in any::<u64>(),
        key in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut words = page();
        for (index, word) in (0..).zip(&mut words) {
            *word = seed.wrapping_mul(index);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let [heap_len, garbage_len, flags] = rest;
        let header = Header {
            count,
            prefix_len: key_len,
            heap_len,
            garbage_len,
            flags,
            ..Header::new(NUMBER, PageKind::FixedLeaf, BIRTH)
        };
        header.write(bytes);
        for order in [KeyOrder::Bytes, KeyOrder::ReverseBytes, KeyOrder::Integer] {
            let Ok(leaf) = Leaf::parse(bytes) else { continue };
            assert_eq!(leaf.count(), usize::from(count));
            let slot = leaf.search(order, &key).unwrap().unwrap_or_else(|slot| slot);
            assert!(slot <= leaf.count());
            assert!(leaf.find(order, &key).value(order, &key).is_ok());
            for index in 0..leaf.count() {
                assert_eq!(leaf.key(index).unwrap().len(), usize::from(key_len));
            }
            assert!(leaf.node(leaf.count()).is_err() && leaf.key(usize::MAX).is_err());
        }
        print::page(bytes);
        crate::testing::fuzz_page(bytes);
        let order = KeyOrder::Bytes;
        let records = [(&key[..], NOTHING)].into_iter();
        let _ = leaf::insert(bytes, order, usize::from(count) / 2, &key, NOTHING);
        let _ = leaf::insert_many(bytes, order, LeafEnd::Before, records.clone());
        let _ = leaf::remove_range(bytes, 0..usize::from(count) / 3);
        let _ = leaf::set_value(bytes, 0, NOTHING);
        let _ = leaf::compact(bytes, &mut Vec::new());
        let _ = leaf::fill(bytes, order, [ContiguousRecord::of_key(&key)].into_iter());
        let header = Header::read(bytes);
        assert!(leaf::gap(bytes, &header).0 <= bytes.len());
        leaf::used_len(&header);
    }

    /// Numbers are found by their own search. Search keys that are no number of that length are
    /// found by comparisons.
    #[test]
    fn a_search_for_numbers_agrees_with_comparisons(
        mut numbers in prop::collection::vec(any::<u64>(), 0..200),
        shift in 0u32..64,
        probes in prop::collection::vec(any::<u64>(), 20),
    ) {
        for number in &mut numbers {
            *number >>= shift;
        }
        for (key_len, order) in [(4, KeyOrder::Bytes), (8, KeyOrder::Bytes), (4, KeyOrder::Integer), (8, KeyOrder::Integer)] {
            let cut = |number: u64| match order {
                KeyOrder::Bytes => number.to_be_bytes()[8 - key_len..].to_vec(),
                _ => number.to_le_bytes()[..key_len].to_vec(),
            };
            let mut keys: Vec<_> = numbers.iter().copied().map(cut).collect();
            keys.sort_by(|a, b| order.compare(a, b));
            keys.dedup();
            let bytes = keys.concat();
            let array = FixedKeys::new(&bytes, key_len);
            for probe in numbers.iter().copied().chain(probes.iter().map(|probe| probe >> shift)) {
                let probe = cut(probe);
                let expected = keys.binary_search_by(|key| order.compare(key, &probe));
                assert_eq!(array.search(order, &probe), expected);
                assert_eq!(array.search_any(order, &probe), expected);
            }
        }
    }
}
