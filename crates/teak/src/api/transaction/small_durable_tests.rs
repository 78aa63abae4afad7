//! Small durable commits, which are on the disk when the log is.

use super::*;
use crate::{
    instance::small_changes::{RecordKey, SmallChanges},
    write::small_commit::{Added, add_to_memtable, flush_log},
};
use std::sync::atomic::Ordering::Relaxed;

/// A database whose small durable commits go to the log.
pub(super) fn durable_database() -> (TempDir, Database, Words) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new();
    let database = options.open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_table("words").unwrap();
    txn.commit().unwrap();
    // It takes some durable commits before there is a log.
    assert!(!directory.path().join("x.teak-wal").exists());
    for round in 0..30_u8 {
        put(&database, &words, "ash", &[round]);
    }
    assert!(directory.path().join("x.teak-wal").exists());
    (directory, database, words)
}

fn put(database: &Database, words: &Words, word: &'static str, text: &[u8]) -> TransactionId {
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, word, text).unwrap();
    txn.commit().unwrap()
}

/// The last commit that is durable, in the trees or in the log.
pub(super) fn durable_commit(database: &Database) -> TransactionId {
    database.opening.engine().durable()
}

/// An old copy of the file, as if nothing later had reached the disk, and the present log.
#[test]
fn small_durable_commits_are_durable_in_the_log() {
    let (directory, database, words) = durable_database();
    let in_trees = || database.durable_in_trees();
    put(&database, &words, "elm", b"first");
    database.sync().unwrap();
    // The base of the log, which has begun again, and is in the trees.
    put(&database, &words, "elm", b"second");
    put(&database, &words, "elm", b"third");
    let (before, file) = (
        in_trees(),
        fs::read(directory.path().join("x.teak")).unwrap(),
    );
    let last = put(&database, &words, "fir", b"new");
    assert!(durable_commit(&database) >= last);
    let log = fs::read(directory.path().join("x.teak-wal")).unwrap();
    if in_trees() != before {
        return;
    }
    let cut = tempfile::tempdir().unwrap();
    fs::write(cut.path().join("x.teak"), file).unwrap();
    fs::write(cut.path().join("x.teak-wal"), log).unwrap();
    let database = Database::open(cut.path().join("x.teak")).unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"third"[..]));
    assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"new"[..]));
    // The log is not needed any more.
    assert!(database.durable_in_trees() >= last);
    check(&database);
}

#[test]
fn readers_see_a_small_durable_commit_when_it_is_on_the_disk() {
    let (_directory, database, words) = durable_database();
    let engine = Arc::clone(database.opening.engine());
    put(&database, &words, "elm", b"first");
    let Some(id) = add_unflushed(&database, "elm", b"second") else {
        return;
    };
    let read = database.begin_read().unwrap();
    // A merge that begins meanwhile shows the commit.
    if read.id() < id {
        assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"first"[..]));
    }
    flush_log(&engine, id).unwrap();
    let read = database.begin_read().unwrap();
    assert!(read.id() >= id);
    assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"second"[..]));
}

/// A commit that changes nothing relies on those before it. Their entries may only be in memory,
/// and a killed process would lose them.
#[test]
fn an_empty_lazy_commit_waits_for_unwritten_entries_of_others() {
    let (_directory, database, words) = durable_database();
    let engine = Arc::clone(database.opening.engine());
    let Some(id) = add_unflushed(&database, "elm", b"first") else {
        return;
    };
    let is_kept = engine.memtable.lock().pending().is_some();
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    words.insert(&mut txn, "elm", b"first").unwrap();
    assert!(txn.commit().unwrap() >= id);
    assert_eq!(engine.memtable.lock().pending(), None);
    if is_kept {
        assert!(durable_commit(&database) >= id);
    }
}

/// A merge shows commits to readers, which a killed process must not lose.
#[test]
fn a_merge_writes_the_entries_of_its_commits_before() {
    let (_directory, database, _words) = durable_database();
    let engine = Arc::clone(database.opening.engine());
    let Some(id) = add_unflushed(&database, "elm", b"first") else {
        return;
    };
    engine.show_memtable().unwrap();
    assert_eq!(engine.memtable.lock().pending(), None);
    flush_log(&engine, id).unwrap();
    assert!(durable_commit(&database) >= id);
    check(&database);
}

/// Adds a durable commit to the memtable and its log, and does not wait until that is flushed.
/// `None` if it has to go to the trees.
fn add_unflushed(database: &Database, word: &str, text: &[u8]) -> Option<TransactionId> {
    let engine = database.opening.engine();
    let small = database.begin_write().unwrap();
    small.small()?;
    let mut changes = SmallChanges::default();
    let record = RecordKey::new(engine.handle(b"words"), word.as_bytes());
    changes.put(record, b"words", Some(text));
    let added = add_to_memtable(engine, small.id(), &mut changes, Durability::Durable).unwrap();
    matches!(added, Added::Yes { .. }).then(|| small.id())
}

/// Commits go to the trees then.
#[test]
fn a_log_that_cannot_grow_loses_no_commit() {
    let (directory, database, words) = durable_database();
    put(&database, &words, "elm", b"first");
    let engine = database.opening.engine();
    if let Some(log) = engine.memtable.lock().log_file() {
        log.failures().unwrap().has_no_room.store(true, Relaxed);
    }
    let text = [7; 8000];
    for number in 0..100 {
        let mut txn = database.begin_write().unwrap();
        words.insert(&mut txn, format!("{number}"), text).unwrap();
        txn.commit().unwrap();
    }
    let copy = left_files(directory.path());
    for database in [
        &database,
        &Database::open(copy.path().join("x.teak")).unwrap(),
    ] {
        let read = database.begin_read().unwrap();
        for number in 0..100 {
            let found = words.get(&read, format!("{number}"));
            assert_eq!(found.unwrap(), Some(&text[..]));
        }
    }
}

/// Nothing is trusted any more, readers see what they saw, and the next process does not find the
/// commit.
#[test]
fn a_failed_flush_of_the_log_fails_the_commit() {
    let (directory, database, words) = durable_database();
    put(&database, &words, "elm", b"first");
    put(&database, &words, "elm", b"second");
    let engine = database.opening.engine();
    if let Some(log) = engine.memtable.lock().log_file() {
        log.failures().unwrap().fails.store(true, Relaxed);
    }
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, "elm", b"third").unwrap();
    let failed = txn.commit();
    if failed.is_ok() {
        // It went to the trees.
        return;
    }
    assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
    for _ in 0..3 {
        let read = database.begin_read().unwrap();
        assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"second"[..]));
        assert!(matches!(
            database.begin_write(),
            Err(Error::Poisoned { .. })
        ));
        // The thread that merges.
        std::thread::sleep(Duration::from_millis(15));
    }
    let copy = left_files(directory.path());
    let copied = Database::open(copy.path().join("x.teak")).unwrap();
    let read = copied.begin_read().unwrap();
    assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"second"[..]));
    check(&copied);
}

/// Both halves of the log are in use, and what they follow is not in the trees.
#[test]
fn after_a_failed_merge_with_durable_commits_others_go_on() {
    let (_directory, database, words) = durable_database();
    let engine = database.opening.engine();
    for _ in 0..100 {
        put(&database, &words, "elm", b"first");
        let held = engine.take_writer_state().unwrap();
        let mut memtable = engine.memtable.lock();
        if memtable.is_empty() {
            continue;
        }
        memtable.begin_merge(engine.durable_in_trees());
        memtable.undo_merge();
        assert!(!memtable.is_usable());
        drop((memtable, held));
        put(&database, &words, "fir", b"new");
        let read = database.begin_read().unwrap();
        assert_eq!(words.len(&read).unwrap(), 3);
        put(&database, &words, "yew", b"new");
        check(&database);
        return;
    }
}

#[test]
fn threads_that_commit_share_flushes_of_the_log() {
    let (_directory, database, words) = durable_database();
    std::thread::scope(|scope| {
        for word in ["box", "elm", "fir", "oak", "yew"] {
            let (database, words) = (&database, &words);
            scope.spawn(move || {
                for round in 0..40_u8 {
                    let id = put(database, words, word, &[round]);
                    assert!(durable_commit(database) >= id);
                    let read = database.begin_read().unwrap();
                    assert_eq!(words.get(&read, word).unwrap(), Some(&[round][..]));
                }
            });
        }
    });
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 6);
    check(&database);
}

/// A transaction that turns out to be a whole one is as durable.
#[test]
fn transactions_that_outgrow_the_memtable_go_to_the_trees() {
    let (_directory, database, words) = durable_database();
    put(&database, &words, "elm", b"first");
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, "fir", b"new").unwrap();
    assert_eq!(words.len(&txn).unwrap(), 3);
    assert!(txn.small().is_none());
    let id = txn.commit().unwrap();
    assert!(database.durable_in_trees() >= id);
    let txn = database.begin_write().unwrap();
    assert!(txn.small().is_none(), "the next ones begin as whole ones");
    drop(txn);
    check(&database);
}

/// Nothing changed, and what was seen is durable.
#[test]
fn an_empty_durable_transaction_waits_for_the_state_it_began_with() {
    let (_directory, database, words) = durable_database();
    let last = put(&database, &words, "elm", b"first");
    let txn = database.begin_write().unwrap();
    assert_eq!(txn.commit().unwrap(), last);
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    words.insert(&mut txn, "elm", b"second").unwrap();
    let lazy = txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Durable);
    txn.commit().unwrap();
    assert!(durable_commit(&database) >= lazy);
}

/// A clean close leaves everything in the trees, and no log.
#[test]
fn closing_keeps_small_durable_commits() {
    for flushes in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.teak");
        let options = Options::new().flush_on_close(flushes);
        let database = options.open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let words: Words = txn.create_table("words").unwrap();
        txn.commit().unwrap();
        for round in 0..60_u8 {
            put(&database, &words, "ash", &[round]);
        }
        database.close().unwrap();
        assert!(!directory.path().join("x.teak-wal").exists());
        let database = options.open(&path).unwrap();
        assert_eq!(database.info().recovery, Recovery::Clean);
        let read = database.begin_read().unwrap();
        assert_eq!(words.get(&read, "ash").unwrap(), Some(&[59][..]));
    }
}

/// Whether the log goes on after the newest commit in the trees, if that is not on the disk yet.
fn goes_on(database: &Database) -> bool {
    let engine = database.opening.engine();
    let newest = engine.committer.newest();
    let memtable = engine.memtable.lock();
    memtable.goes_on_after(newest, TransactionId(0))
}

/// Each scan would cost a flush of the trees.
#[test]
fn durable_commits_go_on_in_the_log_after_a_merge() {
    let (directory, database, words) = durable_database();
    database.sync().unwrap();
    for number in 0..5 {
        put(&database, &words, "elm", &[number]);
    }
    put(&database, &words, "elm", b"first");
    let before = database.durable_in_trees();
    let file = fs::read(directory.path().join("x.teak")).unwrap();
    for (word, text) in [("fir", b"second"), ("oak", b"third!")] {
        let read = database.begin_read().unwrap();
        words.iter(&read).unwrap().for_each(|record| {
            record.unwrap();
        });
        assert!(goes_on(&database));
        // Enough for a merge to be worth while.
        for number in 0..5 {
            put(&database, &words, word, &[number]);
        }
        let last = put(&database, &words, word, text);
        assert!(durable_commit(&database) >= last);
    }
    // The trees may have been flushed meanwhile.
    if database.durable_in_trees() != before {
        return;
    }
    // A power cut that loses the trees, and a kill.
    let cut = tempfile::tempdir().unwrap();
    fs::write(cut.path().join("x.teak"), file).unwrap();
    let log = directory.path().join("x.teak-wal");
    fs::copy(log, cut.path().join("x.teak-wal")).unwrap();
    for directory in [cut, left_files(directory.path())] {
        let database = Database::open(directory.path().join("x.teak")).unwrap();
        let read = database.begin_read().unwrap();
        assert_eq!(words.get(&read, "elm").unwrap(), Some(&b"first"[..]));
        assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"second"[..]));
        assert_eq!(words.get(&read, "oak").unwrap(), Some(&b"third!"[..]));
        check(&database);
    }
}

/// The log does not have the commit in between.
#[test]
fn the_log_does_not_go_on_after_another_commit() {
    let (directory, database, words) = durable_database();
    put(&database, &words, "elm", b"first");
    let mut txn = database.begin_write().unwrap();
    assert_eq!(words.len(&txn).unwrap(), 2);
    words.insert(&mut txn, "fir", b"in the trees").unwrap();
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    assert!(!goes_on(&database));
    let last = put(&database, &words, "oak", b"later");
    assert!(durable_commit(&database) >= last);
    let copy = left_files(directory.path());
    let database = Database::open(copy.path().join("x.teak")).unwrap();
    let read = database.begin_read().unwrap();
    for (word, text) in [
        ("elm", &b"first"[..]),
        ("fir", b"in the trees"),
        ("oak", b"later"),
    ] {
        assert_eq!(words.get(&read, word).unwrap(), Some(text));
    }
    check(&database);
}
