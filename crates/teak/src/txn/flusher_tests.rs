//! Flushes that are shared, awaited, due, and that fail, on a disk that flushes when it is told to.

use super::test_kit::{
    BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, assert_clean, create_table, fill, get, insert, key,
    open, open_storage, put, settings_with,
};
use super::{Durability, Engine, Verification, WriteTransaction};
use crate::{
    Error, Result, TransactionId,
    store::{
        Mapping, Storage, WritableMapping,
        sim::{Event, Fault, SimDisk},
    },
};
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::pin,
    sync::{Arc, Condvar, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

/// A disk whose flushes wait until they are let through, and its writes too if they are told to.
#[derive(Debug)]
struct GatedDisk {
    disk: SimDisk,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Debug)]
struct Gate {
    is_open: bool,
    begun: u32,
    holds_writes: bool,
    is_write_held: bool,
}

impl GatedDisk {
    fn set_open(&self, is_open: bool) {
        self.gate.lock().unwrap().is_open = is_open;
        self.changed.notify_all();
    }

    fn set_holding_writes(&self, holds_writes: bool) {
        self.gate.lock().unwrap().holds_writes = holds_writes;
        self.changed.notify_all();
    }

    fn wait_write_held(&self) {
        let mut gate = self.gate.lock().unwrap();
        while !gate.is_write_held {
            gate = self.changed.wait(gate).unwrap();
        }
    }

    /// Waits until so many flushes have begun.
    fn wait_begun(&self, count: u32) {
        let mut gate = self.gate.lock().unwrap();
        while gate.begun < count {
            gate = self.changed.wait(gate).unwrap();
        }
    }

    fn begun(&self) -> u32 {
        self.gate.lock().unwrap().begun
    }
}

impl Storage for GatedDisk {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.set_len(bytes)
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut gate = self.gate.lock().unwrap();
        gate.is_write_held = gate.holds_writes;
        self.changed.notify_all();
        while gate.holds_writes {
            gate = self.changed.wait(gate).unwrap();
        }
        drop(gate);
        self.disk.write(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        let mut gate = self.gate.lock().unwrap();
        gate.begun += 1;
        self.changed.notify_all();
        while !gate.is_open {
            gate = self.changed.wait(gate).unwrap();
        }
        drop(gate);
        self.disk.flush()
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        self.disk.mapping()
    }

    fn is_secured(&self) -> io::Result<bool> {
        self.disk.is_secured()
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        self.disk.writable()
    }

    fn mark_written(&self, offset: u64, len: u64) {
        self.disk.mark_written(offset, len);
    }
}

/// A database with an empty table `a`, whose flushes wait from now on.
fn gated() -> (Arc<GatedDisk>, Arc<Engine>) {
    let disk = Arc::new(GatedDisk {
        disk: SimDisk::new(CAPACITY),
        gate: Mutex::new(Gate {
            is_open: true,
            begun: 0,
            holds_writes: false,
            is_write_held: false,
        }),
        changed: Condvar::new(),
    });
    let storage: Arc<dyn Storage> = disk.clone();
    let engine = open_storage(storage, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    txn.commit().unwrap();
    disk.set_open(false);
    disk.gate.lock().unwrap().begun = 0;
    (disk, engine)
}

fn put_one(engine: &Arc<Engine>, durability: Durability, i: u32) -> Result<TransactionId> {
    put(engine, durability, [(key(i), b"value".to_vec())])
}

type Committing = thread::JoinHandle<Result<TransactionId>>;

fn spawn_put(engine: &Arc<Engine>, i: u32) -> Committing {
    spawn_commit(engine, Durability::Durable, i)
}

fn spawn_commit(engine: &Arc<Engine>, durability: Durability, i: u32) -> Committing {
    let engine = Arc::clone(engine);
    thread::spawn(move || put_one(&engine, durability, i))
}

/// As [`gated`], with a durable commit of key 0 that is being flushed, and one of key 1 that is to be
/// written after that.
fn gated_with_two_commits() -> (Arc<GatedDisk>, Arc<Engine>, [Committing; 2]) {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let second = spawn_put(&engine, 1);
    wait_committed(&engine, 3);
    (disk, engine, [first, second])
}

/// Waits until commit `transaction` was made.
fn wait_committed(engine: &Engine, transaction: u64) {
    while engine.newest().0 < transaction {
        thread::yield_now();
    }
}

fn has(engine: &Arc<Engine>, i: u32) -> bool {
    get(engine, b"a", &key(i)).is_some()
}

#[test]
fn commits_that_come_during_a_flush_share_the_next_one() {
    let (disk, engine) = gated();
    let mut threads = vec![spawn_put(&engine, 0)];
    disk.wait_begun(1);
    threads.extend((1..6).map(|i| spawn_put(&engine, i)));
    wait_committed(&engine, 7);
    assert!((0..6).all(|i| !has(&engine, i)), "nothing is durable yet");
    assert_eq!(engine.durable(), TransactionId(1));
    disk.set_open(true);
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    assert_eq!(
        disk.begun(),
        2,
        "one flush for the first, one for all others"
    );
    assert!((0..6).all(|i| has(&engine, i)));
    assert_eq!(engine.durable(), TransactionId(7));
    assert_clean(&engine);
}

/// Pages written from event `from` on, records left out.
fn pages_written(disk: &SimDisk, from: usize) -> Vec<u64> {
    let events = disk.events();
    let writes = events[from..].iter().filter_map(|event| match &**event {
        Event::Write { offset, bytes } => Some((*offset, bytes.len())),
        _ => None,
    });
    let pages = writes.flat_map(|(offset, len)| {
        let first = offset / PAGE_SIZE as u64;
        first..first + (len / PAGE_SIZE) as u64
    });
    pages.collect()
}

#[test]
fn small_commits_that_share_a_flush_are_written_as_one() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let before = disk.disk.events().len();
    let others: Vec<_> = (1..6).map(|i| spawn_put(&engine, i)).collect();
    wait_committed(&engine, 7);
    assert_eq!(disk.disk.events().len(), before, "they are in memory only");
    disk.set_open(true);
    first.join().unwrap().unwrap();
    for other in others {
        other.join().unwrap().unwrap();
    }
    // One leaf, and one page of the catalog, however many commits changed them.
    assert_eq!(pages_written(&disk.disk, before).len(), 2);
    assert!((0..6).all(|i| has(&engine, i)));
    assert_clean(&engine);
    let image = disk.disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert!((0..6).all(|i| has(&engine, i)));
    assert_clean(&engine);
}

#[test]
fn a_commit_that_is_seen_has_those_before_it_written_first() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    put_one(&engine, Durability::Lazy, 2).unwrap();
    assert!((0..3).all(|i| has(&engine, i)));
    assert_clean(&engine);
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let killed = open(&killed, false, BOOT).unwrap();
    assert!((0..3).all(|i| has(&killed, i)));
    assert_clean(&killed);
    disk.set_open(true);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
}

/// All that share the write learn why, and nothing of it is seen; who opens again goes on.
#[test]
fn a_write_that_fails_fails_all_commits_that_share_it() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let others: Vec<_> = (1..4).map(|i| spawn_put(&engine, i)).collect();
    wait_committed(&engine, 5);
    // The flush of the first comes before it.
    disk.disk.fail_on(disk.disk.calls() + 1, Fault::DISK_FULL);
    disk.set_open(true);
    first.join().unwrap().unwrap();
    for other in others {
        let error = other.join().unwrap().unwrap_err();
        let Error::Io { source, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    }
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    assert!(matches!(
        put_one(&engine, Durability::Lazy, 9),
        Err(Error::Poisoned)
    ));
    assert_clean(&engine);
    drop(engine);
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let engine = open(&killed, false, BOOT).unwrap();
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    put_one(&engine, Durability::Durable, 9).unwrap();
    assert_clean(&engine);
}

/// A durable commit is seen early only where a commit that is seen builds on it.
#[test]
fn a_durable_commit_is_seen_when_it_is_durable_or_built_upon() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    assert!(!has(&engine, 0));
    put_one(&engine, Durability::Lazy, 1).unwrap();
    assert!(
        has(&engine, 0) && has(&engine, 1),
        "everybody reads their own writes"
    );
    let second = spawn_put(&engine, 2);
    wait_committed(&engine, 4);
    assert!(!has(&engine, 2));
    disk.set_open(true);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    assert!(has(&engine, 2));
}

/// Whatever is committed while a flush runs, its pages and its record are not written over: else a
/// commit acknowledged as durable could lead to pages of later ones, after a power cut.
#[test]
fn what_a_flush_makes_durable_is_spared_while_it_runs() {
    let (disk, engine) = gated();
    put(
        &engine,
        Durability::Lazy,
        (0..300).map(|i| (key(i), vec![1; 100])),
    )
    .unwrap();
    let flushing = spawn_put(&engine, 1000);
    disk.wait_begun(1);
    for round in 0..8 {
        put(
            &engine,
            Durability::Lazy,
            (0..300).map(|i| (key(i), vec![round; 100])),
        )
        .unwrap();
    }
    disk.set_open(true);
    flushing.join().unwrap().unwrap();
    for newest in [false, true] {
        let image = disk
            .disk
            .power_cut(&mut |count| if newest { count - 1 } else { 0 }, 4096);
        let cut = SimDisk::from_image(image, CAPACITY);
        let engine = open(&cut, false, OTHER_BOOT).unwrap();
        assert!(has(&engine, 1000));
        assert_clean(&engine);
    }
}

#[test]
fn a_ticket_tells_when_its_commit_is_durable() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    assert_eq!(ticket.transaction(), TransactionId(2));
    assert!(has(&engine, 0), "it is seen at once");
    disk.wait_begun(1);
    assert!(!ticket.is_durable().unwrap());
    assert!(!ticket.wait_timeout(Duration::from_millis(1)).unwrap());
    let waiting = {
        let ticket = ticket.clone();
        thread::spawn(move || block_on(ticket))
    };
    disk.set_open(true);
    waiting.join().unwrap().unwrap();
    ticket.wait().unwrap();
    assert!(ticket.is_durable().unwrap());
}

#[test]
fn a_ticket_outlives_its_database_and_does_not_keep_it() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    disk.set_open(true);
    drop(engine);
    assert!(ticket.is_durable().unwrap());
    assert_eq!(
        Arc::strong_count(&disk),
        1,
        "nobody holds the disk any more"
    );
}

#[test]
fn lazy_commits_are_flushed_when_they_are_due() {
    let (disk, engine) = gated();
    disk.set_open(true);
    drop(engine);
    let limits: [(u64, Duration); 2] = [(1, Duration::MAX), (u64::MAX, Duration::from_millis(1))];
    for (bytes, age) in limits {
        let storage: Arc<dyn Storage> = disk.clone();
        let settings = settings_with(|settings| {
            settings.flush_after_bytes = Some(bytes);
            settings.flush_after = Some(age);
        });
        let path = "simulated".into();
        let engine = Engine::open_storage(storage, path, false, false, settings, BOOT).unwrap();
        let engine = Arc::new(engine);
        let transaction = put(
            &engine,
            Durability::Lazy,
            [(key(0), bytes.to_le_bytes().to_vec())],
        );
        engine.ticket(transaction.unwrap()).wait().unwrap();
    }
}

/// How a database is to be written to is known to who opens it without saying so.
#[test]
fn policies_are_kept_in_the_file() {
    let disk = SimDisk::new(CAPACITY);
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let settings = settings_with(|settings| {
        settings.durability = Some(Durability::Async);
        settings.flush_after_bytes = Some(12_345);
        settings.flush_after = Some(Duration::from_millis(6_789));
    });
    let path = std::path::PathBuf::from("simulated");
    drop(Engine::open_storage(storage.clone(), path.clone(), true, false, settings, BOOT).unwrap());
    let silent = settings_with(|settings| settings.flush_after = None);
    let engine = Engine::open_storage(storage, path, false, false, silent, BOOT).unwrap();
    assert_eq!(engine.policies.durability, Durability::Async);
    assert_eq!(engine.policies.flush_limits.bytes, 12_345);
    assert_eq!(
        engine.policies.flush_limits.age,
        Duration::from_millis(6_789)
    );
}

#[test]
fn sync_makes_lazy_commits_durable_even_beside_a_writer() {
    let (disk, engine) = gated();
    disk.set_open(true);
    assert!(!engine.sync_if_due().unwrap());
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    assert!(!engine.sync_if_due().unwrap(), "the limits are far");
    let _writing = WriteTransaction::begin(&engine).unwrap();
    engine.sync().unwrap();
    assert_eq!(engine.durable(), lazy);
    let flushes = disk.begun();
    engine.sync().unwrap();
    engine.begin_sync().unwrap().wait().unwrap();
    assert_eq!(disk.begun(), flushes, "there was nothing to flush");
}

/// Somebody writes the value that is there already, but not on the disk.
#[test]
fn a_durable_commit_that_changes_nothing_waits_for_what_it_saw() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    assert_eq!(put_one(&engine, Durability::Durable, 0).unwrap(), lazy);
    assert_eq!(engine.durable(), lazy);
}

#[test]
fn after_a_failed_flush_those_who_waited_fail_and_nothing_of_theirs_is_seen() {
    let (disk, engine) = gated();
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    let first = spawn_put(&engine, 1);
    disk.wait_begun(1);
    let second = spawn_put(&engine, 2);
    wait_committed(&engine, 4);
    let mut late = WriteTransaction::begin(&engine).unwrap();
    insert(&mut late, b"a", &key(3), b"value").unwrap();
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_ERROR);
    disk.set_open(true);
    for thread in [first, second] {
        let error = thread.join().unwrap().unwrap_err();
        let Error::Io { source, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(source.raw_os_error(), Some(libc::EIO));
    }
    assert!(matches!(late.commit(), Err(Error::Poisoned)));
    assert!(matches!(engine.sync(), Err(Error::Poisoned)));
    assert!(matches!(
        WriteTransaction::begin(&engine),
        Err(Error::Poisoned)
    ));
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let killed = open(&killed, false, BOOT).unwrap();
    assert!(has(&killed, 0) && !(1..4).any(|i| has(&killed, i)));
    assert_eq!(killed.snapshot().unwrap().transaction(), lazy);
    assert_clean(&killed);
}

/// The record of a second commit could not be written while the first was being flushed. That took
/// the first one's record back, too; then its flush succeeded, and it counted as durable.
#[test]
fn a_failed_record_spares_the_commit_that_is_being_flushed() {
    let poisoned = (0..12u64).filter(|&call| {
        let (disk, engine) = gated();
        let first = spawn_put(&engine, 1);
        disk.wait_begun(1);
        let fault = Fault::DISK_ERROR.cut_short(if call % 2 == 0 { 0 } else { 128 });
        disk.disk.fail_on(disk.disk.calls() + call / 2, fault);
        let second = put_one(&engine, Durability::Lazy, 2);
        disk.disk.heal();
        let is_poisoned = engine.flusher.refuse_poisoned().is_err();
        disk.set_open(true);
        first.join().unwrap().unwrap();
        let oldest = disk.disk.power_cut(&mut |_| 0, 4096);
        let newest = disk.disk.power_cut(&mut |count| count - 1, 4096);
        assert!(has(&engine, 1));
        assert_eq!(has(&engine, 2), second.is_ok());
        for (image, boot) in [
            (disk.disk.process_crash(), BOOT),
            (oldest, OTHER_BOOT),
            (newest, OTHER_BOOT),
        ] {
            let found = open(&SimDisk::from_image(image, CAPACITY), false, boot).unwrap();
            assert!(has(&found, 1), "{second:?}");
            assert!(second.is_ok() || !has(&found, 2), "{second:?}");
            assert_clean(&found);
        }
        is_poisoned
    });
    assert_eq!(
        poisoned.count(),
        2,
        "one of the calls is the record's, in two ways"
    );
}

#[test]
fn a_commit_that_changes_nothing_shows_nobody_what_is_not_durable() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 1);
    disk.wait_begun(1);
    put_one(&engine, Durability::Lazy, 1).unwrap();
    assert!(!has(&engine, 1));
    disk.set_open(true);
    first.join().unwrap().unwrap();
}

#[test]
fn tickets_of_what_is_never_flushed_are_told_so() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    let ticket = engine.ticket(lazy);
    engine.flusher.poison("testing");
    drop(engine);
    assert!(matches!(ticket.wait(), Err(Error::Io { .. })));
}

#[test]
fn tickets_tell_of_a_failed_flush() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    let woken = {
        let ticket = ticket.clone();
        thread::spawn(move || block_on(ticket))
    };
    disk.wait_begun(1);
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_ERROR);
    disk.set_open(true);
    for outcome in [
        ticket.wait(),
        ticket.is_durable().map(drop),
        woken.join().unwrap(),
    ] {
        assert!(matches!(outcome, Err(Error::Io { .. })), "{outcome:?}");
    }
}

#[test]
fn many_threads_commit_and_nothing_is_lost() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let threads: Vec<_> = (0..8u32)
        .map(|thread| {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let durabilities = [Durability::Durable, Durability::Async, Durability::Lazy];
                for i in 0..60 {
                    let durability = durabilities[(thread + i) as usize % 3];
                    put_one(&engine, durability, thread * 1000 + i).unwrap();
                    assert!(has(&engine, thread * 1000 + i));
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_clean(&engine);
    engine.close().unwrap();
    let image = disk.disk.power_cut(&mut |_| 0, 4096);
    let cut = SimDisk::from_image(image, CAPACITY);
    let engine = open(&cut, false, OTHER_BOOT).unwrap();
    let found = (0..8u32).flat_map(|thread| (0..60).map(move |i| thread * 1000 + i));
    assert!(found.into_iter().all(|i| has(&engine, i)));
}

/// What was being written for commits that a failed flush took back got a record behind it, and came
/// to life again.
#[test]
fn a_flush_that_fails_takes_back_what_is_being_written() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    disk.set_holding_writes(true);
    let lazy = spawn_commit(&engine, Durability::Lazy, 2);
    disk.wait_write_held();
    let calls = disk.disk.calls();
    disk.disk.fail_on(calls, Fault::DISK_ERROR);
    disk.set_open(true);
    while disk.disk.calls() == calls {
        thread::yield_now();
    }
    disk.set_holding_writes(false);
    assert!(first.join().unwrap().is_err());
    assert!(second.join().unwrap().is_err());
    // If it was done before anybody knew, it is seen, with what it builds on.
    let is_seen = lazy.join().unwrap().is_ok();
    assert!((0..3).all(|i| has(&engine, i) == is_seen));
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let killed = open(&killed, false, BOOT).unwrap();
    assert!((0..3).all(|i| has(&killed, i) == is_seen));
    assert_clean(&killed);
}

/// Who builds on commits whose write fails does not get past it: it would be seen, and its pages would
/// not be there.
#[test]
fn nobody_builds_on_a_write_that_fails() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    disk.set_holding_writes(true);
    disk.set_open(true);
    disk.wait_write_held();
    first.join().unwrap().unwrap();
    let lazy = spawn_commit(&engine, Durability::Lazy, 2);
    // It waits for that write by now.
    thread::sleep(Duration::from_millis(20));
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_FULL);
    disk.set_holding_writes(false);
    assert!(second.join().unwrap().is_err());
    assert!(lazy.join().unwrap().is_err());
    assert!(has(&engine, 0) && !has(&engine, 1) && !has(&engine, 2));
    assert_clean(&engine);
}

/// A ticket's waker that wanted the writer's turn was called by somebody who had it.
#[test]
fn a_waker_may_write_when_a_shared_write_fails() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    disk.wait_begun(1);
    let later = spawn_put(&engine, 1);
    wait_committed(&engine, 3);
    struct Writing(Arc<Engine>);
    impl Wake for Writing {
        fn wake(self: Arc<Self>) {
            assert!(put_one(&self.0, Durability::Lazy, 9).is_err());
        }
    }
    let waker = Waker::from(Arc::new(Writing(Arc::clone(&engine))));
    let mut waiting = pin!(ticket.clone());
    let mut context = Context::from_waker(&waker);
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    disk.set_holding_writes(true);
    let lazy = spawn_commit(&engine, Durability::Lazy, 2);
    disk.wait_write_held();
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_FULL);
    disk.set_holding_writes(false);
    assert!(lazy.join().unwrap().is_err());
    disk.set_open(true);
    assert!(later.join().unwrap().is_err());
    // Its flush was under way, and succeeded.
    ticket.wait().unwrap();
}

#[test]
fn what_is_deferred_is_waited_for_like_everything_else() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    let ticket = engine.begin_sync().unwrap();
    assert_eq!(ticket.transaction(), TransactionId(3));
    let syncing = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || engine.sync())
    };
    let closing = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || engine.close())
    };
    disk.set_open(true);
    for thread in [first, second] {
        thread.join().unwrap().unwrap();
    }
    ticket.wait().unwrap();
    // It may have come too late.
    let _ = syncing.join().unwrap();
    closing.join().unwrap().unwrap();
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let engine = open(&killed, false, BOOT).unwrap();
    assert!(has(&engine, 0) && has(&engine, 1));
}

/// The commit of a key, and how many events there were when it had returned.
struct Returned {
    number: u32,
    is_durable: bool,
    events: usize,
}

/// Threads that commit while others flush, on a disk whose flushes take a while, so that commits are
/// written together, and lazy ones come in between: at each moment a kill loses nothing that had
/// returned, and a power cut nothing that was durable.
#[test]
fn threads_that_share_flushes_lose_nothing_at_any_moment() {
    crash_threads(Verification::FirstTouch, 1 << 20);
}

/// The same where each page is compared each time, and leaves are written early.
#[test]
fn threads_that_verify_and_have_little_memory_lose_nothing_at_any_moment() {
    crash_threads(Verification::Always, 2 * PAGE_SIZE);
}

fn crash_threads(verification: Verification, write_memory_bytes: usize) {
    let disk = SimDisk::new(CAPACITY);
    let settings = settings_with(|settings| {
        settings.verification = verification;
        settings.write_memory_bytes = write_memory_bytes;
    });
    let (storage, path) = (Arc::new(disk.clone()), "simulated".into());
    let engine = Engine::open_storage(storage, path, true, false, settings, BOOT);
    let engine = Arc::new(engine.unwrap());
    fill(&engine, []);
    disk.on_flush(|| thread::sleep(Duration::from_micros(200)));
    let commit = |thread: u32| {
        let mut returned = Vec::new();
        for i in 0..40 {
            let number = thread * 1000 + i;
            let durability = match (thread + i) % 8 {
                0 => Durability::Lazy,
                1 => Durability::Async,
                _ => Durability::Durable,
            };
            commit_beside_what_is_undone(&engine, durability, number).unwrap();
            returned.push(Returned {
                number,
                is_durable: durability == Durability::Durable,
                events: disk.event_count(),
            });
        }
        returned
    };
    let returned: Vec<Returned> = thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|t| scope.spawn(move || commit(t))).collect();
        let threads = threads.into_iter();
        threads.flat_map(|thread| thread.join().unwrap()).collect()
    });
    disk.forget_on_flush();
    let commits = returned.len() + 2;
    let records = disk
        .events()
        .iter()
        .filter(|event| is_record(event))
        .count();
    assert!(records < commits, "{records} records for {commits} commits");

    let mut state = 1_u64;
    let mut choose = |count: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % count
    };
    let first = returned.iter().map(|commit| commit.events).min().unwrap();
    let mut points = disk.crash_points(PAGE_SIZE);
    while points.advance().is_some() {
        let is_expected = |image: Vec<u8>, boot, is_kill: bool| {
            let engine = open(&SimDisk::from_image(image, CAPACITY), false, boot).unwrap();
            assert_clean(&engine);
            let kept = returned.iter().filter(|commit| {
                commit.events <= points.event_index() && (is_kill || commit.is_durable)
            });
            kept.for_each(|commit| assert!(has(&engine, commit.number), "{}", commit.number));
            assert!(returned.iter().all(|c| !has(&engine, c.number + UNDONE)));
        };
        if points.event_index() >= first && choose(4) == 0 {
            is_expected(points.process_crash(), BOOT, true);
            is_expected(points.power_cut(&mut choose), OTHER_BOOT, false);
        }
    }
}

/// Behind a key that is committed there is one whose savepoint is rolled back.
const UNDONE: u32 = 500;

fn commit_beside_what_is_undone(
    engine: &Arc<Engine>,
    durability: Durability,
    number: u32,
) -> Result<TransactionId> {
    let mut txn = WriteTransaction::begin(engine)?;
    txn.set_durability(durability);
    let savepoint = txn.begin_savepoint()?;
    insert(&mut txn, b"a", &key(number + UNDONE), &[0; 300])?;
    txn.roll_back_to(savepoint)?;
    insert(&mut txn, b"a", &key(number), &[1; 300])?;
    txn.commit()
}

fn is_record(event: &Event) -> bool {
    matches!(event, Event::Write { offset, .. } if *offset < 4 * PAGE_SIZE as u64)
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Awaits a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
