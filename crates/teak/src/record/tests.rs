use super::{
    probe::{PROBE_LEN, find_page_size},
    *,
};
use crate::{PageNumber, alloc::ArrayRoot};
use proptest::prelude::*;

fn root(seed: u32) -> ArrayRoot {
    ArrayRoot {
        page: PageNumber(seed),
        info: 7,
        checksum: Checksum(99),
        depth: 1,
        count: 30,
    }
}

fn record(written: Option<Vec<Extent>>, space_log: Vec<u8>) -> Record {
    Record {
        slot: 2,
        features: Features {
            compatible: 1,
            read_only_compatible: 2,
            incompatible: 0,
        },
        page_size: 4096,
        reserved_per_page: 0,
        database_id: *b"a database's id.",
        boot_id: *b"id of this boot.",
        sequence: 1_000,
        transaction: TransactionId(900),
        flushed_transaction: TransactionId(890),
        time_ms: 1_700_000_000_000,
        requested_durable: true,
        clean_close: false,
        default_durability: 2,
        compression: 0,
        page_count: 5_000,
        geometry: Geometry {
            lower_limit_bytes: 1,
            upper_limit_bytes: u64::MAX,
            growth_step_bytes: 3,
            shrink_threshold_bytes: 4,
        },
        catalog_root: std::array::from_fn(|index| index as u8),
        snapshots_root: [7; TREE_ROOT_LEN],
        marks: RecordMarks {
            values: [1, 2, 3],
            transaction: TransactionId(880),
        },
        space_roots: SpaceRoots {
            bitmaps: root(10),
            deaths: root(11),
        },
        flush_limits: FlushLimits {
            bytes: 70,
            age: Duration::MAX,
        },
        journal: None,
        acknowledged: TransactionId(0),
        log_end: Checksum(0),
        written,
        space_log,
    }
}

/// Sets the correct checksum.
fn seal(bytes: &mut [u8]) {
    let length = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let checksum = Checksum::of(&bytes[16..length]);
    bytes[8..16].copy_from_slice(&checksum.0.to_le_bytes());
}

#[test]
fn fields_are_at_the_documented_offsets() {
    let bytes = record(Some(vec![Extent::new(20, 5)]), vec![0xaa; 100]).encode(4096);
    assert_eq!(bytes.len(), 1024);
    let number = |at: usize, len: usize| {
        bytes[at..at + len]
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let table = [
        (16, 4, 432 + 8 + 100),
        (20, 2, 1),
        (22, 1, 2),
        (23, 1, 1),
        (24, 4, 1),
        (28, 4, 2),
        (36, 4, 4096),
        (42, 1, 2),
        (44, 4, 1),
        (48, 4, 100),
        (88, 8, 1000),
        (96, 8, 900),
        (104, 8, 890),
        (112, 8, 1_700_000_000_000),
        (120, 8, 5000),
        (136, 8, u64::MAX),
        (152, 8, 4),
        (304, 8, 3),
        (312, 8, 880),
        (320, 4, 10),
        (328, 8, 99),
        (336, 4, 30),
        (340, 1, 1),
        (344, 4, 11),
        (368, 8, 70),
        (376, 8, u64::MAX),
        (384, 8, 0),
        (432, 4, 20),
        (436, 4, 5),
        (440, 1, 0xaa),
    ];
    for (offset, len, value) in table {
        assert_eq!(number(offset, len), value, "at {offset}");
    }
    assert_eq!(&bytes[..8], b"TeakRec\x01");
    assert_eq!(&bytes[56..72], b"a database's id.");
    assert_eq!(&bytes[72..88], b"id of this boot.");
    assert_eq!(bytes[160..224], record(None, vec![]).catalog_root);
    assert_eq!(bytes[224..288], [7; 64]);
}

#[test]
fn a_full_record_fills_its_page() {
    let room = Record::log_room(4096, 10);
    let extents = (4..14).map(|page| Extent::new(page, 1)).collect();
    let full = record(Some(extents), vec![1; room]);
    let bytes = full.encode(4096);
    assert_eq!(bytes.len(), 4096);
    assert_eq!(Record::decode(&bytes, 2), Ok(full));
}

/// A record that was read from shared memory may be followed by its caller's bytes. One that is
/// longer than a page cannot be encoded again.
#[test]
fn a_record_longer_than_its_page_is_refused() {
    let room = Record::log_room(4096, 0);
    let decode = |log_len: usize| {
        let record = record(None, vec![1; log_len]);
        Record::decode(&record.encode(65_536), record.slot)
    };
    assert!(decode(room).is_ok());
    for log_len in [room + 1, 8_000, 60_000] {
        assert!(
            matches!(decode(log_len), Err(RecordFault::Inconsistent(_))),
            "{log_len}"
        );
    }
}

#[test]
fn faults_are_distinguished() {
    let bytes = record(None, vec![5; 10]).encode(4096);
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        seal(&mut bytes);
        Record::decode(&bytes, 2).unwrap_err()
    };
    assert_eq!(
        Record::decode(&bytes[..100], 2),
        Err(RecordFault::NotARecord)
    );
    assert_eq!(Record::decode(&[0; 512], 2), Err(RecordFault::NotARecord));
    assert_eq!(Record::decode(&bytes, 1), Err(RecordFault::WrongSlot(2)));
    assert_eq!(changed(20, 9), RecordFault::UnknownVersion(9));
    assert_eq!(changed(32, 32), RecordFault::UnknownFeatures(32));
    assert!(
        matches!(changed(32, 16), RecordFault::Inconsistent(_)),
        "a feature without its field"
    );
    assert!(
        matches!(changed(37, 0), RecordFault::Inconsistent(_)),
        "page size"
    );
    assert!(
        matches!(changed(44, 1), RecordFault::Inconsistent(_)),
        "count of extents"
    );
    assert!(
        matches!(changed(104, 0xff), RecordFault::Inconsistent(_)),
        "flushed transaction"
    );
    // The next number would not be valid.
    for field in [95, 103] {
        assert!(
            matches!(changed(field, 0xff), RecordFault::Inconsistent(_)),
            "sequence and transaction"
        );
    }
    assert!(
        matches!(changed(323, 1), RecordFault::Inconsistent(_)),
        "root of the bitmaps"
    );
    let mut torn = bytes;
    torn[435] ^= 1;
    assert_eq!(Record::decode(&torn, 2), Err(RecordFault::Damaged));
}

#[test]
fn a_written_extent_is_inside_the_file() {
    for extent in [
        Extent::new(4999, 2),
        Extent::new(3, 1),
        Extent::new(9, 0),
        Extent::new(u32::MAX, 9),
    ] {
        let bytes = record(Some(vec![extent]), vec![]).encode(4096);
        assert!(
            matches!(Record::decode(&bytes, 2), Err(RecordFault::Inconsistent(_))),
            "{extent:?}"
        );
    }
}

/// Recovery searches the list for a page by bisection. In an unsorted list it missed pages, and
/// treated them as old ones that need no check.
#[test]
fn written_extents_are_sorted_and_disjoint() {
    let decode =
        |extents: Vec<Extent>| Record::decode(&record(Some(extents), vec![]).encode(4096), 2);
    let extents = vec![Extent::new(20, 5), Extent::new(25, 1), Extent::new(30, 2)];
    assert!(decode(extents.clone()).is_ok());
    for pair in [[20, 5, 24, 1], [20, 5, 20, 5], [30, 2, 20, 5]] {
        let [first, len, second, other_len] = pair;
        let extents = vec![Extent::new(first, len), Extent::new(second, other_len)];
        assert!(
            matches!(decode(extents), Err(RecordFault::Inconsistent(_))),
            "{pair:?}"
        );
    }
}

#[test]
fn the_page_size_is_found_from_any_slot() {
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        for slot in 0..SLOT_COUNT {
            let record = Record {
                slot,
                page_size,
                ..record(None, vec![1, 2, 3])
            };
            let mut head = vec![0; PROBE_LEN];
            let at = usize::from(slot) * page_size as usize;
            let bytes = record.encode(page_size as usize);
            head[at..at + bytes.len()].copy_from_slice(&bytes);
            assert_eq!(find_page_size(&head), Ok(page_size));
            head[at + 200] ^= 1;
            assert_eq!(find_page_size(&head), Err(RecordFault::Damaged));
        }
    }
    assert_eq!(find_page_size(b"short"), Err(RecordFault::NotARecord));
}

proptest! {
    #[test]
    fn records_survive_a_round_trip(
        extents in prop::option::of(prop::collection::vec((0..40u32, 1..40u32), 0..50)),
        log in prop::collection::vec(any::<u8>(), 0..1_000),
        clean_close in any::<bool>(),
    ) {
        let extents = extents.map(|extents| {
            let mut end = FIRST_PAGE;
            let placed = extents.into_iter().map(|(gap, len)| {
                end += gap + len;
                Extent::new(end - len, len)
            });
            placed.collect()
        });
        let record = Record { clean_close, ..record(extents, log) };
        prop_assert_eq!(Record::decode(&record.encode(4096), 2), Ok(record));
    }

    #[test]
    fn no_bytes_make_it_panic(
        changes in prop::collection::vec((0..1024usize, any::<u8>()), 0..20),
        cut in 0..1100usize,
        sealed in any::<bool>(),
    ) {
        let mut bytes = record(Some(vec![Extent::new(20, 5); 9]), vec![3; 200]).encode(4096);
        for (at, value) in changes {
            let len = bytes.len();
            bytes[at % len] = value;
        }
        bytes[16..20].copy_from_slice(&704u32.to_le_bytes());
        if sealed {
            seal(&mut bytes);
        }
        bytes.truncate(cut);
        let _ = Record::decode(&bytes, 2);
        let _ = find_page_size(&bytes);
    }
}
