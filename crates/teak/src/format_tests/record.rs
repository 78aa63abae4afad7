//! The commit record.

use super::*;
use crate::{
    commit::journal::entry::{JournalEntry, RECORD},
    record::{COMPRESSED, ENCRYPTED, FlushLimits, JOURNAL, JournalPages, seal},
};
use std::time::Duration;

fn array_root(seed: u32) -> (ArrayRoot, Vec<u8>) {
    let (page, page_bytes) = (PageNumber(0x0102 + seed), 0x0102 + seed);
    let (info, info_bytes) = u32_of(seed + 1);
    let (checksum, checksum_bytes) = u64_of(u64::from(seed) + 2);
    let (count, count_bytes) = u32_of(seed + 3);
    let root = ArrayRoot {
        page,
        info,
        checksum: Checksum(checksum),
        depth: 0xd0,
        count,
    };
    let documented = assemble(
        "table: array root",
        &[
            ("page", page_bytes.to_le_bytes().to_vec()),
            ("info", info_bytes),
            ("checksum", checksum_bytes),
            ("count", count_bytes),
            ("depth", vec![0xd0]),
        ],
    );
    (root, documented)
}

fn record() -> Record {
    Record {
        slot: 2,
        features: Features {
            compatible: 0x1112_1314,
            read_only_compatible: 0x2122_2324,
            incompatible: 0,
        },
        page_size: 8192,
        reserved_per_page: 0x0518,
        database_id: *b"a database's id.",
        boot_id: *b"id of this boot.",
        sequence: u64_of(1).0,
        transaction: TransactionId(u64_of(3).0),
        flushed_transaction: TransactionId(u64_of(2).0),
        time_ms: u64_of(4).0,
        requested_durable: true,
        clean_close: false,
        default_durability: 0xdd,
        compression: 0,
        page_count: 0x7123_4567,
        geometry: Geometry {
            lower_limit_bytes: u64_of(5).0,
            upper_limit_bytes: u64_of(6).0,
            growth_step_bytes: u64_of(7).0,
            shrink_threshold_bytes: u64_of(8).0,
        },
        catalog_root: std::array::from_fn(|index| index as u8),
        snapshots_root: std::array::from_fn(|index| 0x80 + index as u8),
        marks: RecordMarks {
            values: [u64_of(9).0, u64_of(10).0, u64_of(11).0],
            transaction: TransactionId(u64_of(12).0),
        },
        space_roots: SpaceRoots {
            bitmaps: array_root(20).0,
            deaths: array_root(40).0,
        },
        flush_limits: FlushLimits {
            bytes: u64_of(13).0,
            age: Duration::from_millis(u64_of(14).0),
        },
        journal: Some(JournalPages {
            extent: Extent::new(0x0304_0506, 0x0102),
            since: TransactionId(u64_of(1).0),
        }),
        acknowledged: TransactionId(u64_of(2).0),
        log_end: Checksum(0x0102_0304_0506_0708),
        written: Some(vec![Extent::new(0x0203_0405, 0x0607_0809)]),
        space_log: b"the log".to_vec(),
    }
}

#[test]
fn commit_record() {
    let mut bytes = record().encode(8192);
    let checksum = bytes[8..16].to_vec();
    let fixed = assemble(
        "table: record",
        &[
            ("magic", b"TeakRec\x01".to_vec()),
            ("checksum", checksum.clone()),
            ("length", (432u32 + 8 + 7).to_le_bytes().to_vec()),
            ("format version", vec![1, 0]),
            ("slot", vec![2]),
            ("flags", vec![1]),
            ("compatible features", vec![0x14, 0x13, 0x12, 0x11]),
            (
                "read-only-compatible features",
                vec![0x24, 0x23, 0x22, 0x21],
            ),
            ("incompatible features", vec![0; 4]),
            ("page size", vec![0, 0x20, 0, 0]),
            ("reserved per page", vec![0x18, 0x05]),
            ("default durability", vec![0xdd]),
            ("compression", vec![0]),
            ("count of written extents", vec![1, 0, 0, 0]),
            ("length of the space log", vec![7, 0, 0, 0]),
            ("database id", b"a database's id.".to_vec()),
            ("boot id", b"id of this boot.".to_vec()),
            ("sequence", u64_of(1).1),
            ("transaction", u64_of(3).1),
            ("flushed transaction", u64_of(2).1),
            ("time", u64_of(4).1),
            ("page count", 0x7123_4567u64.to_le_bytes().to_vec()),
            ("lower limit", u64_of(5).1),
            ("upper limit", u64_of(6).1),
            ("growth step", u64_of(7).1),
            ("shrink threshold", u64_of(8).1),
            ("catalog", (0..64).collect()),
            ("named snapshots", (0x80..0xc0).collect()),
            ("marks", [u64_of(9).1, u64_of(10).1, u64_of(11).1].concat()),
            ("marked", u64_of(12).1),
            ("bitmaps", array_root(20).1),
            ("deaths", array_root(40).1),
            ("flush after bytes", u64_of(13).1),
            ("flush after time", u64_of(14).1),
            ("journal", vec![6, 5, 4, 3]),
            ("journal length", vec![2, 1, 0, 0]),
            ("journal since", u64_of(1).1),
            ("acknowledged transaction", u64_of(2).1),
            ("end of the merged log", (1..=8).rev().collect()),
        ],
    );
    let extent = assemble(
        "table: written extent",
        &[("start", vec![5, 4, 3, 2]), ("length", vec![9, 8, 7, 6])],
    );
    let mut documented = [fixed, extent, b"the log".to_vec()].concat();
    assert_eq!(checksum, Checksum::of(&documented[16..]).0.to_le_bytes());
    documented.resize(documented.len().next_multiple_of(SECTOR_LEN), 0);
    assert_eq!(bytes, documented);
    assert_eq!(Record::decode(&bytes, 2), Ok(record()));
    bytes[20] = 2;
    assert!(Record::decode(&bytes, 2).is_err());
}

#[test]
fn record_flags() {
    let flags_of = |record: Record| u64::from(record.encode(8192)[23]);
    let plain = Record {
        requested_durable: false,
        ..record()
    };
    let in_code = [
        ("REQUESTED_DURABLE", flags_of(record())),
        (
            "CLEAN_CLOSE",
            flags_of(Record {
                clean_close: true,
                ..plain.clone()
            }),
        ),
        (
            "WRITTEN_LEFT_OUT",
            flags_of(Record {
                written: None,
                ..plain.clone()
            }),
        ),
        ("SEALED", seal(&plain.encode(8192))[23].into()),
    ];
    assert_eq!(flags("table: record flags"), in_code.into());
    assert_eq!(flags_of(plain), 0);
}

#[test]
fn features() {
    let known = Features {
        compatible: 0,
        read_only_compatible: NAMED_SNAPSHOTS,
        incompatible: ENCRYPTED | TABLE_KINDS | JOURNAL | PREPARED_TRANSACTION | COMPRESSED,
    };
    assert_eq!(
        KNOWN_FEATURES, known,
        "the document says that no other is known"
    );
    let documented_bits = [
        ["incompatible", "1", "ENCRYPTED"],
        ["incompatible", "2", "TABLE_KINDS"],
        ["incompatible", "4", "JOURNAL"],
        ["incompatible", "8", "PREPARED_TRANSACTION"],
        ["incompatible", "16", "COMPRESSED"],
        ["read-only-compatible", "1", "NAMED_SNAPSHOTS"],
    ];
    let documented = table("table: features");
    assert!(
        documented
            .iter()
            .map(|row| &row[..3])
            .eq(documented_bits.iter().map(|row| &row[..]))
    );
    for (bit, is_known) in [
        (1, true),
        (2, true),
        (4, true),
        (8, true),
        (16, true),
        (32, false),
    ] {
        let mut record = record();
        record.features.incompatible = bit;
        record.compression = u8::from(bit == COMPRESSED);
        let decoded = Record::decode(&record.encode(8192), 2);
        assert_eq!(decoded.is_ok(), is_known, "bit {bit}");
    }
}

#[test]
fn journal() {
    let mut entry = JournalEntry::new(Checksum(u64_of(1).0));
    let (record, mut page) = ([[7; 8], [1; 8]].concat(), vec![0; 32]);
    page[8..24].fill(9);
    entry.put(3, RECORD, &record, Some(&[7; 16]));
    entry.put(0x0102, 0, &page, None);
    let (bytes, checksum) = entry.finish(4096);
    let page_of = |number: u32, source: u32, start: u8, words: &[u8]| {
        let head = assemble(
            "table: journal page",
            &[
                ("page", number.to_le_bytes().to_vec()),
                ("source", source.to_le_bytes().to_vec()),
                ("count of parts", vec![1, 0, 0, 0]),
            ],
        );
        let length = (words.len() / 8) as u8;
        let part = [("start", vec![start, 0]), ("length", vec![length, 0])];
        [head, assemble("table: journal part", &part), words.to_vec()].concat()
    };
    let head = assemble(
        "table: journal entry",
        &[
            ("magic", b"TeakJou\x01".to_vec()),
            ("checksum", checksum.0.to_le_bytes().to_vec()),
            ("length", vec![32 + 12 + 12 + 12 + 20, 0, 0, 0]),
            ("count of pages", vec![2, 0, 0, 0]),
            ("link", u64_of(1).1),
        ],
    );
    let pages = [
        page_of(3, u32::MAX, 1, &[1; 8]),
        page_of(0x0102, 0, 1, &[9; 16]),
    ];
    let mut documented = [head, pages.concat()].concat();
    assert_eq!(Checksum::of(&documented[16..]), checksum);
    documented.resize(4096, 0);
    assert_eq!(bytes, documented);
}
