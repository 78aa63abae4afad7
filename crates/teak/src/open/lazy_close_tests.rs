//! Closing with [`Options::flush_on_close`] off: lazy commits stay in the system's cache.

use crate::{
    Database, Durability, Error, Event, Options, Recovery, Transaction,
    codec::Str,
    io::sim::{Call, SimDisk},
    testing,
    transaction_tests::test_kit::{BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE},
};
use std::{
    future::Future,
    ops::ControlFlow,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

/// Nothing is flushed but what a test flushes.
fn options() -> Options {
    let never = Duration::MAX;
    Options::new().flush_on_close(false).flush_after(never)
}

fn open(disk: &SimDisk, boot: [u8; 16]) -> Database {
    testing::open(disk, &options(), false, boot).unwrap()
}

/// A new database, and its disk.
fn new_database() -> (SimDisk, Database) {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    (disk, database)
}

/// Adds the next number to the table, in a commit of this durability.
fn add(database: &Database, durability: Durability) {
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(durability);
    let table = txn.create_table::<u64, Str>("numbers").unwrap();
    let count = table.len(&txn).unwrap();
    table.insert(&mut txn, count, "a value").unwrap();
    txn.commit().unwrap();
}

/// How many numbers the table has. They are those from 0 on.
fn count(database: &Database) -> u64 {
    let txn = database.begin_read().unwrap();
    let table = match txn.open_table::<u64, Str>("numbers") {
        Err(Error::TableNotFound { .. }) => return 0,
        table => table.unwrap(),
    };
    let keys = table.range(..).iter(&txn).unwrap();
    let keys: Vec<_> = keys.map(|record| record.unwrap().0).collect();
    let count = keys.len() as u64;
    assert_eq!(keys, (0..count).collect::<Vec<_>>());
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
    count
}

fn flush_count(disk: &SimDisk) -> usize {
    let calls = disk.call_kinds();
    calls
        .into_iter()
        .filter(|call| *call == Call::Flush)
        .count()
}

/// The recovery of a database after a power cut, and its numbers.
fn after_power_cut(disk: &SimDisk, choice: &mut dyn FnMut(usize) -> usize) -> (Recovery, u64) {
    let image = disk.power_cut(choice, PAGE_SIZE);
    let database = open(&SimDisk::from_image(image, CAPACITY), OTHER_BOOT);
    (database.info().recovery, count(&database))
}

#[test]
fn lazy_commits_are_closed_without_a_write_or_flush() {
    for is_dropped in [false, true] {
        let (disk, database) = new_database();
        add(&database, Durability::Durable);
        add(&database, Durability::Lazy);
        add(&database, Durability::Lazy);
        let (calls, before) = (disk.call_kinds().len(), disk.process_crash());
        match is_dropped {
            false => database.close().unwrap(),
            true => drop(database),
        }
        let made = disk.call_kinds().split_off(calls);
        assert!(
            made.iter().all(|call| *call == Call::SetLen),
            "nothing is written or flushed: {made:?}"
        );
        assert!(disk.process_crash() == before, "the file is unchanged");
        let database = open(&disk, BOOT);
        assert!(matches!(database.info().recovery, Recovery::Killed { .. }));
        assert_eq!(count(&database), 3);
    }
}

#[test]
fn a_power_cut_after_the_close_loses_lazy_commits_alone() {
    let (disk, database) = new_database();
    add(&database, Durability::Durable);
    add(&database, Durability::Lazy);
    add(&database, Durability::Lazy);
    database.close().unwrap();
    assert_eq!(after_power_cut(&disk, &mut |_| 0).1, 1);
    assert_eq!(after_power_cut(&disk, &mut |count| count - 1).1, 3);
    for seed in 0..200_u64 {
        let mut state = seed;
        let (_, found) = after_power_cut(&disk, &mut |count| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % count
        });
        assert!((1..=3).contains(&found), "seed {seed}: {found} numbers");
    }
}

#[test]
fn lazy_commits_before_a_durable_one_survive_a_power_cut() {
    let (disk, database) = new_database();
    for durability in [
        Durability::Lazy,
        Durability::Lazy,
        Durability::Durable,
        Durability::Lazy,
    ] {
        add(&database, durability);
    }
    database.close().unwrap();
    assert_eq!(after_power_cut(&disk, &mut |_| 0).1, 3);
    // The next opening flushes the commits that it finds.
    let database = open(&disk, BOOT);
    assert_eq!(count(&database), 4);
    assert_eq!(after_power_cut(&disk, &mut |_| 0).1, 4);
    add(&database, Durability::Lazy);
    drop(database);
    assert_eq!(after_power_cut(&disk, &mut |_| 0).1, 4);
    assert_eq!(count(&open(&disk, BOOT)), 5);
}

#[test]
fn many_sessions_lose_nothing_that_was_durable() {
    let (disk, database) = new_database();
    drop(database);
    let mut durable = 0;
    for session in 0..40 {
        let database = open(&disk, BOOT);
        let found = count(&database);
        assert_eq!(
            found,
            session * 3,
            "a session without a power cut loses nothing"
        );
        // Opening has flushed them.
        durable = durable.max(found);
        add(&database, Durability::Lazy);
        if session % 4 == 1 {
            add(&database, Durability::Durable);
            durable = found + 2;
        } else {
            add(&database, Durability::Lazy);
        }
        add(&database, Durability::Lazy);
        drop(database);
        assert!(after_power_cut(&disk, &mut |_| 0).1 >= durable);
    }
}

#[test]
fn a_database_that_is_durable_is_closed_cleanly() {
    let (disk, database) = new_database();
    add(&database, Durability::Lazy);
    add(&database, Durability::Durable);
    database.close().unwrap();
    let database = open(&disk, BOOT);
    assert_eq!(database.info().recovery, Recovery::Clean);
    add(&database, Durability::Lazy);
    database.sync().unwrap();
    drop(database);
    assert_eq!(after_power_cut(&disk, &mut |_| 0), (Recovery::Clean, 3));
}

/// The next session flushes what it finds, so a session that only reads notes a clean close.
#[test]
fn reading_in_the_next_session_makes_the_close_clean() {
    let (disk, database) = new_database();
    add(&database, Durability::Lazy);
    drop(database);
    let database = open(&disk, BOOT);
    assert_eq!(count(&database), 1);
    drop(database);
    assert_eq!(after_power_cut(&disk, &mut |_| 0), (Recovery::Clean, 1));
}

/// A ticket promises that its commit becomes durable.
#[test]
fn a_requested_flush_is_not_left_out() {
    for _ in 0..20 {
        let (disk, database) = new_database();
        add(&database, Durability::Durable);
        let before = flush_count(&disk);
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table::<u64, Str>("numbers").unwrap();
        table.insert(&mut txn, 1, "a value").unwrap();
        let ticket = txn.commit_async().unwrap();
        database.close().unwrap();
        assert!(ticket.is_durable().unwrap());
        assert!(flush_count(&disk) > before);
        assert_eq!(after_power_cut(&disk, &mut |_| 0).1, 2);
    }
}

#[test]
fn a_ticket_that_is_waited_for_is_not_left_out() {
    let (disk, database) = new_database();
    add(&database, Durability::Lazy);
    let newest = database.begin_read().unwrap().id();
    let ticket = database.ticket(newest).unwrap();
    let mut waiting = pin!(ticket.clone());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    database.close().unwrap();
    assert!(ticket.is_durable().unwrap());
    assert_eq!(after_power_cut(&disk, &mut |_| 0), (Recovery::Clean, 1));
}

/// Waiting for it had no end.
#[test]
fn a_ticket_of_a_lazy_commit_that_was_left_is_an_error() {
    let (_disk, database) = new_database();
    add(&database, Durability::Lazy);
    let newest = database.begin_read().unwrap().id();
    let ticket = database.ticket(newest).unwrap();
    database.close().unwrap();
    assert!(matches!(ticket.wait(), Err(Error::Io { .. })));
}

/// Bug: it waited until the reader ended, which the same thread may own.
#[test]
fn a_ticket_does_not_wait_for_a_commit_that_closing_left_while_a_reader_is_open() {
    let (_disk, database) = new_database();
    add(&database, Durability::Lazy);
    let reader = database.begin_read().unwrap();
    let ticket = database.ticket(reader.id()).unwrap();
    database.close().unwrap();
    assert!(matches!(ticket.wait(), Err(Error::Io { .. })));
    assert!(matches!(
        pin!(ticket).poll(&mut Context::from_waker(Waker::noop())),
        std::task::Poll::Ready(Err(Error::Io { .. }))
    ));
    assert_eq!(reader.tables().unwrap().len(), 1);
}

/// Bug: closing one of several openings did not flush what is not lazy, and reported no failure.
#[test]
fn closing_one_of_two_openings_flushes_asynchronous_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let (database, other) = (
        options().open(&path).unwrap(),
        options().open(&path).unwrap(),
    );
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<u64, Str>("numbers").unwrap();
    let ticket = txn.commit_async().unwrap();
    other.close().unwrap();
    assert!(ticket.is_durable().unwrap());
}

#[test]
fn a_read_only_opening_needs_no_option_of_closing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let database = options().open(&path).unwrap();
    add(&database, Durability::Lazy);
    let reading = Options::new().read_only(true).open(&path).unwrap();
    assert_eq!(reading.begin_read().unwrap().tables().unwrap().len(), 1);
}

#[test]
fn leaving_lazy_commits_is_no_failure() {
    let has_failed = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&has_failed);
    let options = options().on_event(move |event| {
        if matches!(event, Event::Poisoned { .. }) {
            noted.store(true, Ordering::Relaxed);
        }
    });
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options, true, BOOT).unwrap();
    add(&database, Durability::Lazy);
    let reader = database.begin_read().unwrap();
    database.close().unwrap();
    assert_eq!(reader.tables().unwrap().len(), 1);
    drop(reader);
    assert!(!has_failed.load(Ordering::Relaxed));
}

/// Without the option, an opening of the same process would count on a flush that does not happen.
#[test]
fn two_openings_of_a_process_agree_on_the_flush() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let database = options().open(&path).unwrap();
    let refused = Options::new().open(&path).map(drop);
    let option = "flush_on_close";
    assert!(matches!(refused, Err(Error::OptionsDiffer { option: differs }) if differs == option));
    let other = options().open(&path).unwrap();
    add(&database, Durability::Lazy);
    other.close().unwrap();
    assert_eq!(count(&database), 1);
}

/// Processes of one machine: those that leave lazy commits, and one that flushes when it closes.
mod processes {
    use super::{add, after_power_cut, count, options};
    use crate::{
        Database, Durability, Options, Recovery,
        io::sim::SimDisk,
        testing,
        transaction_tests::test_kit::{BOOT, CAPACITY},
    };
    use std::time::Duration;
    use tempfile::TempDir;

    struct SharedDisk {
        disk: SimDisk,
        directory: TempDir,
    }

    impl SharedDisk {
        fn new() -> Self {
            Self {
                disk: SimDisk::new(CAPACITY),
                directory: tempfile::tempdir().unwrap(),
            }
        }

        fn open(&self, options: &Options, is_new: bool) -> Database {
            let disk = self.disk.for_another();
            let lock_file = self.directory.path().join("lock");
            testing::open_apart(&disk, &lock_file, options, is_new, BOOT).unwrap()
        }

        fn has_lock_file(&self) -> bool {
            self.directory.path().join("lock").exists()
        }
    }

    #[test]
    fn the_lock_file_goes_with_the_last_process() {
        if !crate::io::can("locks of descriptions", |abilities| {
            abilities.locks_of_descriptions
        }) {
            return;
        }
        let shared = SharedDisk::new();
        let one = shared.open(&options(), true);
        let other = shared.open(&options(), false);
        add(&one, Durability::Durable);
        add(&one, Durability::Lazy);
        add(&other, Durability::Lazy);
        one.close().unwrap();
        assert!(shared.has_lock_file());
        add(&other, Durability::Lazy);
        drop(other);
        assert!(!shared.has_lock_file());
        assert_eq!(after_power_cut(&shared.disk, &mut |_| 0).1, 1);
        let next = shared.open(&options(), false);
        assert!(matches!(next.info().recovery, Recovery::Killed { .. }));
        assert_eq!(count(&next), 4);
    }

    #[test]
    fn a_process_that_flushes_also_flushes_commits_that_others_left() {
        if !crate::io::can("locks of descriptions", |abilities| {
            abilities.locks_of_descriptions
        }) {
            return;
        }
        let shared = SharedDisk::new();
        let flushing = Options::new().flush_after(Duration::MAX);
        let one = shared.open(&options(), true);
        let other = shared.open(&flushing, false);
        add(&one, Durability::Lazy);
        add(&one, Durability::Lazy);
        drop(one);
        assert_eq!(count(&other), 2);
        other.close().unwrap();
        let found = after_power_cut(&shared.disk, &mut |_| 0);
        assert_eq!(found, (Recovery::Clean, 2));
    }

    /// A commit of a process that goes on is made durable by it.
    #[test]
    fn processes_that_stay_make_left_commits_durable() {
        if !crate::io::can("locks of descriptions", |abilities| {
            abilities.locks_of_descriptions
        }) {
            return;
        }
        let shared = SharedDisk::new();
        let one = shared.open(&options(), true);
        let other = shared.open(&options(), false);
        add(&one, Durability::Lazy);
        one.close().unwrap();
        add(&other, Durability::Durable);
        assert_eq!(after_power_cut(&shared.disk, &mut |_| 0).1, 2);
        add(&other, Durability::Lazy);
        drop(other);
        assert_eq!(after_power_cut(&shared.disk, &mut |_| 0).1, 2);
        assert_eq!(count(&shared.open(&options(), false)), 3);
    }
}
