//! The validity of a process's knowledge when it shares a database with others.

use crate::{
    Error,
    io::{Access, Create},
    record::{Record, SLOT_COUNT},
    testing::SimDisk,
};
use crate::{
    instance::{engine::Engine, policies::Sharing},
    process::writer_lock::Acquisition,
    read::published::PUBLISHING,
    record::{durability::Durability, record_ref::RecordRef},
    share::LockOutcome,
    transaction_tests::test_kit::{assert_clean, fill, get, insert, put, records, settings_with},
    write::transaction::WriteTransaction,
};
use std::{
    fs::OpenOptions,
    io::{self, IoSlice},
    sync::Arc,
    thread,
    time::Instant,
};
use tempfile::TempDir;

const BOOT: [u8; 16] = [1; 16];

fn open(directory: &TempDir) -> Arc<Engine> {
    let settings = settings_with(|settings| settings.sharing = Sharing::Processes);
    let path = directory.path().join("shared.teak");
    let opened = Engine::open(&path, Access::ReadWrite, Create::IfMissing, settings);
    opened.map(Arc::new).unwrap()
}

/// Then its process counts as the last holder of the cross-process writer lock, but has not seen an
/// earlier commit of another process.
#[test]
fn a_process_that_fails_to_catch_up_does_so_next_time() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    let writer_lock = engine.acquire_writer().unwrap();
    thread::scope(|scope| {
        let failing = scope.spawn(|| engine.acquire_writer().map(drop));
        while !engine.permit_lock.is_waited_for() {
            thread::yield_now();
        }
        engine.openings.set_closed();
        drop(writer_lock);
        assert!(failing.join().unwrap().is_err());
    });
    engine.openings.unset_closed();
    let writer_lock = engine.writer_lock.as_ref().unwrap().take(None).unwrap();
    assert!(writer_lock.is_stale);
    drop(writer_lock);
    assert!(!engine.acquire_writer().unwrap().is_stale);
}

#[test]
fn a_dead_writer_may_have_returned_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let shared = engine.committer.shared.as_ref().unwrap();
    let given_back = shared.region.blocks_given_back();
    put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
    assert_eq!(shared.region.blocks_given_back(), given_back);
    // As if another process with its number had died before this one.
    engine.sync().unwrap();
    let _ = shared.take(&shared.region.writer);
    let writer_lock = engine.acquire_writer().unwrap();
    assert!(shared.region.blocks_given_back() > given_back);
    assert_eq!(
        writer_lock.blocks_given_back,
        shared.region.blocks_given_back()
    );
}

/// The other process may have written commits and given blocks back without noting either, and the
/// next process found a free lock.
#[test]
fn a_process_that_may_not_write_leaves_the_lock_of_a_dead_writer_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let shared = engine.committer.shared.as_ref().unwrap();
    let turn = engine.permit_lock.take(None).unwrap();
    // As if another process with its number had died.
    let _ = shared.take(&shared.region.writer);
    thread::scope(|scope| {
        let failing = scope.spawn(|| engine.acquire_writer().map(drop));
        while !engine.permit_lock.is_waited_for() {
            thread::yield_now();
        }
        engine.openings.set_closed();
        drop(turn);
        assert!(failing.join().unwrap().is_err());
    });
    engine.openings.unset_closed();
    let given_back = shared.region.blocks_given_back();
    drop(engine.acquire_writer().unwrap());
    assert!(shared.region.blocks_given_back() > given_back);
}

/// A process rereads the state unless it was the last holder of its lock.
#[test]
fn changes_of_the_state_by_another_process_are_visible() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let region = &engine.committer.shared.as_ref().unwrap().region;
    let as_another = |commits: u64| {
        // Of an incarnation that does not exist.
        let token = 1;
        let _ = region.state.take(token, None, |_| true);
        let mut words = region.load_state();
        // The number of the newest commit.
        words[1] = commits;
        region.store_state(&words);
        region.state.give_back(token);
    };
    let newest = engine.committer.newest();
    for commits in [newest.0 + 1, newest.0] {
        as_another(commits);
        assert_eq!(engine.committer.newest().0, commits);
    }
}

/// This process treats pages that an aborted transaction added as a free end of the file.
#[test]
fn another_process_may_have_truncated_pages_of_an_aborted_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let in_use = engine.acquire_writer().unwrap().newest.page_count * engine.file.page_size as u64;
    let mut growing = WriteTransaction::begin(&engine).unwrap();
    for (key, value) in records(3000, &[1; 1000]) {
        insert(&mut growing, b"a", &key, &value).unwrap();
    }
    growing.abort();
    let long = engine.acquire_writer().unwrap();
    assert!(long.space.page_count() * engine.file.page_size as u64 > in_use);
    drop(long);
    let shared = engine.committer.shared.as_ref().unwrap();
    let _ = shared.take(&shared.region.writer);
    let file = OpenOptions::new()
        .write(true)
        .open(directory.path().join("shared.teak"));
    file.unwrap().set_len(in_use).unwrap();
    put(&engine, Durability::Lazy, records(3000, &[2; 1000])).unwrap();
}

/// A closing process undoes its own commits that are not durable yet. It also overwrote the newest
/// record of others with the visible state. Then the next writer learned that this commit was
/// gone, or a power cut lost an acknowledged commit.
#[test]
fn a_process_that_gives_up_undoes_no_commit_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let visible = engine.begin_read().unwrap().record.clone();
    let committer = &engine.committer;
    let mut state = committer.commit_state.lock();
    // As another process's durable commit before it is flushed.
    let record = Record {
        slot: state.spare_slots().unwrap()[0],
        sequence: state.newest().sequence + 1,
        transaction: visible.transaction.next(),
        ..visible
    };
    let offset = u64::from(record.slot) * engine.file.page_size as u64;
    let bytes = record.encode(engine.file.page_size);
    let written = engine.file.storage.write(offset, &[IoSlice::new(&bytes)]);
    written.unwrap();
    state.note_written(RecordRef::of(&record));
    state.fail("closing", &io::Error::other("it is closing"));
    committer.take_back(&mut state);
    drop(state);
    let shared = committer.shared.as_ref().unwrap();
    let there = shared.record_in(record.slot).unwrap().unwrap();
    assert_eq!(there.transaction, record.transaction);
}

/// It kept the cross-process writer lock until it ended, and all others waited.
#[test]
fn a_process_without_its_lock_file_lets_others_write_and_keeps_its_snapshots() {
    for durability in [Durability::Durable, Durability::Lazy] {
        let (_directory, play) = stage();
        let (one, two) = (play(true).unwrap(), play(false).unwrap());
        fill(&one, records(10, b"one"));
        let reader = one.begin_read().unwrap();
        put(&one, durability, records(10, b"two")).unwrap();
        let txn = WriteTransaction::begin(&one).unwrap();
        one.committer.shared.as_ref().unwrap().region.lose();
        let refused = one.begin_read().unwrap_err().to_string();
        assert!(refused.contains("the disk is full"), "{refused}");
        drop(txn);
        assert!(WriteTransaction::begin(&one).is_err());
        for _ in 0..3 {
            put(&two, durability, records(10, b"three")).unwrap();
        }
        let mut pinned = Vec::new();
        two.committer.published.add_pinned(&mut pinned).unwrap();
        assert!(pinned.contains(&reader.transaction()));
        assert_clean(&two);
    }
}

/// It stayed taken as long as this process lived, since it was abandoned in lost memory only.
#[test]
fn a_lock_that_a_dead_process_left_is_free_if_the_next_process_loses_the_lock_file() {
    let (_directory, play) = stage();
    let (one, two) = (play(true).unwrap(), play(false).unwrap());
    fill(&one, records(10, b"one"));
    let shared = one.committer.shared.as_ref().unwrap();
    // As if another process with its number had died.
    let _ = shared.take(&shared.region.writer);
    let lock = &one.committer.process_writer_lock;
    let entered = lock.acquire(None);
    shared.region.lose();
    lock.undo(entered);
    assert_eq!(entered, Acquisition::Acquired(LockOutcome::Abandoned));
    put(&two, Durability::Durable, records(10, b"two")).unwrap();
}

/// It held a lock meanwhile, for a second if the lock file is damaged.
#[test]
fn a_reader_that_waits_for_a_record_blocks_no_other_thread() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let shared = engine.committer.shared.as_ref().unwrap();
    let published = &engine.committer.published;
    let visible = published.visible();
    shared.region.readers.publish(visible.0 + 7);
    thread::scope(|scope| {
        let reading = scope.spawn(|| engine.begin_read().map(drop));
        thread::sleep(PUBLISHING / 10);
        let began = Instant::now();
        assert_eq!(published.newest_here().transaction(), visible);
        assert!(began.elapsed() < PUBLISHING * 3 / 4);
        assert!(reading.join().unwrap().is_err());
    });
    shared.region.readers.publish(visible.0);
    engine.begin_read().unwrap();
}

type RecordForgery = fn(&mut Record);

/// Changes that give a record an impossible value for this database, with a correct checksum.
const FORGERIES: [(&str, RecordForgery); 7] = [
    ("page size", |record| record.page_size = 65_536),
    ("reserved bytes", |record| record.reserved_per_page = 40),
    ("slot", |record| record.slot = SLOT_COUNT),
    ("last slot", |record| record.slot = u8::MAX),
    ("database", |record| record.database_id[0] ^= 1),
    ("transaction", |record| record.transaction.0 += 1),
    ("length of the file", |record| record.page_count = 1 << 32),
];

/// Replaces the record of the visible state, which `engine` may not have made.
fn forge_visible(engine: &Engine, forge: impl Fn(&mut Record)) {
    let region = &engine.committer.shared.as_ref().unwrap().region;
    let mut record = engine.committer.published.newest_here().record.clone();
    record.transaction = record.transaction.next();
    let transaction = record.transaction.0;
    forge(&mut record);
    let bytes = record.encode(65_536);
    region.publish(transaction, &bytes, [u64::MAX; 2]);
}

/// Only the checksum was verified. With another page size, a read ended the process by SIGBUS. A
/// slot that does not exist caused a panic of an attaching process.
#[test]
fn a_record_of_the_lock_file_that_is_not_of_this_database_is_refused() {
    for (label, forge) in FORGERIES {
        let directory = tempfile::tempdir().unwrap();
        let engine = open(&directory);
        fill(&engine, records(100, b"one"));
        let visible = engine.committer.published.visible();
        let image = || std::fs::read(directory.path().join("shared.teak")).unwrap();
        let before = image();
        forge_visible(&engine, forge);
        assert!(engine.begin_read().is_err(), "{label}");
        assert!(image() == before, "{label}");
        let region = &engine.committer.shared.as_ref().unwrap().region;
        region.readers.publish(visible.0);
        assert_clean(&engine);
        put(&engine, Durability::Durable, records(10, b"two")).unwrap();
    }
}

#[test]
fn no_process_attaches_with_a_record_of_another_database() {
    if !crate::io::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    for (label, forge) in FORGERIES {
        let (_directory, play) = stage();
        let engine = play(true).unwrap();
        fill(&engine, records(100, b"one"));
        let visible = engine.committer.published.visible();
        forge_visible(&engine, forge);
        assert!(play(false).is_err(), "{label}");
        let region = &engine.committer.shared.as_ref().unwrap().region;
        region.readers.publish(visible.0);
        assert_clean(&play(false).unwrap());
    }
}

/// The record was written into a page that was too small for it.
#[test]
fn a_record_of_the_lock_file_that_is_longer_than_a_page_is_refused() {
    if !crate::io::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    let (_directory, play) = stage();
    let engine = play(true).unwrap();
    fill(&engine, records(100, b"one"));
    forge_visible(&engine, |record| record.space_log = vec![0; 8_000]);
    assert!(engine.begin_read().is_err());
    assert!(play(false).is_err());
}

/// A disk and a lock file by which several processes have its database open, with a function that
/// opens it as another process.
fn stage() -> (TempDir, impl Fn(bool) -> crate::Result<Arc<Engine>>) {
    let directory = tempfile::tempdir().unwrap();
    let lock_file = directory.path().join("played.teak-lock");
    let disk = SimDisk::new(64 << 20);
    let play = move |is_new| {
        let storage = Arc::new(disk.clone());
        let settings = settings_with(|settings| settings.sharing = Sharing::Processes);
        Engine::open_apart(storage, &lock_file, is_new, settings, BOOT).map(Arc::new)
    };
    (directory, play)
}

/// Other threads waited for the commit state meanwhile, for a second if the lock file is damaged.
#[test]
fn undoing_commits_waits_for_no_record() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let committer = &engine.committer;
    let shared = committer.shared.as_ref().unwrap();
    let visible = committer.published.visible();
    let mut state = committer.commit_state.lock();
    shared.region.readers.publish(visible.0 + 7);
    state.fail("flushing", &io::Error::other("the disk is gone"));
    shared.set_failed();
    let began = Instant::now();
    committer.take_back(&mut state);
    assert!(began.elapsed() < PUBLISHING / 2);
}

/// It flushed again and again, without end.
#[test]
fn a_commit_that_the_lock_file_has_forgotten_is_an_error() {
    for durability in [Durability::Lazy, Durability::Async] {
        let (_directory, play) = stage();
        let engine = play(true).unwrap();
        fill(&engine, records(10, b"one"));
        engine.sync().unwrap();
        let region = &engine.committer.shared.as_ref().unwrap().region;
        let before = region.load_state();
        put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
        let last = engine.committer.newest();
        let token = 1;
        let _ = region.state.take(token, None, |_| true);
        region.store_state(&before);
        region.state.give_back(token);
        if durability == Durability::Async {
            engine.committer.commit_state.lock().want(last);
        }
        assert!(engine.make_durable(last).is_err());
        assert!(put(&engine, Durability::Durable, records(10, b"three")).is_err());
    }
}

/// Bug: this process stored its own, older records, and could note a clean close of them.
#[test]
fn contradictory_numbers_in_the_lock_file_fail_all_processes_and_are_not_overwritten() {
    let (_directory, play) = stage();
    let engine = play(true).unwrap();
    fill(&engine, records(10, b"one"));
    let other = play(false).unwrap();
    let region = &engine.committer.shared.as_ref().unwrap().region;
    let token = 1;
    let _ = region.state.take(token, None, |_| true);
    let mut forged = region.load_state();
    // The transaction of the durable commit, which is greater than that of the newest one then.
    forged[4] = forged[1] + 7;
    region.store_state(&forged);
    region.state.give_back(token);
    assert!(put(&engine, Durability::Durable, records(10, b"two")).is_err());
    assert_eq!(region.load_state(), forged);
    let refused = put(&other, Durability::Durable, records(10, b"two"));
    assert!(
        matches!(refused, Err(Error::Poisoned { .. })),
        "{refused:?}"
    );
    drop(other);
    drop(engine);
    let reopened = play(false).unwrap();
    assert_eq!(
        get(&reopened, b"a", &records(1, b"").next().unwrap().0),
        Some(b"one".to_vec())
    );
}

/// A process with the flush lock believed that another one was flushing, and waited for that
/// forever after a failure.
#[test]
fn a_flush_that_only_the_lock_file_knows_does_not_count() {
    let (_directory, play) = stage();
    let engine = play(true).unwrap();
    fill(&engine, records(10, b"one"));
    put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
    let region = &engine.committer.shared.as_ref().unwrap().region;
    let token = 1;
    let _ = region.state.take(token, None, |_| true);
    let mut words = region.load_state();
    let last = engine.committer.published.visible();
    // Whether there is a target, and its transaction.
    (words[0], words[10]) = (1, last.0 + 7);
    region.store_state(&words);
    region.state.give_back(token);
    engine.committer.shared.as_ref().unwrap().set_failed();
    assert!(engine.make_durable(last).is_err());
}
