//! What went wrong once, each as a small test that says what happened. Those that need a look
//! inside stand beside the code that they concern.

use teak::{Database, Error, Transaction, codec::Bytes};

/// A handle knew its table by a number that its own database had given it. Used with another one,
/// or with the same one opened again, it read and changed whatever table had that number there.
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

/// Savepoints were numbered by their transaction, so that one of an earlier transaction passed for
/// one of the present.
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
