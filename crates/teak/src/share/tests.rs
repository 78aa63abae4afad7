//! The reader table, and the writer locks.

use super::{ReaderSlot, ReaderTable, WriterLock, readers::BLOCKS_USED};
use crate::io::Memory;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

const BLOCKS: usize = 3;

fn table() -> ReaderTable {
    let memory = Memory::private(ReaderTable::len_bytes(BLOCKS)).unwrap();
    ReaderTable::new(Arc::new(memory), 0, BLOCKS)
}

fn take(table: &ReaderTable, owner: u64) -> Option<std::vec::IntoIter<ReaderSlot>> {
    table
        .take_block(owner, |_| Ok(()))
        .unwrap()
        .map(Vec::into_iter)
}

fn pinned(table: &ReaderTable) -> Vec<u64> {
    let mut pinned = Vec::new();
    table.for_each_pinned(|state| pinned.push(state)).unwrap();
    pinned
}

#[test]
fn a_state_is_pinned_while_a_reader_uses_it() {
    let table = table();
    let slots: Vec<_> = take(&table, 1).unwrap().collect();
    assert_eq!(
        table.pin(slots[0]),
        0,
        "the first state is pinned like any other"
    );
    assert_eq!(pinned(&table), [0]);
    table.publish(7);
    assert_eq!(table.pin(slots[1]), 7);
    table.publish(8);
    assert_eq!(pinned(&table), [0, 7]);
    table.unpin(slots[0]);
    assert_eq!(pinned(&table), [7]);
    table.unpin(slots[1]);
    assert!(pinned(&table).is_empty());
}

/// When the system had no memory for a mapping, no readers were found, and pages of readers were
/// reused.
#[test]
fn a_reader_table_that_cannot_be_allocated_is_an_error() {
    let memory = Arc::new(Memory::private(ReaderTable::len_bytes(BLOCKS)).unwrap());
    let table = ReaderTable::new(Arc::clone(&memory), 0, 2 * BLOCKS);
    table.pin(take(&table, 1).unwrap().next().unwrap());
    assert_eq!(pinned(&table), [0]);
    memory.words()[BLOCKS_USED].store(BLOCKS as u64 + 1, Ordering::Relaxed);
    assert!(table.for_each_pinned(|_| {}).is_err());
    assert!(table.readers().is_err() && table.owners().is_err());
    assert!(table.take_parked(|_| true).is_err() && table.give_up_blocks(1).is_err());
}

#[test]
fn blocks_are_reused_and_dead_processes_lose_theirs() {
    let table = table();
    let mut of_one = take(&table, 1).unwrap();
    let mut of_two = take(&table, 2).unwrap();
    assert!(take(&table, 1).is_some() && take(&table, 3).is_none());
    table.publish(5);
    table.pin(of_one.next().unwrap());
    table.publish(6);
    let slot = of_two.next().unwrap();
    table.pin(slot);
    table.give_up_blocks(1).unwrap();
    assert_eq!(pinned(&table), [6]);
    let taken = take(&table, 3).unwrap().chain(take(&table, 3).unwrap());
    assert!(take(&table, 3).is_none() && taken.into_iter().all(|taken| taken != slot));
}

#[test]
fn a_mark_dies_with_the_reader() {
    let table = table();
    let mut seen = Vec::new();
    for owner in 1..4 {
        let slot = take(&table, owner).unwrap().next().unwrap();
        for _ in 0..2 {
            let number = table.note(slot, 7, 8);
            table.pin(slot);
            assert!(!table.is_cancelled(slot, number));
            assert!(seen.iter().all(|ended| !table.cancel(*ended)));
            let reader = table.readers().unwrap()[0];
            assert!(table.cancel(reader.reader) && table.readers().unwrap()[0].is_cancelled);
            assert!(!reader.is_cancelled && table.is_cancelled(slot, number));
            seen.push(reader.reader);
            table.unpin(slot);
            assert!(!table.cancel(reader.reader), "it has ended");
        }
        // As if it had died.
        table.give_up_blocks(owner).unwrap();
    }
}

#[test]
fn critical_sections_do_not_overlap_and_no_waiter_is_forgotten() {
    let writer_lock = WriterLock::new(0usize);
    let inside = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (writer_lock, inside) = (Arc::clone(&writer_lock), Arc::clone(&inside));
            thread::spawn(move || {
                for _ in 0..500 {
                    let mut guard = writer_lock.take(None).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    *guard += 1;
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(*writer_lock.take(None).unwrap(), 4000);
}

#[test]
fn the_lock_may_be_released_on_another_thread() {
    let writer_lock = WriterLock::new(());
    let guard = writer_lock.take(None).unwrap();
    thread::spawn(move || drop(guard)).join().unwrap();
    drop(writer_lock.take(None).unwrap());
}

#[test]
fn a_waiter_gives_up_after_its_timeout() {
    let writer_lock = WriterLock::new(());
    let guard = writer_lock.take(None).unwrap();
    assert!(writer_lock.take(Some(Duration::ZERO)).is_none());
    let (first, second) = (Arc::clone(&writer_lock), Arc::clone(&writer_lock));
    let first = thread::spawn(move || first.take(Some(Duration::from_millis(20))).is_none());
    thread::sleep(Duration::from_millis(5));
    let second = thread::spawn(move || drop(second.take(None).unwrap()));
    assert!(first.join().unwrap());
    drop(guard);
    second.join().unwrap();
    drop(writer_lock.take(Some(Duration::ZERO)).unwrap());
}

mod locks {
    use super::super::{LockOutcome, SharedLock};
    use crate::io::Memory;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering::SeqCst},
        },
        thread,
        time::{Duration, Instant},
    };

    fn lock() -> SharedLock {
        SharedLock::new(Arc::new(Memory::private(4096).unwrap()), 6)
    }

    #[test]
    fn one_process_at_a_time_holds_it_and_each_gets_it() {
        let (lock, inside) = (lock(), Arc::new(AtomicU32::new(0)));
        let last = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (1..=4)
            .map(|process| {
                let (lock, inside) = (lock.clone(), Arc::clone(&inside));
                let last = Arc::clone(&last);
                thread::spawn(move || {
                    for _ in 0..2000 {
                        let taken = lock.take(process, None, |_| true);
                        let was_last = last.swap(process, SeqCst) == process;
                        let expected = if was_last {
                            LockOutcome::Unchanged
                        } else {
                            LockOutcome::Free
                        };
                        assert_eq!(taken, Some(expected));
                        assert_eq!(inside.swap(process, SeqCst), 0);
                        inside.store(0, SeqCst);
                        lock.give_back(process);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert!(!lock.is_waited_for());
    }

    #[test]
    fn it_is_taken_from_dead_processes() {
        let lock = lock();
        assert_eq!(lock.take(7, None, |_| true), Some(LockOutcome::Free));
        assert_eq!(lock.take(8, Some(Duration::ZERO), |_| true), None);
        let began = Instant::now();
        let taken = lock.take(8, Some(Duration::ZERO), |process| process != 7);
        assert_eq!(taken, Some(LockOutcome::Abandoned));
        assert!(began.elapsed() < Duration::from_secs(5));
        lock.give_back(7);
        assert_eq!(
            lock.take(9, Some(Duration::ZERO), |_| true),
            None,
            "it no longer belongs to 7"
        );
        lock.give_back(8);
        // A process with the entry of a dead one is not the one that took the lock.
        assert_eq!(lock.take(7, None, |_| true), Some(LockOutcome::Free));
        assert_eq!(lock.take(7, None, |_| true), Some(LockOutcome::Abandoned));
    }

    #[test]
    fn waiting_ends_at_its_deadline() {
        let lock = lock();
        assert_eq!(lock.take(1, None, |_| true), Some(LockOutcome::Free));
        assert_eq!(
            lock.take(2, Some(Duration::from_millis(50)), |_| true),
            None
        );
        assert_eq!(lock.take(2, Some(Duration::ZERO), |_| true), None);
        lock.give_back(1);
        assert_eq!(
            lock.take(2, Some(Duration::ZERO), |_| true),
            Some(LockOutcome::Free)
        );
    }
}
