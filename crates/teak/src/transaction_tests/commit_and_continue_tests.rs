//! Checkpoints, and commits that continue as readers: while others flush, after failed flushes, and
//! with a crash at every event.

use crate::transaction_tests::gated_disk::{
    gated, gated_with_two_commits, has, put_one, spawn_put, wait_committed,
};
use crate::transaction_tests::test_kit::{
    BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, assert_clean, assert_snapshot_clean, get_in, insert,
    key, new_database, open,
};
use crate::{
    Error, TransactionId,
    io::sim::{Fault, SimDisk},
};
use crate::{
    instance::engine::Engine, read::reader::Reader, record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, mpsc},
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

fn put_in(txn: &mut WriteTransaction, i: u32) {
    insert(txn, b"a", &key(i), &[1; 300]).unwrap();
}

/// The first keys that a reader sees.
fn keys(reader: &Reader) -> Vec<u32> {
    let handle = reader.engine().handle(b"a");
    let has = |i: &u32| get_in(reader, handle, b"a", &key(*i)).is_some();
    (0..10).filter(has).collect()
}

fn begin_now(engine: &Arc<Engine>) -> Option<WriteTransaction> {
    WriteTransaction::begin_within(engine, Some(Duration::ZERO), None).unwrap()
}

#[test]
fn a_deferred_checkpoint_waits_and_continues() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let events = disk.disk.events().len();
    let worker = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || {
            let mut txn = WriteTransaction::begin(&engine).unwrap();
            put_in(&mut txn, 1);
            assert_eq!(txn.checkpoint().unwrap(), TransactionId(3));
            put_in(&mut txn, 2);
            txn.checkpoint().unwrap();
            put_in(&mut txn, 3);
        })
    };
    wait_committed(&engine, 3);
    assert_eq!(disk.disk.events().len(), events, "it is in memory only");
    assert!(begin_now(&engine).is_none(), "it has kept the writer lock");
    disk.set_open(true);
    first.join().unwrap().unwrap();
    worker.join().unwrap();
    assert_eq!(keys(&engine.begin_read().unwrap()), [0, 1, 2]);
    assert_clean(&engine);
    let image = disk.disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert_eq!(keys(&engine.begin_read().unwrap()), [0, 1, 2]);
}

/// Of deferred commits, only the pages are written that the last one uses. So a state with a reader
/// is not deferred.
#[test]
fn a_state_with_a_continuing_reader_is_written_during_a_flush() {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let reading = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || {
            let mut txn = WriteTransaction::begin(&engine).unwrap();
            put_in(&mut txn, 1);
            txn.commit_and_read().unwrap()
        })
    };
    wait_committed(&engine, 3);
    let later: Vec<_> = (2..6).map(|i| spawn_put(&engine, i)).collect();
    wait_committed(&engine, 7);
    disk.set_open(true);
    first.join().unwrap().unwrap();
    let reader = reading.join().unwrap();
    for commit in later {
        commit.join().unwrap().unwrap();
    }
    for i in 6..10 {
        put_one(&engine, Durability::Durable, i).unwrap();
    }
    assert_eq!(reader.transaction(), TransactionId(3));
    assert_eq!(keys(&reader), [0, 1]);
    assert_snapshot_clean(&reader);
    assert_clean(&engine);
}

/// As above, but the transaction has changed nothing, and the state that it began with is deferred.
#[test]
fn a_deferred_state_is_written_for_a_continuing_reader() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    for durability in [Durability::Durable, Durability::Lazy] {
        let (begun, reading) = {
            let engine = Arc::clone(&engine);
            let (begins, begun) = mpsc::channel();
            let thread = thread::spawn(move || {
                let mut txn = WriteTransaction::begin(&engine).unwrap();
                txn.set_durability(durability);
                begins.send(()).unwrap();
                txn.commit_and_read().unwrap()
            });
            (begun, thread)
        };
        begun.recv().unwrap();
        // The lock becomes free after the needed pages are written.
        let later = spawn_put(&engine, 2);
        wait_committed(&engine, 4);
        disk.set_open(true);
        let reader = reading.join().unwrap();
        later.join().unwrap().unwrap();
        assert!(reader.transaction() <= engine.visible());
        assert_snapshot_clean(&reader);
        if durability == Durability::Durable {
            assert_eq!(keys(&reader), [0, 1]);
        }
        put_one(&engine, Durability::Durable, 3).unwrap();
        assert_snapshot_clean(&reader);
    }
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
}

/// Runs `failing` with each of the first calls of its last commit failing, until none fails.
/// Returns the number of failures, and after how many the database refuses writes.
fn fail_each_call(failing: impl Fn(&SimDisk, &Arc<Engine>, u64) -> bool) -> [usize; 2] {
    let [mut failed, mut poisoned] = [0, 0];
    for call in 0.. {
        let (disk, engine) = new_database();
        crate::transaction_tests::test_kit::fill(&engine, []);
        if !failing(&disk, &engine, call) {
            break;
        }
        failed += 1;
        poisoned += usize::from(WriteTransaction::begin(&engine).is_err());
        assert_eq!(keys(&engine.begin_read().unwrap()), [1]);
        assert_clean(&engine);
        let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
        let killed = open(&killed, false, BOOT).unwrap();
        assert_eq!(keys(&killed.begin_read().unwrap()), [1]);
    }
    [failed, poisoned]
}

#[test]
fn a_failed_checkpoint_undoes_changes_since_the_last_one() {
    let [failed, poisoned] = fail_each_call(|disk, engine, call| {
        let mut txn = WriteTransaction::begin(engine).unwrap();
        put_in(&mut txn, 1);
        txn.checkpoint().unwrap();
        put_in(&mut txn, 2);
        disk.fail_on(disk.calls() + call, Fault::DISK_ERROR);
        match txn.checkpoint() {
            Err(Error::Io { .. }) => {}
            // The failed call, if any, came after the commit.
            made => {
                made.unwrap();
                return false;
            }
        }
        let is_broken = |error| matches!(error, Err(Error::TransactionBroken));
        assert!(is_broken(txn.checkpoint().map(drop)));
        assert!(is_broken(txn.root_of(engine.handle(b"a"), b"a").map(drop)));
        assert!(is_broken(txn.for_each_table(|_, _, _| Ok(()))));
        match txn.roll_back() {
            Ok(()) => assert!(!txn.status.is_broken && txn.commit().is_ok()),
            Err(error) => {
                assert!(matches!(error, Error::Poisoned { .. }), "{error}");
                assert!(is_broken(txn.root_of(engine.handle(b"a"), b"a").map(drop)));
                assert!(matches!(txn.commit(), Err(Error::Poisoned { .. })));
            }
        }
        true
    });
    assert!(
        failed >= 3 && (2..failed).contains(&poisoned),
        "{failed} {poisoned}"
    );
}

/// No reader sees an undone state, not even through the slot of such a reader.
#[test]
fn a_reader_of_an_undone_commit_leaves_nothing() {
    let [failed, poisoned] = fail_each_call(|disk, engine, call| {
        put_one(engine, Durability::Durable, 1).unwrap();
        let mut txn = WriteTransaction::begin(engine).unwrap();
        put_in(&mut txn, 2);
        disk.fail_on(disk.calls() + call, Fault::DISK_ERROR);
        let failed = txn.commit_and_read();
        assert_eq!(engine.reader_count().unwrap(), usize::from(failed.is_ok()));
        failed.is_err()
    });
    assert!(
        failed >= 3 && (2..failed).contains(&poisoned),
        "{failed} {poisoned}"
    );
}

/// A ticket's waker that wants to write was called by the holder of the writer lock, or only after
/// its end.
#[test]
fn a_ticket_is_woken_by_a_checkpoint() {
    struct Trying(Arc<Engine>, mpsc::Sender<bool>);
    impl Wake for Trying {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send(begin_now(&self.0).is_some());
        }
    }
    let (_disk, engine) = new_database();
    crate::transaction_tests::test_kit::fill(&engine, []);
    let lazy = put_one(&engine, Durability::Lazy, 1).unwrap();
    let ticket = engine.ticket(lazy);
    let (sender, receiver) = mpsc::channel();
    let waker = Waker::from(Arc::new(Trying(Arc::clone(&engine), sender)));
    let mut waiting = pin!(ticket);
    let mut context = Context::from_waker(&waker);
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    put_in(&mut txn, 2);
    txn.checkpoint().unwrap();
    let has_begun = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(!has_begun, "the transaction still holds the writer lock");
    assert!(waiting.as_mut().poll(&mut context).is_ready());
    txn.commit().unwrap();
}

#[test]
fn a_transaction_on_a_reader_knows_of_invisible_commits() {
    let (disk, engine, [first, second]) = gated_with_two_commits();
    let reader = engine.begin_read().unwrap();
    let begun = WriteTransaction::begin_within(&engine, None, Some(reader.transaction())).map(drop);
    let Err(Error::SnapshotStale { held, newest }) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!((held, newest), (TransactionId(1), TransactionId(3)));
    disk.set_open(true);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    let reader = engine.begin_read().unwrap();
    let begun = WriteTransaction::begin_within(&engine, None, Some(reader.transaction()));
    assert!(begun.unwrap().is_some());
    assert!(has(&engine, 1));
}

/// Checkpoints of all durabilities, and readers that continue from commits. At each event, a kill
/// leaves the last of them, and a power cut none that is older than the last durable one; never a
/// part.
#[test]
fn checkpoints_lose_nothing_in_a_crash_at_any_event() {
    let (disk, engine) = new_database();
    crate::transaction_tests::test_kit::fill(&engine, []);
    let mut returned = Vec::new();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let mut readers: Vec<Reader> = Vec::new();
    for round in 0..40u32 {
        let durability = match round % 4 {
            0 => Durability::Durable,
            1 => Durability::Async,
            _ => Durability::Lazy,
        };
        txn.set_durability(durability);
        // Each state has one number under all keys.
        for i in 0..30 {
            let value = round.to_le_bytes().repeat(20);
            insert(&mut txn, b"a", &key(i), &value).unwrap();
        }
        if round % 5 == 4 {
            let reader = txn.commit_and_read().unwrap();
            assert_eq!(number_in(&reader), Some(round));
            readers.push(reader);
            readers.drain(..readers.len().saturating_sub(3));
            txn = WriteTransaction::begin(&engine).unwrap();
        } else {
            txn.checkpoint().unwrap();
        }
        let is_durable = durability == Durability::Durable;
        returned.push((round, is_durable, disk.event_count()));
        for reader in &readers {
            assert_snapshot_clean(reader);
        }
    }
    drop((txn, readers));
    let mut state = 1_u64;
    let mut choose = |count: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % count
    };
    let mut points = disk.crash_points(PAGE_SIZE);
    while points.advance().is_some() {
        let done = |is_kill: bool| {
            let kept = returned.iter().filter(|(_, is_durable, events)| {
                *events <= points.event_index() && (is_kill || *is_durable)
            });
            kept.map(|(round, ..)| *round).max()
        };
        if done(true).is_none() {
            continue;
        }
        for (image, boot, is_kill) in [
            (points.process_crash(), BOOT, true),
            (points.power_cut(&mut choose), OTHER_BOOT, false),
        ] {
            let engine = open(&SimDisk::from_image(image, CAPACITY), false, boot).unwrap();
            assert_clean(&engine);
            assert!(number_in(&engine.begin_read().unwrap()) >= done(is_kill));
        }
    }
}

/// The common number of all keys.
fn number_in(reader: &Reader) -> Option<u32> {
    let handle = reader.engine().handle(b"a");
    let value = |i| get_in(reader, handle, b"a", &key(i));
    let first = value(0)?;
    assert!((1..30).all(|i| value(i).as_ref() == Some(&first)));
    Some(u32::from_le_bytes(first[..4].try_into().unwrap()))
}
