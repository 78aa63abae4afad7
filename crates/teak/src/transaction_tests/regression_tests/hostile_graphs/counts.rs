//! Trees that claim more records than they have.

use super::{Forger, Pairs, is_damage, multi_root, open, with_table};
use crate::{
    SeekOp, Transaction,
    btree::TreeRoot,
    page::value::{StoredValue, ValueKind},
};

/// Each nested tree may claim 2^48 values, so the steps between two pairs could exceed 63 bits: the
/// distance was wrong, or its computation panicked.
#[test]
fn a_distance_of_more_steps_than_the_table_has_records_is_damage() {
    let keys: Vec<_> = (0..30_u32).map(u32::to_be_bytes).collect();
    let disk = with_table(|txn| {
        let mut forger = Forger::new(txn, multi_root().nested());
        let nested = TreeRoot {
            records: 1 << 48,
            ..forger.shared(1)
        };
        forger.root = multi_root();
        let bytes = nested.encode();
        let value = StoredValue {
            kind: ValueKind::Tree,
            bytes: &bytes,
        };
        let leaf = forger.leaf(keys.iter().map(|key| (&key[..], value)));
        TreeRoot {
            page: leaf.page,
            checksum: leaf.checksum,
            depth: 1,
            records: 1 << 48,
            leaf_pages: 2,
            ..multi_root()
        }
    });
    let database = open(&disk);
    let txn = database.begin_read().unwrap();
    let table: Pairs = txn.open_multi_table("a").unwrap();
    let mut cursors = [0, 1, 29].map(|index| {
        let mut cursor = table.cursor(&txn).unwrap();
        assert!(cursor.seek(SeekOp::Equal, &keys[index]).unwrap());
        cursor
    });
    let [first, second, last] = &mut cursors;
    assert_eq!(first.distance(second).unwrap(), 1 << 48);
    assert!(is_damage(&first.distance(last)));
    assert!(is_damage(&last.distance(first)));
}
