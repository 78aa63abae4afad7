//! Shared, awaited, due and failing flushes, on a disk that flushes on request.

use crate::transaction_tests::gated_disk::{gated, has, put_one, spawn_put, wait_committed};
use crate::transaction_tests::test_kit::{
    BOOT, CAPACITY, OTHER_BOOT, assert_clean, insert, key, open, put, settings_with,
};
use crate::{
    Error, TransactionId,
    io::{
        Storage,
        sim::{Fault, SimDisk},
    },
};
use crate::{
    instance::{dropped_trees::DropBacklog, engine::Engine},
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

#[test]
fn commits_during_a_flush_share_the_next_one() {
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

/// A durable commit becomes visible early only if a visible commit is based on it.
#[test]
fn a_durable_commit_is_visible_when_it_is_durable_or_extended() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    assert!(!has(&engine, 0));
    put_one(&engine, Durability::Lazy, 1).unwrap();
    assert!(
        has(&engine, 0) && has(&engine, 1),
        "each thread reads its own writes"
    );
    let second = spawn_put(&engine, 2);
    wait_committed(&engine, 4);
    assert!(!has(&engine, 2));
    disk.set_open(true);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    assert!(has(&engine, 2));
}

/// Commits during a flush do not overwrite its pages and record. Otherwise a commit acknowledged as
/// durable could lead to pages of later ones after a power cut.
#[test]
fn the_target_of_a_flush_is_not_reused_while_it_runs() {
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
fn a_ticket_completes_when_its_commit_is_durable() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    assert_eq!(ticket.transaction(), TransactionId(2));
    assert!(has(&engine, 0), "it is visible at once");
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
fn a_ticket_outlives_its_database_and_does_not_hold_it_open() {
    let (disk, engine) = gated();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"value").unwrap();
    let ticket = txn.commit_async().unwrap();
    disk.set_open(true);
    drop(engine);
    assert!(ticket.is_durable().unwrap());
    assert_eq!(Arc::strong_count(&disk), 1, "the disk is no longer in use");
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

/// A process that opens the database without options uses the stored write options.
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
fn sync_makes_lazy_commits_durable_during_a_write_transaction() {
    let (disk, engine) = gated();
    disk.set_open(true);
    assert!(!engine.is_flush_due().unwrap());
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    assert!(!engine.is_flush_due().unwrap(), "the limits are far");
    let _writing = WriteTransaction::begin(&engine).unwrap();
    engine.sync().unwrap();
    assert_eq!(engine.durable(), lazy);
    let flushes = disk.begun();
    engine.sync().unwrap();
    engine.begin_sync().unwrap().wait().unwrap();
    assert_eq!(disk.begun(), flushes, "there was nothing to flush");
}

/// A transaction writes an equal value that is not on the disk yet.
#[test]
fn an_empty_durable_commit_waits_for_the_state_it_saw() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    assert_eq!(put_one(&engine, Durability::Durable, 0).unwrap(), lazy);
    assert_eq!(engine.durable(), lazy);
}

#[cfg(unix)]
#[test]
fn after_a_failed_flush_waiting_commits_fail_and_stay_invisible() {
    let (disk, engine) = gated();
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    let first = spawn_put(&engine, 1);
    disk.wait_begun(1);
    let second = spawn_put(&engine, 2);
    wait_committed(&engine, 4);
    let mut later = WriteTransaction::begin(&engine).unwrap();
    insert(&mut later, b"a", &key(3), b"value").unwrap();
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_ERROR);
    disk.set_open(true);
    for thread in [first, second] {
        let error = thread.join().unwrap().unwrap_err();
        let Error::Io { cause, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(cause.raw_os_error(), Some(libc::EIO));
    }
    assert!(matches!(later.commit(), Err(Error::Poisoned { .. })));
    assert!(matches!(engine.sync(), Err(Error::Poisoned { .. })));
    assert!(matches!(
        WriteTransaction::begin(&engine),
        Err(Error::Poisoned { .. })
    ));
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let killed = open(&killed, false, BOOT).unwrap();
    assert!(has(&killed, 0) && !(1..4).any(|i| has(&killed, i)));
    assert_eq!(killed.begin_read().unwrap().transaction(), lazy);
    assert_clean(&killed);
}

/// Bug: it panicked, because its newest commit was taken back.
#[test]
fn a_thread_that_holds_the_writer_lock_while_a_flush_fails_cannot_begin() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 1);
    disk.wait_begun(1);
    let reserved = engine.acquire_writer().unwrap();
    disk.disk.fail_on(disk.disk.calls(), Fault::DISK_ERROR);
    disk.set_open(true);
    first.join().unwrap().unwrap_err();
    let begun = WriteTransaction::begin_in(&engine, reserved, DropBacklog::All);
    assert!(matches!(begun, Err(Error::Poisoned { .. })));
}

/// The record of a second commit could not be written while the first one was being flushed. That
/// undid the first one's record, too. Then its flush succeeded, and it counted as durable.
#[test]
fn a_failed_record_does_not_affect_the_commit_being_flushed() {
    let poisoned = (0..12u64).filter(|&call| {
        let (disk, engine) = gated();
        let first = spawn_put(&engine, 1);
        disk.wait_begun(1);
        let fault = Fault::DISK_ERROR.cut_short(if call % 2 == 0 { 0 } else { 128 });
        disk.disk.fail_on(disk.disk.calls() + call / 2, fault);
        let second = put_one(&engine, Durability::Async, 2);
        disk.disk.heal();
        let is_poisoned = engine.committer.refuse_poisoned().is_err();
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

/// A flush leader waited for a thread that wrote deferred commits. When that failed, the leader
/// flushed nevertheless, and reported the commit as durable whose record was not written.
#[test]
fn no_flush_begins_after_a_failure_during_its_leaders_wait() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let durable = engine.durable();
    let written = put_one(&engine, Durability::Lazy, 1).unwrap();
    let deferred_write_guard = engine.committer.deferred_write_lock();
    let leader = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || engine.committer.wait(written))
    };
    while !engine.committer.commit_state.lock().is_flushing() {
        thread::yield_now();
    }
    engine.committer.poison("writing deferred commits");
    drop(deferred_write_guard);
    assert!(leader.join().unwrap().is_err());
    assert_eq!(disk.begun(), 0);
    assert_eq!(engine.durable(), durable);
}

#[test]
fn an_empty_commit_makes_nothing_visible_before_it_is_durable() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 1);
    disk.wait_begun(1);
    put_one(&engine, Durability::Lazy, 1).unwrap();
    assert!(!has(&engine, 1));
    disk.set_open(true);
    first.join().unwrap().unwrap();
}

#[test]
fn tickets_of_commits_that_are_never_flushed_fail() {
    let (disk, engine) = gated();
    disk.set_open(true);
    let lazy = put_one(&engine, Durability::Lazy, 0).unwrap();
    let ticket = engine.ticket(lazy);
    engine.committer.poison("testing");
    drop(engine);
    assert!(matches!(ticket.wait(), Err(Error::Io { .. })));
}

#[test]
fn tickets_report_a_failed_flush() {
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
