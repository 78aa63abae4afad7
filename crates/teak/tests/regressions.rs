//! Past bugs, each with a small test that describes the bug. Tests that need internals are next to
//! the code that they concern.

use std::ops::ControlFlow;
use teak::{
    Database, Error, KeyOrder, Options, SeekOp, TableDef, TableOptions, Transaction, codec::Bytes,
};

/// A handle identified its table by a number of its own database. Used with another database, or
/// with a reopened one, it read and changed whatever table had that number there.
#[test]
fn a_handle_of_another_database_is_the_table_of_that_name() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("first.teak");
    let first = Database::open(&path)?;
    let mut txn = first.begin_write()?;
    let coins = txn.create_table::<Bytes, Bytes>("coins")?;
    coins.insert(&mut txn, b"key", b"coin")?;
    txn.create_table::<Bytes, Bytes>("blocks")?;
    txn.commit()?;
    first.close()?;

    let again = Database::open(&path)?;
    let mut txn = again.begin_write()?;
    let blocks = txn.open_table::<Bytes, Bytes>("blocks")?;
    blocks.insert(&mut txn, b"key", b"block")?;
    assert_eq!(coins.get(&txn, b"key")?, Some(&b"coin"[..]));
    assert!(coins.remove(&mut txn, b"key")?);
    assert_eq!(blocks.len(&txn)?, 1);
    txn.commit()?;

    let second = Database::open(directory.path().join("second.teak"))?;
    let mut txn = second.begin_write()?;
    txn.create_table::<Bytes, Bytes>("others")?;
    assert!(matches!(
        coins.get(&txn, b"key"),
        Err(Error::TableNotFound(_))
    ));
    assert!(matches!(
        coins.insert(&mut txn, b"a", b"b"),
        Err(Error::TableNotFound(_))
    ));
    Ok(())
}

/// Savepoints were numbered by their transaction, so that one of an earlier transaction was
/// accepted as one of the present transaction.
#[test]
fn a_savepoint_of_another_transaction_is_refused() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = Database::open(directory.path().join("a.teak"))?;
    let mut txn = database.begin_write()?;
    let other = txn.savepoint()?;
    txn.abort();
    let mut txn = database.begin_write()?;
    let own = txn.savepoint()?;
    txn.create_table::<Bytes, Bytes>("coins")?;
    assert!(matches!(
        txn.rollback_to(&other),
        Err(Error::InvalidArgument(_))
    ));
    assert!(txn.open_table::<Bytes, Bytes>("coins").is_ok());
    txn.rollback_to(&own)?;
    assert!(matches!(txn.release(other), Err(Error::InvalidArgument(_))));
    Ok(())
}

/// Integer bounds of another length than the keys were compared by their upper half, and removing a
/// range up to 5 removed everything.
#[test]
fn bounds_are_integers_of_the_length_of_the_keys() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = Database::open(directory.path().join("a.teak"))?;
    let mut txn = database.begin_write()?;
    let options = TableOptions::new().order(KeyOrder::Integer);
    let table = TableDef::<Bytes, Bytes>::new("integers")
        .options(options)
        .create(&mut txn)?;
    assert_eq!(
        table.range(..=&[5; 8][..]).remove(&mut txn)?,
        0,
        "an empty table has no length"
    );
    for i in 0..100u32 {
        table.insert(&mut txn, i.to_le_bytes(), b"value")?;
    }
    let (short, long) = (5u32.to_le_bytes(), 5u64.to_le_bytes());
    let removed = table.range(..&long[..]).remove(&mut txn);
    assert!(matches!(removed, Err(Error::InvalidArgument(_))));
    assert!(matches!(
        table.range(&long[..]..).iter(&txn),
        Err(Error::InvalidArgument(_))
    ));
    assert!(matches!(
        table.cursor(&txn)?.seek(SeekOp::GreaterOrEqual, &long),
        Err(Error::InvalidArgument(_))
    ));
    assert_eq!(table.get(&txn, long)?, None);
    assert!(!table.remove(&mut txn, long)?);
    assert_eq!(table.range(..&short[..]).remove(&mut txn)?, 5);
    assert_eq!(table.len(&txn)?, 95);
    Ok(())
}

/// A transaction allocates pages in extents. Near the size limit, a large value was refused
/// although it would have fitted into the rest of the extent.
#[test]
fn a_value_may_have_the_last_pages_below_the_limit() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = Options::new().size_limit_bytes(Some(24 * 4096));
    let database = options.open(directory.path().join("a.teak"))?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Bytes, Bytes>("values")?;
    table.insert(&mut txn, b"small", b"value")?;
    table.insert(&mut txn, b"large", [1; 15 * 4096])?;
    txn.commit()?;
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    let mut txn = database.begin_write()?;
    let full = table.insert(&mut txn, b"more", [1; 15 * 4096]);
    assert!(matches!(full, Err(Error::Full { .. })));
    Ok(())
}

/// The size limit stored in a file was documented as removed when it is opened without one.
#[test]
fn a_size_limit_is_kept_until_it_is_removed() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.teak");
    let fill = |limit: Option<u64>| {
        let database = Options::new().size_limit_bytes(limit).open(&path)?;
        let mut txn = database.begin_write()?;
        let table = txn.create_table::<Bytes, Bytes>("values")?;
        table.insert(&mut txn, b"large", [1; 30 * 4096])?;
        txn.commit()?;
        database.close()
    };
    for limit in [Some(24 * 4096), None] {
        let database = Options::new().size_limit_bytes(limit).open(&path)?;
        let mut txn = database.begin_write()?;
        txn.create_table::<Bytes, Bytes>(if limit.is_some() { "first" } else { "second" })?;
        txn.commit()?;
        database.close()?;
        assert!(matches!(fill(None), Err(Error::Full { .. })));
    }
    fill(Some(u64::MAX))?;
    let database = Options::new().open(&path)?;
    let mut txn = database.begin_write()?;
    let table = txn.open_table::<Bytes, Bytes>("values")?;
    table.insert(&mut txn, b"another", [1; 60 * 4096])?;
    txn.commit().map(drop)
}

/// A transaction that needed an extent of pages failed with a full database although single pages
/// were left below the limit.
#[test]
fn every_page_below_the_limit_is_used() -> teak::Result<()> {
    for pages in 12..40u64 {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = Options::new().size_limit_bytes(Some(pages * 4096));
        let database = options.open(directory.path().join("a.teak"))?;
        let mut txn = database.begin_write()?;
        let table = txn.create_table::<Bytes, Bytes>("values")?;
        let full = (0..1000u32)
            .map(|i| table.insert(&mut txn, i.to_be_bytes(), [7; 1900]))
            .find_map(Result::err);
        assert!(matches!(full, Some(Error::Full { .. })), "{full:?}");
        let inserted = table.len(&txn)?;
        assert!(
            2 * (pages - 9) <= inserted,
            "{inserted} records, limit {pages}"
        );
    }
    Ok(())
}

/// Runs `work` and returns whether it panicked, like a thread of the caller might.
fn panics(work: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| scope.spawn(work).join().is_err())
}

/// A panic in the iterator of records, or in a nested transaction, left a half-done change in the
/// transaction, which could then be committed.
#[test]
fn changes_interrupted_by_a_panic_are_not_committed() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = teak::Database::open(directory.path().join("a.teak"))?;
    let record = |i: u32| (i.to_be_bytes(), [7; 100]);
    for first in [0, 50] {
        let mut txn = database.begin_write()?;
        let table = txn.create_table::<Bytes, Bytes>("values")?;
        table.bulk_load(&mut txn, (0..first).map(record))?;
        let panicking = (first..).map(|i| {
            if i < 4000 {
                record(i)
            } else {
                panic!("expected")
            }
        });
        assert!(panics(|| drop(table.bulk_load(&mut txn, panicking))));
        assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    }
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Bytes, Bytes>("values")?;
    let nested = || {
        let _ = txn.nested(|txn| -> teak::Result<()> {
            table.insert(txn, b"half", b"done")?;
            panic!("expected")
        });
    };
    assert!(panics(nested));
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    Ok(())
}

#[test]
fn a_batch_with_an_invalid_key_is_refused_completely() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let database = Database::open(directory.path().join("x.teak"))?;
    let mut txn = database.begin_write()?;
    let bytes = txn.create_table::<Bytes, Bytes>("bytes")?;
    let long = vec![0; database.info().max_key_len + 1];
    let refused = bytes.insert_many(&mut txn, &[(&b"a"[..], b""), (&long, b"")]);
    assert!(matches!(refused, Err(Error::KeyTooLong { .. })));
    let options = TableOptions::new().order(KeyOrder::Integer);
    let integers = TableDef::<Bytes, Bytes>::new("integers")
        .options(options)
        .create(&mut txn)?;
    let refused = integers.insert_many(&mut txn, &[(&[1; 4][..], b""), (&[1; 8][..], b"")]);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    assert!(bytes.is_empty(&txn)? && integers.is_empty(&txn)?);
    let none: [(&[u8], &[u8]); 0] = [];
    assert_eq!(bytes.insert_many(&mut txn, &none)?, 0);
    assert_eq!(bytes.insert_many(&mut txn, &[(b"a", b"")])?, 1);
    txn.commit()?;
    Ok(())
}
