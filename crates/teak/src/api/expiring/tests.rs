//! Indexes and records that do not agree, as a damaged or forged file may have them: every
//! operation returns an error or ends, the check finds each, and a salvage repairs it.

use super::{ExpiringTable, Expiry, ExpiryOptions};
use crate::{
    Database, Error, Options, Result, Transaction, WriteTxn,
    api::sealed::Sealed as _,
    btree::insert::Existing,
    page::{
        stamp::{ExpirySettings, NEVER, SETTINGS_KEY, Stamp},
        value::StoredValue,
    },
    write::expiring::ExpiringNames,
};
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

type Cache = ExpiringTable<u32, u64>;

/// One of the two trees.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Of {
    Records,
    Index,
}

/// A record or entry that is written, or removed if it has no value.
type Forgery = (Of, Vec<u8>, Option<Vec<u8>>);

const EXPIRES_MS: u64 = 1000;

fn stamp(number: u64) -> Stamp {
    Stamp {
        expires_ms: EXPIRES_MS,
        number,
    }
}

/// A table with three records, the first of which expires.
fn filled() -> (tempfile::TempDir, Database, Cache) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = Options::new().clock(|| SystemTime::UNIX_EPOCH + Duration::from_millis(999));
    let database = options.open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let limits = ExpiryOptions::new().max_records(3);
    let cache: Cache = txn.create_expiring_table("cache", &limits).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(EXPIRES_MS);
    cache.insert_with_expiry(&mut txn, 0, 10, at).unwrap();
    cache.insert(&mut txn, 1, 11).unwrap();
    cache.insert(&mut txn, 2, 12).unwrap();
    txn.commit().unwrap();
    (directory, database, cache)
}

fn forge(txn: &mut WriteTxn, (of, key, value): &Forgery) {
    let table = ExpiringNames::new(txn.engine(), b"cache");
    let (handle, name) = match of {
        Of::Records => &table.records,
        Of::Index => &table.index,
    };
    let changed = txn
        .whole_mut()
        .unwrap()
        .change(*handle, name, |tree| match value {
            Some(value) => {
                let value = StoredValue::inline(value);
                tree.insert(key, value, Existing::Replace).map(drop)
            }
            None => tree.remove(key).map(drop),
        });
    changed.unwrap();
}

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn forgeries() -> Vec<(&'static str, Forgery)> {
    let time = |stamp: Stamp| stamp.time_key().unwrap().to_vec();
    let age = |number| stamp(number).age_key().to_vec();
    let never = Stamp {
        expires_ms: NEVER,
        number: 0,
    };
    let index = |key: Vec<u8>, value: Option<Vec<u8>>| (Of::Index, key, value);
    let record = |number, value: Vec<u8>| (Of::Records, key(number), Some(value));
    vec![
        ("no entry by time", index(time(stamp(0)), None)),
        ("no entry by age", index(age(1), None)),
        (
            "an entry of another key",
            index(time(stamp(0)), Some(key(1))),
        ),
        ("an entry of no key", index(age(9), Some(key(77)))),
        (
            "an entry before all",
            index(
                time(Stamp {
                    expires_ms: 0,
                    number: 0,
                }),
                Some(key(0)),
            ),
        ),
        ("a short entry", index(vec![1, 0], Some(key(0)))),
        ("a short age", index(vec![2], Some(key(0)))),
        ("no settings", index(SETTINGS_KEY.to_vec(), None)),
        (
            "short settings",
            index(SETTINGS_KEY.to_vec(), Some(vec![1; 8])),
        ),
        (
            "settings without limits",
            index(
                SETTINGS_KEY.to_vec(),
                Some(ExpirySettings::default().encode().to_vec()),
            ),
        ),
        ("no stamp", record(1, vec![1; 15])),
        ("another stamp", record(0, never.join(&[0; 8]))),
        (
            "a number that was not drawn",
            record(1, stamp(u64::MAX).join(&[0; 8])),
        ),
        (
            "a longer value",
            record(
                1,
                Stamp {
                    expires_ms: NEVER,
                    number: 1,
                }
                .join(&[0; 9]),
            ),
        ),
        (
            "a record without entries",
            record(9, stamp(2).join(&[0; 8])),
        ),
    ]
}

/// Everything that can be done with a table. Each may fail, only not by a panic.
fn use_everything(database: &Database, cache: &Cache) -> Vec<Error> {
    let reading = |errors: &mut Vec<Error>| -> Result<()> {
        let txn = database.begin_read()?;
        for number in 0..10 {
            errors.extend(cache.get_with_expiry(&txn, number).err());
        }
        errors.extend(cache.iter(&txn)?.filter_map(Result::err));
        errors.extend(cache.iter(&txn)?.rev().filter_map(Result::err));
        errors.extend(cache.len(&txn).err());
        errors.extend(cache.stat(&txn).err());
        errors.extend(cache.options(&txn).err());
        Ok(())
    };
    let mut errors = Vec::new();
    reading(&mut errors).unwrap();
    type Change = fn(&Cache, &mut WriteTxn, u32) -> Result<()>;
    let changes: [Change; 9] = [
        |cache, txn, number| cache.insert(txn, number, 1),
        |cache, txn, number| cache.insert_new(txn, number, 1, Expiry::Never).map(drop),
        |cache, txn, number| cache.set_expiry(txn, number, Duration::ZERO).map(drop),
        |cache, txn, number| cache.remove(txn, number).map(drop),
        |cache, txn, _| cache.remove_expired(txn, u64::MAX).map(drop),
        |cache, txn, _| cache.set_max_records(txn, Some(1)),
        |cache, txn, _| cache.set_max_records(txn, None),
        |cache, txn, _| cache.set_max_bytes(txn, Some(20)),
        |cache, txn, _| cache.clear(txn).map(drop),
    ];
    for change in changes {
        for number in [0, 1, 9] {
            let mut txn = database.begin_write().unwrap();
            match change(cache, &mut txn, number) {
                // Half a change is never committed.
                Err(error) => {
                    let committed = txn.commit();
                    let is_refused = matches!(committed, Err(Error::TransactionBroken));
                    assert!(is_refused || committed.is_ok(), "{error}: {committed:?}");
                    errors.push(error);
                }
                Ok(()) => txn.abort(),
            }
        }
    }
    errors
}

#[test]
fn forged_indexes_and_stamps_give_errors_and_are_found() {
    for (name, forgery) in forgeries() {
        let (directory, database, cache) = filled();
        let mut txn = database.begin_write().unwrap();
        forge(&mut txn, &forgery);
        txn.commit().unwrap();
        let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(!report.is_clean(), "{name}");
        for error in use_everything(&database, &cache) {
            let is_expected = matches!(error, Error::Corrupted { .. } | Error::Decode { .. });
            assert!(is_expected, "{name}: {error:?}");
        }
        // A commit that changes another table is made all the same.
        let mut txn = database.begin_write().unwrap();
        let other = txn.create_table::<u32, u32>("other").unwrap();
        other.insert(&mut txn, 1, 1).unwrap();
        txn.commit().unwrap();
        let path = database.path().to_path_buf();
        database.close().unwrap();
        let saved = directory.path().join("saved.teak");
        crate::salvage(path, &saved, &[], &mut |_| ControlFlow::Continue(())).unwrap();
        let database = Database::open(&saved).unwrap();
        let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.is_clean(), "{name}: {report:?}");
        let txn = database.begin_read().unwrap();
        let cache: Cache = txn.open_expiring_table("cache").unwrap();
        assert_eq!(cache.get(&txn, 2).unwrap(), Some(12), "{name}");
    }
}

#[test]
fn a_damaged_table_does_not_stop_the_removal_in_others() {
    let directory = tempfile::tempdir().unwrap();
    let now_ms = Arc::new(AtomicU64::new(EXPIRES_MS - 1));
    let clock = Arc::clone(&now_ms);
    let time = move || SystemTime::UNIX_EPOCH + Duration::from_millis(clock.load(Relaxed));
    let options = Options::new().clock(time);
    let database = options.open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(EXPIRES_MS);
    let [_, later] = ["cache", "later"].map(|name| {
        let table: Cache = txn
            .create_expiring_table(name, &ExpiryOptions::new())
            .unwrap();
        for number in 0..10 {
            table.insert_with_expiry(&mut txn, number, 1, at).unwrap();
        }
        table
    });
    // Its index has an entry without a record.
    forge(&mut txn, &(Of::Records, key(3), None));
    txn.commit().unwrap();
    now_ms.store(EXPIRES_MS, Relaxed);
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<u32, u32>("other").unwrap();
    txn.commit().unwrap();
    let stat = later.stat(&database.begin_read().unwrap()).unwrap();
    assert_eq!((stat.removed_expired, stat.expired), (10, 0));
}

#[test]
fn a_salvage_reports_that_the_settings_of_a_table_are_lost() {
    let salvaged = |lose: &dyn Fn(&mut WriteTxn)| {
        let (directory, database, _) = filled();
        let mut txn = database.begin_write().unwrap();
        lose(&mut txn);
        txn.set_marks([1, 2, 3]).unwrap();
        txn.commit().unwrap();
        let path = database.path().to_path_buf();
        database.close().unwrap();
        let saved = directory.path().join("saved.teak");
        let go_on = &mut |_| ControlFlow::Continue(());
        crate::salvage(path, &saved, &[], go_on).unwrap()
    };
    assert!(salvaged(&|_| ()).is_complete());
    let no_settings = salvaged(&|txn| forge(txn, &(Of::Index, SETTINGS_KEY.to_vec(), None)));
    let no_index = salvaged(&|txn| {
        let index = ExpiringNames::new(txn.engine(), b"cache").index.1;
        let whole = txn.whole_mut().unwrap();
        let removed =
            whole.change_catalog(|pages, root| crate::read::catalog::remove(pages, root, &index));
        assert!(removed.unwrap());
    });
    for report in [no_settings, no_index] {
        assert!(!report.is_complete());
        let table = &report.tables[0];
        assert_eq!((table.records, table.losses.len()), (3, 1), "{report}");
        assert!(table.losses[0].detail.contains("settings"), "{report}");
    }
}

/// A table whose index is missing, or an index whose table is.
#[test]
fn half_a_table_is_found() {
    for of in [Of::Records, Of::Index] {
        let (_directory, database, cache) = filled();
        let mut txn = database.begin_write().unwrap();
        let table = ExpiringNames::new(txn.engine(), b"cache");
        let whole = txn.whole_mut().unwrap();
        let catalog = match of {
            Of::Records => table.records,
            Of::Index => table.index,
        };
        let removed = whole
            .change_catalog(|pages, root| crate::read::catalog::remove(pages, root, &catalog.1));
        assert!(removed.unwrap());
        txn.set_marks([1, 2, 3]).unwrap();
        txn.commit().unwrap();
        let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(!report.is_clean(), "{of:?}");
        drop(use_everything_loosely(&database, &cache));
    }
}

fn use_everything_loosely(database: &Database, cache: &Cache) -> Result<()> {
    let txn = database.begin_read()?;
    drop((cache.get(&txn, 0), cache.len(&txn), cache.stat(&txn)));
    drop(txn);
    let mut txn = database.begin_write()?;
    drop(cache.insert(&mut txn, 5, 5));
    txn.abort();
    let mut txn = database.begin_write()?;
    let other = txn.create_table::<u32, u32>("other")?;
    other.insert(&mut txn, 1, 1)?;
    txn.commit().map(drop)
}
