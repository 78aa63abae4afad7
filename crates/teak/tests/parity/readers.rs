//! Long-lived readers.

use super::{Fixture, TREES, fixture, table};
use crate::processes::Other;
use teak::{Error, SlowReaderChoice, codec::Bytes};

/// Each reader with all known details. A dead one disappears from the list automatically.
#[test]
fn reader_table() {
    let Fixture { database, path, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    table(&mut txn, &TREES);
    let first = txn.commit().unwrap();
    let own = database.begin_read().unwrap();
    let mut other = Other::start(path);
    assert_eq!(other.ask("open"), "Joined");
    assert_eq!(other.ask("begin-read"), first.to_string());
    let readers = database.readers().unwrap();
    let processes: Vec<_> = readers.iter().map(|reader| reader.process).collect();
    assert_eq!(readers.len(), 2);
    assert!(processes.contains(&Some(std::process::id())));
    assert!(processes.contains(&Some(other.id())));
    assert!(readers.iter().all(|reader| reader.transaction == first));
    other.kill();
    drop(own);
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<Bytes, Bytes>("more").unwrap();
    txn.commit().unwrap();
    while !database.readers().unwrap().is_empty() {
        database.begin_write().unwrap().abort();
    }
}

/// A lost state is an error only for its reader.
#[test]
fn snapshot_that_is_gone() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let reader = txn.info().unwrap();
    assert!(database.cancel_reader(&reader).unwrap());
    let lost = words.get(&txn, b"ash");
    assert!(matches!(lost, Err(Error::SnapshotLost)));
    assert!(matches!(txn.park(), Err(Error::SnapshotLost)));
    assert!(!database.cancel_reader(&reader).unwrap(), "it has ended");
    let txn = database.begin_read().unwrap();
    assert!(words.contains_key(&txn, b"ash").unwrap());
}

/// All possible reactions to a slow reader.
#[test]
fn slow_reader_choices() {
    let all = [
        SlowReaderChoice::Wait,
        SlowReaderChoice::Cancel,
        SlowReaderChoice::Grow,
        SlowReaderChoice::GiveUp,
    ];
    for choice in all {
        let Fixture {
            database,
            path,
            _directory,
        } = fixture();
        database.close().unwrap();
        let options = teak::Options::new().on_slow_reader(move |slow| match slow.asked {
            0..3 => choice,
            _ => SlowReaderChoice::Grow,
        });
        let database = options.open(&path).unwrap();
        let fill = |byte: u8| {
            let mut txn = database.begin_write()?;
            let words = txn.create_table::<Bytes, Bytes>("words")?;
            for number in 0..2000u32 {
                words.insert(&mut txn, number.to_be_bytes(), [byte; 1000])?;
            }
            txn.commit()
        };
        fill(1).unwrap();
        let reader = database.begin_read().unwrap();
        fill(2).unwrap();
        let filled = fill(3);
        let is_refused = matches!(filled, Err(Error::HeldByReader { .. }));
        assert_eq!(is_refused, choice == SlowReaderChoice::GiveUp, "{choice:?}");
        let is_cancelled = reader.info().unwrap().is_cancelled;
        assert_eq!(is_cancelled, choice == SlowReaderChoice::Cancel);
    }
}
