//! The properties of layouts that other code relies on.

use super::{
    child::Child,
    comparison::Comparison,
    entries::{RecordList, cut_evenly, cut_greedily},
    header::{HEADER_LEN, Header, PageKind},
    inner::{Inner, InnerFormat, children_of},
    key::{self, KeyOrder},
    leaf::{self, ContiguousRecord, Leaf, LeafEnd, LeafFormat, LocalChange},
    max_key_len,
    value::{StoredValue, ValueExtent, ValueKind},
};
use crate::{Checksum, PageNumber, TransactionId};
use std::cmp::Ordering;

const PAGE: PageNumber = PageNumber(9);
const BIRTH: TransactionId = TransactionId(7);

fn format(share_prefixes: bool, order: KeyOrder, align: u8) -> LeafFormat {
    LeafFormat {
        order,
        share_prefixes,
        value_align_log2: align,
        fixed_len: 0,
    }
}

fn aligned_page(len: usize) -> Vec<u64> {
    vec![0xabab_abab_abab_abab; len / 8]
}

fn empty_leaf(page: &mut [u64], format: LeafFormat) -> &mut [u8] {
    let page = bytemuck::cast_slice_mut(page);
    leaf::init(page, PAGE, BIRTH, format, &[]);
    page
}

#[test]
fn header_survives_a_round_trip() {
    let mut page = vec![0; 64];
    let mut header = Header::new(PAGE, PageKind::Leaf, BIRTH);
    header.level = 3;
    header.count = 500;
    header.heap_len = 4000;
    header.garbage_len = 17;
    header.prefix_len = 12;
    header.flags = 0x0302;
    header.write(&mut page);
    assert_eq!(Header::read(&page), header);
    assert!(
        page[HEADER_LEN..].iter().all(|&b| b == 0),
        "nothing is written after the header"
    );
}

#[test]
fn heads_sort_like_their_keys() {
    let keys: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\0\0\0\0",
        b"\0\0\0\0\0",
        b"a",
        b"ab",
        b"abcd",
        b"abcda",
        b"abce",
    ];
    for pair in keys.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let by_head = key::head_of(a).cmp(&key::head_of(b));
        let beyond =
            key::compare_beyond_head(a.len(), key::suffix_of(a), b.len(), key::suffix_of(b));
        assert_eq!(by_head.then(beyond), Ordering::Less, "{a:?} {b:?}");
    }
}

#[test]
fn every_order_agrees_with_its_heads() {
    let numbers = [0u64, 1, 255, 256, 1 << 31, 1 << 32, (1 << 32) + 1, u64::MAX];
    for &a in &numbers {
        for &b in &numbers {
            let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
            assert_eq!(KeyOrder::Integer.compare(&x, &y), a.cmp(&b));
            assert!(KeyOrder::Integer.head(&x) <= KeyOrder::Integer.head(&y) || a > b);
        }
    }
    assert_eq!(KeyOrder::ReverseBytes.compare(b"ba", b"ab"), Ordering::Less);
    assert!(KeyOrder::ReverseBytes.head(b"ba") < KeyOrder::ReverseBytes.head(b"ab"));
}

/// Like the standard library. With a comparison that is not an order, all items in any order.
#[test]
fn custom_orders_sort_like_others() {
    static BY_LENGTH: Comparison = Comparison::new("length", &|a, b| a.len().cmp(&b.len()));
    static MOODS: Comparison = Comparison::new("none", &|a, b| {
        a.iter()
            .chain(b)
            .fold(1u8, |sum, byte| sum.wrapping_mul(31) ^ byte)
            .cmp(&100)
    });
    let mut rng = fastrand::Rng::with_seed(3);
    for count in [0, 1, 2, 3, 7, 64, 1000, 5000] {
        let keys: Vec<Vec<u8>> = (0..count)
            .map(|_| vec![rng.u8(..); rng.usize(..20)])
            .collect();
        let (mut expected, mut sorted): (Vec<&[u8]>, _) = (
            keys.iter().map(Vec::as_slice).collect(),
            keys.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        );
        expected.sort_by_key(|key| key.len());
        let order = KeyOrder::Custom(&BY_LENGTH);
        order.sort(&mut sorted, |a, b| order.compare(a, b));
        assert_eq!(sorted, expected);
        let none = KeyOrder::Custom(&MOODS);
        none.sort(&mut sorted, |a, b| none.compare(a, b));
        (KeyOrder::Bytes).sort(&mut sorted, |a, b| a.cmp(b));
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }
}

#[test]
fn bounds_of_heads_match_a_linear_count() {
    for len in 0..40 {
        let heads: Vec<u32> = (0..len).map(|i| i / 3 * 2).collect();
        for probe in 0..30 {
            let smaller = heads.iter().filter(|&&h| h < probe).count();
            let not_greater = heads.iter().filter(|&&h| h <= probe).count();
            assert_eq!(key::lower_bound(&heads, probe), smaller);
            assert_eq!(key::upper_bound(&heads, probe), not_greater);
        }
    }
}

#[test]
fn separators_are_the_shortest() {
    assert_eq!(key::shortest_separator(b"abc", b"abd"), b"abd");
    assert_eq!(key::shortest_separator(b"abc", b"b"), b"b");
    assert_eq!(key::shortest_separator(b"ab", b"abcd"), b"abc");
    assert_eq!(key::shortest_separator(b"", b"xyz"), b"x");
}

#[test]
fn a_leaf_finds_records_inserted_in_any_order() {
    for (share, order, align) in [
        (true, KeyOrder::Bytes, 0),
        (false, KeyOrder::Bytes, 3),
        (true, KeyOrder::ReverseBytes, 4),
        (true, KeyOrder::Bytes, 2),
    ] {
        let format = format(share, order, align);
        let mut page = aligned_page(4096);
        let page = empty_leaf(&mut page, format);
        let keys: Vec<Vec<u8>> = (0..60u32)
            .map(|i| (i * 37 % 61).to_be_bytes()[2..].repeat(1 + i as usize % 4))
            .collect();
        for key in &keys {
            let at = Leaf::parse(page).unwrap().search(order, key).unwrap();
            let Err(at) = at else { continue };
            let value = [key.len() as u8; 11];
            let done = leaf::insert(page, order, at, key, StoredValue::inline(&value)).unwrap();
            assert_eq!(done, LocalChange::Done);
        }
        let leaf = Leaf::parse(page).unwrap();
        for key in &keys {
            let at = leaf
                .search(order, key)
                .unwrap()
                .expect("the key was inserted");
            assert_eq!(&leaf.key(at).unwrap(), key);
            let value = leaf.node(at).unwrap().value.bytes;
            assert_eq!(value, [key.len() as u8; 11]);
            let offset = value.as_ptr().addr() - page_start(&leaf);
            assert_eq!(offset % (1 << align), 0, "values are aligned");
        }
        for pair in (0..leaf.count()).collect::<Vec<_>>().windows(2) {
            let (a, b) = (leaf.key(pair[0]).unwrap(), leaf.key(pair[1]).unwrap());
            assert_eq!(order.compare(&a, &b), Ordering::Less);
        }
    }
}

fn page_start(leaf: &Leaf<'_>) -> usize {
    leaf.prefix().as_ptr().addr() - HEADER_LEN
}

#[test]
fn removing_records_keeps_the_others() {
    let format = format(true, KeyOrder::Bytes, 0);
    let mut page = aligned_page(4096);
    let page = empty_leaf(&mut page, format);
    for i in 0..50u8 {
        let at = usize::from(i);
        leaf::insert(
            page,
            KeyOrder::Bytes,
            at,
            &[1, 2, 3, 4, 5, i],
            StoredValue::inline(&[i; 9]),
        )
        .unwrap();
    }
    for i in (0..50usize).rev().step_by(2) {
        leaf::remove(page, i).unwrap();
    }
    let leaf = Leaf::parse(page).unwrap();
    assert_eq!(leaf.count(), 25);
    for i in 0..25 {
        assert_eq!(leaf.key(i).unwrap(), [1, 2, 3, 4, 5, 2 * i as u8]);
        assert_eq!(leaf.node(i).unwrap().value.bytes, [2 * i as u8; 9]);
    }
    assert_eq!(Header::read(page).garbage_len, 25 * (4 + 2 + 9));
}

/// For any lengths, kinds and alignments. A value that does not fit changes nothing.
#[test]
fn a_value_grows_and_shrinks_without_a_rebuild() {
    let mut rng = fastrand::Rng::with_seed(7);
    for (page_len, align) in [(4096, 0), (4096, 3), (65536, 0), (65536, 4)] {
        let format = format(true, KeyOrder::Bytes, align);
        let mut page = aligned_page(page_len);
        let page = empty_leaf(&mut page, format);
        let mut values = vec![Vec::new(); 40];
        for i in 0..40u8 {
            let nothing = StoredValue::inline(&[]);
            leaf::insert(page, format.order, i.into(), &[1, 2, 3, 4, 5, i], nothing).unwrap();
        }
        let (mut done, mut refused) = (0, 0);
        for round in 0..4000u32 {
            let index = rng.usize(..values.len());
            let value = vec![round as u8; rng.usize(..page_len / 20)];
            let kind = match rng.bool() {
                true => ValueKind::Set,
                false => ValueKind::Inline,
            };
            let before = page.to_vec();
            let bytes = &value;
            match leaf::set_value(page, index, StoredValue { kind, bytes }).unwrap() {
                LocalChange::Done => {
                    assert_eq!(
                        Leaf::parse(page).unwrap().node(index).unwrap().value.kind,
                        kind
                    );
                    values[index] = value;
                    done += 1;
                }
                LocalChange::Rebuild => {
                    assert_eq!(page, before);
                    refused += 1;
                    let is_compact = leaf::compact(page, &mut Vec::new()).unwrap();
                    assert!(is_compact || align > 0);
                }
            }
            let leaf = Leaf::parse(page).unwrap();
            for (i, value) in values.iter().enumerate() {
                assert_eq!(leaf.key(i).unwrap(), [1, 2, 3, 4, 5, i as u8]);
                let stored = leaf.node(i).unwrap().value.bytes;
                assert_eq!(stored, value);
                let offset = stored.as_ptr().addr() - page_start(&leaf);
                assert_eq!(offset % (1 << align), 0, "values are aligned");
            }
            let header = Header::read(page);
            let used: usize = values.iter().map(|value| 4 + 2 + value.len()).sum();
            let heap = usize::from(header.heap_len) - usize::from(header.garbage_len);
            assert!(
                (used..used + 40 * (1 << align)).contains(&heap),
                "{used} {heap}"
            );
        }
        assert!(done > 1000 && refused > 100, "{done} {refused}");
    }
}

/// At either end, also over garbage. Records that do not fit, or that have another prefix, change
/// nothing.
#[test]
fn many_records_are_inserted_at_an_end_or_not_at_all() {
    let key = |i: u8| [1, 2, 3, 4, 5, i];
    for align in [0, 3] {
        let mut page = aligned_page(4096);
        let format = format(true, KeyOrder::Bytes, align);
        let page = empty_leaf(&mut page, format);
        leaf::init(page, PageNumber(7), TransactionId(1), format, &[1, 2, 3]);
        for (at, i) in (100..130).enumerate() {
            let value = StoredValue::inline(&[7; 100]);
            let done = leaf::insert(page, KeyOrder::Bytes, at, &key(i), value).unwrap();
            assert_eq!(done, LocalChange::Done);
        }
        leaf::remove_range(page, 5..30).unwrap();
        assert!(leaf::remove_range(page, 3..6).is_err());
        let records = |keys: std::ops::Range<u8>| {
            let keys: Vec<_> = keys.map(key).collect();
            keys.into_iter()
                .map(|key| (key, [key[5]; 90]))
                .collect::<Vec<_>>()
        };
        let mut insert = |end, records: &[([u8; 6], [u8; 90])]| {
            let records = records
                .iter()
                .map(|(k, v)| (&k[..], StoredValue::inline(v)));
            leaf::insert_many(page, KeyOrder::Bytes, end, records).unwrap()
        };
        assert_eq!(insert(LeafEnd::Before, &records(10..22)), LocalChange::Done);
        assert_eq!(
            insert(LeafEnd::After, &records(110..122)),
            LocalChange::Done
        );
        assert_eq!(
            insert(LeafEnd::After, &records(130..160)),
            LocalChange::Rebuild
        );
        let stranger = [([1, 2, 4, 0, 0, 0], [0; 90])];
        assert_eq!(insert(LeafEnd::After, &stranger), LocalChange::Rebuild);
        let leaf = Leaf::parse(page).unwrap();
        let expected: Vec<_> = (10..22).chain(100..105).chain(110..122).map(key).collect();
        assert_eq!(leaf.count(), expected.len());
        for (index, key) in expected.into_iter().enumerate() {
            assert_eq!(leaf.key(index).unwrap(), key);
            let value = leaf.node(index).unwrap().value.bytes;
            let is_old = (100..105).contains(&key[5]);
            assert_eq!(
                value,
                if is_old {
                    vec![7; 100]
                } else {
                    vec![key[5]; 90]
                }
            );
        }
    }
}

/// Aligned values need more room in key order than in the order of their insertion. Compacting them
/// then overwrote the arrays, and the model found a damaged page.
#[test]
fn nodes_that_do_not_fit_together_are_not_merged() {
    let format = format(true, KeyOrder::Bytes, 4);
    let (mut did_not_fit, mut scratch) = (0, Vec::new());
    for seed in 0..400usize {
        let mut page = aligned_page(4096);
        let page = empty_leaf(&mut page, format);
        let mut records = Vec::new();
        for i in 0..200usize {
            let key = vec![(i * 37 + seed) as u8; 1 + (i * 7 + seed) % 23];
            let value = vec![i as u8; (i * 11 + seed) % 37];
            let Err(at) = Leaf::parse(page)
                .unwrap()
                .search(KeyOrder::Bytes, &key)
                .unwrap()
            else {
                continue;
            };
            let stored = StoredValue::inline(&value);
            if leaf::insert(page, KeyOrder::Bytes, at, &key, stored).unwrap()
                == LocalChange::Rebuild
            {
                break;
            }
            records.push((key, value));
        }
        did_not_fit += usize::from(!leaf::compact(page, &mut scratch).unwrap());
        let leaf = Leaf::parse(page).unwrap();
        for (key, value) in records {
            let at = leaf.search(KeyOrder::Bytes, &key).unwrap().unwrap();
            assert_eq!(leaf.node(at).unwrap().value.bytes, value);
        }
    }
    assert!(did_not_fit > 0, "the case occurred");
}

#[test]
fn records_share_their_prefix_when_laid_out() {
    let format = format(true, KeyOrder::Bytes, 0);
    let mut records = RecordList::default();
    for i in 0..100u32 {
        let mut key = b"a-long-common-prefix/".to_vec();
        key.extend(i.to_be_bytes());
        records.push(&key, StoredValue::inline(b"value"));
    }
    let mut page = aligned_page(4096);
    let page = bytemuck::cast_slice_mut(&mut page);
    assert!(records.page_len(format, 0..100) < 4096);
    records.build(page, PAGE, BIRTH, format, 0..100).unwrap();
    let leaf = Leaf::parse(page).unwrap();
    assert_eq!(
        leaf.prefix().len(),
        24,
        "the first three bytes of the numbers are shared too"
    );
    assert_eq!(leaf.key(77).unwrap(), records.key(77));
    let other = b"another";
    let at = leaf.search(KeyOrder::Bytes, other).unwrap().unwrap_err();
    assert_eq!(at, 100);
    let done = leaf::insert(page, KeyOrder::Bytes, at, other, StoredValue::inline(b"")).unwrap();
    assert_eq!(
        done,
        LocalChange::Rebuild,
        "a key without the prefix requires a new layout"
    );
}

#[test]
fn packed_records_are_laid_out_like_others() {
    let suffixes: [&[u8]; 9] = [
        b"",
        b"\0",
        b"a",
        b"ab",
        b"abc",
        b"abcd",
        b"abcde",
        b"b",
        &[b'c'; 40],
    ];
    let format = format(true, KeyOrder::Bytes, 0);
    // Up to twelve bytes of a prefix are assembled without a call.
    for prefix_len in [0, 1, 2, 11, 12, 13, 60] {
        let mut records = RecordList::default();
        for (index, suffix) in suffixes.iter().enumerate() {
            let key = [&vec![b'p'; prefix_len], *suffix].concat();
            let kind = [ValueKind::Inline, ValueKind::Set, ValueKind::Extent][index % 3];
            let bytes = &vec![index as u8; [0, 1, 32, 300][index % 4]];
            records.push(&key, StoredValue { kind, bytes });
        }
        let mut words = aligned_page(4096);
        let page = bytemuck::cast_slice_mut(&mut words);
        let all = 0..records.len();
        records
            .build(page, PAGE, BIRTH, format, all.clone())
            .unwrap();
        let leaf = Leaf::parse(page).unwrap();
        assert_eq!(leaf.prefix().len(), prefix_len);
        assert!(leaf.has_references());
        let mut again = RecordList::default();
        again.append(&leaf, all.clone()).unwrap();
        for index in all {
            assert_eq!(leaf.key(index).unwrap(), records.key(index));
            assert_eq!(leaf.node(index).unwrap().value, records.value(index));
            assert_eq!(again.key(index), records.key(index));
            assert_eq!(again.value(index), records.value(index));
        }
    }
}

#[test]
fn packed_records_that_exceed_their_page_are_refused() {
    let fill = |bytes: &[u8], key_len| {
        let mut words = aligned_page(4096);
        let page = bytemuck::cast_slice_mut(&mut words);
        leaf::init(
            page,
            PAGE,
            BIRTH,
            format(true, KeyOrder::Bytes, 0),
            b"prefix",
        );
        let kind = ValueKind::Inline;
        let piece = ContiguousRecord {
            bytes,
            key_len,
            kind,
        };
        leaf::fill(page, KeyOrder::Bytes, [piece].into_iter())
    };
    assert_eq!(fill(b"prefix", 6), Ok(()));
    assert_eq!(fill(b"prefix and a value", 8), Ok(()));
    assert!(fill(b"prefix", 3).is_err(), "the value completes it");
    assert!(fill(b"pre", 3).is_err() && fill(b"suffix", 6).is_err());
    let mut long = vec![b'x'; 5000];
    long[..6].copy_from_slice(b"prefix");
    assert!(fill(&long, 6).is_err() && fill(&long, 4999).is_err());
}

fn children(separators: &[&[u8]]) -> Vec<Child> {
    separators
        .iter()
        .enumerate()
        .map(|(i, s)| Child {
            separator: s.to_vec(),
            page: PageNumber(100 + i as u32),
            checksum: Checksum(1000 + i as u64),
            records: 10 * i as u64,
        })
        .collect()
}

#[test]
fn inner_pages_lead_to_the_right_child() {
    let separators: [&[u8]; 8] = [
        b"", b"ab", b"ab\0\0", b"ab\0\0x", b"abcd", b"abcdef", b"abcdeg", b"abd",
    ];
    for counted in [false, true] {
        let format = InnerFormat {
            order: KeyOrder::Bytes,
            counted,
        };
        let children = children(&separators);
        let mut page = aligned_page(4096);
        let page: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
        format.build(page, PAGE, BIRTH, 1, &children).unwrap();
        let inner = Inner::parse(page).unwrap();
        assert_eq!(children_of(&inner).unwrap(), {
            let mut expected = children.clone();
            if !counted {
                expected.iter_mut().for_each(|c| c.records = 0);
            }
            expected
        });
        let probes: [&[u8]; 16] = [
            b"", b"a", b"aa", b"ab", b"ab\0", b"ab\0\0", b"ab\0\0a", b"ab\0\0x", b"abcd", b"abcde",
            b"abcdef", b"abcdefz", b"abcdeg", b"abc", b"abd", b"zz",
        ];
        for probe in probes {
            let expected = separators.iter().skip(1).filter(|s| **s <= probe).count();
            assert_eq!(
                inner.search(KeyOrder::Bytes, probe).unwrap(),
                expected,
                "{probe:?}"
            );
        }
    }
}

#[test]
fn inner_pages_of_other_orders_store_whole_keys() {
    let numbers: Vec<[u8; 8]> = (0..50u64).map(|i| (i << 30).to_le_bytes()).collect();
    let separators: Vec<&[u8]> = numbers.iter().map(|n| n.as_slice()).collect();
    let format = InnerFormat {
        order: KeyOrder::Integer,
        counted: false,
    };
    let mut children = children(&separators);
    children[0].separator.clear();
    let mut page = aligned_page(4096);
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
    format.build(page, PAGE, BIRTH, 1, &children).unwrap();
    let inner = Inner::parse(page).unwrap();
    for i in 0..50u64 {
        for (number, expected) in [(i << 30, i), ((i << 30) + 5, i)] {
            let found = inner
                .search(KeyOrder::Integer, &number.to_le_bytes())
                .unwrap();
            assert_eq!(found as u64, expected);
        }
    }
}

#[test]
fn the_longest_key_fits_in_a_leaf_and_separates_two_children() {
    for page_size in [4096, 8192, 65536] {
        let key = vec![0xff; max_key_len(page_size)];
        let format = format(false, KeyOrder::Bytes, 4);
        assert!(HEADER_LEN + format.record_len(0, key.len(), 64) <= page_size);
        let inner = InnerFormat {
            order: KeyOrder::ReverseBytes,
            counted: true,
        };
        let mut pair = children(&[b"", b"x"]);
        pair[1].separator = key;
        assert!(inner.page_len(&pair) <= page_size);
    }
    assert!(max_key_len(4096) >= 2022);
}

#[test]
fn large_values_are_described_in_32_bytes() {
    let extent = ValueExtent {
        start: PAGE,
        len_bytes: 70_000,
        checksum: Checksum(5),
        birth: BIRTH,
    };
    assert_eq!(ValueExtent::decode(&extent.encode()).unwrap(), extent);
    assert_eq!(extent.pages(4096).unwrap().len, 18);
    let value = StoredValue {
        kind: ValueKind::Extent,
        bytes: &extent.encode(),
    };
    assert_eq!(value.as_extent().unwrap(), Some(extent));
    assert!(ValueExtent::decode(&[0; 32]).is_err());
}

#[test]
fn items_are_cut_evenly_or_not_at_all() {
    let weights = [10; 12];
    let fits = |range: std::ops::Range<usize>| range.len() <= 4;
    assert_eq!(
        cut_evenly(&weights, 3, fits).unwrap(),
        vec![0..4, 4..8, 8..12]
    );
    assert_eq!(cut_evenly(&weights, 2, fits), None);
    assert_eq!(cut_greedily(10, fits), vec![0..4, 4..8, 8..10]);
    let uneven = [1, 1, 1, 100];
    assert_eq!(cut_evenly(&uneven, 2, |_| true).unwrap(), vec![0..3, 3..4]);
}

/// The printer and the check requested separators by an index from a damaged count.
#[test]
fn a_separator_after_the_last_child_is_damage() {
    let format = InnerFormat {
        order: KeyOrder::Bytes,
        counted: false,
    };
    let mut page = aligned_page(4096);
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
    format
        .build(page, PAGE, BIRTH, 1, &children(&[b"", b"a"]))
        .unwrap();
    let inner = Inner::parse(page).unwrap();
    for index in [2, 3, 10_000] {
        assert!(inner.separator(index).is_err());
        assert!(inner.child_at(index).is_err());
    }
}

/// The prefix of a page is that of its first and last separator. Unsorted separators of a damaged
/// page did not have it, and a new layout panicked.
#[test]
fn separators_that_are_not_sorted_are_laid_out_somehow() {
    let format = InnerFormat {
        order: KeyOrder::Bytes,
        counted: false,
    };
    let children = children(&[b"", b"abcdefgh1", b"x", b"", b"abcdefgh2"]);
    let mut page = aligned_page(4096);
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
    format.build(page, PAGE, BIRTH, 1, &children).unwrap();
    assert_eq!(Inner::parse(page).unwrap().count(), 5);
}

/// The stored bytes of a separator may lie in the prefix of a damaged page, and be too long for two
/// of them to fit into a page. A tree with such separators grew level by level without end.
#[test]
fn a_separator_is_no_longer_than_keys_are() {
    let format = InnerFormat {
        order: KeyOrder::Bytes,
        counted: false,
    };
    let prefix = [b'p'; 2000];
    let separators: Vec<Vec<u8>> = (0..4u8).map(|i| [&prefix[..], &[i; 6]].concat()).collect();
    let separators: Vec<&[u8]> = separators.iter().map(Vec::as_slice).collect();
    let mut page = aligned_page(4096);
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
    format
        .build(page, PAGE, BIRTH, 1, &children(&separators))
        .unwrap();
    assert_eq!(children_of(&Inner::parse(page).unwrap()).unwrap().len(), 4);
    // Each stored part begins with its length, and the prefix is after all of them.
    let node = page
        .windows(2)
        .position(|bytes| bytes == 6u16.to_le_bytes());
    let node = node.filter(|at| *at > 100).unwrap();
    page[node..node + 2].copy_from_slice(&1990u16.to_le_bytes());
    assert!(children_of(&Inner::parse(page).unwrap()).is_err());
}
