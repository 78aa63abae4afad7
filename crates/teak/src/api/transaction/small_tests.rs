use super::*;
use crate::{
    Database, DetachedCursor, Options, Recovery, Table, Transaction,
    codec::Bytes,
    instance::memtable::limits::CHANGES_MAX,
    io::can,
    write::merge::{MergeReason, begin_merge},
};
use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::Path,
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

type Words = Table<&'static str, Bytes>;

/// A database that commits lazily, with a table of three records.
fn database() -> (TempDir, Database, Words) {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_table("words").unwrap();
    for word in ["ash", "elm", "oak"] {
        words.insert(&mut txn, word, b"a tree").unwrap();
    }
    txn.commit().unwrap();
    (directory, database, words)
}

fn open(directory: &Path) -> Database {
    let options = Options::new().durability(Durability::Lazy);
    options.open(directory.join("x.teak")).unwrap()
}

/// The files as another process finds them if this one is killed now.
fn left_files(directory: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["x.teak", "x.teak-wal"] {
        fs::copy(directory.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

/// A small transaction. After merges for readers, some transactions are whole ones.
fn small(database: &Database) -> WriteTxn {
    let mut begun = (0..100).map(|_| database.begin_write().unwrap());
    let small = begun.find(|txn| txn.small().is_some());
    small.expect("the last commit was lazy")
}

fn commit_small(database: &Database, words: &Words, word: &'static str, text: &[u8]) -> u64 {
    let mut txn = small(database);
    words.insert(&mut txn, word, text).unwrap();
    assert!(txn.small().is_some());
    txn.commit().unwrap().0
}

fn check(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.damages.is_empty(), "{report:?}");
}

fn durable(database: &Database) -> TransactionId {
    database.stat().unwrap().durable_transaction
}

/// Opens a database that was closed, and has `count` words.
fn assert_closed(directory: &Path, words: &Words, count: u64) {
    assert!(!directory.join("x.teak-wal").exists());
    let database = open(directory);
    assert_eq!(database.info().recovery, Recovery::Clean);
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), count);
}

fn is_filled(database: &Database) -> bool {
    database.opening.engine().memtable.is_filled()
}

#[test]
fn readers_see_each_commit_and_commits_are_numbered() {
    let (_directory, database, words) = database();
    let first = commit_small(&database, &words, "fir", b"new");
    let second = commit_small(&database, &words, "yew", b"new");
    assert_eq!(second, first + 1);
    let read = database.begin_read().unwrap();
    assert_eq!(read.id().0, second);
    assert_eq!(words.get(&read, "yew").unwrap(), Some(&b"new"[..]));
    assert_eq!(words.len(&read).unwrap(), 5);
    assert_eq!(commit_small(&database, &words, "yew", b"newer"), second + 1);
}

#[test]
fn a_small_transaction_sees_the_memtable_and_its_own_changes() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    assert_eq!(words.get(&txn, "fir").unwrap(), Some(&b"new"[..]));
    assert!(words.remove(&mut txn, "ash").unwrap());
    assert!(!words.remove(&mut txn, "ash").unwrap());
    assert_eq!(words.get(&txn, "ash").unwrap(), None);
    assert!(!words.insert_new(&mut txn, "fir", b"other").unwrap());
    assert!(words.insert_new(&mut txn, "ash", b"again").unwrap());
    assert_eq!(words.get(&txn, "ash").unwrap(), Some(&b"again"[..]));
    assert!(words.remove(&mut txn, "elm").unwrap());
    assert!(txn.small().is_some());
    txn.commit().unwrap();
    let txn = small(&database);
    assert_eq!(words.get(&txn, "elm").unwrap(), None);
    assert_eq!(words.get(&txn, "ash").unwrap(), Some(&b"again"[..]));
    drop(txn);
    let read = database.begin_read().unwrap();
    let all: Vec<_> = words
        .range(..)
        .iter(&read)
        .unwrap()
        .map(|r| r.unwrap().0)
        .collect();
    assert_eq!(all, ["ash", "fir", "oak"]);
}

#[test]
fn nothing_changed_is_no_commit() {
    let (_directory, database, words) = database();
    let before = commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    words.insert(&mut txn, "fir", b"new").unwrap();
    words.insert(&mut txn, "oak", b"a tree").unwrap();
    assert!(!words.remove(&mut txn, "yew").unwrap());
    assert_eq!(txn.commit().unwrap().0, before);
}

#[test]
fn uncommitted_changes_are_undone() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    words.insert(&mut txn, "fir", b"new").unwrap();
    drop(txn);
    let mut txn = small(&database);
    words.insert(&mut txn, "fir", b"new").unwrap();
    txn.roll_back().unwrap();
    words.insert(&mut txn, "yew", b"new").unwrap();
    txn.commit().unwrap();
    let mut txn = small(&database);
    words.insert(&mut txn, "fir", b"new").unwrap();
    txn.set_broken();
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    let read = database.begin_read().unwrap();
    assert_eq!(words.get(&read, "fir").unwrap(), None);
    assert_eq!(words.len(&read).unwrap(), 4);
}

#[test]
fn other_operations_make_it_a_whole_transaction_with_all_changes() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    let id = txn.id();
    words.remove(&mut txn, "oak").unwrap();
    words.insert(&mut txn, "yew", b"new").unwrap();
    let yew = words.get(&txn, "yew").unwrap().unwrap();
    let all: Vec<_> = words
        .range(..)
        .iter(&txn)
        .unwrap()
        .map(|r| r.unwrap().0)
        .collect();
    assert_eq!(all, ["ash", "elm", "fir", "yew"]);
    assert_eq!(yew, b"new", "values of before stay");
    assert!(txn.small().is_none());
    assert_eq!(txn.id(), id);
    assert_eq!(txn.commit().unwrap(), id);
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 4);
}

#[test]
fn a_reader_may_merge_the_memtable_while_a_small_transaction_is_open() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    words.insert(&mut txn, "yew", b"new").unwrap();
    let fir = words.get(&txn, "fir").unwrap().unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 4);
    assert!(!is_filled(&database));
    assert_eq!(words.get(&txn, "fir").unwrap(), Some(fir));
    assert_eq!(words.get(&txn, "ash").unwrap(), Some(&b"a tree"[..]));
    words.remove(&mut txn, "fir").unwrap();
    let id = txn.id();
    assert_eq!(txn.commit().unwrap(), id);
    assert_eq!(id, read.id().next());
    assert!(is_filled(&database));
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 4);
}

#[test]
fn many_commits_are_merged_as_the_memtable_fills() {
    let (_directory, database, words) = database();
    let numbers: Table<u32, Bytes> = {
        let mut txn = database.begin_write().unwrap();
        let numbers = txn.create_table("numbers").unwrap();
        txn.commit().unwrap();
        numbers
    };
    let mut last = 0;
    for number in 0..3 * CHANGES_MAX as u32 + 7 {
        let mut txn = small(&database);
        numbers
            .insert(
                &mut txn,
                number.wrapping_mul(0x9E37_79B1),
                number.to_le_bytes(),
            )
            .unwrap();
        let id = txn.commit().unwrap().0;
        assert!(id > last);
        last = id;
    }
    let read = database.begin_read().unwrap();
    assert_eq!(numbers.len(&read).unwrap(), 3 * CHANGES_MAX as u64 + 7);
    assert_eq!(words.len(&read).unwrap(), 3);
    check(&database);
}

#[test]
fn a_killed_process_loses_no_commit() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    words.remove(&mut txn, "oak").unwrap();
    let last = txn.commit().unwrap();
    let copy = left_files(directory.path());
    let copied = open(copy.path());
    let recovery = match can("id of a boot", |abilities| abilities.boot_id) {
        true => Recovery::Killed { last },
        false => Recovery::Verified { last },
    };
    assert_eq!(copied.info().recovery, recovery);
    let read = copied.begin_read().unwrap();
    assert_eq!(read.id(), last);
    assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"new"[..]));
    assert_eq!(words.get(&read, "oak").unwrap(), None);
    assert!(!copy.path().join("x.teak-wal").exists(), "it was merged");
    // Killed again, in the middle of the next memtable.
    commit_small(&copied, &words, "yew", b"new");
    let third = left_files(copy.path());
    let again = open(third.path());
    assert_eq!(words.len(&again.begin_read().unwrap()).unwrap(), 4);
}

#[test]
fn the_log_of_a_killed_process_is_needed_for_reading() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let copy = left_files(directory.path());
    let path = copy.path().join("x.teak");
    let refused = Options::new().read_only(true).open(&path);
    assert!(matches!(refused, Err(Error::InvalidArgument(text)) if text.contains("write-ahead")));
    drop(open(copy.path()));
    Options::new().read_only(true).open(&path).unwrap();
}

#[test]
fn closing_leaves_no_log_and_everything_is_there() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    assert!(directory.path().join("x.teak-wal").exists());
    database.close().unwrap();
    assert_closed(directory.path(), &words, 4);
}

#[test]
fn the_last_transaction_may_end_after_the_database() {
    let (directory, database, words) = database();
    let mut txn = small(&database);
    drop(database);
    words.insert(&mut txn, "fir", b"new").unwrap();
    txn.commit().unwrap();
    assert_closed(directory.path(), &words, 4);
}

#[test]
fn dropping_the_database_merges() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    drop(database);
    assert_closed(directory.path(), &words, 4);
}

#[test]
fn commits_of_other_durability_follow() {
    let (_directory, database, words) = database();
    let lazy = commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    words.insert(&mut txn, "yew", b"new").unwrap();
    txn.set_durability(Durability::Durable);
    let durable_id = txn.commit().unwrap();
    assert_eq!(durable_id.0, lazy + 1);
    assert!(durable(&database) >= durable_id);
    let txn = database.begin_write().unwrap();
    assert!(txn.small().is_none(), "the last commit was durable");
    drop(txn);
    let options = crate::WriteOptions::new().durability(Durability::Lazy);
    let mut txn = database.begin_write_with(options).unwrap().unwrap();
    words.insert(&mut txn, "box", b"new").unwrap();
    let last = txn.commit().unwrap();
    assert!(is_filled(&database));
    database.sync().unwrap();
    assert!(durable(&database) >= last);
}

#[test]
fn old_commits_are_merged_by_themselves() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let began = std::time::Instant::now();
    while is_filled(&database) {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody merges");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn commits_that_may_not_fit_the_file_go_to_the_trees() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new()
        .durability(Durability::Lazy)
        .size_limit_bytes(Some(1 << 20));
    let database = options.open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table::<u32, Bytes>("numbers").unwrap();
    txn.commit().unwrap();
    let mut count = 0;
    let refused = loop {
        let mut txn = database.begin_write().unwrap();
        let stored = numbers
            .insert(&mut txn, count, [7; 3000])
            .and_then(|()| txn.commit());
        match stored {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Full { .. }));
    assert_eq!(
        numbers.len(&database.begin_read().unwrap()).unwrap(),
        u64::from(count)
    );
}

#[test]
fn readers_see_each_earlier_commit_of_a_writer() {
    let (_directory, database, _) = database();
    let mut txn = database.begin_write().unwrap();
    let counts = txn.create_table::<u32, u64>("counts").unwrap();
    counts.insert(&mut txn, 0, 0).unwrap();
    txn.commit().unwrap();
    let committed = std::sync::atomic::AtomicU64::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for count in 1..4000 {
                let mut txn = database.begin_write().unwrap();
                counts.insert(&mut txn, 0, count).unwrap();
                txn.commit().unwrap();
                committed.store(count, order);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while committed.load(order) < 3999 {
                    let before = committed.load(order);
                    let read = database.begin_read().unwrap();
                    let seen = counts.get(&read, 0).unwrap().unwrap();
                    assert!(seen >= before, "{seen} is older than {before}");
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
    });
    check(&database);
}

/// Where the log is mapped, storing into it fails then.
#[test]
fn a_log_that_another_program_truncates_loses_no_later_commit() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "ash", b"first");
    let log = File::options()
        .write(true)
        .open(directory.path().join("x.teak-wal"));
    log.unwrap().set_len(0).unwrap();
    for text in [&b"second"[..], b"third"] {
        let mut txn = database.begin_write().unwrap();
        words.insert(&mut txn, "elm", text).unwrap();
        txn.commit().unwrap();
    }
    let engine = database.opening.engine();
    if can("mapped writes", |abilities| abilities.mapped_writes) {
        assert!(
            !engine.memtable.lock().is_usable(),
            "commits go to the trees"
        );
        let copy = left_files(directory.path());
        let copied = open(copy.path());
        let read = copied.begin_read().unwrap();
        assert_eq!(words.get(&read, "ash").unwrap(), Some(&b"first"[..]));
        assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"third"[..]));
    }
    let read = database.begin_read().unwrap();
    assert_eq!(words.get(&read, "ash").unwrap(), Some(&b"first"[..]));
    assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"third"[..]));
    drop(read);
    check(&database);
    database.close().unwrap();
    let opened = open(directory.path());
    let read = opened.begin_read().unwrap();
    assert_eq!(words.get(&read, "ash").unwrap(), Some(&b"first"[..]));
    assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"third"[..]));
}

#[test]
fn without_a_memtable_there_is_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().durability(Durability::Lazy).memtable(false);
    let database = options.open(directory.path().join("x.teak")).unwrap();
    for _ in 0..3 {
        let mut txn = database.begin_write().unwrap();
        assert!(txn.small().is_none());
        txn.create_table::<&str, Bytes>("words").unwrap();
        txn.commit().unwrap();
    }
    assert!(!directory.path().join("x.teak-wal").exists());
}

#[test]
fn a_deleted_database_leaves_no_log() {
    let (directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let copy = left_files(directory.path());
    assert!(crate::delete(copy.path().join("x.teak"), crate::Deletion::IfUnused).unwrap());
    assert_eq!(fs::read_dir(copy.path()).unwrap().count(), 0);
}

/// A record is inserted and removed again, so that a merge finds nothing to change.
#[test]
fn commits_that_cancel_each_other_are_commits() {
    let (directory, database, words) = database();
    let first = commit_small(&database, &words, "fir", b"new");
    let mut txn = small(&database);
    words.remove(&mut txn, "fir").unwrap();
    assert_eq!(txn.commit().unwrap().0, first + 1);
    assert_eq!(database.begin_read().unwrap().id().0, first + 1);
    let third = commit_small(&database, &words, "fir", b"new");
    assert_eq!(third, first + 2);
    let copy = left_files(directory.path());
    let copied = open(copy.path());
    let read = copied.begin_read().unwrap();
    assert_eq!(read.id().0, third);
    assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"new"[..]));
}

#[test]
fn after_a_merge_for_a_reader_a_small_transaction_reads_all_of_the_merged_state() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let txn = small(&database);
    let read = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 4);
    assert_eq!(words.len(&txn).unwrap(), 4);
    assert_eq!(words.get(&txn, "fir").unwrap(), Some(&b"new"[..]));
    let all: Vec<_> = words
        .range(..)
        .iter(&txn)
        .unwrap()
        .map(|r| r.unwrap().0)
        .collect();
    assert_eq!(all, ["ash", "elm", "fir", "oak"]);
}

/// The pages of the state that values are borrowed from must not be reused.
#[test]
fn values_stay_when_the_transaction_becomes_a_whole_one() {
    let (_directory, database, words) = database();
    database.sync().unwrap();
    for round in 0..50_u8 {
        commit_small(&database, &words, "fir", &[round; 9]);
        let txn = small(&database);
        let ash = words.get(&txn, "ash").unwrap().unwrap();
        let of_elm = words.get(&txn, "elm").unwrap().unwrap();
        assert_eq!(words.range(..).iter(&txn).unwrap().count(), 4);
        assert!(txn.small().is_none());
        assert_eq!((ash, of_elm), (&b"a tree"[..], &b"a tree"[..]));
        let mut txn = txn;
        for word in ["box", "yew", "fig"] {
            words.insert(&mut txn, word, [round; 1000]).unwrap();
            words.remove(&mut txn, word).unwrap();
        }
        txn.commit().unwrap();
    }
}

#[test]
fn readers_do_not_wait_for_an_open_transaction() {
    let (_directory, database, words) = database();
    for _ in 0..200 {
        commit_small(&database, &words, "fir", b"new");
        std::thread::scope(|scope| {
            let readers = [0, 1].map(|_| scope.spawn(|| database.begin_read().unwrap()));
            let mut txn = database.begin_write().unwrap();
            words.clear(&mut txn).unwrap();
            for reader in readers {
                assert_eq!(words.len(&reader.join().unwrap()).unwrap(), 4);
            }
        });
    }
}

#[test]
fn many_threads_read_in_a_transaction_that_becomes_a_whole_one() {
    let (_directory, database, words) = database();
    for _ in 0..100 {
        commit_small(&database, &words, "fir", b"new");
        let (txn, words) = (&small(&database), &words);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(words.range(..).iter(txn).unwrap().count(), 4));
            for word in ["ash", "elm", "fir"] {
                scope.spawn(move || assert!(words.get(txn, word).unwrap().is_some()));
            }
        });
    }
}

/// Commits while another thread merges, and then as a process that was killed then.
#[test]
fn commits_that_are_added_during_a_merge_survive() {
    let (directory, database, words) = database();
    let engine = database.opening.engine();
    for round in 0..40_u8 {
        commit_small(&database, &words, "fir", &[round; 9]);
        // As if a thread were merging all the time.
        let held = engine.take_writer_state().unwrap();
        let merging = {
            let mut memtable = engine.memtable.lock();
            match memtable.is_empty() {
                true => continue,
                false => memtable.begin_merge(TransactionId(0)),
            }
        };
        assert_eq!(merging.parts[0].last.0, merging.base.0 + 1);
        let last = commit_small(&database, &words, "yew", &[round; 7]);
        let txn = small(&database);
        assert_eq!(words.get(&txn, "fir").unwrap(), Some(&[round; 9][..]));
        assert_eq!(words.get(&txn, "yew").unwrap(), Some(&[round; 7][..]));
        drop(txn);
        let copy = left_files(directory.path());
        engine.memtable.lock().undo_merge();
        drop(held);
        let copied = open(copy.path());
        for database in [&copied, &database] {
            let read = database.begin_read().unwrap();
            assert_eq!(read.id().0, last);
            assert_eq!(words.get(&read, "fir").unwrap(), Some(&[round; 9][..]));
            assert_eq!(words.get(&read, "yew").unwrap(), Some(&[round; 7][..]));
        }
        check(&copied);
    }
    check(&database);
}

#[test]
fn after_a_failed_merge_commits_go_to_the_trees_once_it_succeeds() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let engine = database.opening.engine();
    {
        let _writer = engine.take_writer_state().unwrap();
        let mut memtable = engine.memtable.lock();
        if !memtable.is_empty() {
            memtable.begin_merge(TransactionId(0));
            memtable.undo_merge();
            assert!(!memtable.is_usable());
        }
    }
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, "yew", b"new").unwrap();
    txn.commit().unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 5);
    commit_small(&database, &words, "box", b"new");
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 6);
}

/// Enough commits that another thread merges, as a process that was killed then, too.
#[test]
fn a_writer_sees_its_commits_while_they_are_merged() {
    let (directory, database, _) = database();
    let engine = database.opening.engine();
    let mut txn = database.begin_write().unwrap();
    let counts = txn.create_table::<u32, u64>("counts").unwrap();
    txn.commit().unwrap();
    let total = CHANGES_MAX as u64 * 6;
    for count in 0..total {
        let mut txn = database.begin_write().unwrap();
        let key = (count * 7919 % 5003) as u32;
        let before = counts.get(&txn, key).unwrap();
        assert_eq!(before, count.checked_sub(5003));
        counts.insert(&mut txn, key, count).unwrap();
        txn.commit().unwrap();
        if count % 3000 == 2999 {
            // No merge changes the files meanwhile.
            let held = engine.take_writer_state().unwrap();
            let copy = left_files(directory.path());
            drop(held);
            let copied = open(copy.path());
            let read = copied.begin_read().unwrap();
            assert_eq!(counts.get(&read, key).unwrap(), Some(count));
            check(&copied);
        }
    }
    let read = database.begin_read().unwrap();
    assert_eq!(counts.len(&read).unwrap(), 5003);
    check(&database);
}

/// Commits are added between the beginning and the end of a merge, whose record then names the last
/// entry before them.
#[test]
fn commits_after_those_that_were_merged_survive() {
    let (directory, database, words) = database();
    let engine = Arc::clone(database.opening.engine());
    let first = commit_small(&database, &words, "fir", b"new");
    let guard = engine.writer_lock.as_ref().unwrap().take(None).unwrap();
    if !is_filled(&database) {
        return;
    }
    let (txn, merging) = begin_merge(&engine, engine.held_writer_lock(guard)).unwrap();
    commit_small(&database, &words, "yew", b"new");
    let merged = engine.finish_merge(txn, &merging, MergeReason::Limits);
    merged.unwrap();
    assert!(is_filled(&database));
    let held = engine.take_writer_state().unwrap();
    assert_eq!(held.newest.transaction.0, first);
    let copy = left_files(directory.path());
    drop(held);
    for database in [open(copy.path()), database] {
        let read = database.begin_read().unwrap();
        assert_eq!(read.id().0, first + 1);
        assert_eq!(words.len(&read).unwrap(), 5);
    }
}

/// The changes of a small transaction need pages once a cursor reads them in the trees.
#[test]
fn a_cursor_reports_that_the_file_is_full() {
    let (_directory, database, _) = database();
    let mut txn = database.begin_write().unwrap();
    let limit = 64 << 10;
    let geometry = database.geometry().unwrap().upper_limit_bytes(limit);
    txn.set_geometry(geometry).unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    txn.commit().unwrap();
    let text = vec![7; 900];
    let fill = |number| {
        let mut txn = database.begin_write()?;
        numbers.insert(&mut txn, number, &text)?;
        txn.commit()
    };
    let full = (0..1000).map(fill).find_map(Result::err);
    assert!(matches!(full, Some(Error::Full { .. })), "{full:?}");
    let mut cursor = DetachedCursor::new(&numbers);
    assert!(cursor.first(&database.begin_read().unwrap()).unwrap());
    for is_value in [false, true] {
        let mut txn = small(&database);
        // Each in another leaf.
        for number in (0..32).step_by(8) {
            numbers.insert(&mut txn, number, [8; 900]).unwrap();
        }
        assert!(txn.small().is_some());
        let read = match is_value {
            true => cursor.value(&txn).map(drop),
            false => cursor.clone().next(&txn).map(drop),
        };
        assert!(matches!(read, Err(Error::Full { .. })), "{read:?}");
    }
}

/// Programs create their tables in each transaction, in case they are missing.
#[test]
fn a_transaction_that_creates_existing_tables_is_small() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    words.insert(&mut txn, "yew", b"new").unwrap();
    let same: Words = txn.create_table("words").unwrap();
    let other = txn.create_table::<u64, u64>("words");
    assert!(matches!(other, Err(Error::TableTypeMismatch { .. })));
    let other = txn.create_multi_table::<&str, Bytes>("words");
    assert!(matches!(other, Err(Error::TableMismatch { .. })));
    assert_eq!(same.get(&txn, "yew").unwrap(), Some(&b"new"[..]));
    assert!(same.contains_key(&txn, "ash").unwrap());
    assert!(txn.small().is_some());
    txn.create_table::<&str, Bytes>("others").unwrap();
    assert!(txn.small().is_none());
    assert_eq!(same.get(&txn, "yew").unwrap(), Some(&b"new"[..]));
    txn.commit().unwrap();
    check(&database);
}

#[path = "small_batch_tests.rs"]
mod batches;
#[path = "small_durable_tests.rs"]
mod durable;
#[path = "small_reader_tests.rs"]
mod readers;
