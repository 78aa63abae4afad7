//! Opening tables does not leak memory.

use super::Transaction;
use crate::{Options, TableDef, api::sealed::Sealed, codec::Str, io::sim::SimDisk, testing};

/// The name of a table that was not found was kept until the database was closed, with a number,
/// and each new snapshot had a slot for every number.
#[test]
fn the_name_of_a_table_that_does_not_exist_is_not_kept() {
    let disk = SimDisk::new(1 << 22);
    let database = testing::open(&disk, &Options::new(), true, [1; 16]).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<Str, Str>("there").unwrap();
    assert!(txn.open_table::<Str, Str>("opened").is_err());
    assert!(
        TableDef::<Str, Str>::new("as it is")
            .open_without_order_check(&txn)
            .is_err()
    );
    assert!(txn.open_multi_table::<Str, Str>("multi").is_err());
    assert!(!txn.drop_table("dropped").unwrap());
    assert!(txn.rename_table("renamed", "new").is_err());
    txn.commit().unwrap();
    let read = database.begin_read().unwrap();
    assert!(read.open_table::<Str, Str>("read").is_err());
    let engine = read.engine();
    for name in [
        "opened", "as it is", "multi", "dropped", "renamed", "new", "read",
    ] {
        assert_eq!(engine.known_handle(name.as_bytes()), None, "{name}");
    }
    assert!(engine.known_handle(b"there").is_some());
}
