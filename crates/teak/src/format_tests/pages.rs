//! Page headers, leaves and inner pages.

use super::*;

#[test]
fn page_header() {
    let (number, number_bytes) = u32_of(1);
    let (count, count_bytes) = u16_of(3);
    let (birth, birth_bytes) = u64_of(4);
    let (heap_len, heap_bytes) = u16_of(5);
    let (garbage_len, garbage_bytes) = u16_of(6);
    let (prefix_len, prefix_bytes) = u16_of(7);
    let (flags, flag_bytes) = u16_of(8);
    let header = Header {
        number: PageNumber(number),
        kind: 0xa1,
        level: 0xa2,
        count,
        birth: TransactionId(birth),
        heap_len,
        garbage_len,
        prefix_len,
        flags,
    };
    let mut page = vec![0; HEADER_LEN];
    header.write(&mut page);
    let documented = assemble(
        "table: header",
        &[
            ("number", number_bytes),
            ("kind", vec![0xa1]),
            ("level", vec![0xa2]),
            ("count", count_bytes),
            ("birth", birth_bytes),
            ("heap length", heap_bytes),
            ("garbage", garbage_bytes),
            ("prefix length", prefix_bytes),
            ("flags", flag_bytes),
        ],
    );
    assert_eq!(page, documented);
    assert_eq!(Header::read(&documented), header);
}

#[test]
fn page_flags() {
    let alignment = |align| {
        let mut page = aligned_page();
        let page = bytemuck::cast_slice_mut(&mut page);
        let format = LeafFormat {
            value_align_log2: align,
            ..leaf_format(true)
        };
        leaf::init(page, PageNumber(9), TransactionId(1), format, &[]);
        u64::from(Header::read(page).flags)
    };
    let in_code = [
        ("WHOLE_KEYS", u64::from(leaf::WHOLE_KEYS)),
        ("HAS_REFERENCES", u64::from(leaf::HAS_REFERENCES)),
        ("COUNTED", u64::from(inner::COUNTED)),
        ("ALIGNMENT", alignment(4) | alignment(3)),
    ];
    assert_eq!(flags("table: page flags"), in_code.into());
    assert_eq!(leaf::WHOLE_KEYS, inner::WHOLE_KEYS);
    assert_eq!(alignment(0), 0);
    assert_eq!(alignment(1), 1 << 8);
}

fn leaf_format(share_prefixes: bool) -> LeafFormat {
    LeafFormat {
        order: KeyOrder::Bytes,
        share_prefixes,
        value_align_log2: 0,
        fixed_len: 0,
    }
}

/// A leaf of these keys with a prefix, each with a value of kind Tree that is the key itself.
fn build_leaf(page: &mut [u8], format: LeafFormat, prefix: &[u8], keys: &[&[u8]]) {
    leaf::init(page, PageNumber(9), TransactionId(1), format, prefix);
    for (index, key) in keys.iter().enumerate() {
        let value = StoredValue {
            kind: ValueKind::Tree,
            bytes: key,
        };
        let done = leaf::insert(page, format.order, index, key, value);
        assert_eq!(done, Ok(LocalChange::Done));
    }
}

#[test]
fn leaf_pages() {
    let keys: [&[u8]; 3] = [b"prefix-a", b"prefix-abcdefg", b"prefix-b"];
    for (shares, prefix) in [(true, &b"prefix-"[..]), (false, b"")] {
        let mut words = aligned_page();
        let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        build_leaf(page, leaf_format(shares), prefix, &keys);
        let variables = variables_of(page, 0);
        let leaf = Leaf::parse(page).unwrap();
        for (field, start, end) in layout("layout: leaf", &variables) {
            let bytes = &page[start..end];
            let index = |size| (0..).zip(bytes.chunks_exact(size));
            match field.split([',', ' ']).next().unwrap() {
                "heads" => index(4).for_each(|(i, head)| {
                    assert_eq!(leaf.head(i).unwrap().to_le_bytes(), head);
                }),
                "offsets" => index(2).for_each(|(i, offset)| {
                    assert_eq!(leaf.node_offset(i), Some(u16_at(offset)));
                }),
                "prefix" => assert_eq!(bytes, prefix),
                "nodes" => (0..3).for_each(|i| {
                    assert!((start..end).contains(&leaf.node_offset(i).unwrap()));
                }),
                "zeros" => assert!(bytes.iter().all(|&byte| byte == 0)),
                "header" | "gap:" => {}
                other => panic!("a leaf has no {other}"),
            }
        }
        for (index, key) in keys.iter().enumerate() {
            let rest = &key[prefix.len()..];
            assert_eq!(
                leaf.head(index),
                Some(head_of(key.strip_prefix(prefix).unwrap()))
            );
            let stored = if shares {
                rest.get(4..).unwrap_or_default()
            } else {
                rest
            };
            let node = &page[leaf.node_offset(index).unwrap()..];
            assert_node(node, rest.len(), stored, key);
        }
    }
}

#[test]
fn fixed_leaf_pages() {
    let keys: [&[u8]; 3] = [b"abcde", b"abcdf", b"bcdef"];
    let mut words = aligned_page();
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    let format = LeafFormat {
        fixed_len: 5,
        ..leaf_format(true)
    };
    leaf::init(page, PageNumber(9), TransactionId(1), format, &[]);
    let records = keys.iter().map(|key| leaf::ContiguousRecord::of_key(key));
    assert_eq!(leaf::fill(page, format.order, records), Ok(()));
    let header = Header {
        count: 3,
        prefix_len: 5,
        ..Header::new(PageNumber(9), PageKind::FixedLeaf, TransactionId(1))
    };
    assert_eq!(Header::read(page), header);
    let variables = BTreeMap::from([("P", page.len()), ("count", 3), ("k", 5)]);
    for (field, start, end) in layout("layout: fixed leaf", &variables) {
        match field.split([',', ':']).next().unwrap() {
            "keys" => assert_eq!(page[start..end], keys.concat()),
            "header" => assert_eq!((start, end), (0, HEADER_LEN)),
            "gap" => assert_eq!(start, leaf::gap(page, &header).0),
            other => panic!("a fixed leaf has no {other}"),
        }
    }
    let leaf = Leaf::parse(page).unwrap();
    assert!((0..3).all(|index| leaf.key(index).unwrap() == keys[index]));
}

#[test]
fn sets_of_values() {
    let mut bytes = Vec::new();
    let values: [&[u8]; 3] = [b"", b"abc", b"de"];
    set::write_all(&mut bytes, 0, values.into_iter());
    let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let documented = assemble_with(
        "table: set",
        &[
            ("count", words(&[3])),
            ("offsets", words(&[10, 10, 13, 15])),
            ("values", values.concat()),
        ],
        &BTreeMap::from([("count", 3), ("v", 5)]),
    );
    assert_eq!(bytes, documented);
    assert!(Set::parse(&bytes, 0).unwrap().iter().eq(values));
    let values: [&[u8]; 3] = [b"abc", b"abd", b"bcd"];
    set::write_all(&mut bytes, 3, values.into_iter());
    let documented = assemble_with(
        "table: set of one size",
        &[("count", words(&[3])), ("values", values.concat())],
        &BTreeMap::from([("count", 3), ("s", 3)]),
    );
    assert_eq!(bytes, documented);
    assert!(Set::parse(&bytes, 3).unwrap().iter().eq(values));
}

fn u16_at(bytes: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// Compares a node with a value of kind Tree (3: both bits set) with the table.
fn assert_node(node: &[u8], rest_len: usize, stored: &[u8], value: &[u8]) {
    let variables = BTreeMap::from([("s", stored.len()), ("pad", 0), ("v", value.len())]);
    let word = |len: usize| (len as u16 | 1 << 15).to_le_bytes().to_vec();
    let documented = assemble_with(
        "table: leaf node",
        &[
            ("key word", word(rest_len)),
            ("value word", word(value.len())),
            ("stored key", stored.to_vec()),
            ("value bytes", value.to_vec()),
        ],
        &variables,
    );
    assert_eq!(node[..documented.len()], documented);
}

#[test]
fn large_value() {
    let (start, start_bytes) = u32_of(1);
    let (_, mut len_bytes) = u64_of(2);
    // A possible length of a value.
    len_bytes[6..].fill(0);
    let (checksum, checksum_bytes) = u64_of(3);
    let (birth, birth_bytes) = u64_of(4);
    let extent = ValueExtent {
        start: PageNumber(start),
        len_bytes: u64::from_le_bytes(len_bytes[..].try_into().unwrap()),
        checksum: Checksum(checksum),
        birth: TransactionId(birth),
    };
    let documented = assemble(
        "table: large value",
        &[
            ("start", start_bytes),
            ("length", len_bytes),
            ("checksum", checksum_bytes),
            ("birth", birth_bytes),
        ],
    );
    assert_eq!(extent.encode()[..], documented);
    assert_eq!(ValueExtent::decode(&documented), Ok(extent));
}

#[test]
fn inner_pages() {
    let separators: [&[u8]; 4] = [b"", b"prefix-a", b"prefix-abcdefg", b"prefix-b"];
    let children: Vec<Child> = (0..)
        .zip(separators)
        .map(|(index, separator)| Child {
            separator: separator.to_vec(),
            page: PageNumber(u32_of(index).0),
            checksum: Checksum(u64_of(index.into()).0),
            records: u64_of(100 + u64::from(index)).0,
        })
        .collect();
    for (order, counted) in [
        (KeyOrder::Bytes, true),
        (KeyOrder::Bytes, false),
        (KeyOrder::ReverseBytes, true),
    ] {
        let format = InnerFormat { order, counted };
        let mut words = aligned_page();
        let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        format
            .build(page, PageNumber(9), TransactionId(1), 1, &children)
            .unwrap();
        assert_inner(page, order, counted, &children);
    }
}

fn assert_inner(page: &[u8], order: KeyOrder, counted: bool, children: &[Child]) {
    let inner = Inner::parse(page).unwrap();
    let prefix: &[u8] = if order == KeyOrder::Bytes {
        b"prefix-"
    } else {
        b""
    };
    let variables = variables_of(page, if counted { 8 } else { 0 });
    for (field, start, end) in layout("layout: inner", &variables) {
        let bytes = &page[start..end];
        match field.split([',', ' ', ':']).next().unwrap() {
            "heads" => (0..4).for_each(|i| {
                assert_eq!(
                    inner.head(i).unwrap().to_le_bytes(),
                    bytes[4 * i..4 * i + 4]
                );
            }),
            "children" => {
                let expected = children.iter().flat_map(|child| child.page.0.to_le_bytes());
                assert!(bytes.iter().copied().eq(expected));
            }
            "checksums" => {
                let expected = children
                    .iter()
                    .flat_map(|child| child.checksum.0.to_le_bytes());
                assert!(bytes.iter().copied().eq(expected));
            }
            "records" if counted => {
                let expected = children
                    .iter()
                    .flat_map(|child| child.records.to_le_bytes());
                assert!(bytes.iter().copied().eq(expected));
            }
            "records" => assert!(bytes.is_empty()),
            "offsets" => {
                for (child, offset) in children.iter().zip(bytes.chunks_exact(2)) {
                    assert_separator(page, order, prefix, &child.separator, u16_at(offset));
                }
            }
            "prefix" => assert_eq!(bytes, prefix),
            "zeros" => assert!(bytes.iter().all(|&byte| byte == 0)),
            "header" | "gap" | "separators" => {}
            other => panic!("an inner page has no {other}"),
        }
    }
}

fn assert_separator(page: &[u8], order: KeyOrder, prefix: &[u8], separator: &[u8], offset: usize) {
    let Some(rest) = separator.strip_prefix(prefix) else {
        assert_eq!((separator, offset), (&[][..], 0), "the first");
        return;
    };
    if separator.is_empty() || order == KeyOrder::Bytes && rest.len() <= 4 {
        assert_eq!(offset, rest.len());
        return;
    }
    assert!(offset >= HEADER_LEN);
    let stored = if order == KeyOrder::Bytes {
        &rest[4..]
    } else {
        rest
    };
    let documented = assemble_with(
        "table: separator",
        &[
            ("length", (rest.len() as u16).to_le_bytes().to_vec()),
            ("stored separator", stored.to_vec()),
        ],
        &BTreeMap::from([("n", stored.len())]),
    );
    assert_eq!(page[offset..][..documented.len()], documented);
}
