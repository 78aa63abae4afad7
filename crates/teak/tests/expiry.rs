//! Tables whose records expire.

use crate::shared::temporary_path;
use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use teak::{
    CheckReport, Comparison, Database, Difference, Durability, Error, ExpiringDifference,
    ExpiringTable, Expiry, ExpiryOptions, KeyOrder, Options, ReadTxn, TableDef, TableOptions,
    Transaction, WriteTxn,
};
use tempfile::TempDir;

/// A clock in milliseconds that only tests move.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub(crate) fn set(&self, ms: u64) {
        self.0.store(ms, Relaxed);
    }

    pub(crate) fn open(&self, path: &Path) -> Database {
        let clock = self.clone();
        let options = Options::new().clock(move || at(clock.0.load(Relaxed)));
        options.open(path).unwrap()
    }
}

/// So many milliseconds after 1970.
pub(crate) fn at(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type Sessions = ExpiringTable<u32, u64>;

/// A database with an empty table, at moment 1000.
fn with_options(options: &ExpiryOptions) -> (TempDir, TestClock, Database, Sessions) {
    let (directory, path) = temporary_path();
    let clock = TestClock::default();
    clock.set(1000);
    let database = clock.open(&path);
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_expiring_table("sessions", options).unwrap();
    txn.commit().unwrap();
    (directory, clock, database, table)
}

fn change<R>(database: &Database, change: impl FnOnce(&mut WriteTxn) -> R) -> R {
    let mut txn = database.begin_write().unwrap();
    let result = change(&mut txn);
    txn.commit().unwrap();
    result
}

fn keys(table: &Sessions, txn: &impl Transaction) -> Vec<u32> {
    let records = table.iter(txn).unwrap();
    records.map(|record| record.unwrap().0).collect()
}

fn check(database: &Database) -> CheckReport {
    database.check(&mut |_| ControlFlow::Continue(())).unwrap()
}

pub(crate) fn assert_sound(database: &Database) {
    let report = check(database);
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn expired_records_are_invisible_to_all_reads() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| {
        for key in [1, 3, 5, 7, 9] {
            table.insert(txn, key, u64::from(key)).unwrap();
        }
        for key in [1, 5, 9] {
            table.set_expiry(txn, key, ms(50)).unwrap();
        }
    });
    clock.set(1050);
    let txn = database.begin_read().unwrap();
    assert_eq!(table.get(&txn, 1).unwrap(), None);
    assert_eq!(table.get_with_expiry(&txn, 1).unwrap(), None);
    assert_eq!(table.get(&txn, 3).unwrap(), Some(3));
    assert_eq!(
        table.get_with_expiry(&txn, 3).unwrap(),
        Some((3, Some(at(1100))))
    );
    assert_eq!(table.get_many(&txn, &[9, 7]).unwrap(), [None, Some(7)]);
    assert!(!table.contains_key(&txn, 5).unwrap());
    assert_eq!(table.first(&txn).unwrap(), Some((3, 3)));
    assert_eq!(table.last(&txn).unwrap(), Some((7, 7)));
    assert_eq!(keys(&table, &txn), [3, 7]);
    let mut range = table.range(&txn, 1..=8).unwrap();
    assert_eq!(range.next_back().unwrap().unwrap(), (7, 7));
    assert_eq!(range.next_back().unwrap().unwrap(), (3, 3));
    assert!(range.next_back().is_none() && range.next().is_none());
    assert_eq!(table.len(&txn).unwrap(), 2);
    assert!(!table.is_empty(&txn).unwrap());
    let stat = table.stat(&txn).unwrap();
    assert_eq!((stat.records, stat.expired), (2, 3));
    assert_eq!(stat.next_expiry, Some(at(1050)));
    assert_eq!(stat.bytes, 5 * 12);
    clock.set(1100);
    assert!(table.is_empty(&database.begin_read().unwrap()).unwrap());
}

#[test]
fn a_transaction_sees_one_time() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| table.insert(txn, 1, 10).unwrap());
    let mut reader = database.begin_read().unwrap();
    let second = database.begin_read().unwrap();
    assert_eq!(table.now(&reader).unwrap(), at(1000));
    clock.set(1100);
    let clone = reader.clone();
    assert!(table.contains_key(&reader, 1).unwrap());
    assert!(table.contains_key(&clone, 1).unwrap());
    // The moment is taken when it is first needed.
    assert!(!table.contains_key(&second, 1).unwrap());
    let mut txn = database.begin_write().unwrap();
    assert!(!table.contains_key(&txn, 1).unwrap());
    table.insert(&mut txn, 2, 20).unwrap();
    clock.set(1500);
    assert!(table.contains_key(&txn, 2).unwrap());
    txn.commit().unwrap();
    // The hold of an ended reader serves the next one, which has another moment.
    drop((reader.refresh().unwrap(), clone, second));
    drop(reader);
    for now in [1600, 1700] {
        clock.set(now);
        let txn = database.begin_read().unwrap();
        assert_eq!(table.now(&txn).unwrap(), at(now));
    }
}

#[test]
fn a_checkpoint_takes_another_time() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new());
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, 10).unwrap();
    assert_eq!(table.now(&txn).unwrap(), at(1000));
    clock.set(2000);
    assert_eq!(table.now(&txn).unwrap(), at(1000));
    txn.checkpoint().unwrap();
    assert_eq!(table.now(&txn).unwrap(), at(2000));
}

/// A record that has expired for one transaction has expired for all later ones.
#[test]
fn a_clock_that_is_set_back_resurrects_nothing() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| table.insert(txn, 1, 10).unwrap());
    clock.set(1100);
    assert!(
        !table
            .contains_key(&database.begin_read().unwrap(), 1)
            .unwrap()
    );
    clock.set(500);
    assert!(
        !table
            .contains_key(&database.begin_read().unwrap(), 1)
            .unwrap()
    );
    change(&database, |txn| table.insert(txn, 2, 20).unwrap());
    let txn = database.begin_read().unwrap();
    assert_eq!(
        table.get_with_expiry(&txn, 2).unwrap(),
        Some((20, Some(at(1200))))
    );
}

#[test]
fn an_expired_record_counts_as_absent_for_changes() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new());
    change(&database, |txn| {
        for key in 1..=4 {
            table.insert_with_expiry(txn, key, 1, at(1100)).unwrap();
        }
    });
    clock.set(1100);
    change(&database, |txn| {
        assert!(!table.remove(txn, 1).unwrap());
        assert!(!table.update(txn, 2, 2).unwrap());
        assert!(!table.set_expiry(txn, 2, Expiry::Never).unwrap());
        assert!(table.insert_new(txn, 3, 3, Expiry::Never).unwrap());
        assert!(!table.insert_new(txn, 3, 4, Expiry::Never).unwrap());
        let made = table.get_or_insert_with(txn, 4, Expiry::Never, || 40);
        assert_eq!(made.unwrap(), 40);
        let kept = table.get_or_insert_with(txn, 4, Expiry::Never, || 50);
        assert_eq!(kept.unwrap(), 40);
    });
    let txn = database.begin_read().unwrap();
    assert_eq!(keys(&table, &txn), [3, 4]);
    assert_eq!(table.get_with_expiry(&txn, 3).unwrap(), Some((3, None)));
    assert_sound(&database);
}

#[test]
fn an_expiry_can_be_extended_and_taken_away() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| {
        table.insert(txn, 1, 10).unwrap();
        table.insert(txn, 2, 20).unwrap();
    });
    clock.set(1060);
    change(&database, |txn| {
        assert!(table.set_expiry(txn, 1, Expiry::Default).unwrap());
        assert!(table.set_expiry(txn, 2, Expiry::Never).unwrap());
        assert!(table.update(txn, 1, 11).unwrap());
    });
    let txn = database.begin_read().unwrap();
    let of = |key| table.get_with_expiry(&txn, key).unwrap();
    assert_eq!(of(1), Some((11, Some(at(1160)))));
    assert_eq!(of(2), Some((20, None)));
    assert_sound(&database);
}

#[test]
fn the_time_to_live_can_change_and_stays_in_the_file() {
    let (directory, path) = temporary_path();
    let clock = TestClock::default();
    clock.set(1000);
    let database = clock.open(&path);
    let options = ExpiryOptions::new().ttl(ms(100)).max_records(7);
    let table: Sessions = change(&database, |txn| {
        let table = txn.create_expiring_table("sessions", &options).unwrap();
        table.insert(txn, 1, 10).unwrap();
        table.set_ttl(txn, Some(ms(300))).unwrap();
        table.insert(txn, 2, 20).unwrap();
        table.set_ttl(txn, None).unwrap();
        table.insert(txn, 3, 30).unwrap();
        table
    });
    database.close().unwrap();
    let database = clock.open(&path);
    let txn = database.begin_read().unwrap();
    let again: Sessions = txn.open_expiring_table("sessions").unwrap();
    let of = |key| again.get_with_expiry(&txn, key).unwrap();
    assert_eq!(of(1), Some((10, Some(at(1100)))));
    assert_eq!(of(2), Some((20, Some(at(1300)))));
    assert_eq!(of(3), Some((30, None)));
    let found = again.options(&txn).unwrap();
    assert_eq!((found.ttl, found.max_records), (None, Some(7)));
    assert_eq!(table.len(&txn).unwrap(), 3, "old handles stay valid");
    // Creating it again changes no settings.
    change(&database, |txn| {
        let again: Sessions = txn.create_expiring_table("sessions", &options).unwrap();
        assert_eq!(again.options(txn).unwrap().ttl, None);
    });
    drop(directory);
}

#[test]
fn commits_remove_a_bounded_number_of_expired_records() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    let other = change(&database, |txn| {
        for key in 0..1000 {
            table.insert(txn, key, 1).unwrap();
        }
        TableDef::<u32, u32>::new("other").create(txn).unwrap()
    });
    clock.set(1100);
    let stat = || table.stat(&database.begin_read().unwrap()).unwrap();
    assert_eq!(stat().expired, 1000);
    // The written records allow more than the usual number.
    let mut before = 1000;
    change(&database, |txn| other.insert(txn, 1, 1).unwrap());
    let after_first = stat().expired;
    assert!(after_first < before, "{after_first}");
    before = after_first;
    let mut commits = 0;
    while stat().expired > 0 {
        // Marks make it a whole commit.
        change(&database, |txn| txn.set_marks([commits, 0, 0]).unwrap());
        change(&database, |txn| {
            txn.set_marks([commits, 1, 0]).unwrap();
            other.insert(txn, 1, commits as u32).unwrap();
        });
        let left = stat().expired;
        assert!(left < before && before - left <= 64, "{before} to {left}");
        before = left;
        commits += 1;
    }
    assert_eq!(stat().removed_expired, 1000);
    assert_eq!(database.metrics().expired_records, 1000);
    assert_sound(&database);
}

/// However many records are written, the expired ones do not accumulate.
#[test]
fn removal_keeps_up_with_writing() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(10)));
    for round in 0..40 {
        clock.set(1000 + 10 * round);
        change(&database, |txn| {
            for key in 0..300 {
                table.insert(txn, 1000 * round as u32 + key, 1).unwrap();
            }
        });
        let stat = table.stat(&database.begin_read().unwrap()).unwrap();
        assert!(stat.expired <= 300, "{stat:?}");
    }
    assert_sound(&database);
}

#[test]
fn commits_clean_many_expiring_tables_in_turns() {
    let (_directory, path) = temporary_path();
    let clock = TestClock::default();
    let database = clock.open(&path);
    let tables: Vec<Sessions> = change(&database, |txn| {
        let options = ExpiryOptions::new().ttl(ms(10));
        let mut create = |number: u32| {
            let table: Sessions = txn
                .create_expiring_table(format!("table {number}"), &options)
                .unwrap();
            table.insert(txn, number, 1).unwrap();
            table
        };
        (0..30).map(&mut create).collect()
    });
    clock.set(10);
    for number in 0..8 {
        change(&database, |txn| txn.set_marks([number, 0, 0]).unwrap());
        change(&database, |txn| {
            let table = txn.create_table::<u32, u64>("plain").unwrap();
            table.insert(txn, 1, number).unwrap();
            txn.set_marks([number, 1, 0]).unwrap();
        });
    }
    let txn = database.begin_read().unwrap();
    for table in &tables {
        assert_eq!(table.stat(&txn).unwrap().removed_expired, 1, "{table:?}");
    }
}

#[test]
fn a_reader_of_an_older_state_sees_records_removed_since() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| table.insert(txn, 1, 10).unwrap());
    let reader = database.begin_read().unwrap();
    assert!(table.contains_key(&reader, 1).unwrap());
    clock.set(2000);
    change(&database, |txn| {
        assert_eq!(table.remove_expired(txn, u64::MAX).unwrap(), 1);
    });
    assert_eq!(table.get(&reader, 1).unwrap(), Some(10));
}

/// A merge of small commits makes a state that readers see already.
#[test]
fn merges_of_small_commits_remove_nothing() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    let plain = change(&database, |txn| {
        table.insert(txn, 1, 10).unwrap();
        txn.create_table::<u32, u32>("plain").unwrap()
    });
    for number in 0..50 {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(Durability::Lazy);
        plain.insert(&mut txn, number, number).unwrap();
        txn.commit().unwrap();
    }
    let reader = database.begin_read().unwrap();
    assert!(table.contains_key(&reader, 1).unwrap());
    clock.set(2000);
    // Scans need the merged tables.
    for txn in [database.begin_read().unwrap(), reader] {
        let is_there = table.contains_key(&txn, 1).unwrap();
        assert_eq!(plain.iter(&txn).unwrap().count(), 50);
        assert_eq!(table.contains_key(&txn, 1).unwrap(), is_there);
        assert_eq!(is_there, table.now(&txn).unwrap() == at(1000));
    }
}

#[test]
fn the_oldest_records_make_room_for_new_ones() {
    let options = ExpiryOptions::new().max_records(3);
    let (_directory, _clock, database, table) = with_options(&options);
    change(&database, |txn| {
        for key in [5, 4, 3] {
            table.insert(txn, key, 1).unwrap();
        }
        // Written again, so that it is not the oldest any more.
        table.insert(txn, 5, 2).unwrap();
        // Its expiry changes, and not its age.
        table.set_expiry(txn, 4, at(1 << 40)).unwrap();
        table.insert(txn, 9, 1).unwrap();
        assert_eq!(keys(&table, txn), [3, 5, 9]);
        table.insert(txn, 1, 1).unwrap();
        assert_eq!(keys(&table, txn), [1, 5, 9]);
    });
    let stat = table.stat(&database.begin_read().unwrap()).unwrap();
    assert_eq!((stat.records, stat.removed_oldest), (3, 2));
    assert_eq!(database.metrics().evicted_records, 2);
    assert_sound(&database);
}

#[test]
fn expired_records_make_room_first() {
    let options = ExpiryOptions::new().max_records(3);
    let (_directory, clock, database, table) = with_options(&options);
    change(&database, |txn| {
        table.insert(txn, 1, 1).unwrap();
        table.insert(txn, 2, 1).unwrap();
        table.insert_with_expiry(txn, 3, 1, ms(10)).unwrap();
    });
    clock.set(1010);
    change(&database, |txn| {
        table.insert(txn, 4, 1).unwrap();
        assert_eq!(keys(&table, txn), [1, 2, 4]);
    });
    let stat = table.stat(&database.begin_read().unwrap()).unwrap();
    assert_eq!((stat.removed_expired, stat.removed_oldest), (1, 0));
}

#[test]
fn a_limit_of_bytes_counts_keys_and_values() {
    let (_directory, _clock, database, table) = with_options(&ExpiryOptions::new().max_bytes(40));
    change(&database, |txn| {
        for key in 0..10 {
            table.insert(txn, key, 1).unwrap();
            assert!(table.stat(txn).unwrap().bytes <= 40);
        }
        assert_eq!(keys(&table, txn), [7, 8, 9]);
        table.set_max_bytes(txn, Some(12)).unwrap();
        assert_eq!(keys(&table, txn), [9]);
        // Without room for any record.
        table.set_max_bytes(txn, Some(11)).unwrap();
        table.insert(txn, 1, 1).unwrap();
        assert!(table.is_empty(txn).unwrap());
        table.set_max_bytes(txn, None).unwrap();
        table.insert(txn, 1, 1).unwrap();
        assert_eq!(table.stat(txn).unwrap().bytes, 12);
    });
    assert_sound(&database);
}

#[test]
fn limits_can_be_set_and_taken_away_later() {
    let (_directory, _clock, database, table) = with_options(&ExpiryOptions::new());
    change(&database, |txn| {
        // In an order other than that of the keys, and more than are indexed at once.
        for number in 0..10_000_u32 {
            let key = number.wrapping_mul(2_654_435_761);
            table.insert(txn, key, u64::from(number)).unwrap();
        }
        table.set_max_records(txn, Some(5)).unwrap();
        let mut left: Vec<_> = table.iter(txn).unwrap().map(|r| r.unwrap().1).collect();
        left.sort_unstable();
        assert_eq!(left, [9995, 9996, 9997, 9998, 9999]);
        table.set_max_records(txn, None).unwrap();
        for key in 0..10 {
            table.insert(txn, key, 1).unwrap();
        }
        assert_eq!(table.len(txn).unwrap(), 15);
    });
    assert_sound(&database);
    change(&database, |txn| {
        table.set_max_records(txn, Some(20)).unwrap()
    });
    assert_sound(&database);
}

#[test]
fn large_and_empty_values_expire_too() {
    let (_directory, path) = temporary_path();
    let clock = TestClock::default();
    let database = clock.open(&path);
    let long_key = vec![7_u8; 3840];
    let table = change(&database, |txn| {
        let options = ExpiryOptions::new().ttl(ms(10)).max_records(100);
        let table = txn
            .create_expiring_table::<Vec<u8>, Vec<u8>>("blobs", &options)
            .unwrap();
        table.insert(txn, &long_key, vec![1; 100_000]).unwrap();
        table.insert(txn, b"", b"").unwrap();
        let too_long = table.insert(txn, vec![7; 3841], b"");
        assert!(matches!(too_long, Err(Error::KeyTooLong { .. })));
        table
    });
    let txn = database.begin_read().unwrap();
    assert_eq!(table.get(&txn, &long_key).unwrap(), Some(&[1; 100_000][..]));
    assert_eq!(table.get(&txn, b"").unwrap(), Some(&[][..]));
    assert_sound(&database);
    clock.set(10);
    change(&database, |txn| {
        assert_eq!(table.remove_expired(txn, u64::MAX).unwrap(), 2);
    });
    assert_sound(&database);
}

#[test]
fn differences_name_expired_records() {
    let options = ExpiryOptions::new().max_records(4);
    let (_directory, clock, database, table) = with_options(&options);
    change(&database, |txn| {
        for key in 1..=4 {
            let expiry = Expiry::At(at(1000 + 100 * u64::from(key)));
            table.insert_with_expiry(txn, key, 1, expiry).unwrap();
        }
    });
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    clock.set(1100);
    change(&database, |txn| {
        assert!(table.remove(txn, 2).unwrap());
        table.insert(txn, 5, 5).unwrap();
        table.update(txn, 3, 3).unwrap();
    });
    let changes = feed.next(Some(Duration::ZERO)).unwrap().unwrap();
    let found: Vec<_> = changes
        .of_expiring(&table)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let at_ms = |ms| Some(at(ms));
    assert_eq!(
        found,
        [
            ExpiringDifference::Expired {
                key: 1,
                value: 1,
                at: at(1100)
            },
            ExpiringDifference::Removed { key: 2, value: 1 },
            ExpiringDifference::Changed {
                key: 3,
                old: 1,
                new: 3,
                expires: at_ms(1300)
            },
            ExpiringDifference::Inserted {
                key: 5,
                value: 5,
                expires: None
            },
        ]
    );
    let names: Vec<_> = changes.tables().unwrap().into_iter().map(|t| t.0).collect();
    assert_eq!(names, [b"sessions"]);
    // A record that makes room for others is removed.
    change(&database, |txn| {
        table.insert(txn, 6, 6).unwrap();
        table.insert(txn, 7, 7).unwrap();
    });
    let changes = feed.next(Some(Duration::ZERO)).unwrap().unwrap();
    let first = changes
        .of_expiring(&table)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(first, ExpiringDifference::Removed { key: 4, value: 1 });
    let plain = Table::of(&database, "sessions");
    assert!(matches!(plain, Err(Error::TableMismatch { .. })));
}

struct Table;

impl Table {
    fn of(database: &Database, name: &str) -> teak::Result<teak::Table<u32, u64>> {
        database.begin_read().unwrap().open_table(name)
    }
}

#[test]
fn each_kind_of_table_refuses_the_others() {
    let (_directory, _clock, database, table) = with_options(&ExpiryOptions::new());
    let mut txn = database.begin_write().unwrap();
    let error = txn.open_table::<u32, u64>("sessions").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("ExpiringTable"), "{text}");
    let is_mismatch = |error| matches!(error, Error::TableMismatch { .. });
    assert!(is_mismatch(
        txn.open_multi_table::<u32, u64>("sessions").unwrap_err()
    ));
    assert!(is_mismatch(
        txn.create_table::<u32, u64>("sessions").unwrap_err()
    ));
    txn.create_table::<u32, u64>("plain").unwrap();
    let plain = txn.open_expiring_table::<u32, u64>("plain");
    assert!(is_mismatch(plain.unwrap_err()));
    let options = ExpiryOptions::new();
    let plain = txn.create_expiring_table::<u32, u64>("plain", &options);
    assert!(is_mismatch(plain.unwrap_err()));
    let types = txn.open_expiring_table::<u32, &str>("sessions");
    assert!(matches!(types, Err(Error::TableTypeMismatch { .. })));
    let missing = txn.open_expiring_table::<u32, &str>("missing");
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
    // A handle from before the table had another kind.
    let old: teak::Table<u32, u64> = txn.open_table("plain").unwrap();
    txn.drop_table("plain").unwrap();
    let expiring: Sessions = txn.create_expiring_table("plain", &options).unwrap();
    assert!(is_mismatch(old.insert(&mut txn, 1, 1).unwrap_err()));
    assert!(is_mismatch(old.get(&txn, 1).unwrap_err()));
    assert!(expiring.is_empty(&txn).unwrap());
    txn.drop_table("sessions").unwrap();
    txn.create_table::<u32, u64>("sessions").unwrap();
    assert!(is_mismatch(table.insert(&mut txn, 1, 1).unwrap_err()));
    assert!(is_mismatch(table.get(&txn, 1).unwrap_err()));
}

#[test]
fn impossible_options_and_names_are_refused() {
    static BACKWARDS: Comparison = Comparison::new("backwards", &|a, b| b.cmp(a));
    let (_directory, _clock, database, _) = with_options(&ExpiryOptions::new());
    let mut txn = database.begin_write().unwrap();
    let mut refused = |name: &[u8], options: ExpiryOptions| {
        let created = txn.create_expiring_table::<u32, u64>(name, &options);
        created.unwrap_err()
    };
    let options = ExpiryOptions::new;
    let is_invalid = |error| matches!(error, Error::InvalidArgument(_));
    let custom = TableOptions::new().order(KeyOrder::Custom(&BACKWARDS));
    assert!(is_invalid(refused(b"x", options().table(custom))));
    let multi = TableOptions::new().value_order(KeyOrder::Bytes);
    assert!(is_invalid(refused(b"x", options().table(multi))));
    assert!(is_invalid(refused(b"\0expiry\0x", options())));
    let long = refused(&[b'x'; 3833], options());
    assert!(
        matches!(long, Error::KeyTooLong { max: 3832, .. }),
        "{long}"
    );
    let mut plain = TableOptions::new();
    plain.expiring = true;
    let created = TableDef::<u32, u64>::new("x")
        .options(plain)
        .create(&mut txn);
    assert!(is_invalid(created.unwrap_err()));
    // The index is not a table.
    let index = b"\0expiry\0sessions";
    let not_found = |error| matches!(error, Error::TableNotFound(_));
    assert!(not_found(txn.open_table::<u32, u64>(index).unwrap_err()));
    assert!(not_found(
        txn.open_expiring_table::<u32, u64>(index).unwrap_err()
    ));
    assert!(!txn.drop_table(index).unwrap());
    assert!(not_found(txn.rename_table(index, "stolen").unwrap_err()));
}

#[test]
fn an_expiring_table_is_one_table_in_lists_and_counts() {
    let (_directory, _clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(10)));
    change(&database, |txn| {
        table.insert(txn, 1, 10).unwrap();
        table.insert(txn, 2, 20).unwrap();
    });
    let txn = database.begin_read().unwrap();
    let tables = txn.tables().unwrap();
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0].name, b"sessions");
    assert!(tables[0].options.expiring);
    assert_eq!(tables[0].stat.records, 2);
    assert_eq!(tables[0].types.to_string(), "u32 -> u64");
    assert_eq!(database.stat().unwrap().table_count, 1);
    let report = check(&database);
    assert_eq!((report.tables, report.records), (1, 2));
    let mut txn = database.begin_write().unwrap();
    assert_eq!(txn.tables().unwrap().len(), 1);
    txn.rename_table("sessions", "renamed").unwrap();
    assert!(table.len(&txn).is_err());
    let renamed: Sessions = txn.open_expiring_table("renamed").unwrap();
    assert_eq!(keys(&renamed, &txn), [1, 2]);
    renamed.insert(&mut txn, 3, 30).unwrap();
    txn.commit().unwrap();
    assert_sound(&database);
    change(&database, |txn| {
        assert_eq!(renamed.clear(txn).unwrap(), 3);
        assert_eq!(renamed.options(txn).unwrap().ttl, Some(ms(10)));
        renamed.insert(txn, 4, 40).unwrap();
    });
    assert_sound(&database);
    change(&database, |txn| assert!(txn.drop_table("renamed").unwrap()));
    assert_eq!(database.stat().unwrap().table_count, 0);
    assert_sound(&database);
    change(&database, |txn| {
        txn.create_expiring_table::<u32, u64>("renamed", &ExpiryOptions::new())
            .unwrap();
    });
}

#[test]
fn savepoints_and_rollbacks_undo_both_trees() {
    let options = ExpiryOptions::new().ttl(ms(100)).max_bytes(1 << 20);
    let (_directory, clock, database, table) = with_options(&options);
    change(&database, |txn| table.insert(txn, 1, 10).unwrap());
    clock.set(1050);
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 2, 20).unwrap();
    let undone: teak::Result<()> = txn.nested(|txn| {
        table.insert(txn, 3, 30).unwrap();
        table.remove(txn, 1).unwrap();
        Err(Error::InvalidArgument("changed my mind".into()))
    });
    assert!(undone.is_err());
    assert_eq!(keys(&table, &txn), [1, 2]);
    txn.commit().unwrap();
    assert_sound(&database);
    database.create_snapshot("before").unwrap();
    change(&database, |txn| {
        table.insert(txn, 9, 90).unwrap();
        table.set_ttl(txn, None).unwrap();
    });
    change(&database, |txn| {
        txn.roll_back_to_snapshot("before").unwrap()
    });
    let txn = database.begin_read().unwrap();
    assert_eq!(keys(&table, &txn), [1, 2]);
    assert_eq!(table.options(&txn).unwrap().ttl, Some(ms(100)));
    assert_sound(&database);
    // Commits after a rollback find expired records again.
    clock.set(2000);
    drop(txn);
    change(&database, |txn| table.insert(txn, 4, 40).unwrap());
    let stat = table.stat(&database.begin_read().unwrap()).unwrap();
    assert_eq!((stat.records, stat.expired), (1, 0));
}

/// A table with expired, live and permanent records, and a limit.
fn filled(database: &Database, clock: &TestClock) -> Sessions {
    clock.set(1000);
    let options = ExpiryOptions::new().ttl(ms(100)).max_records(1000);
    let table = change(database, |txn| {
        let table: Sessions = txn.create_expiring_table("sessions", &options).unwrap();
        for key in 0..300_u32 {
            let key = key.wrapping_mul(2_654_435_761) % 1000;
            let expiry = match key % 3 {
                0 => Expiry::Default,
                1 => Expiry::Never,
                _ => Expiry::At(at(5000)),
            };
            table
                .insert_with_expiry(txn, key, u64::from(key), expiry)
                .unwrap();
        }
        table
    });
    clock.set(1100);
    table
}

fn contents(table: &Sessions, txn: &ReadTxn) -> Vec<(u32, u64, Option<SystemTime>)> {
    let records = table.iter(txn).unwrap().map(Result::unwrap);
    let records = records.map(|(key, value)| {
        let found = table.get_with_expiry(txn, key).unwrap().unwrap();
        (key, value, found.1)
    });
    records.collect()
}

#[test]
fn copies_have_expiries_ages_and_settings() {
    let (directory, path) = temporary_path();
    let clock = TestClock::default();
    let database = clock.open(&path);
    let table = filled(&database, &clock);
    let txn = database.begin_read().unwrap();
    let expected = contents(&table, &txn);
    let before = table.stat(&txn).unwrap();
    let copies = ["backup", "dense", "salvaged"].map(|name| directory.path().join(name));
    database
        .backup(&copies[0], None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    txn.copy_dense(&copies[1], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    drop(txn);
    database.close().unwrap();
    let report = teak::salvage(&path, &copies[2], &[], &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.tables.len(), 1);
    assert_eq!(report.tables[0].records_lost(), 0);
    for copy in &copies {
        let database = clock.open(copy);
        assert_sound(&database);
        let txn = database.begin_read().unwrap();
        let copied: Sessions = txn.open_expiring_table("sessions").unwrap();
        assert_eq!(contents(&copied, &txn), expected);
        let stat = copied.stat(&txn).unwrap();
        assert_eq!(
            (stat.records, stat.bytes - before.bytes),
            (before.records, 0),
            "{copy:?}"
        );
        drop(txn);
        // The oldest are still the oldest.
        change(&database, |txn| {
            copied.remove_expired(txn, u64::MAX).unwrap();
            copied.set_max_records(txn, Some(1)).unwrap();
            let (key, _) = copied.first(txn).unwrap().unwrap();
            let last = (0..300_u32)
                .rev()
                .map(|key| key.wrapping_mul(2_654_435_761) % 1000);
            assert_eq!(Some(key), last.into_iter().find(|key| key % 3 != 0));
        });
        assert_sound(&database);
    }
}

#[test]
fn an_unchanged_difference_is_empty() {
    let (_directory, clock, database, table) = with_options(&ExpiryOptions::new().ttl(ms(100)));
    change(&database, |txn| table.insert(txn, 1, 10).unwrap());
    let older = database.begin_read().unwrap();
    clock.set(1200);
    let newer = database.begin_read().unwrap();
    assert_eq!(table.differences(&older, &newer).unwrap().count(), 0);
    let difference = Difference::Removed { key: 1, value: 2 };
    assert_eq!(difference.key(), &1);
}
