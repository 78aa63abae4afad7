//! Processes take a lock in turns: never two at once, each sees what the one before it wrote, and
//! none keeps sleeping when the lock is free.

use crate::{
    lock::{LockOutcome, SharedLock},
    words::Memory,
};
use loom::{cell::UnsafeCell, model::Builder, thread};
use std::sync::Arc;

/// The guarded number. `loom` finds an access that is not ordered after those of others.
struct Guarded(UnsafeCell<u32>);

// SAFETY: it is accessed by the holder of the lock only, which `loom` checks.
unsafe impl Sync for Guarded {}
// SAFETY: a number may move to another thread.
unsafe impl Send for Guarded {}

/// `processes` take and release the lock `turns` times each.
fn explore(processes: u32, turns: u32, preemptions: Option<usize>) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let lock = SharedLock::new(Arc::new(Memory::new(0)), 0);
        let guarded = Arc::new(Guarded(UnsafeCell::new(0)));
        let work = {
            let (lock, guarded) = (lock.clone(), Arc::clone(&guarded));
            move |me: u32| {
                for _ in 0..turns {
                    let outcome = lock.take(me, None, |_| true);
                    let outcome = outcome.expect("there is no time limit");
                    assert_ne!(outcome, LockOutcome::Abandoned);
                    // SAFETY: this thread holds the lock.
                    guarded.0.with_mut(|count| unsafe { *count += 1 });
                    lock.give_back(me);
                }
            }
        };
        let threads: Vec<_> = (2..=processes)
            .map(|me| {
                let work = work.clone();
                thread::spawn(move || work(me))
            })
            .collect();
        work(1);
        for thread in threads {
            thread.join().expect("a holder does not panic");
        }
        assert_eq!(lock.holder(), 0);
        // SAFETY: no other thread is left.
        let count = guarded.0.with(|count| unsafe { *count });
        assert_eq!(count, processes * turns);
    });
}

#[test]
fn two_processes_exclude_each_other() {
    explore(2, 1, None);
}

#[test]
fn two_processes_take_turns() {
    explore(2, 2, Some(2));
}

#[test]
fn three_processes_exclude_each_other() {
    explore(3, 1, Some(2));
}
