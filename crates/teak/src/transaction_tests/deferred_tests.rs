//! Durable commits during a flush, which are written together.

use crate::transaction_tests::gated_disk::{
    gated, gated_with_two_commits, has, put_one, spawn_commit, spawn_put, wait_committed,
};
use crate::transaction_tests::test_kit::{
    BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, assert_clean, fill, insert, key, open, settings_with,
};
use crate::{
    Error, Result, TransactionId,
    io::sim::{DiskEvent, Fault, SimDisk},
};
use crate::{
    instance::engine::Engine, read::verified_bitmap::Verification, record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    future::Future,
    io,
    pin::pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

/// Pages written from event `from` on, without records.
fn pages_written(disk: &SimDisk, from: usize) -> Vec<u64> {
    let events = disk.events();
    let writes = events[from..].iter().filter_map(|event| match &**event {
        DiskEvent::Write { offset, bytes } => Some((*offset, bytes.len())),
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
fn a_visible_commit_is_written_after_those_before_it() {
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

/// All commits that share the write get its error, and none of them becomes visible. Reopening
/// continues.
#[test]
fn a_failed_write_fails_all_commits_that_share_it() {
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
        let Error::Io { cause, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
    }
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    assert!(matches!(
        put_one(&engine, Durability::Lazy, 9),
        Err(Error::Poisoned { .. })
    ));
    assert_clean(&engine);
    drop(engine);
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let engine = open(&killed, false, BOOT).unwrap();
    assert!(has(&engine, 0) && !(1..4).any(|i| has(&engine, i)));
    put_one(&engine, Durability::Durable, 9).unwrap();
    assert_clean(&engine);
}

/// Deferred commits that a failed flush had undone got a record after it, and reappeared.
#[test]
fn a_failed_flush_undoes_commits_being_written() {
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
    // If it was made before the failure was known, it is visible, with the commits that it is based
    // on.
    let is_seen = lazy.join().unwrap().is_ok();
    assert!((0..3).all(|i| has(&engine, i) == is_seen));
    let killed = SimDisk::from_image(disk.disk.process_crash(), CAPACITY);
    let killed = open(&killed, false, BOOT).unwrap();
    assert!((0..3).all(|i| has(&killed, i) == is_seen));
    assert_clean(&killed);
}

/// A commit based on commits whose write fails must fail too: it would be visible without its
/// pages.
#[test]
fn no_commit_is_based_on_a_failed_write() {
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

/// A ticket's waker that began a write transaction was called while the writer lock was held.
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
    // Its flush was running, and succeeded.
    ticket.wait().unwrap();
}

#[test]
fn deferred_commits_are_waited_for_like_others() {
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

/// The commit of a key, and the number of events when it returned.
struct Returned {
    number: u32,
    is_durable: bool,
    events: usize,
}

/// Threads commit while others flush, on a disk with slow flushes, so that commits are written
/// together, with lazy ones in between. At each event, a kill loses no commit that had returned,
/// and a power cut no durable one.
#[test]
fn threads_that_share_flushes_lose_nothing_in_a_crash() {
    crash_threads(Verification::FirstTouch, 1 << 20);
}

/// As above, with every page verified at each access and leaves written early.
#[test]
fn threads_with_verification_and_little_memory_lose_nothing_in_a_crash() {
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
            commit_next_to_changes_that_are_undone(&engine, durability, number).unwrap();
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

/// Each committed key is followed by one whose savepoint is rolled back.
const UNDONE: u32 = 500;

fn commit_next_to_changes_that_are_undone(
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

fn is_record(event: &DiskEvent) -> bool {
    matches!(event, DiskEvent::Write { offset, .. } if *offset < 4 * PAGE_SIZE as u64)
}
