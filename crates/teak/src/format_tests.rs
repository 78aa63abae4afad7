//! Checks `docs/format.md` against the code: its tables are read, and compared with constants and
//! encoders. A change on one side alone fails here.

mod document;
mod pages;
mod record;
mod space;

use crate::{
    alloc::{ArrayRoot, FIRST_PAGE, PlacementPolicy, Space, SpaceChange, SpaceRoots},
    btree::{TYPE_NAME_MAX, TableClass, TreeKind, TreeRoot},
    page::{
        array::{self, Pointer},
        bitmap,
        child::Child,
        comparison::{Comparison, Comparisons},
        deaths::{self, Death},
        header::{HEADER_LEN, Header, PageKind},
        inner::{self, Inner, InnerFormat},
        key::{KeyOrder, head_of},
        leaf::{self, Leaf, LeafFormat, LocalChange},
        max_key_len,
        set::{self, Set},
        stamp::{ExpirySettings, Stamp},
        value::{StoredValue, TREE_ROOT_LEN, VALUE_EXTENT_LEN, ValueExtent, ValueKind},
    },
    record::{
        FORMAT_VERSION, Features, KNOWN_FEATURES, NAMED_SNAPSHOTS, PREPARED_TRANSACTION, Record,
        RecordMarks, SECTOR_LEN, SLOT_COUNT, TABLE_KINDS, is_page_size,
    },
    types::TypeNames,
    types::{Checksum, Extent, Geometry, PageNumber, TransactionId},
};
use document::{assemble, assemble_with, block, layout, markers, number, table};
use std::collections::BTreeMap;

const PAGE_SIZES: [usize; 5] = [4096, 8192, 16384, 32768, 65536];
const PAGE_SIZE: usize = 4096;

/// Bytes that identify their field: no two fields of one table have equal ones.
fn u16_of(seed: u16) -> (u16, Vec<u8>) {
    let value = 0x0101 * seed + 0x0100;
    (value, value.to_le_bytes().to_vec())
}

fn u32_of(seed: u32) -> (u32, Vec<u8>) {
    let value = 0x0101_0101 * seed + 0x0302_0100;
    (value, value.to_le_bytes().to_vec())
}

fn u64_of(seed: u64) -> (u64, Vec<u8>) {
    let value = 0x0101_0101_0101_0101 * seed + 0x0706_0504_0302_0100;
    (value, value.to_le_bytes().to_vec())
}

/// A possible number of records or pages.
fn count_of(seed: u64) -> (u64, Vec<u8>) {
    let value = u64_of(seed).0 >> 16;
    (value, value.to_le_bytes().to_vec())
}

fn aligned_page() -> Vec<u64> {
    vec![0; PAGE_SIZE / 8]
}

#[test]
fn every_marked_table_has_a_test() {
    let known = [
        "table: ...",
        "table: constants",
        "table: limits",
        "table: header",
        "table: kinds",
        "table: page flags",
        "table: key orders",
        "layout: leaf",
        "table: leaf node",
        "table: value kinds",
        "table: large value",
        "layout: inner",
        "table: separator",
        "table: tree root",
        "table: tree flags",
        "table: set",
        "table: set of one size",
        "table: stamp",
        "table: expiry settings",
        "layout: fixed leaf",
        "table: array root",
        "layout: array node",
        "table: array entry",
        "layout: bitmap",
        "layout: deaths",
        "table: death",
        "example: log",
        "table: record",
        "table: written extent",
        "table: record flags",
        "table: features",
        "table: journal entry",
        "table: journal page",
        "table: journal part",
    ];
    assert_eq!(markers(), known);
}

#[test]
fn constants() {
    let root = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    let decodes = |offset: usize, value: u8| {
        let mut bytes = TreeRoot {
            page: PageNumber(9),
            depth: 1,
            ..root
        }
        .encode();
        bytes[offset] = value;
        TreeRoot::decode(&bytes).is_ok()
    };
    let greatest = |offset| (0..=255).filter(|value| decodes(offset, *value)).max();
    for row in table("table: constants") {
        let value = match row[0] {
            "format version" => u64::from(FORMAT_VERSION),
            "record slots" => u64::from(SLOT_COUNT),
            "first page" => u64::from(FIRST_PAGE),
            "sector" => SECTOR_LEN as u64,
            "page size, least" => (0..1 << 20)
                .find(|size| is_page_size(*size))
                .unwrap()
                .into(),
            "page size, greatest" => (0..1 << 20)
                .rev()
                .find(|size| is_page_size(*size))
                .unwrap()
                .into(),
            "page header" => HEADER_LEN as u64,
            "large value" => VALUE_EXTENT_LEN as u64,
            "tree root" => TREE_ROOT_LEN as u64,
            "record, fixed part" => (PAGE_SIZE - Record::log_room(PAGE_SIZE, 0)) as u64,
            "tree depth, greatest" => greatest(4).unwrap().into(),
            "value alignment, greatest" => greatest(56).unwrap().into(),
            name => panic!("{name:?} is no constant of the code"),
        };
        assert_eq!(number(row[1]), value, "{}", row[0]);
    }
    assert_eq!(table("table: constants").len(), 12);
}

#[test]
fn limits() {
    let rows = table("table: limits");
    assert_eq!(rows.len(), PAGE_SIZES.len());
    for (row, page_size) in rows.iter().zip(PAGE_SIZES) {
        let documented: Vec<u64> = row.iter().map(|cell| number(cell)).collect();
        let in_code = [
            page_size,
            max_key_len(page_size),
            crate::limits(page_size).unwrap().multi_value_len_max,
            LeafFormat::max_inline_record_len(page_size),
            bitmap::capacity(page_size) as usize,
            deaths::capacity(page_size),
            array::fanout(page_size),
            Record::log_room(page_size, 0),
            page_size << 32 >> 40,
        ];
        assert_eq!(documented, in_code.map(|value| value as u64));
    }
}

/// Codes and names of a table, compared with the result of the code for every code.
fn assert_codes(marker: &str, name_of: impl Fn(u8) -> Option<String>) {
    let documented: BTreeMap<u64, String> = table(marker)
        .iter()
        .map(|row| (number(row[0]), row[1].to_owned()))
        .collect();
    let in_code: BTreeMap<u64, String> = (0..=255)
        .filter_map(|code| Some((u64::from(code), name_of(code)?)))
        .collect();
    assert_eq!(documented, in_code, "{marker}");
}

#[test]
fn kinds_and_orders() {
    assert_codes("table: kinds", |code| {
        PageKind::from_byte(code).map(|kind| format!("{kind:?}"))
    });
    assert_codes("table: key orders", |code| {
        KeyOrder::from_code(code).map(|order| match order {
            KeyOrder::Custom(_) => "Custom".to_owned(),
            order => format!("{order:?}"),
        })
    });
    assert_codes("table: value kinds", |code| {
        (code < 4).then(|| format!("{:?}", ValueKind::from_bits(code.into())))
    });
    let heads = [
        (KeyOrder::Bytes, &b"abcde"[..], 0x6162_6364),
        (KeyOrder::Bytes, b"a", 0x6100_0000),
        (KeyOrder::ReverseBytes, b"abcde", 0x6564_6362),
        (KeyOrder::ReverseBytes, b"a", 0x6100_0000),
        (KeyOrder::Integer, &[1, 2, 3, 4], 0x0403_0201),
        (KeyOrder::Integer, &[1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605),
        (KeyOrder::Custom(&BACKWARDS), b"abcde", 0),
    ];
    for (order, key, head) in heads {
        assert_eq!(order.head(key), head, "{order:?} {key:?}");
    }
}

static BACKWARDS: Comparison = Comparison::new("backwards", &|a, b| b.cmp(a));
static UNTAGGED: Comparison = Comparison::new("länge", &|a, b| a.len().cmp(&b.len()));

/// Flags by their names.
fn flags(marker: &str) -> BTreeMap<&'static str, u64> {
    table(marker)
        .iter()
        .map(|row| (row[1], number(row[0])))
        .collect()
}

/// The values of the variables of a layout on this page.
fn variables_of(page: &[u8], c: usize) -> BTreeMap<&'static str, usize> {
    let header = Header::read(page);
    let prefix_end = HEADER_LEN + usize::from(header.prefix_len);
    BTreeMap::from([
        ("P", page.len()),
        ("count", header.count.into()),
        ("heap", header.heap_len.into()),
        ("prefix", header.prefix_len.into()),
        ("fill", prefix_end.next_multiple_of(4) - prefix_end),
        ("A", prefix_end.next_multiple_of(4)),
        ("c", c),
    ])
}

#[test]
fn tree_root() {
    let (page, page_bytes) = u32_of(1);
    let (checksum, checksum_bytes) = u64_of(2);
    let (records, records_bytes) = count_of(3);
    let (inner_pages, inner_bytes) = u32_of(4);
    let (leaf_pages, leaf_bytes) = u32_of(5);
    let (value_pages, value_bytes) = count_of(6);
    let (changed, changed_bytes) = u64_of(7);
    let (sequence, sequence_bytes) = u64_of(8);
    let (key_len, key_len_bytes) = u16_of(9);
    let root = TreeRoot {
        page: PageNumber(page),
        depth: 7,
        order: KeyOrder::Integer,
        share_prefixes: true,
        counted: true,
        value_align_log2: 3,
        kind: TreeKind::default(),
        key_len,
        checksum: Checksum(checksum),
        records,
        inner_pages,
        leaf_pages,
        value_pages,
        changed: TransactionId(changed),
        sequence,
    };
    let documented = assemble(
        "table: tree root",
        &[
            ("page", page_bytes),
            ("depth", vec![7]),
            ("order", vec![2]),
            ("flags", vec![3, 0]),
            ("checksum", checksum_bytes),
            ("records", records_bytes),
            ("inner pages", inner_bytes),
            ("leaf pages", leaf_bytes),
            ("value pages", value_bytes),
            ("changed", changed_bytes),
            ("sequence", sequence_bytes),
            ("alignment", vec![3]),
            ("value order", vec![0]),
            ("key length", key_len_bytes),
            ("value size", vec![0, 0]),
        ],
    );
    assert_eq!(root.encode()[..], documented);
    assert_eq!(TreeRoot::decode(&documented), Ok(root));
}

#[test]
fn stamps_and_settings_of_expiring_tables() {
    let ((expires_ms, expiry), (number, number_bytes)) = (u64_of(1), u64_of(2));
    let stamp = Stamp { expires_ms, number };
    let documented = assemble(
        "table: stamp",
        &[("expiry", expiry), ("number", number_bytes)],
    );
    assert_eq!(stamp.join(&[]), documented);
    let fields: Vec<_> = (1..=6).map(u64_of).collect();
    let settings = ExpirySettings {
        ttl_ms: fields[0].0,
        max_records: fields[1].0,
        max_bytes: fields[2].0,
        removed_expired: fields[3].0,
        removed_oldest: fields[4].0,
        expired_until_ms: fields[5].0,
    };
    let documented = assemble(
        "table: expiry settings",
        &[
            ("time to live", fields[0].1.clone()),
            ("most records", fields[1].1.clone()),
            ("most bytes", fields[2].1.clone()),
            ("expired", fields[3].1.clone()),
            ("evicted", fields[4].1.clone()),
            ("expired until", fields[5].1.clone()),
        ],
    );
    assert_eq!(settings.encode()[..], documented);
}

#[test]
fn tree_flags() {
    type Change = fn(&mut TreeRoot);
    let in_code: [(&str, Change); 8] = [
        ("SHARE_PREFIXES", |root| root.share_prefixes = true),
        ("COUNTED", |root| root.counted = true),
        ("MULTI_VALUE", |root| {
            root.kind.class = TableClass::Multi;
            root.kind.values = Some(KeyOrder::Bytes);
        }),
        ("FIXED", |root| root.kind.fixed = true),
        ("FIRST_DECIDES", |root| root.kind.first_decides = true),
        ("DROPPED", |root| root.kind.dropped = true),
        ("TYPED", |root| root.kind.typed = true),
        ("EXPIRING", |root| root.kind.class = TableClass::Expiring),
    ];
    let flags_of = |change: Change| {
        let mut root = TreeRoot::new(KeyOrder::Bytes, false, false, 0);
        change(&mut root);
        let bytes = root.encode();
        u64::from(u16::from_le_bytes([bytes[6], bytes[7]]))
    };
    let in_code = in_code.map(|(name, change)| (name, flags_of(change)));
    assert_eq!(flags("table: tree flags"), in_code.into());
    for row in table("table: tree flags") {
        let mut bytes = TreeRoot::new(KeyOrder::Bytes, false, false, 0).encode();
        bytes[6] = number(row[0]) as u8;
        // Reserved bits are refused, as in a tree of a newer version.
        assert_eq!(
            TreeRoot::decode(&bytes).is_ok(),
            row[2] == "yes",
            "{}",
            row[1]
        );
    }
}

/// The bytes of a catalog entry after the root.
#[test]
fn comparison_names() {
    let plain = TreeRoot::new(KeyOrder::Integer, true, true, 3);
    assert_eq!(plain.encode_entry(TypeNames::default()), plain.encode());
    let ordered = TreeRoot {
        order: KeyOrder::Custom(&BACKWARDS),
        ..plain
    };
    assert_eq!(ordered.encode()[5], 3);
    assert_eq!(
        ordered.encode_entry(TypeNames::default()),
        [&ordered.encode()[..], b"\x09backwards"].concat()
    );
    let both = TreeRoot {
        value_align_log2: 0,
        kind: TreeKind {
            class: TableClass::Multi,
            values: Some(KeyOrder::Custom(&UNTAGGED)),
            ..TreeKind::default()
        },
        ..ordered
    };
    let bytes = both.encode_entry(TypeNames::default());
    assert_eq!(
        bytes,
        [&both.encode()[..], b"\x09backwards\x06l\xc3\xa4nge"].concat()
    );
    let (mut root, names) = TreeRoot::decode_entry(&bytes).unwrap();
    assert!(!root.order.is_resolved());
    let known = Comparisons::new(&[&BACKWARDS, &UNTAGGED]);
    assert!(names.resolve(&mut root, &known).is_empty());
    assert_eq!(root, both);
    for len in 0..bytes.len() {
        assert!(
            TreeRoot::decode_entry(&bytes[..len]).is_err(),
            "{len} bytes"
        );
    }
    assert!(TreeRoot::decode_entry(&[&bytes[..], &[0]].concat()).is_err());
}

/// The names of types follow those of comparisons.
#[test]
fn type_names() {
    let mut root = TreeRoot::new(KeyOrder::Custom(&BACKWARDS), true, true, 3);
    root.kind.typed = true;
    let types = TypeNames {
        keys: "(u64,str)",
        values: "",
    };
    let bytes = root.encode_entry(types);
    let names = b"\x09backwards\x09(u64,str)\x00";
    assert_eq!(bytes, [&root.encode()[..], names].concat());
    let (_, names) = TreeRoot::decode_entry(&bytes).unwrap();
    assert_eq!(names.types, types);
    for len in 0..bytes.len() {
        assert!(
            TreeRoot::decode_entry(&bytes[..len]).is_err(),
            "{len} bytes"
        );
    }
    assert!(TreeRoot::decode_entry(&[&bytes[..], &[0]].concat()).is_err());
    assert_eq!(TYPE_NAME_MAX, 255);
}
