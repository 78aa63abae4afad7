//! Events and metrics.

use crate::{processes::Other, shared::temporary_path};
use std::{
    panic,
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use teak::{
    Database, Durability, Error, Event, Options, Recovery, SlowReaderChoice, Table, Transaction,
    TransactionId,
    codec::Bytes,
    testing::{Fault, SimDisk},
};

type EventLog = Arc<Mutex<Vec<Event>>>;

/// Options that collect events.
fn collecting() -> (Options, EventLog) {
    let log = EventLog::default();
    let noted = Arc::clone(&log);
    // Nothing is flushed without a request.
    let options = Options::new().flush_after(Duration::MAX);
    let options = options.on_event(move |event| {
        noted.lock().unwrap().push(event.clone());
    });
    (options, log)
}

fn open(path: &Path) -> (Database, EventLog) {
    let (options, log) = collecting();
    (options.open(path).unwrap(), log)
}

fn take(log: &EventLog) -> Vec<Event> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn fill(database: &Database, durability: Durability, count: u64) -> TransactionId {
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(durability);
    let numbers: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    for number in 0..count {
        numbers
            .insert(&mut txn, number, [count as u8; 1000])
            .unwrap();
    }
    txn.commit().unwrap()
}

#[test]
fn events_report_opening_committing_and_closing() {
    let (_directory, path) = temporary_path();
    let (database, log) = open(&path);
    assert!(matches!(
        &take(&log)[..],
        [Event::Opened {
            recovery: Recovery::Clean,
            ..
        }]
    ));
    let durable = fill(&database, Durability::Durable, 100);
    let events = take(&log);
    let [
        Event::Grown { .. },
        Event::Grown { file_bytes, .. },
        Event::Flush { bytes: flushed, .. },
        Event::Commit {
            transaction,
            durability: Durability::Durable,
            bytes,
            ..
        },
    ] = events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(transaction, durable);
    assert!(bytes >= 100_000 && flushed > bytes && file_bytes > bytes);
    assert_eq!(database.metrics().flushed_bytes, flushed);

    let lazy = fill(&database, Durability::Lazy, 10);
    assert!(matches!(
        take(&log)[..],
        [Event::Commit { transaction, durability: Durability::Lazy, .. }] if transaction == lazy
    ));
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    database.begin_write().unwrap().abort();
    assert_eq!(format!("{:?}", take(&log)), "[]", "nothing has changed");
    database.sync().unwrap();
    assert!(matches!(take(&log)[..], [Event::Flush { .. }]));
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("numbers").unwrap();
    txn.commit().unwrap();
    take(&log);
    database.close().unwrap();
    let events = take(&log);
    let words: Vec<_> = events.iter().map(Event::to_string).collect();
    assert!(
        matches!(
            &events[..],
            [
                Event::Flush { .. },
                Event::Shrunk { .. },
                Event::Closed { .. }
            ]
        ),
        "{words:?}"
    );
    assert!(words.iter().all(|line| !line.contains('\n')));
}

#[test]
fn events_report_checkpoints_and_continuing_commits() {
    let (_directory, path) = temporary_path();
    let (database, log) = open(&path);
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    let first = txn.checkpoint().unwrap();
    numbers.insert(&mut txn, 1, b"").unwrap();
    let reader = txn.commit_and_read().unwrap();
    let log = || {
        let events = log.lock().unwrap();
        let commits = events.iter().filter_map(|event| match event {
            Event::Commit { transaction, .. } => Some(*transaction),
            _ => None,
        });
        let mut commits: Vec<_> = commits.collect();
        commits.sort_unstable();
        commits
    };
    // The flushing thread reports the checkpoint.
    while log().len() < 2 {
        thread::yield_now();
    }
    assert_eq!(log(), [first, reader.id()]);
}

/// The callback runs without locks, so it may use the database, and the resulting events follow.
#[test]
fn an_event_callback_may_write() {
    let (_directory, path) = temporary_path();
    let known: Arc<OnceLock<Weak<Database>>> = Arc::default();
    let (written, known_there) = (Arc::new(AtomicU64::new(0)), Arc::clone(&known));
    let noted = Arc::clone(&written);
    // The flushing thread would report some of the events later.
    let database = Options::new()
        .flush_after(Duration::MAX)
        .on_event(move |event| {
            let Some(database) = known_there.get().and_then(Weak::upgrade) else {
                return;
            };
            if matches!(event, Event::Commit { .. }) && noted.fetch_add(1, Relaxed) < 3 {
                fill(&database, Durability::Lazy, 1 + noted.load(Relaxed));
            }
        })
        .open(&path)
        .unwrap();
    let database = Arc::new(database);
    known.set(Arc::downgrade(&database)).unwrap();
    fill(&database, Durability::Durable, 1);
    assert_eq!(written.load(Relaxed), 4);
    assert_eq!(database.metrics().commits, 4);
}

/// An event of another database during a callback is reported at once, to that database's callback.
#[test]
fn events_of_another_database_are_reported_meanwhile() {
    let ((_first, path), (_second, other_path)) = (temporary_path(), temporary_path());
    let (other, other_log) = open(&other_path);
    take(&other_log);
    let noted = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&noted);
    let options = Options::new().flush_after(Duration::MAX);
    let options = options.on_event(move |event| {
        if matches!(event, Event::Commit { .. }) {
            fill(&other, Durability::Lazy, 1);
            counted.store(take(&other_log).len() as u64, Relaxed);
        }
    });
    fill(&options.open(&path).unwrap(), Durability::Lazy, 1);
    assert!(noted.load(Relaxed) > 0);
}

#[test]
fn a_panic_in_an_event_callback_breaks_nothing() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let (_directory, path) = temporary_path();
    let database = Options::new()
        .on_event(|_| panic::panic_any(Worse))
        .open(&path)
        .unwrap();
    fill(&database, Durability::Durable, 100);
    fill(&database, Durability::Async, 101);
    database.sync().unwrap();
    let stat = database.stat().unwrap();
    assert_eq!(stat.durable_transaction, TransactionId(2));
    database.close().unwrap();
    panic::set_hook(hook);

    /// The payload panics once more when it is dropped.
    struct Worse;
    impl Drop for Worse {
        fn drop(&mut self) {
            panic!("once more");
        }
    }
}

#[test]
fn events_report_slow_readers() {
    for asks in [false, true] {
        let (_directory, path) = temporary_path();
        let (options, log) = collecting();
        let options = match asks {
            true => options.on_slow_reader(|_| SlowReaderChoice::Grow),
            false => options,
        };
        let database = options.open(&path).unwrap();
        fill(&database, Durability::Lazy, 2000);
        database.sync().unwrap();
        let reader = database.begin_read().unwrap();
        for round in 0..3 {
            fill(&database, Durability::Lazy, 2001 + round);
            database.sync().unwrap();
        }
        let is_slow = |event: &Event| match event {
            Event::SlowReader(slow) => {
                assert_eq!(slow.reader.transaction, reader.id());
                assert!(event.to_string().contains("has read state"));
                true
            }
            _ => false,
        };
        while !log.lock().unwrap().iter().any(is_slow) {
            thread::yield_now();
        }
    }
}

#[test]
fn events_report_a_dead_writer() {
    let (_directory, path) = temporary_path();
    let (database, log) = open(&path);
    let newest = fill(&database, Durability::Durable, 1);
    let mut other = Other::start(&path);
    other.ask("open");
    assert_eq!(other.ask("begin-write"), "begun");
    other.kill();
    fill(&database, Durability::Durable, 2);
    let events = take(&log);
    let died =
        |event: &Event| matches!(event, Event::WriterDied { newest: is, .. } if *is == newest);
    assert!(events.iter().any(died), "{events:?}");
}

#[test]
fn a_failed_flush_is_reported_once() {
    let disk = SimDisk::new(16 << 20);
    let (options, log) = collecting();
    let database = teak::testing::open(&disk, &options, true, [1; 16]).unwrap();
    fill(&database, Durability::Lazy, 100);
    take(&log);
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    for _ in 0..3 {
        assert!(database.sync().is_err());
    }
    let refused = database.begin_write().map(drop);
    assert!(matches!(refused, Err(Error::Poisoned { .. })));
    let events = take(&log);
    let [event @ Event::Poisoned { operation, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(*operation, "flushing the file");
    assert!(event.to_string().contains("reopened"));
}

#[test]
fn work_is_counted() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    fill(&database, Durability::Durable, 1000);
    let before = database.metrics();
    assert!(before.splits > 100 && before.merges == 0, "{before:?}");
    assert_eq!((before.copied_pages, before.large_values), (0, 0));
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.open_table("numbers").unwrap();
    for number in (0..1000).filter(|number| number % 8 != 0) {
        numbers.remove(&mut txn, number).unwrap();
    }
    numbers.insert(&mut txn, 5000, [7; 10_000]).unwrap();
    assert_eq!(database.metrics(), before, "it has not committed");
    txn.commit().unwrap();
    fill(&database, Durability::Durable, 1);
    let after = database.metrics();
    assert!(after.merges > 50 && after.copied_pages > 50, "{after:?}");
    assert_eq!(after.large_values, 1);
    assert!(after.reclaimed_pages > 50);
}
