//! What a process that shares a database with others may believe about what it knows.

use crate::{
    Error,
    io::{Access, Create},
    record::{Record, SLOT_COUNT},
    testing::SimDisk,
};
use crate::{
    instance::{engine::Engine, policies::Sharing},
    read::published::PUBLISHING,
    record::{durability::Durability, record_ref::RecordRef},
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

/// Its process is known then as the last that had the writer's place, but it has not seen what another one had committed before.
#[test]
fn who_enters_the_place_and_fails_follows_the_next_time() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    let writer_lock = engine.acquire_writer().unwrap();
    thread::scope(|scope| {
        let failing = scope.spawn(|| engine.acquire_writer().map(drop));
        while !engine.writer_lock.as_ref().unwrap().is_waited_for() {
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
fn whoever_died_as_the_writer_may_have_given_blocks_back() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let shared = engine.flusher.shared.as_ref().unwrap();
    let given_back = shared.region.blocks_given_back();
    put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
    assert_eq!(shared.region.blocks_given_back(), given_back);
    // As if another process that had died before this one, with its number.
    engine.sync().unwrap();
    let _ = shared.take(&shared.region.writer);
    let writer_lock = engine.acquire_writer().unwrap();
    assert!(shared.region.blocks_given_back() > given_back);
    assert_eq!(
        writer_lock.blocks_given_back,
        shared.region.blocks_given_back()
    );
}

/// A process does not read the state again as long as it was the last that had its lock.
#[test]
fn what_another_process_has_done_to_the_state_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let region = &engine.flusher.shared.as_ref().unwrap().region;
    let as_another = |commits: u64| {
        // Of an incarnation that there is not.
        let token = 1;
        let _ = region.state.take(token, None, |_| true);
        let mut words = region.load_state();
        // The number of the newest commit.
        words[1] = commits;
        region.store_state(&words);
        region.state.give_back(token);
    };
    let newest = engine.flusher.newest();
    for commits in [newest.0 + 1, newest.0] {
        as_another(commits);
        assert_eq!(engine.flusher.newest().0, commits);
    }
}

/// What a transaction grows the file by that comes to nothing, this process takes for a free end of the file.
#[test]
fn another_process_may_have_cut_off_what_an_aborted_transaction_had_added() {
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
    let shared = engine.flusher.shared.as_ref().unwrap();
    let _ = shared.take(&shared.region.writer);
    let file = OpenOptions::new()
        .write(true)
        .open(directory.path().join("shared.teak"));
    file.unwrap().set_len(in_use).unwrap();
    put(&engine, Durability::Lazy, records(3000, &[2; 1000])).unwrap();
}

/// A process that closes gives up what is not durable yet. What others have committed is theirs: it wrote what was visible over the newest
/// record, and the next who wrote was told that this was gone, or a power cut took a commit that had been acknowledged.
#[test]
fn who_gives_up_while_others_go_on_takes_nothing_back() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let visible = engine.begin_read().unwrap().record.clone();
    let flusher = &engine.flusher;
    let mut state = flusher.commit_state.lock();
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
    flusher.take_back(&mut state);
    drop(state);
    let shared = flusher.shared.as_ref().unwrap();
    let there = shared.record_in(record.slot).unwrap().unwrap();
    assert_eq!(there.transaction, record.transaction);
}

/// It kept the writer's lock until it ended, and all others waited.
#[test]
fn a_process_that_has_lost_the_lock_file_lets_others_write_and_keeps_what_it_reads() {
    for durability in [Durability::Durable, Durability::Lazy] {
        let (_directory, play) = stage();
        let (one, two) = (play(true).unwrap(), play(false).unwrap());
        fill(&one, records(10, b"one"));
        let reader = one.begin_read().unwrap();
        put(&one, durability, records(10, b"two")).unwrap();
        let txn = WriteTransaction::begin(&one).unwrap();
        one.flusher.shared.as_ref().unwrap().region.lose();
        assert!(one.begin_read().is_err());
        drop(txn);
        assert!(WriteTransaction::begin(&one).is_err());
        for _ in 0..3 {
            put(&two, durability, records(10, b"three")).unwrap();
        }
        let mut pinned = Vec::new();
        two.flusher.published.add_pinned(&mut pinned).unwrap();
        assert!(pinned.contains(&reader.transaction()));
        assert_clean(&two);
    }
}

/// It held a lock meanwhile, for a second where the lock file is damaged.
#[test]
fn a_reader_that_waits_for_a_record_keeps_no_other_thread_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let shared = engine.flusher.shared.as_ref().unwrap();
    let published = &engine.flusher.published;
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

/// Changes that give a record a value which this database cannot have, though its checksum is right.
const FORGERIES: [(&str, RecordForgery); 7] = [
    ("page size", |record| record.page_size = 65_536),
    ("reserved bytes", |record| record.reserved_per_page = 40),
    ("slot", |record| record.slot = SLOT_COUNT),
    ("last slot", |record| record.slot = u8::MAX),
    ("database", |record| record.database_id[0] ^= 1),
    ("transaction", |record| record.transaction.0 += 1),
    ("length of the file", |record| record.page_count = 1 << 32),
];

/// Has a record be that of the visible state that `engine` may not have made.
fn forge_visible(engine: &Engine, forge: impl Fn(&mut Record)) {
    let region = &engine.flusher.shared.as_ref().unwrap().region;
    let mut record = engine.flusher.published.newest_here().record.clone();
    record.transaction = record.transaction.next();
    let transaction = record.transaction.0;
    forge(&mut record);
    let bytes = record.encode(65_536);
    region.publish(transaction, &bytes, [u64::MAX; 2]);
}

/// Only the checksum was looked at. With another page size a read ended the process by SIGBUS, a slot that there is not was a panic of who joined.
#[test]
fn a_record_of_the_lock_file_that_is_not_of_this_database_is_refused() {
    for (what, forge) in FORGERIES {
        let directory = tempfile::tempdir().unwrap();
        let engine = open(&directory);
        fill(&engine, records(100, b"one"));
        let visible = engine.flusher.published.visible();
        let image = || std::fs::read(directory.path().join("shared.teak")).unwrap();
        let before = image();
        forge_visible(&engine, forge);
        assert!(engine.begin_read().is_err(), "{what}");
        assert!(image() == before, "{what}");
        let region = &engine.flusher.shared.as_ref().unwrap().region;
        region.readers.publish(visible.0);
        assert_clean(&engine);
        put(&engine, Durability::Durable, records(10, b"two")).unwrap();
    }
}

#[test]
fn nobody_joins_by_a_record_that_is_not_of_this_database() {
    for (what, forge) in FORGERIES {
        let (_directory, play) = stage();
        let engine = play(true).unwrap();
        fill(&engine, records(100, b"one"));
        let visible = engine.flusher.published.visible();
        forge_visible(&engine, forge);
        assert!(play(false).is_err(), "{what}");
        let region = &engine.flusher.shared.as_ref().unwrap().region;
        region.readers.publish(visible.0);
        assert_clean(&play(false).unwrap());
    }
}

/// It was written out again into a page, which it did not fit into.
#[test]
fn a_record_of_the_lock_file_that_is_longer_than_a_page_is_refused() {
    let (_directory, play) = stage();
    let engine = play(true).unwrap();
    fill(&engine, records(100, b"one"));
    forge_visible(&engine, |record| record.space_log = vec![0; 8_000]);
    assert!(engine.begin_read().is_err());
    assert!(play(false).is_err());
}

/// A disk and a lock file beside which processes have its database open, and what opens it as another one.
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

/// Other threads waited for the state of commits meanwhile, for a second where the lock file is damaged.
#[test]
fn taking_back_waits_for_no_record() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(&directory);
    fill(&engine, records(10, b"one"));
    let flusher = &engine.flusher;
    let shared = flusher.shared.as_ref().unwrap();
    let visible = flusher.published.visible();
    let mut state = flusher.commit_state.lock();
    shared.region.readers.publish(visible.0 + 7);
    state.fail("flushing", &io::Error::other("the disk is gone"));
    shared.set_failed();
    let began = Instant::now();
    flusher.take_back(&mut state);
    assert!(began.elapsed() < PUBLISHING / 2);
}

/// It flushed again and again, without an end.
#[test]
fn a_commit_that_the_lock_file_has_forgotten_is_an_error() {
    for durability in [Durability::Lazy, Durability::Async] {
        let (_directory, play) = stage();
        let engine = play(true).unwrap();
        fill(&engine, records(10, b"one"));
        engine.sync().unwrap();
        let region = &engine.flusher.shared.as_ref().unwrap().region;
        let before = region.load_state();
        put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
        let last = engine.flusher.newest();
        let token = 1;
        let _ = region.state.take(token, None, |_| true);
        region.store_state(&before);
        region.state.give_back(token);
        if durability == Durability::Async {
            engine.flusher.commit_state.lock().want(last);
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
    let region = &engine.flusher.shared.as_ref().unwrap().region;
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
    assert!(matches!(refused, Err(Error::Poisoned)), "{refused:?}");
    drop(other);
    drop(engine);
    let reopened = play(false).unwrap();
    assert_eq!(
        get(&reopened, b"a", &records(1, b"").next().unwrap().0),
        Some(b"one".to_vec())
    );
}

/// A process with the lock for flushing believed that another one flushed, and waited for that without an end when something had failed.
#[test]
fn a_flush_that_only_the_lock_file_knows_of_is_none() {
    let (_directory, play) = stage();
    let engine = play(true).unwrap();
    fill(&engine, records(10, b"one"));
    put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
    let region = &engine.flusher.shared.as_ref().unwrap().region;
    let token = 1;
    let _ = region.state.take(token, None, |_| true);
    let mut words = region.load_state();
    let last = engine.flusher.published.visible();
    // Whether there is a target, and its transaction.
    (words[0], words[10]) = (1, last.0 + 7);
    region.store_state(&words);
    region.state.give_back(token);
    engine.flusher.shared.as_ref().unwrap().set_failed();
    assert!(engine.make_durable(last).is_err());
}
