//! Checks, copies, and information about a database.

use super::{Fixture, TREES, fixture, table};
use std::{fs, ops::ControlFlow};
use teak::{Database, Error, Transaction};

#[test]
fn check() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.insert(&mut txn, b"pine", b"to be damaged").unwrap();
    txn.commit().unwrap();
    let mut seen = 0;
    let report = database.check(&mut |done| {
        seen = done.pages_done;
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert!(report.is_clean() && seen > 0);
    assert_eq!((report.tables, report.records), (1, 6));
    database.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let found = bytes.windows(13).position(|part| part == b"to be damaged");
    let at = found.unwrap();
    bytes[at] = b'T';
    fs::write(&path, &bytes).unwrap();
    let database = Database::open(&path).unwrap();
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.damages.len(), 1, "{report:?}");
    let damage = &report.damages[0];
    assert_eq!(damage.table.as_deref(), Some(&b"words"[..]));
    assert_eq!(damage.page.unwrap().0, (at / 4096) as u32);
}

#[test]
fn stat_and_info() {
    let Fixture { database, path, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    table(&mut txn, &TREES);
    let transaction = txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let stat = database.stat().unwrap();
    assert_eq!(stat.file_bytes, fs::metadata(path).unwrap().len());
    assert_eq!(
        (stat.page_size, stat.table_count, stat.readers),
        (4096, 1, 1)
    );
    assert_eq!(stat.transaction, transaction);
    assert_eq!(stat.durable_transaction, transaction);
    let sum = stat.used_pages + stat.free_pages + stat.pending_pages;
    assert_eq!(sum, stat.page_count);
    drop(reader);
}

/// To a file, to any writer, and compacted; of a state that changes meanwhile.
#[test]
fn copy() {
    let Fixture { database, path, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    for number in 0..2000u32 {
        words
            .insert(&mut txn, number.to_be_bytes(), [7; 1000])
            .unwrap();
    }
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    words.clear(&mut txn).unwrap();
    txn.commit().unwrap();

    let (exact, dense, empty) = (
        path.with_file_name("exact"),
        path.with_file_name("dense"),
        path.with_file_name("empty"),
    );
    let mut bytes = Vec::new();
    reader
        .write_backup(&mut bytes, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    fs::write(&exact, bytes).unwrap();
    reader
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    database
        .backup(&empty, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    for (copy, records) in [(&exact, 2005), (&dense, 2005), (&empty, 0)] {
        let copy = Database::open(copy).unwrap();
        assert_eq!(words.len(&copy.begin_read().unwrap()).unwrap(), records);
        assert!(
            copy.check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
    let there = database.backup(&exact, None, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(there, Err(Error::AlreadyExists(_))));
    let ended = database.backup(path.with_file_name("ended"), None, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(matches!(ended, Err(Error::Cancelled { path: Some(_), .. })));
    assert!(!path.with_file_name("ended").exists());
}

/// Errors describe the problem and the remedy.
#[test]
fn errors() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let long = words.insert(&mut txn, [7; 4000], b"").unwrap_err();
    assert!(long.to_string().contains("3840"), "{long}");
    let missing = txn.open_table::<teak::codec::Str, teak::codec::Str>("wrods");
    let missing = missing.unwrap_err().to_string();
    assert!(missing.contains("wrods"), "{missing}");
}
